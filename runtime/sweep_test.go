package runtime

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/proc"
	"github.com/okstra/okstra/runtime/record"
	"github.com/okstra/okstra/runtime/sidecar"
)

// looking is a session with one attempt on its way, and the path of that
// attempt's sidecar.
func looking(t *testing.T, status plan.Status) (*session, *record.Dispatch, string) {
	t.Helper()
	run := paths.Run{Root: t.TempDir(), Task: plan.Task{Project: "p", Group: "g", ID: "i"}, TaskType: "t", Seq: 1}
	d := &record.Dispatch{InvocationRef: "r/d/x@r#1", WorkerKey: "r.d.x", ExecutionLabel: "x", Round: "r", Batch: "r", Attempt: 1, Status: status,
		PromptPath: "x.md", StatusPath: "x.md.status.json"}
	s, err := newSession(Env{Now: time.Now}, run, nil, &record.State{Allowance: 1, WorkerDispatches: []*record.Dispatch{d}}, &plan.Plan{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	path := filepath.Join(run.Root, d.StatusPath)
	s.live[path] = &flight{d: d}
	return s, d, path
}

// A retry that has waited out its backoff, and finds every place taken, is
// started when one ends; until then it wakes nobody.
func TestNextStartIsInTheFuture(t *testing.T) {
	now := time.Now()
	s, d, _ := looking(t, plan.StatusPlanned)
	for _, tt := range []struct {
		name  string
		after time.Duration
		wakes bool
	}{
		{"waits for a place", -time.Second, false},
		{"waits for a place since just now", 0, false},
		{"waits out its backoff", time.Nanosecond, true},
	} {
		at := now.Add(tt.after)
		d.RetryAfter = &at
		if got := s.nextStart("r", now) != nil; got != tt.wakes {
			t.Errorf("%s: wakes %v", tt.name, got)
		}
	}
}

// A sidecar that cannot be read is told of once, and the attempt stays on its
// way.
func TestUnreadableSidecarIsTold(t *testing.T) {
	s, d, path := looking(t, plan.StatusRunning)
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s.sweep()
	}
	if len(s.pending) != 1 || !strings.Contains(s.pending[0].Message, path) {
		t.Errorf("events %+v, want one that names %s", s.pending, path)
	}
	if d.Status != plan.StatusRunning || s.live[path] == nil {
		t.Errorf("the attempt is %s", d.Status)
	}
	delete(s.live, path)
}

// What a machine that was started anew ended is not said to have been killed.
func TestLostWithTheMachine(t *testing.T) {
	for _, anew := range []bool{false, true} {
		s, d, path := looking(t, plan.StatusRunning)
		st := &sidecar.Status{Claim: "none-carries-this", Supervisor: proc.Identity{PID: 1 << 30, StartTime: 1}, StartedAt: time.Now()}
		s.lost(path, s.live[path], sidecar.Judgement{Verdict: sidecar.Lost, Status: st, OtherBoot: anew})
		s.join()
		if d.Reason != plan.ReasonSupervisorLost || strings.Contains(d.Detail, "started anew") != anew {
			t.Errorf("another boot %v: %s, %q", anew, d.Reason, d.Detail)
		}
	}
}

// Findings that were changed after their worker had been settled are nothing to
// build on.
func TestArtifactIsWhatWasSettled(t *testing.T) {
	s, d, _ := looking(t, plan.StatusCompleted)
	path := filepath.Join(s.run.Root, "emit.json")
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.Artifacts = []sidecar.Artifact{{Name: "emit", Path: path, Digest: plan.DigestBytes([]byte("{}"))}}
	if b, err := s.artifact(d, "emit", path); err != nil || string(b) != "{}" {
		t.Errorf("as settled: %q, %v", b, err)
	}
	if err := os.WriteFile(path, []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	var refused *Refusal
	if _, err := s.artifact(d, "emit", path); !errors.As(err, &refused) || !strings.Contains(refused.What, d.WorkerKey) {
		t.Errorf("changed: %v", err)
	}
}

// A folder that cannot be read is not one without runs: its numbers would be
// given out again.
func TestLatestSeq(t *testing.T) {
	run := paths.Run{Root: t.TempDir(), Task: plan.Task{Project: "p", Group: "g", ID: "i"}, TaskType: "a-b"}
	if n, err := latestSeq(run); n != 0 || err != nil {
		t.Errorf("nothing recorded: %d, %v", n, err)
	}
	third := run
	third.Seq = 3
	for _, path := range []string{third.Manifest(), third.Manifest() + ".tmp"} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := latestSeq(run); n != 3 || err != nil {
		t.Errorf("a manifest without a state: %d, %v", n, err)
	}
	if n, err := latestState(run); n != 0 || err != nil {
		t.Errorf("its state: %d, %v", n, err)
	}
	if err := os.WriteFile(filepath.Dir(run.TeamState()), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := latestSeq(run); err == nil {
		t.Error("a folder that is a file passed for an empty one")
	}
}

// A judge is tried again in the convergence round that is open, never in one
// that a later round was built on.
func TestRetryBatch(t *testing.T) {
	s, d, _ := looking(t, plan.StatusError)
	w := &plan.Worker{Key: d.WorkerKey}
	work := &plan.Round{Name: "r", Kind: plan.RoundWork}
	if got, err := s.retryBatch(work, w); got != "r" || err != nil {
		t.Errorf("a work round: %q, %v", got, err)
	}
	judging := &plan.Round{Name: "r", Kind: plan.RoundReverify}
	s.state.Rounds = []*record.Round{{Name: "r", Convergence: []record.ConvergenceRound{{Number: 1, Batch: "reverify-r1"}}}}
	d.Batch = "reverify-r1"
	if got, err := s.retryBatch(judging, w); got != "reverify-r1" || err != nil {
		t.Errorf("the open round: %q, %v", got, err)
	}
	s.state.Rounds[0].Convergence = append(s.state.Rounds[0].Convergence, record.ConvergenceRound{Number: 2, Batch: "reverify-r2"})
	var refused *Refusal
	if _, err := s.retryBatch(judging, w); !errors.As(err, &refused) || !strings.Contains(refused.What, "reverify-r2") {
		t.Errorf("an earlier round: %v", err)
	}
	d.Superseded = "convergence starts anew"
	if got, err := s.retryBatch(judging, w); got != "reverify-r2" || err != nil {
		t.Errorf("set aside: %q, %v", got, err)
	}
}
