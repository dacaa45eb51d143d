package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/converge"
	"github.com/okstra/okstra/runtime/launch"
	"github.com/okstra/okstra/runtime/lead"
	"github.com/okstra/okstra/runtime/record"
)

// Results of a round in the record.
const (
	met   = "met"
	unmet = "unmet"
)

// rounds derives round results, gates, the end and the report.
func (v *verifier) rounds() {
	allMet := true
	for i := range v.plan.Rounds {
		r := &v.plan.Rounds[i]
		rec := v.state.FindRound(r.Name)
		if rec == nil || rec.Result != met {
			allMet = false
		}
		if rec == nil {
			continue
		}
		v.approval(r, rec)
		if rec.Result != "" && !(rec.Result == unmet && v.barred(r)) {
			v.compare("round "+r.Name, "result", rec.Result, v.result(r))
		}
		v.roundPlans(rec)
		v.handed(rec)
	}
	v.ended(allMet)
	v.report()
}

// result derives whether a round met its require.
func (v *verifier) result(r *plan.Round) string {
	if r.Kind == plan.RoundReverify {
		if ok, _, _ := converge.Result(r, v.conv, v.state.Outcome); !ok {
			return unmet
		}
		return met
	}
	completed := 0
	for _, w := range r.Workers {
		if d := v.state.Latest(w.Key); d != nil && d.Status == plan.StatusCompleted {
			completed++
		}
	}
	if completed < r.Require.Needed(len(r.Workers)) {
		return unmet
	}
	return met
}

// barred reports whether a round may be unmet whatever its workers did: it
// could not begin.
func (v *verifier) barred(r *plan.Round) bool {
	for _, name := range r.After {
		if before := v.state.FindRound(name); before == nil || before.Result != met {
			return true
		}
	}
	return v.skipped(r)
}

// handed holds the files that workers and lead were given against what the
// record says of them.
func (v *verifier) handed(rec *record.Round) {
	for _, path := range slices.Sorted(maps.Keys(rec.Files)) {
		found := ""
		if raw, err := os.ReadFile(v.abs(path)); err != nil {
			found = problem(err)
		} else {
			found = plan.DigestBytes(raw)
		}
		v.compare(path, "file of round "+rec.Name, rec.Files[path], found)
	}
}

// roundPlans holds the round plans that the record fixes against the files.
func (v *verifier) roundPlans(rec *record.Round) {
	for i, c := range rec.Convergence {
		subject := v.rel(v.run.RoundPlan(c.Number))
		switch {
		case v.conv == nil:
		case i < len(v.conv.Rounds):
			v.compare(subject, "round plan", c.PlanDigest, v.conv.Rounds[i].PlanDigest)
		default:
			if next := v.conv.Next(); i == len(v.conv.Rounds) && next != nil && next.Source != "lead" {
				v.compare(subject, "round plan", c.PlanDigest, next.Digest())
			}
		}
	}
}

// skipped reports whether some worker of a round was not run.
func (v *verifier) skipped(r *plan.Round) bool {
	for _, w := range r.Workers {
		if d := v.state.Latest(w.Key); d != nil && d.Status == plan.StatusNotRun {
			return true
		}
	}
	return false
}

// approval holds a gate's answer against its file, where it came by file.
func (v *verifier) approval(r *plan.Round, rec *record.Round) {
	raw, err := os.ReadFile(v.run.Approval(r.Name))
	if errors.Is(err, fs.ErrNotExist) || rec.Approval == nil {
		return
	}
	subject := v.rel(v.run.Approval(r.Name))
	if err != nil {
		v.add(subject, "approval", "readable", err.Error())
		return
	}
	var file struct {
		Approved bool   `json:"approved"`
		Choice   string `json:"choice"`
		Note     string `json:"note"`
		Seen     string `json:"resultsDigest"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		v.add(subject, "approval", "an approval", err.Error())
		return
	}
	v.compare(subject, "approved", rec.Approval.Approved, file.Approved)
	v.compare(subject, "choice", rec.Approval.Choice, file.Choice)
	v.compare(subject, "note", rec.Approval.Note, file.Note)
	v.compare(subject, "resultsDigest", rec.Approval.Seen, file.Seen)
}

// convergence replays the reverify round from findings, round plans and
// verdicts, and holds the state artifact against it.
func (v *verifier) convergence() *converge.State {
	if v.plan == nil {
		return nil
	}
	i := slices.IndexFunc(v.plan.Rounds, func(r plan.Round) bool { return r.Kind == plan.RoundReverify })
	if i < 0 {
		return nil
	}
	r := &v.plan.Rounds[i]
	subject := v.rel(v.run.Convergence())
	raw, err := os.ReadFile(v.run.Convergence())
	if err != nil {
		if rec := v.state.FindRound(r.Name); rec != nil && rec.Result == met || !errors.Is(err, fs.ErrNotExist) {
			v.add(subject, "convergence", "a convergence state", problem(err))
		}
		return nil
	}
	recorded, err := converge.ParseState(raw)
	if err != nil {
		v.add(subject, "convergence", "a convergence state", err.Error())
		return nil
	}
	derived, err := v.replay(r, len(recorded.Rounds))
	if err != nil {
		v.add(subject, "convergence", "what findings and verdicts give", err.Error())
		return recorded
	}
	if text(recorded) != text(derived) {
		v.compare(subject, "ended", string(recorded.Ended), string(derived.Ended))
		v.findings(subject, recorded, derived)
		v.compare(subject, "digest", plan.Digest(recorded), plan.Digest(derived))
	}
	return derived
}

func (v *verifier) findings(subject string, recorded, derived *converge.State) {
	byID := map[string]converge.FindingState{}
	for _, f := range recorded.Findings {
		byID[f.Finding] = f
	}
	for _, f := range derived.Findings {
		old, ok := byID[f.Finding]
		if !ok {
			v.add(subject, "finding "+f.Finding, "(nothing)", string(f.Outcome))
			continue
		}
		delete(byID, f.Finding)
		v.compare(subject, "finding "+f.Finding, string(old.Outcome), string(f.Outcome))
	}
	for id, f := range byID {
		v.add(subject, "finding "+id, string(f.Outcome), "no worker wrote it")
	}
}

func (v *verifier) replay(r *plan.Round, rounds int) (*converge.State, error) {
	in, err := converge.InputOf(v.run.Ref(), v.plan, r, v.emitted(""))
	if err != nil {
		return nil, err
	}
	var done []converge.Round
	for n := 1; n <= rounds; n++ {
		raw, err := os.ReadFile(v.run.RoundPlan(n))
		if err != nil {
			return nil, fmt.Errorf("round plan %d: %s", n, problem(err))
		}
		p, err := converge.ParseRoundPlan(raw)
		if err != nil {
			return nil, fmt.Errorf("round plan %d: %w", n, err)
		}
		answers, err := converge.AnswersTo(p, v.emitted(paths.ReverifyBatch(n)))
		if err != nil {
			return nil, fmt.Errorf("round %d: %w", n, err)
		}
		done = append(done, converge.Round{Plan: p, Answers: answers})
	}
	return converge.Replay(in, done)
}

// ended derives how the run ended.
func (v *verifier) ended(allMet bool) {
	if v.state.Ended == "" {
		return
	}
	found := "unfinished"
	switch {
	case v.blocked():
		found = "rejected"
	case v.denied():
		found = "denied"
	case allMet:
		found = "completed"
	}
	v.compare("run "+v.run.Ref(), "ended", v.state.Ended, found)
}

func (v *verifier) denied() bool {
	for _, r := range v.state.Rounds {
		if r.Approval != nil && !r.Approval.Approved {
			return true
		}
	}
	return false
}

func (v *verifier) blocked() bool {
	for _, r := range v.plan.Rounds {
		for _, w := range r.Workers {
			if w.Emits != plan.EmitsVerdict {
				continue
			}
			doc, ok, err := v.emitted("")(w.Key)
			if err != nil || !ok {
				continue // the artifact's own check says so
			}
			if verdict, err := converge.ParseWorkVerdict(doc); err == nil && verdict.Verdict == converge.Blocked {
				return true
			}
		}
	}
	return false
}

// report makes the final report again from the narrative and holds the file
// against it. The worker-result pointer is held against the narrative.
func (v *verifier) report() {
	for _, r := range v.plan.Rounds {
		if r.Kind != plan.RoundReportWriter || len(r.Workers) != 1 {
			continue
		}
		d := v.state.Latest(r.Workers[0].Key)
		rec := v.state.FindRound(r.Name)
		if d == nil || d.Status != plan.StatusCompleted || rec == nil || rec.Result == "" {
			continue
		}
		v.pointer(d)
		subject := v.rel(v.run.FinalReport())
		have, err := os.ReadFile(v.run.FinalReport())
		if err != nil {
			v.add(subject, "final report", "the round "+r.Name+" is "+rec.Result, problem(err))
			continue
		}
		text, _, err := v.rendered(d)
		if err != nil {
			v.add(subject, "final report", "what the record gives", err.Error())
			continue
		}
		v.compare(subject, "final report", plan.DigestBytes(have), plan.DigestBytes([]byte(text)))
	}
}

// rendered makes the final report from a report-writer's narrative.
func (v *verifier) rendered(d *record.Dispatch) (string, []string, error) {
	narrative, err := os.ReadFile(v.abs(d.ResultPath))
	if err != nil {
		return "", nil, err
	}
	facts, err := lead.ReportOf(v.run, v.plan, v.state, string(narrative), v.conv, v.emitted(""))
	if err != nil {
		return "", nil, err
	}
	text, problems := lead.RenderReport(facts)
	return text, problems, nil
}

// reportProblems are what speaks against a report whose worker completed.
func (v *verifier) reportProblems(d *record.Dispatch) []string {
	if v.plan == nil {
		return nil
	}
	_, problems, err := v.rendered(d)
	if err != nil {
		return nil // said by report, and by the artifacts' own checks
	}
	return problems
}

func (v *verifier) pointer(d *record.Dispatch) {
	narrative, err := os.ReadFile(v.abs(d.ResultPath))
	if err != nil {
		return // the artifact's own check says so
	}
	for _, a := range d.Artifacts {
		if a.Name != "pointer" {
			continue
		}
		raw, err := os.ReadFile(v.here(d, a.Path))
		if err != nil {
			return // the artifact's own check says so
		}
		p, err := launch.ParsePointer(string(raw))
		if err != nil {
			v.add(d.InvocationRef, "pointer", "a pointer to the narrative", err.Error())
			return
		}
		v.compare(d.InvocationRef, "narrative of the pointer", v.here(d, v.abs(p.Path)), v.abs(d.ResultPath))
		v.compare(d.InvocationRef, "digest of the pointer", p.Digest, plan.DigestBytes(narrative))
	}
}
