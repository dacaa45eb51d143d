// Package lead holds everything that is between okstra and whoever leads a
// run, a person or an LLM session in any host: the run manifest, the event
// log, the launch prompt (the bundle) and the final report that is made from
// what the report-writer wrote.
//
// It renders and records. It starts nothing, judges no worker, and never
// infers the lead's runtime from the backend or the other way round: the two
// are separate axes, each with a table of its own.
package lead
