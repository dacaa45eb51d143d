package record

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/okstra/okstra/lang/plan"
)

func sample(n int) *State {
	s := &State{SchemaVersion: SchemaVersion, Lineage: "abc", RunName: "r", Rounds: []*Round{}, LeadUsage: &plan.Usage{Source: plan.UsageUnavailable}}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i := range n {
		d := &Dispatch{InvocationRef: fmt.Sprintf("a/b/c%d@a#1", i), WorkerKey: fmt.Sprintf("a.b.c%d", i), Status: plan.StatusCompleted, CreatedAt: at, StartedAt: &at, FinishedAt: &at}
		s.WorkerDispatches = append(s.WorkerDispatches, d)
	}
	s.Project()
	return s
}

// TestSaveSeesEveryChange writes a state again after each change that can
// happen to an ended dispatch: what is kept encoded must never be stale.
func TestSaveSeesEveryChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	s := sample(3)
	var w Writer
	for name, change := range map[string]func(d *Dispatch){
		"nothing":    func(*Dispatch) {},
		"closed":     func(d *Dispatch) { d.Closed = true },
		"superseded": func(d *Dispatch) { d.Superseded = "redo" },
		"uncounted":  func(d *Dispatch) { d.Uncounted = true },
		"violated":   func(d *Dispatch) { d.Status, d.Reason = plan.StatusContractViolated, plan.ReasonForbiddenAction },
		"detail":     func(d *Dispatch) { d.Detail = "why" },
		"retry": func(d *Dispatch) {
			at := time.Date(2026, 1, 2, 3, 5, 0, 0, time.UTC)
			d.Status, d.RetryAfter = plan.StatusPlanned, &at
		},
		"waits longer": func(d *Dispatch) {
			at := time.Date(2026, 1, 2, 3, 6, 0, 0, time.UTC)
			d.Status, d.RetryAfter = plan.StatusPlanned, &at
		},
		"usage": func(d *Dispatch) {
			d.Status, d.Usage = plan.StatusCompleted, &plan.Usage{Source: "x"}
		},
		"paths": func(d *Dispatch) { d.CompletionPaths = []string{"a"} },
		"again": func(d *Dispatch) { *d = Dispatch{InvocationRef: d.InvocationRef, Status: plan.StatusPlanned} },
	} {
		change(s.WorkerDispatches[1])
		s.Project()
		serial := s.Serial
		if err := w.Save(path, s); err != nil {
			t.Fatal(err)
		}
		got, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s, got); diff != "" {
			t.Errorf("after %s:\n%s", name, diff)
		}
		if got.Serial != serial+1 {
			t.Errorf("after %s: serial %d after %d", name, got.Serial, serial)
		}
	}
}

// TestSaveFails keeps the serial where nothing was written.
func TestSaveFails(t *testing.T) {
	s := sample(1)
	var w Writer
	if err := w.Save(filepath.Join(t.TempDir(), "no", "such", "folder", "state.json"), s); err == nil || s.Serial != 0 {
		t.Errorf("error %v, serial %d", err, s.Serial)
	}
}

func BenchmarkSave(b *testing.B) {
	path := filepath.Join(b.TempDir(), "state.json")
	for _, n := range []int{10, 500} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := sample(n)
			var w Writer
			for b.Loop() {
				s.WorkerDispatches[0].Status = plan.StatusRunning
				s.Project()
				if err := w.Save(path, s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
