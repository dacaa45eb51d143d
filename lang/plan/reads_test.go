package plan

import (
	"slices"
	"strings"
	"testing"
)

// recordedWhole is a plan of an executor, its verifiers, who name nobody in
// after, and a report, with everything completed.
func recordedWhole() (*Plan, *Recorded) {
	one := func(round, role string, index int, after ...string) Round {
		key := round + ".do.ada"
		return Round{Name: round, Kind: RoundWork, Index: index, After: after, Workers: []Worker{{Key: key, Role: role, Digests: Digests{Assignment: key}}}}
	}
	p := &Plan{Run: Run{Name: "ship", TaskType: "implementation"}, Rounds: []Round{one("build", "executor", 0), one("check", "verifier", 1), one("report", "report-writer", 2, "check")}}
	rec := &Recorded{Exists: true, Seq: 1, Latest: 1, Plan: p, Workers: map[string]RecordedWorker{}, Rounds: map[string]RecordedRound{}}
	for _, r := range p.Rounds {
		w := r.Workers[0]
		rec.Workers[w.Key] = RecordedWorker{Status: StatusCompleted, AssignmentDigest: w.Digests.Assignment, Batch: r.Name, Attempt: 1}
		rec.Rounds[r.Name] = RecordedRound{Settled: true}
	}
	return p, rec
}

func actionsOf(t *testing.T, p *Plan, rec *Recorded, o DiffOptions) map[string]WorkerAction {
	t.Helper()
	now := *p
	if err := Diff(&now, rec, o); err != nil {
		t.Fatal(err)
	}
	out := map[string]WorkerAction{}
	for _, a := range now.Difference.Workers {
		out[a.Key] = a
	}
	return out
}

func TestReads(t *testing.T) {
	p, _ := recordedWhole()
	for i, want := range [][]string{nil, {"build"}, {"check"}} {
		if got := p.Reads(&p.Rounds[i]); !slices.Equal(got, want) {
			t.Errorf("%s reads %v, want %v", p.Rounds[i].Name, got, want)
		}
	}
	p.Run.TaskType = "unknown"
	if got := p.Reads(&p.Rounds[1]); len(got) != 0 {
		t.Errorf("in another task type it reads %v", got)
	}
}

func TestDiffRedoesWhatIsOutdated(t *testing.T) {
	p, rec := recordedWhole()
	for key, a := range actionsOf(t, p, rec, DiffOptions{}) {
		if a.Action != ActionDone {
			t.Errorf("%s: %s, though nothing changed", key, a.Action)
		}
	}
	got := actionsOf(t, p, rec, DiffOptions{Replace: []string{"build.do.ada"}})
	for _, key := range []string{"check.do.ada", "report.do.ada"} {
		if got[key].Action != ActionRedo {
			t.Errorf("%s: %+v, though the executor is done again", key, got[key])
		}
	}
	live := rec.Workers["check.do.ada"]
	live.Status, live.Live = StatusRunning, true
	rec.Workers["check.do.ada"] = live
	if a := actionsOf(t, p, rec, DiffOptions{Replace: []string{"build.do.ada"}})["check.do.ada"]; a.Action != ActionRedo || !strings.Contains(a.Why, "ended first") {
		t.Errorf("a verifier at work beside the executor: %+v", a)
	}
}

func TestDiffRedoesWhatJudgedALostWorker(t *testing.T) {
	p, rec := recordedWhole()
	p.Run.TaskType = "unknown"
	p.Rounds[1].Kind, p.Rounds[1].After = RoundReverify, []string{"build"}
	rec.Workers["build.do.bert"] = RecordedWorker{Status: StatusCompleted}
	if a := actionsOf(t, p, rec, DiffOptions{})["check.do.ada"]; a.Action != ActionRedo || a.Why != "round build has lost a worker" {
		t.Errorf("%+v", a)
	}
}
