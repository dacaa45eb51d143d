package providers

import (
	"strings"

	"github.com/okstra/okstra/lang/plan"
)

// chatter is how lines of standard error begin that a CLI prints whenever it
// starts, and that say nothing of the work. Of warnings one line is left.
var chatter = map[plan.OutputFormat][]string{
	plan.OutputCodexStream: {"Reading prompt from stdin", "Reading additional input from stdin"},
	plan.OutputGeminiStream: {
		warning, "[STARTUP] ", "YOLO mode is enabled", "Ripgrep is not available", "Loaded cached credentials",
		"(node:", "(Use `node --trace",
	},
}

const warning = "Warning: "

// Errors shows one worker's standard error, line by line. It is used from one
// goroutine.
type Errors struct {
	format plan.OutputFormat
	told   bool
}

// NewErrors shows the standard error of a worker with this output format.
func NewErrors(format plan.OutputFormat) *Errors { return &Errors{format: format} }

// Line takes one line, or the beginning of one, and returns what to show a
// person. Of what a CLI says at every start, that it warns is left, once.
func (e *Errors) Line(line []byte) []Shown {
	text := Clean(string(line))
	for _, begin := range chatter[e.format] {
		if !strings.HasPrefix(text, begin) {
			continue
		}
		if e.told || begin != warning {
			return nil
		}
		e.told = true
		return []Shown{{ShownInfo, "[the CLI warns of its own set-up: okstra logs --stderr]"}}
	}
	return []Shown{{ShownError, text}}
}
