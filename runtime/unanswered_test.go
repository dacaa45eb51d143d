package runtime_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/backends/cmux"
	"github.com/okstra/okstra/backends/cmux/cmuxtest"
	"github.com/okstra/okstra/backends/tmux"
	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime"
)

// losing is a backend whose first call to start something loses its answer:
// lose makes that so, found undoes it.
type losing struct {
	backends.Backend
	lose, found func()
	first       []backends.Started // what it returned
}

func (l *losing) Start(ctx context.Context, launches []backends.Launch) []backends.Started {
	if l.first != nil {
		return l.Backend.Start(ctx, launches)
	}
	l.lose()
	defer l.found()
	l.first = l.Backend.Start(ctx, launches)
	return l.first
}

// cmuxRig is a rig whose lead sits in a cmux of its own.
func cmuxRig(t *testing.T, version string) (*rig, *cmuxtest.Server, *losing) {
	t.Helper()
	r := newRig(t)
	server, err := cmuxtest.New(cmuxtest.Options{Version: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	r.env.Environ = append(r.env.Environ, server.LeadEnv()...)
	l := &losing{
		Backend: cmux.New(cmux.Options{
			Getenv: cmuxtest.Getenv(server.LeadEnv()), ProjectRoot: r.root, Dir: filepath.Join(server.Dir(), "okstra"),
			TTY: "/dev/null", CallTimeout: 3 * time.Second, CloseWait: 300 * time.Millisecond,
		}),
		lose: func() {
			server.Set(func(f *cmuxtest.Faults) { f.Lose, f.ListLag = "surface.split", 1<<20 })
		},
		found: func() {
			server.Set(func(f *cmuxtest.Faults) { f.ListLag = 0 })
			for _, sf := range server.Surfaces() {
				server.Hide(sf.ID, 0)
			}
		},
	}
	r.env.Backends["cmux"] = l
	return r, server, l
}

// one is a plan of one worker on a backend.
func (r *rig) one(backend string) *plan.Plan {
	p := r.plan(plan.Round{Name: "one", Workers: []plan.Worker{r.worker("one", "ada", `echo x >> starts; `+writeResult)}})
	p.Run.Backend = []string{backend}
	return p
}

// completed requires that the run ended completed, after one start of its
// worker and so many invocations.
func (r *rig) completed(out *runtime.Outcome, attempts int) {
	r.t.Helper()
	if out.Exit != 0 || out.State.Ended != "completed" {
		r.t.Fatalf("exit %d: %s\n%s", out.Exit, out.Summary, strings.Join(r.log, "\n"))
	}
	if n := len(out.State.WorkerDispatches); n != attempts {
		r.t.Errorf("%d invocations, want %d\n%s", n, attempts, strings.Join(r.log, "\n"))
	}
	b, err := os.ReadFile(filepath.Join(r.root, "starts"))
	if err != nil || string(b) != "x\n" {
		r.t.Errorf("the worker's starts: %q, %v", b, err)
	}
}

func (r *rig) teardown() {
	r.t.Helper()
	report, err := runtime.Teardown(r.t.Context(), r.env, runtime.Selector{ProjectRoot: r.root, Name: "test"}, false)
	if err != nil || len(report.Left) > 0 {
		r.t.Errorf("teardown: %+v, %v", report, err)
	}
}

// The supervisor runs although nobody was told where: it says so itself.
func TestCmuxAnswerLost(t *testing.T) {
	t.Parallel()
	r, server, l := cmuxRig(t, "")
	out := r.apply(t.Context(), r.one("cmux"))
	if !errors.Is(l.first[0].Err, backends.ErrUnanswered) || l.first[0].Handle.Pane != "" {
		t.Fatalf("the answer was not lost: %+v", l.first[0])
	}
	r.completed(out, 1)
	surfaces := server.Surfaces()
	if d := out.State.WorkerDispatches[0]; len(surfaces) != 2 || d.PaneID != surfaces[1].ID || d.Handle.Pane != d.PaneID {
		t.Errorf("recorded is %q (%+v), there are %+v", d.PaneID, d.Handle, surfaces)
	}
	r.teardown()
	if n := len(server.Surfaces()); n != 1 {
		t.Errorf("%d surfaces after teardown", n)
	}
}

// Nothing was made: the attempt is given up after its start limit, and the next
// one does the work.
func TestCmuxRequestLost(t *testing.T) {
	t.Parallel()
	r, server, l := cmuxRig(t, "")
	l.lose = func() { server.Set(func(f *cmuxtest.Faults) { f.Drop = "surface.split" }) }
	p := r.one("cmux")
	p.Rounds[0].Workers[0].Limits.Start = plan.Duration(time.Second)
	out := r.apply(t.Context(), p)
	r.completed(out, 2)
	if d := out.State.WorkerDispatches[0]; d.Reason != plan.ReasonNotStarted || d.Handle == nil || !d.Closed {
		t.Errorf("the lost start is %s/%s, its handle %+v, closed %v", d.Status, d.Reason, d.Handle, d.Closed)
	}
	r.teardown()
}

// What was made and never began is found by its marker and closed before the
// same attempt is started again, by another runner.
func TestCmuxLeftoverIsClosedFirst(t *testing.T) {
	t.Parallel()
	r, server, l := cmuxRig(t, "")
	lose, found := l.lose, l.found
	ctx, cancel := context.WithCancel(t.Context())
	l.lose = func() { server.Set(func(f *cmuxtest.Faults) { f.Cold = true }); lose() }
	l.found = func() { server.Set(func(f *cmuxtest.Faults) { f.Cold = false }); found(); cancel() }
	out, err := runtime.Apply(ctx, r.env, runtime.ApplyOptions{Plan: r.one("cmux"), Progress: r})
	if !errors.Is(err, runtime.ErrInterrupted) {
		t.Fatalf("apply: %v", err)
	}
	if d := out.State.WorkerDispatches[0]; d.Handle == nil || d.Handle.Pane != "" || len(server.Surfaces()) != 2 {
		t.Fatalf("recorded is %+v, there are %+v", d.Handle, server.Surfaces())
	}
	cold := server.Surfaces()[1].ID
	r.completed(r.apply(t.Context(), r.one("cmux")), 1)
	if surfaces := server.Surfaces(); len(surfaces) != 2 || surfaces[1].ID == cold {
		t.Errorf("the cold surface was %s, there are %+v", cold, surfaces)
	}
	r.teardown()
}

// A surface was made, got no process, and could not be closed at first: it is
// closed before another attempt does the work.
func TestCmuxHalfMade(t *testing.T) {
	t.Parallel()
	r, server, l := cmuxRig(t, "0.64.3")
	l.lose = func() {
		server.Set(func(f *cmuxtest.Faults) { f.Fail, f.CloseIgnored = "surface.respawn", 2 })
	}
	l.found = func() { server.Set(func(f *cmuxtest.Faults) { f.Fail = "" }) }
	out := r.apply(t.Context(), r.one("cmux"))
	if h := l.first[0].Handle; l.first[0].Err == nil || h.Pane == "" {
		t.Fatalf("nothing was half made: %+v", l.first[0])
	}
	r.completed(out, 2)
	if d := out.State.WorkerDispatches[0]; d.Reason != plan.ReasonNotStarted || !d.Closed {
		t.Errorf("the half-made start is %s/%s, closed %v", d.Status, d.Reason, d.Closed)
	}
	if n := len(server.Surfaces()); n != 2 {
		t.Errorf("%d surfaces, want the lead's and one", n)
	}
	r.teardown()
}

// tmux makes the pane, and neither says so nor answers until the call is over.
func TestTmuxAnswerLost(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("tmux")
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t)
	folder, err := os.MkdirTemp("/tmp", "oku")
	if err != nil {
		t.Fatal(err)
	}
	s := &sweep{t: t, root: r.root, folder: folder}
	t.Cleanup(s.clean)
	deaf := filepath.Join(folder, "deaf")
	script := filepath.Join(folder, "tmux")
	text := "#!/bin/sh\nif [ -e " + deaf + " ]; then exec sleep 60; fi\n" +
		`case "$*" in *split-windo*|*new-windo*|*new-sessio*) if [ ! -e ` + folder + "/once ]; then\n" +
		": >" + folder + "/once; " + program + ` "$@" >/dev/null; : >` + deaf + "; exit 1\nfi;; esac\nexec " + program + " \"$@\"\n"
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	var environ []string
	for _, kv := range r.env.Environ {
		if !strings.HasPrefix(kv, "TMUX") {
			environ = append(environ, kv)
		}
	}
	l := &losing{
		Backend: tmux.New(tmux.Options{ProjectRoot: r.root, Environ: environ, Folder: folder, Tmux: script, CallTimeout: 2 * time.Second}),
		lose:    func() {},
		found: func() {
			if err := os.Remove(deaf); err != nil {
				t.Error(err)
			}
		},
	}
	r.env.Backends["tmux"] = l
	out := r.apply(t.Context(), r.one("tmux"))
	if !errors.Is(l.first[0].Err, backends.ErrUnanswered) {
		t.Fatalf("the answer was not lost: %+v", l.first[0])
	}
	r.completed(out, 1)
	if d := out.State.WorkerDispatches[0]; d.PaneID == "" || d.Handle == nil || d.Handle.Pane != d.PaneID {
		t.Errorf("recorded is %q (%+v)", d.PaneID, d.Handle)
	}
	r.teardown()
	if left, _ := filepath.Glob(filepath.Join(folder, "*.sock")); len(left) > 0 {
		t.Errorf("teardown left %v", left)
	}
}
