package runtime_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime"
	"github.com/okstra/okstra/runtime/record"
)

// TestOverlapping decides who else may have changed the tree while a worker
// ran from the second second to the fourth.
func TestOverlapping(t *testing.T) {
	base := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(seconds int) *time.Time {
		if seconds < 0 {
			return nil
		}
		when := base.Add(time.Duration(seconds) * time.Second)
		return &when
	}
	for name, tt := range map[string]struct {
		status            plan.Status
		started, finished int // -1: not yet
		suspect           bool
	}{
		"before":             {plan.StatusCompleted, 0, 1, false},
		"after":              {plan.StatusCompleted, 5, 6, false},
		"reaching in":        {plan.StatusCompleted, 1, 3, true},
		"reaching out":       {plan.StatusError, 3, 6, true},
		"within":             {plan.StatusCompleted, 3, 3, true},
		"around":             {plan.StatusCompleted, 1, 6, true},
		"still running":      {plan.StatusRunning, 1, -1, true},
		"started after":      {plan.StatusRunning, 5, -1, false},
		"handed over":        {plan.StatusSpawning, -1, -1, true},
		"not handed over":    {plan.StatusPlanned, -1, -1, false},
		"never run":          {plan.StatusNotRun, -1, 3, false},
		"not started at all": {plan.StatusError, -1, 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			run := paths.Run{Root: t.TempDir(), Task: plan.Task{Project: "p", Group: "g", ID: "t"}, TaskType: "unknown", Seq: 1}
			d := &record.Dispatch{WorkerKey: "one.look.ada", Tag: "a", Status: plan.StatusRunning, StartedAt: at(2), FinishedAt: at(4)}
			other := &record.Dispatch{WorkerKey: "one.look.bert", Tag: "b", Status: tt.status, StartedAt: at(tt.started), FinishedAt: at(tt.finished)}
			got := runtime.Overlapping(run, &record.State{WorkerDispatches: []*record.Dispatch{d, other}}, d)
			var want []string
			if tt.suspect {
				want = []string{run.Ref() + " one.look.bert"}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%v, not %v", got, want)
			}
		})
	}
}

// A run whose state cannot be read may have had workers at any time.
func TestOverlappingWithADamagedRun(t *testing.T) {
	run := paths.Run{Root: t.TempDir(), Task: plan.Task{Project: "p", Group: "g", ID: "t"}, TaskType: "unknown", Seq: 1}
	damaged := run
	damaged.Seq = 2
	if err := os.MkdirAll(filepath.Dir(damaged.TeamState()), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(damaged.TeamState(), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	d := &record.Dispatch{WorkerKey: "one.look.ada", Tag: "a", StartedAt: &now, FinishedAt: &now}
	got := runtime.Overlapping(run, &record.State{WorkerDispatches: []*record.Dispatch{d}}, d)
	if len(got) != 1 || !strings.HasPrefix(got[0], "unknown: ") || !strings.Contains(got[0], damaged.TeamState()) {
		t.Errorf("%q", got)
	}
}
