// Package providers knows what is particular to a worker CLI's output: how a
// stream is made readable, where its final text, usage and error records are,
// and what an exit code means. It starts nothing and reads no file; bytes come
// in, facts come out.
package providers

import (
	"github.com/okstra/okstra/lang/plan"
)

// Stream reads one worker's standard output, line by line. It is used from one
// goroutine and keeps bounded memory whatever the worker prints.
type Stream interface {
	// Line takes one line without its line end (a longer line than MaxLine is
	// given in pieces, more is true for all but the last) and returns what to
	// show a person: zero or more lines, free of control characters.
	Line(line []byte, more bool) []Shown
	// Busy reports whether a tool call is open, so that silence is expected.
	Busy() bool
	// End closes the stream and tells what it held.
	End() Outcome
}

// MaxLine is the longest piece of a line, in bytes, that Line is given.
const MaxLine = 1 << 20

// Shown is one line for the screen.
type Shown struct {
	Kind ShownKind
	Text string
}

// ShownKind lets a terminal style lines. The zero value is invalid.
type ShownKind string

const (
	ShownText  ShownKind = "text"  // what the model said, or plain output
	ShownTool  ShownKind = "tool"  // a tool call or its result
	ShownUsage ShownKind = "usage" // tokens so far
	ShownError ShownKind = "error"
	ShownInfo  ShownKind = "info" // session, model
)

// Outcome is what a finished stream held.
type Outcome struct {
	// FinalText is the result for ResultStdout; HasFinal tells an empty text
	// from none. For OutputText it is everything that was printed, bounded by
	// MaxFinal (Truncated tells).
	FinalText string
	HasFinal  bool
	Truncated bool
	// Usage is nil where nothing was reported.
	Usage *plan.Usage
	// Fatal is the error record that makes the attempt fail whatever the exit
	// code was; nil where there is none.
	Fatal *Fatal
	// Notes are for people, e.g. permission denials.
	Notes []string
}

// MaxFinal bounds the final text, in bytes.
const MaxFinal = 16 << 20

// Fatal is an error that the provider reported.
type Fatal struct {
	Reason     plan.Reason
	Detail     string         // the provider's words, one line, harmless
	RetryAfter *plan.Duration // where the provider asked for one
}
