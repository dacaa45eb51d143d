package runtime_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime"
)

// newGateSweep is a run with a retry in its first round and a gate before its
// second.
func newGateSweep(t *testing.T) *sweep {
	t.Helper()
	return newSweepOf(t, "process", func(r *rig) []plan.Round {
		ada := r.worker("one", "ada", noteStart+`[ "$OKSTRA_ATTEMPT" != 1 ] || exit 9; `+writeResult)
		ada.ExitCodes = map[string]plan.Reason{"9": plan.ReasonRateLimited}
		return []plan.Round{
			{Name: "one", Workers: []plan.Worker{ada, r.worker("one", "bert", noteStart+writeResult)}},
			{Name: "two", Gate: &plan.Gate{Reason: "Look first."}, Workers: []plan.Worker{r.worker("two", "ada", noteStart+writeResult)}},
		}
	})
}

// approve answers the gate.
func (s *sweep) approve(at string) {
	s.t.Helper()
	_, err := runtime.Approve(s.t.Context(), sweepEnv(s.root), runtime.Selector{ProjectRoot: s.root, Name: "test"}, "two", runtime.Answer{Approved: true, By: "a test"})
	if err != nil {
		s.t.Errorf("%s: approve: %v", at, err)
	}
}

// TestCrashWithRetryAndGate kills the runner at every state write, on both
// sides of a gate, and elsewhere around a retry. No crash may lose the retry,
// make another one, ask the gate twice or pass it unasked.
func TestCrashWithRetryAndGate(t *testing.T) {
	var points []string
	for n := 1; n <= 8; n++ {
		points = append(points, fmt.Sprintf("runner.state-written#%d", n))
	}
	for n := 1; n <= 3; n++ {
		points = append(points, fmt.Sprintf("runner.settled#%d", n))
	}
	points = append(points, "runner.intent-written#2", "runner.go-written#3", "runner.backend-started#2")
	for _, at := range points {
		t.Run("before/"+at, func(t *testing.T) {
			t.Parallel()
			s := newGateSweep(t)
			code := s.run("apply", at)
			s.crashed()
			if code == -1 {
				code = s.run("apply", "")
			}
			if code != 4 {
				t.Fatalf("%s: exit %d before the gate was answered", at, code)
			}
			s.gateKept(at)
			s.approve(at)
			s.finish(at)
			s.sameStarts(at)
		})
	}
	for n := 1; n <= 6; n++ {
		at := fmt.Sprintf("runner.state-written#%d", n)
		t.Run("after/"+at, func(t *testing.T) {
			t.Parallel()
			s := newGateSweep(t)
			if code := s.run("apply", ""); code != 4 {
				t.Fatalf("exit %d, not 4", code)
			}
			s.gateKept(at)
			s.approve(at)
			s.run("apply", at)
			s.finish(at)
			s.sameStarts(at)
		})
	}
}

// gateKept requires that nothing behind the gate ran.
func (s *sweep) gateKept(at string) {
	s.t.Helper()
	if found, err := filepath.Glob(filepath.Join(s.root, "starts.two.*")); err != nil || len(found) > 0 {
		s.t.Errorf("%s: the gate was passed unasked: %v %v", at, found, err)
	}
}

// sameStarts requires exactly the starts of an undisturbed run.
func (s *sweep) sameStarts(at string) {
	s.t.Helper()
	found, err := filepath.Glob(filepath.Join(s.root, "starts.*"))
	if err != nil {
		s.t.Fatal(err)
	}
	var names []string
	for _, f := range found {
		names = append(names, filepath.Base(f))
	}
	want := []string{"starts.one.do.ada.one.1", "starts.one.do.ada.one.2", "starts.one.do.bert.one.1", "starts.two.do.ada.two.1"}
	if !slices.Equal(names, want) {
		s.t.Errorf("%s: started %v, not %v", at, names, want)
	}
}

// TestCrashAtEndings kills the supervisor at the points that only some endings
// pass: a prompt on standard input, a limit with a worker that ignores TERM, a
// result from standard output.
func TestCrashAtEndings(t *testing.T) {
	for _, at := range notPassed {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			s := newSweepOf(t, "process", func(r *rig) []plan.Round {
				deaf := r.worker("one", "deaf", noteStart+`[ "$OKSTRA_ATTEMPT" != 1 ] || { trap "" TERM; while :; do sleep 1; done; }; `+writeResult)
				deaf.Limits.Idle, deaf.Limits.Grace = plan.Duration(200*time.Millisecond), plan.Duration(100*time.Millisecond)
				deaf.Retry.On = append(deaf.Retry.On, plan.ReasonIdleLimit)
				told := r.worker("one", "told", noteStart+`cat > told; echo done`)
				told.Prompt, told.Result = plan.PromptStdin, plan.ResultStdout
				return []plan.Round{
					{Name: "one", Workers: []plan.Worker{deaf, told}},
					{Name: "two", Workers: []plan.Worker{r.worker("two", "ada", noteStart+writeResult)}},
				}
			})
			if code := s.run("apply", at); code != 0 {
				t.Errorf("%s: the apply that lost a supervisor ended with %d", at, code)
			}
			if _, err := os.Stat(filepath.Join(s.root, "crashed")); err != nil {
				t.Fatalf("no supervisor passed %s", at)
			}
			s.finish(at)
		})
	}
}
