package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/user"
	"slices"
	"strings"

	"github.com/okstra/okstra/cmd/okstra/view"
	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime"
	"github.com/okstra/okstra/runtime/record"
)

// asker asks a person at the terminal about gates. It is used for one run.
type asker struct {
	in   io.Reader
	view *view.View
	// status tells how the run stands, with its record; nil where that cannot be told.
	status func(ctx context.Context) (*runtime.RunStatus, *record.State)
	lines  chan string // closed at the end of the input; nil until first used
}

var _ runtime.Asker = (*asker)(nil)

// Ask returns ok false where the person went away or pressed Ctrl-D: the gate
// then stays closed and nothing was decided.
func (a *asker) Ask(ctx context.Context, round string, gate plan.Gate) (runtime.Answer, bool) {
	status, rec := a.status(ctx)
	a.view.Gate(round, gate, status, rec)
	question := "Go on? yes, no (which ends the run), or nothing to decide later: "
	if len(gate.Choices) > 0 {
		question = fmt.Sprintf("Choose %s, or no (which ends the run), or nothing to decide later: ", strings.Join(gate.Choices, ", "))
	}
	for {
		a.view.Note(question)
		reply, ok := a.line(ctx)
		if !ok || reply == "" {
			return runtime.Answer{}, false
		}
		if answer, understood := readAnswer(reply, gate.Choices); understood {
			answer.By = userName()
			return answer, true
		}
		a.view.Note("That is not one of the answers.")
	}
}

// readAnswer understands one reply to a gate.
func readAnswer(reply string, choices []string) (runtime.Answer, bool) {
	if slices.Contains(choices, reply) {
		return runtime.Answer{Approved: true, Choice: reply}, true
	}
	switch strings.ToLower(reply) {
	case "n", "no":
		return runtime.Answer{}, true
	case "y", "yes":
		if len(choices) == 0 {
			return runtime.Answer{Approved: true}, true
		}
	}
	return runtime.Answer{}, false
}

// line returns the next line of the input. A read from a terminal cannot be
// interrupted, so it is done beside, and an abandoned one is taken up by the
// next question.
func (a *asker) line(ctx context.Context) (string, bool) {
	if a.lines == nil {
		a.lines = make(chan string)
		go func() {
			defer close(a.lines)
			for scan := bufio.NewScanner(a.in); scan.Scan(); {
				a.lines <- strings.TrimSpace(scan.Text())
			}
		}()
	}
	select {
	case <-ctx.Done():
		return "", false
	case l, ok := <-a.lines:
		return l, ok
	}
}

// userName is who answers, for the record.
func userName() string {
	u, err := user.Current()
	if err != nil {
		return "unknown"
	}
	return u.Username
}
