package runtime_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime"
)

// announcing is a backend that also shows where a run stands: it keeps what it
// was told, or hangs.
type announcing struct {
	backends.Backend
	hang bool

	mu      sync.Mutex
	notices []backends.Notice
}

func (a *announcing) Announce(ctx context.Context, n backends.Notice) error {
	a.mu.Lock()
	a.notices = append(a.notices, n)
	a.mu.Unlock()
	if a.hang {
		<-ctx.Done()
	}
	return ctx.Err()
}

func (a *announcing) told() []backends.Notice {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]backends.Notice(nil), a.notices...)
}

// announced gives a rig such a backend.
func announced(r *rig) *announcing {
	a := &announcing{Backend: r.env.Backends["process"]}
	r.env.Backends["process"] = a
	return a
}

func last(t *testing.T, a *announcing) backends.Notice {
	t.Helper()
	told := a.told()
	if len(told) == 0 {
		t.Fatal("nothing was announced")
	}
	return told[len(told)-1]
}

func TestAnnounceRun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := announced(r)
	begun := time.Now()
	gate := &plan.Gate{Reason: "Read it first.", Choices: []string{}}
	p := func() *plan.Plan {
		return r.plan(
			plan.Round{Name: "one", Workers: []plan.Worker{r.worker("one", "ada", writeResult), r.worker("one", "bert", writeResult)}},
			plan.Round{Name: "two", Gate: gate, Workers: []plan.Worker{r.worker("two", "ada", writeResult)}},
		)
	}
	if out := r.apply(t.Context(), p()); out.Exit != 4 {
		t.Fatalf("exit %d: %s", out.Exit, out.Summary)
	}
	n := last(t, a)
	if !n.Alert || n.Ended || n.Run != "test@001" || n.Done != 2 || n.Total != 3 || !strings.Contains(n.Text, gate.Reason) {
		t.Errorf("a gate that waits is announced as %+v", n)
	}

	if _, err := runtime.Approve(t.Context(), r.env, runtime.Selector{ProjectRoot: r.root, Name: "test"}, "two", runtime.Answer{Approved: true, By: "test"}); err != nil {
		t.Fatal(err)
	}
	if out := r.apply(t.Context(), p()); out.Exit != 0 {
		t.Fatalf("exit %d: %s", out.Exit, out.Summary)
	}
	n = last(t, a)
	if !n.Alert || !n.Ended || n.Level != "success" || n.Done != 3 || n.Total != 3 {
		t.Errorf("the end is announced as %+v", n)
	}
	// Two sessions: the first and the last word of each, and one a second.
	if n, most := len(a.told()), 4+int(time.Since(begun)/time.Second); n > most {
		t.Errorf("%d announcements in %s", n, time.Since(begun))
	}
}

func TestAnnounceFailure(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := announced(r)
	out := r.apply(t.Context(), r.plan(plan.Round{Name: "one", Workers: []plan.Worker{r.worker("one", "ada", "exit 7")}}))
	if out.Exit != 3 {
		t.Fatalf("exit %d: %s", out.Exit, out.Summary)
	}
	if n := last(t, a); !n.Alert || n.Ended || n.Level != "error" || n.Done != 1 {
		t.Errorf("a failed round is announced as %+v", n)
	}
}

// A surface that cannot be told anything delays no run: it ends while the first
// word is still on its way, and waits for the last one but a moment.
func TestAnnounceHangs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := announced(r)
	a.hang = true
	out := r.apply(t.Context(), r.plan(
		plan.Round{Name: "one", Workers: []plan.Worker{r.worker("one", "ada", writeResult)}},
		plan.Round{Name: "two", Workers: []plan.Worker{r.worker("two", "ada", writeResult)}},
	))
	if out.Exit != 0 || out.State.Ended != "completed" {
		t.Fatalf("exit %d: %s", out.Exit, out.Summary)
	}
	if n := len(a.told()); n != 1 {
		t.Errorf("%d announcements were begun while the first one hung", n)
	}
	// The surface hangs for longer than this test may take: that apply came back
	// is the proof.
}
