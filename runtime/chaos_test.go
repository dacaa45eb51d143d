package runtime_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime"
	"github.com/okstra/okstra/runtime/proc"
	"github.com/okstra/okstra/runtime/sidecar"
)

// TestChaos drives a run while runners and supervisors are killed, runs are
// stopped and taken up, in an order and at instants that a seed chooses. At its
// end everything is completed, no attempt's worker was started twice, and
// nothing is left. OKSTRA_TEST_CHAOS=N tries N further seeds.
func TestChaos(t *testing.T) {
	seeds := 2
	if more, err := strconv.Atoi(os.Getenv("OKSTRA_TEST_CHAOS")); err == nil {
		seeds += more
	}
	for seed := range seeds {
		for _, backend := range []string{"process", "tmux"} {
			t.Run(fmt.Sprintf("%s/%d", backend, seed), func(t *testing.T) {
				t.Parallel()
				chaos(t, backend, uint64(seed))
			})
		}
	}
}

func chaos(t *testing.T, backend string, seed uint64) {
	const script = noteStart + `sleep 0.05; ` + writeResult
	s := newSweepOf(t, backend, func(r *rig) []plan.Round {
		round := func(name string, workers int) plan.Round {
			out := plan.Round{Name: name}
			for i := range workers {
				out.Workers = append(out.Workers, r.worker(name, fmt.Sprintf("w%d", i), script))
			}
			return out
		}
		return []plan.Round{round("one", 5), round("two", 3), round("three", 1)}
	})
	s.crashed() // no crash points here
	luck := rand.New(rand.NewPCG(seed, 7))
	instant := func() <-chan time.Time { return time.After(time.Duration(luck.IntN(400)) * time.Millisecond) }
	for range 8 {
		child := s.begin("apply", "")
		for range luck.IntN(3) {
			<-instant()
			s.killSupervisor(luck)
		}
		<-instant()
		what := luck.IntN(4)
		switch what {
		case 0, 1:
			s.must(child.Process.Kill())
		case 2:
			s.must(child.Process.Signal(syscall.SIGTERM))
		case 3:
			_, err := runtime.Stop(t.Context(), sweepEnv(s.root), runtime.Selector{ProjectRoot: s.root, Name: "test"}, nil)
			if err != nil && !errors.Is(err, runtime.ErrNotFound) {
				t.Errorf("stop: %v", err)
			}
			if err != nil {
				s.must(child.Process.Kill()) // there was no run yet to stop
			}
		}
		if what != 3 {
			s.end(child)
			continue
		}
		// An apply that came while stop held the run was refused, rightly.
		if err := child.Wait(); err != nil && child.ProcessState.ExitCode() == 1 && !strings.Contains(child.stderr.String(), "another okstra holds the run") {
			t.Errorf("%s: %s", child.what, child.stderr.String())
		}
	}
	at := fmt.Sprintf("seed %d on %s", seed, backend)
	for code := -1; code != 0; {
		if code = s.run("apply", ""); code != 0 && code != 3 {
			t.Fatalf("%s: exit %d\n%s", at, code, s.story())
		}
	}
	s.finish(at)
	if t.Failed() {
		t.Log(s.story())
	}
}

// must accepts that a process has ended by itself meanwhile.
func (s *sweep) must(err error) {
	s.t.Helper()
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.t.Error(err)
	}
}

// killSupervisor kills one of the run's supervisors that live now, if any.
func (s *sweep) killSupervisor(luck *rand.Rand) {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(s.root, ".okstra/tasks/p/g/t/runs/unknown/prompts/*/*.md.status.json"))
	if err != nil {
		s.t.Fatal(err)
	}
	var live []proc.Identity
	for _, f := range files {
		st, err := sidecar.Read(f)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			s.t.Errorf("read %s: %v", f, err)
			continue
		}
		if !st.Stage.Terminal() && st.Supervisor.Alive() {
			live = append(live, st.Supervisor)
		}
	}
	if len(live) > 0 {
		s.must(proc.Signal(live[luck.IntN(len(live))], syscall.SIGKILL))
	}
}
