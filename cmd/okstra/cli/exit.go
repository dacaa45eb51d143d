package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/hashicorp/hcl/v2"

	"github.com/okstra/okstra/cmd/okstra/view"
	"github.com/okstra/okstra/runtime"
)

// Exit codes. Scripts depend on them.
const (
	ExitDone    = 0  // done, or nothing to do
	ExitError   = 1  // definition, files, environment; fmt --check would change files
	ExitWork    = 2  // only with --detailed-exitcode: there is work
	ExitUnmet   = 3  // ended, but not every required worker completed; something left, or a disagreement
	ExitWaiting = 4  // waits for an approval or the lead's round plan
	ExitRefused = 5  // refused: stale plan, jobs file, phase order
	ExitHeld    = 6  // another okstra holds the run
	ExitTimeout = 7  // await's time ran out
	ExitUsage   = 64 // wrong usage
	// 128+n: interrupted by signal n
)

// exitCodes says the same for people; help and docs print it.
var exitCodes = []struct {
	Code    string
	Meaning string
}{
	{"0", "done, or nothing to do"},
	{"1", "an error in the definition, a file or the environment; fmt --check would change files"},
	{"2", "with --detailed-exitcode only: there is work to do"},
	{"3", "ended, but not every required worker completed; a blocking verdict; budget used up; teardown left something; verify disagrees"},
	{"4", "waits for an approval or for the lead's round plan"},
	{"5", "refused: a stale plan, a jobs file, the phase order"},
	{"6", "another okstra holds the run"},
	{"7", "await's time ran out; workers go on"},
	{"64", "wrong usage"},
	{"129, 130, 143", "interrupted by HUP, INT or TERM; workers go on"},
}

// exitCoder is how an error says its exit code.
type exitCoder interface {
	error
	ExitCode() int
}

// exitCode finds the exit code of an error.
func exitCode(ctx context.Context, err error) int {
	if err == nil {
		return ExitDone
	}
	if c, ok := errors.AsType[exitCoder](err); ok {
		return c.ExitCode()
	}
	// An interrupted verb fails in many ways; the signal is the reason for all.
	if sig, ok := errors.AsType[interrupted](context.Cause(ctx)); ok &&
		(errors.Is(err, context.Canceled) || errors.Is(err, runtime.ErrInterrupted)) {
		return sig.ExitCode()
	}
	if _, ok := errors.AsType[*runtime.Refusal](err); ok {
		return ExitRefused
	}
	if errors.Is(err, runtime.ErrHeld) {
		return ExitHeld
	}
	return ExitError
}

// interrupted is the cause of a context that a signal ended.
type interrupted struct{ sig syscall.Signal }

func (i interrupted) Error() string { return "interrupted by " + i.sig.String() }
func (i interrupted) ExitCode() int { return 128 + int(i.sig) }

// exit is the error of a verb that has already shown everything.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit %d", int(e)) }
func (e exit) ExitCode() int { return int(e) }

// usageError is a command line that cannot be understood.
type usageError struct {
	verb    string // the verb whose help tells more; empty is okstra itself
	message string
	remedy  string // what to do instead of reading help; may be empty
}

func (e *usageError) Error() string { return e.message }
func (e *usageError) ExitCode() int { return ExitUsage }

// usage makes a usageError; c may be nil.
func usage(c *command, format string, args ...any) error {
	e := &usageError{message: fmt.Sprintf(format, args...)}
	if c != nil {
		e.verb = c.name
	}
	return e
}

// remedied gives a usageError another remedy than to read help.
func remedied(err error, remedy string) error {
	if u, ok := errors.AsType[*usageError](err); ok {
		u.remedy = remedy
	}
	return err
}

// definitionError is a definition with errors in it.
type definitionError struct {
	diags hcl.Diagnostics
	files map[string]*hcl.File
}

// Error names each error of the definition with its place, where it has one.
func (e *definitionError) Error() string {
	var out []string
	for _, d := range e.diags {
		if d.Severity != hcl.DiagError {
			continue
		}
		text := d.Summary
		if d.Detail != "" {
			text += ": " + d.Detail
		}
		if d.Subject != nil {
			text = fmt.Sprintf("%s:%d: %s", d.Subject.Filename, d.Subject.Start.Line, text)
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}
func (e *definitionError) ExitCode() int { return ExitError }

// explain shows an error, once, here and nowhere else. It returns an error if
// it could not be shown.
func (s *session) explain(err error, code int) error {
	if _, ok := errors.AsType[exit](err); ok {
		return nil
	}
	if d, ok := errors.AsType[*definitionError](err); ok {
		return s.view.Diagnostics(d.diags, d.files)
	}
	p := view.Problem{Error: err.Error(), Exit: code}
	if u, ok := errors.AsType[*usageError](err); ok {
		p.Remedy = "See: okstra help"
		if u.verb != "" {
			p.Remedy += " " + u.verb
		}
		if u.remedy != "" {
			p.Remedy = u.remedy
		}
	}
	if r, ok := errors.AsType[*runtime.Refusal](err); ok {
		p.Moved, p.Remedy = r.Moved, r.Remedy
	}
	if code > 128 {
		// The person who pressed the key knows why; the verb has said the rest.
		return nil
	}
	return s.view.Problem(p)
}
