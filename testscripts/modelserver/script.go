package modelserver

import (
	"regexp"
	"time"
)

// Script is what a model of one name answers, step by step. A conversation
// with more tool results than steps gets the last step again.
type Script []Step

// Step is one answer. Of Shell, Read, Status, Silence and Cut at most one is set.
type Step struct {
	// Text is what the model says; with a tool call, before it.
	Text string
	// Reply makes Text from what the CLI sent of the user's side.
	Reply func(prompt string) string
	// Read asks the CLI to read, with its own tool, the inputs index that an
	// okstra prompt names.
	Read bool
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
	hangOnce    = `test "$OKSTRA_ATTEMPT" != 1 || { touch begun; sleep 600; }; `
	tryToWrite  = `cat README > wrote-anyway.txt`
)

// Scripts are the stories by model name.
func Scripts() map[string]Script {
	refusal := "I cannot help with that."
	return map[string]Script{
		"story-write":   {{Text: "I will write the result.", Shell: WriteResult}, {Text: "The result is written."}},
		"story-text":    {{Text: "A final text, in one line."}},
		"story-meddle":  {{Text: "I will write into the project.", Shell: tryToWrite}, {Text: "I tried to write."}},
		"story-slow":    {{Text: "This takes a while.", Shell: hangOnce + WriteResult}, {Text: "The result is written."}},
		"story-read":    {{Text: "I will read what I was given.", Read: true}, {Text: "I read it."}},
		"story-analyst": {{Reply: analyse}},
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

// analyse plays an analyst in each round: it judges the findings that its
// prompt holds, and reports one of its own where there are none.
func analyse(prompt string) string {
	asked := findingHeads.FindAllStringSubmatch(prompt, -1)
	if len(asked) == 0 {
		return "There is one defect.\n\n=== okstra:emit ===\n" +
			`{"format":"okstra.findings/1","findings":[{"id":"F1","title":"The greeting is too short","severity":"minor",` +
			`"location":"README:1","claim":"The greeting has one word.","evidence":"README:1 says hi."}]}` + "\n"
	}
	var verdicts []object
	for _, a := range asked {
		verdicts = append(verdicts, object{"finding": a[1], "verdict": "agree", "basis": "README:1 was read; it says hi."})
	}
	return "I looked at each finding.\n\n=== okstra:emit ===\n" + string(mustJSON(object{"format": "okstra.verdicts/1", "verdicts": verdicts})) + "\n"
}

var (
	// findingHeads are the headings of findings in a judge's prompt.
	findingHeads = regexp.MustCompile("(?m)^### `([^`\\s]+/[^`\\s]+)`$")
	// indexPath is where a prompt names its inputs.
	indexPath = regexp.MustCompile(`are listed in (/\S+?\.json)`)
)

// kindContext asks for the API's own form of a prompt that is too long.
const kindContext = "context"

// usage is what every answer reports: small numbers that tests know.
const (
	usageInput     = 1200
	usageCached    = 200
	usageOutput    = 30
	usageReasoning = 10
)
