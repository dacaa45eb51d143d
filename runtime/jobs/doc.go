// Package jobs owns jobs files, in which a lead names the workers of one batch,
// and the rules that every dispatch obeys whoever names the workers: phase
// order and the derivation of invocations and their files.
//
// Nothing is taken from a jobs file but which workers to start: every path,
// digest and name is derived again, by the same rules as for the roster, and
// an entry that differs is refused. The package starts nothing and writes
// nothing.
package jobs

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/lead"
)

// Refusal is a refused batch: nothing was started and nothing written. It has
// the shape of the runtime's refusals.
type Refusal struct {
	What   string   // one line
	Moved  []string // a line each: what is wrong, where, and what was expected
	Remedy string   // what to do instead
}

func (r *Refusal) Error() string { return r.What }

// Kind is a dispatch kind. The zero value is invalid.
type Kind string

const (
	KindInitial      Kind = "initial"       // first attempt in a work round
	KindRetry        Kind = "retry"         // any later attempt
	KindReportWriter Kind = "report-writer" // first attempt in the report-writer round
)

// KindReverify is the kind of the first attempt in convergence round n.
func KindReverify(n int) Kind { return Kind(paths.ReverifyBatch(n)) }

var reverifyKind = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^reverify-r([1-9][0-9]?)$`)
})

// Reverify returns the convergence round of a reverify kind, and false for
// another kind.
func (k Kind) Reverify() (n int, ok bool) {
	match := reverifyKind().FindStringSubmatch(string(k))
	if match == nil {
		return 0, false
	}
	n, err := strconv.Atoi(match[1])
	return n, err == nil
}

// KindOf is the kind of an attempt in a batch. No round of a definition is
// called as a batch of okstra's own.
func KindOf(batch string, attempt int) Kind {
	_, reverify := Kind(batch).Reverify()
	switch {
	case attempt > 1:
		return KindRetry
	case reverify, batch == paths.ReportWriterBatch:
		return Kind(batch)
	}
	return KindInitial
}

// ParseKind returns the kind of this name.
func ParseKind(name string) (Kind, error) {
	k := Kind(name)
	if _, ok := k.Reverify(); ok || k == KindInitial || k == KindRetry || k == KindReportWriter {
		return k, nil
	}
	return "", fmt.Errorf("no dispatch kind %q; it is initial, retry, reverify-r<N> or report-writer", name)
}

// CheckLead refuses a lead runtime or run name that is not the manifest's.
// Empty arguments were not given.
func CheckLead(m *lead.Manifest, leadRuntime, runName string) *Refusal {
	var moved []string
	if leadRuntime != "" && m.LeadRuntime != "" && leadRuntime != string(m.LeadRuntime) {
		moved = append(moved, fmt.Sprintf("lead runtime %q, but the run manifest says %q", leadRuntime, m.LeadRuntime))
	}
	if runName != "" && m.RunName != "" && runName != m.RunName {
		moved = append(moved, fmt.Sprintf("run name %q, but the run manifest says %q", runName, m.RunName))
	}
	if len(moved) == 0 {
		return nil
	}
	return &Refusal{
		What:   "this run has another " + strings.SplitN(moved[0], " \"", 2)[0],
		Moved:  moved,
		Remedy: "leave the option out, or start a new run: a run manifest never changes",
	}
}
