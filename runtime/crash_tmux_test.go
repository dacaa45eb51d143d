package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/okstra/okstra/lang/plan"
)

// killServer ends the sweep's private tmux server by the pid that it reports.
func (s *sweep) killServer() {
	s.t.Helper()
	sockets, err := filepath.Glob(filepath.Join(s.folder, "*.sock"))
	if err != nil || len(sockets) != 1 {
		s.t.Fatalf("sockets %v: %v", sockets, err)
	}
	out, err := exec.Command("tmux", "-S", sockets[0], "display-message", "-p", "#{pid}").Output()
	if err != nil {
		s.t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscanf(string(out), "%d", &pid); err != nil {
		s.t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		s.t.Fatal(err)
	}
}

// TestTmuxServerKilled kills the multiplexer's server under a run: while a
// supervisor waits at its gate, while workers run, and while finished panes are
// held. No verdict may come from that but the one that the sidecar tells.
func TestTmuxServerKilled(t *testing.T) {
	t.Run("at the gate", func(t *testing.T) {
		t.Parallel()
		s := newSweep(t, "tmux")
		if code := s.run("apply", "runner.init-seen"); code != -1 {
			t.Fatalf("exit %d", code)
		}
		s.killServer()
		s.finish("server killed at the gate")
	})
	t.Run("while running", func(t *testing.T) {
		t.Parallel()
		s := newSweep(t, "tmux")
		if code := s.run("apply", "runner.state-written#4"); code != -1 {
			t.Fatalf("exit %d", code)
		}
		s.killServer()
		s.finish("server killed while running")
	})
	t.Run("while holding", func(t *testing.T) {
		t.Parallel()
		s := newSweep(t, "tmux")
		if code := s.run("apply", ""); code != 0 {
			t.Fatalf("exit %d", code)
		}
		s.killServer()
		s.run("teardown", "")
		s.check("server killed while holding")
	})
}

// waitFor polls until a file that matches is there.
func (s *sweep) waitFor(pattern string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 60*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if found, err := filepath.Glob(filepath.Join(s.root, pattern)); err == nil && len(found) > 0 {
			return
		}
		select {
		case <-ctx.Done():
			s.t.Fatalf("nothing matches %s: %v", pattern, errors.Join(ctx.Err(), context.Cause(ctx)))
		case <-tick.C:
		}
	}
}

// goOn lets the workers of newWaitingSweep end.
func (s *sweep) goOn() {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.root, "go-on"), nil, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// newWaitingSweep is a run whose workers work until they are told to go on.
func newWaitingSweep(t *testing.T) *sweep {
	t.Helper()
	const script = noteStart + `until [ -e go-on ]; do sleep 0.02; done; ` + writeResult
	return newSweepOf(t, "tmux", func(r *rig) []plan.Round {
		return []plan.Round{
			{Name: "one", Workers: []plan.Worker{r.worker("one", "ada", script), r.worker("one", "bert", script)}},
			{Name: "two", Workers: []plan.Worker{r.worker("two", "ada", script)}},
		}
	})
}

// TestTmuxServerKilledAtWork kills the server while workers are in the middle
// of their work. They end with their panes, each as pane-lost; a runner that
// lives tries them again at once, on a new server, and a later one does so
// without counting.
func TestTmuxServerKilledAtWork(t *testing.T) {
	t.Run("with a runner", func(t *testing.T) {
		t.Parallel()
		s := newWaitingSweep(t)
		apply := s.begin("apply", "")
		s.waitFor("starts.one.do.ada.one.1")
		s.waitFor("starts.one.do.bert.one.1")
		s.killServer()
		s.waitFor("starts.one.do.ada.one.2")
		s.waitFor("starts.one.do.bert.one.2")
		s.goOn()
		if code := s.end(apply); code != 0 {
			t.Errorf("exit %d", code)
		}
		s.finish("server killed at work")
	})
	t.Run("without a runner", func(t *testing.T) {
		t.Parallel()
		s := newWaitingSweep(t)
		if code := s.run("apply", "runner.go-written#2"); code != -1 {
			t.Fatalf("exit %d", code)
		}
		s.waitFor("starts.one.do.*.one.1")
		s.killServer()
		s.goOn()
		s.finish("server killed at work, without a runner")
	})
}
