package lead

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime/record"
	"github.com/okstra/okstra/runtime/schema"
)

var when = time.Date(2026, 11, 30, 1, 2, 3, 0, time.FixedZone("x", 3600))

func note(serial int64, message string) Event {
	return Event{TS: when, Serial: serial, Type: Note, Message: message}
}

func settled(serial int64, ref string) Event {
	return Event{TS: when, Serial: serial, Type: WorkerSettled, Round: "write", InvocationRef: ref, Data: map[string]any{DataStatus: "timeout", DataReason: "wall-limit"}}
}

func messages(events []Event) []string {
	var out []string
	for _, e := range events {
		out = append(out, fmt.Sprintf("%d %s", e.Seq, e.Message))
	}
	return out
}

func TestAppendAndRead(t *testing.T) {
	run := runOf(t.TempDir())
	if events, err := Read(run.Events()); err != nil || events != nil {
		t.Errorf("a log that is not there: %v, %v", events, err)
	}
	if err := Append(run, note(1, "a"), note(1, "two\nlines\x1b[2J")); err != nil {
		t.Fatal(err)
	}
	if err := Append(run, note(0, "c")); err != nil {
		t.Fatal(err)
	}
	events, defects, err := Scan(run.Events())
	if err != nil || len(defects) > 0 {
		t.Fatal(err, defects)
	}
	if got := messages(events); !slices.Equal(got, []string{"1 a", "2 two lines [2J", "3 c"}) {
		t.Errorf("%q", got)
	}
	raw, err := os.ReadFile(run.Events())
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.SplitSeq(bytes.TrimSpace(raw), []byte("\n")) {
		if err := schema.Validate("event", line); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	info, err := os.Stat(run.Events())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestAppendRefusesWhatIsNotListed(t *testing.T) {
	run := runOf(t.TempDir())
	for name, e := range map[string]Event{
		"type": {Type: "mood"}, "phase": {Type: Note, Phase: "phase-9"}, "no worker": {Type: ForbiddenAction},
	} {
		if err := Append(run, note(1, "x"), e); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if _, err := os.Stat(run.Events()); err == nil {
		t.Error("something was written")
	}
}

func TestTornTail(t *testing.T) {
	whole, err := json.Marshal(Event{TS: when, Seq: 3, Serial: 9, Type: Note, Message: "whole"})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		tail string
		want []string
		torn bool // Scan says so before the repair
	}{
		{"nothing", "", []string{"1 a", "2 b", "3 next"}, false},
		{"half a line", `{"ts":"2026-11-30T01:02:03Z","seq":3,"ty`, []string{"1 a", "2 b", "3 next"}, true},
		{"a whole line without its end", string(whole), []string{"1 a", "2 b", "3 whole", "4 next"}, false},
		{"NUL bytes of a lost page", strings.Repeat("\x00", 40), []string{"1 a", "2 b", "3 next"}, true},
		{"a foreign line", "hello\n", []string{"1 a", "2 b", "3 next"}, false},
		{"a very long torn line", `{"message":"` + strings.Repeat("x", 100_000), []string{"1 a", "2 b", "3 next"}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			run := runOf(t.TempDir())
			if err := Append(run, note(1, "a"), note(2, "b")); err != nil {
				t.Fatal(err)
			}
			f, err := os.OpenFile(run.Events(), os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteString(tt.tail); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			_, defects, err := Scan(run.Events())
			if err != nil || slices.Contains(defects, "the last line is torn") != tt.torn {
				t.Errorf("before: %v, %v", defects, err)
			}
			if err := Append(run, note(5, "next")); err != nil {
				t.Fatal(err)
			}
			events, err := Read(run.Events())
			if err != nil {
				t.Fatal(err)
			}
			if got := messages(events); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestRepeats(t *testing.T) {
	run := runOf(t.TempDir())
	events := []Event{
		settled(4, "a@w#1"), settled(4, "a@w#1"), settled(4, "a@w#2"), settled(5, "a@w#1"),
		note(4, "x"), note(4, "y"), note(4, "x"), note(0, "lead"), note(0, "lead"),
	}
	if err := Append(run, events...); err != nil {
		t.Fatal(err)
	}
	got, err := Read(run.Events())
	if err != nil {
		t.Fatal(err)
	}
	var seqs []int64
	for _, e := range got {
		seqs = append(seqs, e.Seq)
	}
	if want := []int64{1, 3, 4, 5, 6, 8, 9}; !slices.Equal(seqs, want) {
		t.Errorf("kept %v, want %v", seqs, want)
	}
}

func TestScanFindsADroppedLine(t *testing.T) {
	run := runOf(t.TempDir())
	if err := Append(run, note(1, "a"), note(1, "b"), note(1, "c")); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(run.Events())
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(raw, []byte("\n"))
	if err := os.WriteFile(run.Events(), bytes.Join([][]byte{lines[0], lines[2]}, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	_, defects, err := Scan(run.Events())
	if err != nil || !slices.Equal(defects, []string{"line 2 has seq 3 where 2 follows"}) {
		t.Errorf("%v, %v", defects, err)
	}
}

func TestConcurrentAppends(t *testing.T) {
	run := runOf(t.TempDir())
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 20 {
				if err := Append(run, note(1, fmt.Sprintf("%d-%d", i, j)), note(1, fmt.Sprintf("%d-%d b", i, j))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	events, defects, err := Scan(run.Events())
	if err != nil || len(defects) > 0 || len(events) != 320 {
		t.Errorf("%d events, %v, %v", len(events), defects, err)
	}
}

func TestLines(t *testing.T) {
	e := settled(1, "write/do/ada@write#1")
	e.Phase, e.Message = PhaseAwait, "claude-executor\nis timeout"
	tests := []struct {
		event              Event
		progress, activity string
	}{
		{e, "PROGRESS: phase-5-await claude-executor is timeout", "ACTIVITY: write/do/ada@write#1 worker-settled timeout/wall-limit"},
		{Event{Type: LeadCheckpoint, Phase: PhaseIntake}, "PROGRESS: phase-1-intake reaching a checkpoint", ""},
		{Event{Type: RunEnded}, "PROGRESS: phase-7-close ending the run", ""},
		{Event{Type: ForbiddenAction, Phase: PhaseAwait, InvocationRef: "x@y#1", Message: "it pushed"}, "PROGRESS: phase-5-await it pushed", "ACTIVITY: x@y#1 forbidden-action"},
	}
	for _, tt := range tests {
		if got := ProgressLine(tt.event); got != tt.progress {
			t.Errorf("got %q, want %q", got, tt.progress)
		}
		if got := ActivityLine(tt.event); got != tt.activity {
			t.Errorf("got %q, want %q", got, tt.activity)
		}
	}
}

func TestTablesAreWhole(t *testing.T) {
	seen := map[EventType]bool{}
	for _, k := range EventTypes {
		if k.Description == "" || k.verb == "" || seen[k.Type] {
			t.Errorf("%s: no description, no verb, or twice", k.Type)
		}
		seen[k.Type] = true
		for _, kind := range []plan.RoundKind{"", plan.RoundWork, plan.RoundReverify, plan.RoundReportWriter} {
			if !ValidPhase(PhaseOf(k.Type, kind)) {
				t.Errorf("%s in %s has an unknown phase", k.Type, kind)
			}
		}
	}
	for _, p := range Phases {
		if p.Description == "" {
			t.Errorf("%s has no description", p.Phase)
		}
	}
}

func TestExpectedAndMissing(t *testing.T) {
	at := when
	st := &record.State{
		Run: "r", EndedAt: &at, Ended: "completed",
		Rounds: []*record.Round{{Name: "write", Batch: "write", BegunAt: &at}, {Name: "check", Approval: &record.Approval{Approved: true}}},
		WorkerDispatches: []*record.Dispatch{
			{InvocationRef: "a@write#1", Round: "write", Status: plan.StatusCompleted, StartedAt: &at},
			{InvocationRef: "b@check#1", Round: "check", Status: plan.StatusNotRun, Reason: plan.ReasonBudget},
			{InvocationRef: "c@check#1", Round: "check", Status: plan.StatusSpawning},
			{InvocationRef: "d@check#1", Round: "check", Status: plan.StatusPlanned},
		},
	}
	var got []string
	for _, e := range Expected(st, reviewPlan("/x")) {
		if err := e.Check(); err != nil {
			t.Error(err)
		}
		got = append(got, strings.TrimSpace(string(e.Type)+" "+e.Round+" "+e.InvocationRef))
	}
	want := []string{
		"run-created", "plan-applied", "round-begun write", "gate-approved check",
		"worker-dispatched write a@write#1", "worker-started write a@write#1", "worker-settled write a@write#1",
		"worker-settled check b@check#1", "worker-dispatched check c@check#1", "run-ended",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	have := Expected(st, nil)
	if left := Missing(slices.Delete(slices.Clone(have), 3, 4), have); len(left) != 1 || left[0].Type != GateApproved {
		t.Errorf("missing: %+v", left)
	}
}

func FuzzScan(f *testing.F) {
	f.Add([]byte(`{"ts":"2026-11-30T01:02:03Z","seq":1,"serial":1,"type":"note"}` + "\n"))
	f.Add([]byte("{\n\x00"))
	f.Fuzz(func(t *testing.T, log []byte) {
		run := runOf(t.TempDir())
		if err := Append(run, note(1, "first")); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(run.Events(), log, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Append(run, note(0, "last")); err != nil {
			t.Fatal(err)
		}
		events, err := Read(run.Events())
		if err != nil || len(events) == 0 || events[len(events)-1].Message != "last" {
			t.Fatalf("the appended event is not the last: %v, %v", events, err)
		}
	})
}
