package runtime

import (
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
		f := <-s.messages
		s.running--
		f()
		if d.Reason != plan.ReasonSupervisorLost || strings.Contains(d.Detail, "started anew") != anew {
			t.Errorf("another boot %v: %s, %q", anew, d.Reason, d.Detail)
		}
	}
}
