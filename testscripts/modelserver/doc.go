// Package modelserver is a model service for tests: a server on the loopback
// device that answers the three APIs which the worker CLIs speak (Anthropic
// messages, OpenAI responses, Gemini generateContent, all as server-sent
// events) from a script. The model's name chooses the script, so that one
// server plays every story at once; the number of tool results in a request
// chooses the step, so that the server keeps no conversation.
//
// It is no simulation of a model and is not part of the product.
package modelserver
