package modelserver

import (
	"time"
)

// Script is what a model of one name answers, step by step. A conversation
// with more tool results than steps gets the last step again.
type Script []Step

// Step is one answer. Of Shell, Status, Silence and Cut at most one is set.
type Step struct {
	// Text is what the model says; with Shell, before the call.
	Text string
	// Shell is a command line that the CLI is asked to run with its own tool.
	Shell string
	// Status answers with an HTTP error, Kind and Message in the form of the
	// API that was asked.
	Status  int
	Kind    string
	Message string
	// RetryAfter goes with Status.
	RetryAfter time.Duration
	// Times limits Status to the first Times requests of this step, over all
	// conversations; after them the step is its Then. 0 is always.
	Times int
	Then  *Step
	// Silence answers nothing until the client goes away.
	Silence bool
	// Cut begins a stream and closes the connection in its middle.
	Cut bool
	// Refuse ends the stream with the API's own sign of a refusal.
	Refuse bool
}

// Shell command lines that write what okstra asks of a worker. The CLIs hand
// their environment on to their tools.
const (
	WriteResult = `printf 'The work is done.\n' > "$OKSTRA_RESULT"`
	tryToWrite  = `printf 'not allowed\n' > wrote-anyway.txt`
)

// Scripts are the stories by model name.
func Scripts() map[string]Script {
	refusal := "I cannot help with that."
	return map[string]Script{
		"story-write":   {{Text: "I will write the result.", Shell: WriteResult}, {Text: "The result is written."}},
		"story-text":    {{Text: "A final text, in one line."}},
		"story-meddle":  {{Text: "I will write into the project.", Shell: tryToWrite}, {Text: "I tried to write."}},
		"story-slow":    {{Text: "This takes a while.", Shell: `sleep 20; ` + WriteResult}, {Text: "The result is written."}},
		"story-empty":   {{Text: ""}},
		"story-silence": {{Silence: true}},
		"story-cut":     {{Cut: true}},
		"story-refuse":  {{Text: refusal, Refuse: true}},
		"story-400":     {{Status: 400, Message: "The request is malformed."}},
		"story-401":     {{Status: 401, Message: "The key is not valid."}},
		"story-403":     {{Status: 403, Message: "This key may not use the service."}},
		"story-404":     {{Status: 404, Message: "There is no model of the name story-404: model not found."}},
		"story-429":     {{Status: 429, Message: "Too many requests.", RetryAfter: 2 * time.Second}},
		"story-500":     {{Status: 500, Message: "Something broke inside."}},
		"story-529":     {{Status: 529, Message: "Overloaded."}},
		"story-context": {{Status: 400, Kind: kindContext}},
		"story-passing-429": {
			{Status: 429, Message: "Too many requests.", RetryAfter: time.Second, Times: 1, Then: &Step{Text: "I will write the result.", Shell: WriteResult}},
			{Text: "The result is written."},
		},
	}
}

// kindContext asks for the API's own form of a prompt that is too long.
const kindContext = "context"

// usage is what every answer reports: small numbers that tests know.
const (
	usageInput     = 1200
	usageCached    = 200
	usageOutput    = 30
	usageReasoning = 10
)
