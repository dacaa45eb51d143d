package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// DiffOptions are what a person may ask of a difference.
type DiffOptions struct {
	New     bool     // start the next run number whatever is recorded
	Replace []string // worker keys or execution labels to redo
}

// Identity is the digest of everything that makes two plans mean the same
// work: workers with their assignments, the shape of the rounds and the
// fingerprint. A finished run is not touched while it stays the same.
func (p *Plan) Identity() string {
	type round struct {
		Name        string
		Kind        RoundKind
		After       []string
		Require     Require
		Gate        *Gate
		Convergence *Convergence
		Workers     map[string]string
	}
	rounds := make([]round, 0, len(p.Rounds))
	for _, r := range p.Rounds {
		workers := map[string]string{}
		for _, w := range r.Workers {
			workers[w.Key] = w.Digests.Assignment
		}
		rounds = append(rounds, round{r.Name, r.Kind, r.After, r.Require, r.Gate, r.Convergence, workers})
	}
	return Digest(struct {
		Rounds      []round
		Fingerprint []string
		TaskType    string
		After       string
		Lead        Lead
	}{rounds, p.Run.Fingerprint, p.Run.TaskType, p.Run.After, p.Run.Lead})
}

// Diff sets State, Difference and WorstCase of p against what is recorded. An
// unknown name in o.Replace is an error that lists the workers there are.
func Diff(p *Plan, rec *Recorded, o DiffOptions) error {
	replace, err := p.resolve(o.Replace)
	if err != nil {
		return err
	}
	p.Difference = Difference{Replace: slices.Sorted(maps.Keys(replace))}
	if p.Run.After == "" && rec.Exists && rec.Plan != nil && !o.New {
		// The run that goes on still reads that report.
		p.Run.After, p.Run.AfterReport = rec.Plan.Run.After, rec.Plan.Run.AfterReport
	}
	d := differ{plan: p, rec: rec, replace: replace, redone: map[string]bool{}}
	if rec.Exists && !o.New {
		p.Difference.Changed = d.changes()
	}
	d.choose(o)
	d.compare()
	var spent Spent
	if !d.fresh {
		spent = rec.Spent
	}
	p.WorstCase = p.worstCase(spent)
	p.Difference.Notes = append(p.Difference.Notes, p.shortOf(spent)...)
	return nil
}

// differ walks the rounds in order; redone remembers which rounds produce
// something new, so that what reads them is redone too.
type differ struct {
	plan    *Plan
	rec     *Recorded
	replace map[string]bool
	redone  map[string]bool
	fresh   bool // nothing recorded counts
}

// choose decides which run number the plan is for, and why.
func (d *differ) choose(o DiffOptions) {
	p, rec := d.plan, d.rec
	next := StateRef{Seq: rec.Latest + 1, New: true}
	same := rec.Exists && rec.Plan != nil && rec.Plan.Identity() == p.Identity()
	switch {
	case !rec.Exists:
		p.State, d.fresh = next, true
		p.Difference.Summary = fmt.Sprintf("Run %03d does not exist yet; apply starts it.", next.Seq)
	case o.New:
		p.State, d.fresh = next, true
		p.Difference.Summary = fmt.Sprintf("Run %03d stays as it is; --new starts run %03d.", rec.Seq, next.Seq)
	case rec.Ended != "" && same && len(d.replace) == 0:
		p.State = StateRef{Lineage: rec.Lineage, Serial: rec.Serial, Seq: rec.Seq}
		p.Difference.Finished = true
		p.Difference.Summary = fmt.Sprintf("Run %03d is finished (%s) and nothing changed. Nothing to do; --new starts run %03d.", rec.Seq, rec.Ended, next.Seq)
	case rec.Ended != "":
		p.State, d.fresh = next, true
		why := "the definition or its fingerprint changed"
		if len(p.Difference.Changed) > 0 {
			why = strings.Join(p.Difference.Changed, ", ")
		}
		if same {
			why = "--replace asks for work again"
		}
		p.Difference.Summary = fmt.Sprintf("Run %03d is finished (%s) and is kept; %s, so apply starts run %03d.", rec.Seq, rec.Ended, why, next.Seq)
	default:
		p.State = StateRef{Lineage: rec.Lineage, Serial: rec.Serial, Seq: rec.Seq}
		p.Difference.Summary = fmt.Sprintf("Run %03d is unfinished; apply goes on with it.", rec.Seq)
	}
}

func (d *differ) compare() {
	p := d.plan
	p.Difference.Rounds, p.Difference.Workers = []RoundAction{}, []WorkerAction{}
	var blocked, why string // the round that has to wait, with all after it
	for i := range p.Rounds {
		r := &p.Rounds[i]
		rec := d.rec.Rounds[r.Name]
		if d.fresh {
			rec = RecordedRound{}
		}
		upstream := d.upstream(r)
		action := RoundAction{Round: r.Name}
		waits := "waits for the gate of round " + r.Name
		if blocked == "" && !p.Difference.Finished && r.Gate != nil && (rec.Approval != "approved" || upstream != "") {
			action.Wait = "gate: " + r.Gate.Reason
			if rec.Approval == "denied" && upstream == "" {
				action.Wait, waits = "", "the gate of round "+r.Name+" was denied: it is not run"
				p.Difference.Denied = r.Name
			}
			blocked, why = r.Name, waits
		}
		any := false
		for j := range r.Workers {
			a := d.worker(r, &r.Workers[j], rec, upstream)
			if a.Action != ActionDone {
				any = true
			}
			// A redo of a worker that still runs ends it, behind a closed gate too.
			lives := a.Action == ActionRedo && d.rec.Workers[a.Key].Live && !d.fresh
			if blocked != "" && !lives && (a.Action == ActionDispatch || a.Action == ActionRedo || a.Action == ActionRetry) {
				a.Action, a.Attempt = ActionBlocked, 0
				a.Why = why
			}
			p.Difference.Workers = append(p.Difference.Workers, a)
		}
		if !any && blocked == r.Name {
			// A gate before work that is already done asks nobody.
			action.Wait, blocked, p.Difference.Denied = "", "", ""
		}
		if blocked == "" && any && r.Convergence != nil && r.Convergence.Enabled && r.Convergence.Source == "lead" {
			action.Wait = "the lead's round plan"
			blocked, why = r.Name, "waits for the lead's round plan of round "+r.Name
		}
		if any {
			d.redone[r.Name] = true
		}
		p.Difference.Rounds = append(p.Difference.Rounds, action)
	}
	d.dropped()
	d.pinned()
	if at := p.Difference.Denied; at != "" {
		p.Difference.Summary = fmt.Sprintf("Run %03d is unfinished; the gate of round %s was denied, so apply finishes it.", p.State.Seq, at)
	}
}

// pinned notes every project input that changed after a worker read it: that
// asks for no work, or an executor would be redone because of its own diff.
func (d *differ) pinned() {
	if d.plan.State.New {
		return
	}
	now := map[string]string{}
	for _, in := range d.plan.Inputs {
		if in.Kind == InputProject {
			now[in.Path] = in.Digest
		}
	}
	readers := map[string][]string{} // by note
	for _, a := range d.plan.Difference.Workers {
		if a.Action != ActionDone && a.Action != ActionAdopt {
			continue // it reads what is there now, or reads nothing any more
		}
		_, w := d.plan.Worker(a.Key)
		for _, was := range d.rec.Workers[a.Key].InputsPinned {
			digest, there := now[was.Path]
			switch {
			case digest == was.Digest || !slices.Contains(w.Inputs, was.Path):
			case there:
				readers[was.Path+" changed"] = append(readers[was.Path+" changed"], a.Key)
			default:
				readers[was.Path+" is gone"] = append(readers[was.Path+" is gone"], a.Key)
			}
		}
	}
	for _, what := range slices.Sorted(maps.Keys(readers)) {
		keys := readers[what]
		who := keys[0]
		if more := len(keys) - 1; more > 0 {
			who = fmt.Sprintf("%s and %d more", who, more)
		}
		d.plan.Difference.Notes = append(d.plan.Difference.Notes,
			fmt.Sprintf("%s since it was given to %s; that is no reason to do it again (--replace is)", what, who))
	}
}

// upstream says what makes a round outdated, empty where nothing does.
func (d *differ) upstream(r *Round) string {
	if d.fresh {
		return ""
	}
	for _, up := range d.plan.Reads(r) {
		switch {
		case d.redone[up]:
			return "round " + up + " is done again"
		case r.Kind == RoundReverify && d.lost(up):
			return "round " + up + " has lost a worker"
		}
	}
	return ""
}

// lost reports whether a recorded worker of a round is no longer defined.
func (d *differ) lost(round string) bool {
	for key := range d.rec.Workers {
		of, _, _ := strings.Cut(key, ".")
		if _, w := d.plan.Worker(key); w == nil && of == round {
			return true
		}
	}
	return false
}

// worker decides the action of one worker; the rules stand in contract
// section 3, first match wins.
func (d *differ) worker(r *Round, w *Worker, rec RecordedRound, upstream string) WorkerAction {
	a := WorkerAction{Key: w.Key, Round: r.Name, Action: ActionDispatch, Attempt: 1}
	old, known := d.rec.Workers[w.Key]
	if d.plan.Difference.Finished {
		a.Action, a.Attempt, a.Status = ActionDone, 0, old.Status
		switch old.Status {
		case StatusCompleted:
			a.Why = d.programNote(w)
		case "":
		default:
			a.Why = "kept as " + string(old.Status) + "/" + string(old.Reason)
		}
		return a
	}
	if d.fresh || !known {
		if !d.fresh && rec.Settled && upstream == "" && r.Kind == RoundReverify {
			a.Action, a.Attempt, a.Why = ActionDone, 0, "it was not asked"
		}
		return a
	}
	a.Status = old.Status
	a.Attempt = old.Attempt + 1
	changed := old.AssignmentDigest != w.Digests.Assignment
	switch {
	case d.replace[w.Key]:
		a.Action, a.Why = ActionRedo, "--replace"
	case rec.Settled && upstream == "" && !changed && old.Reason == ReasonConvergenceDisabled:
		a.Action, a.Attempt, a.Why = ActionDone, 0, "not run: "+string(old.Reason)
	case old.NeverRan:
		a.Action, a.Attempt, a.Why = ActionDispatch, old.Attempt, "recorded, but its worker never ran"
		if old.Status == StatusNotRun {
			a.Why = "not run before: " + string(old.Reason)
		}
	case old.Live && upstream != "":
		a.Action, a.Why = ActionRedo, "it still runs, but "+upstream+": it is ended first"
	case old.Live && changed:
		a.Action, a.Why = ActionRedo, "it still runs, but its assignment changed: it is ended first"
	case old.Live:
		a.Action, a.Attempt, a.Why = ActionAdopt, 0, "still running"
	case old.Unsettled && !changed && upstream == "":
		a.Action, a.Attempt, a.Why = ActionAdopt, 0, "it has ended; apply settles it"
	case changed:
		a.Action, a.Why = ActionRedo, "its assignment changed ("+d.what(w)+")"
	case upstream != "":
		a.Action, a.Why = ActionRedo, upstream
	case old.Status == StatusCompleted:
		a.Action, a.Attempt, a.Why = ActionDone, 0, d.programNote(w)
	case rec.Settled:
		a.Action, a.Attempt = ActionDone, 0
		a.Why = "kept as " + string(old.Status) + ": the round met its require without it"
	case slices.Contains(w.Retry.On, old.Reason) && old.Allowance < w.Retry.Attempts:
		a.Action, a.Why = ActionRetry, fmt.Sprintf("retry %d/%d after %s", old.Allowance+1, w.Retry.Attempts, old.Reason)
	default:
		a.Action, a.Why = ActionRedo, "failed before: "+string(old.Status)+"/"+string(old.Reason)
	}
	return a
}

// what names the parts of an assignment that moved, for people.
func (d *differ) what(w *Worker) string {
	if d.rec.Plan == nil {
		return "the recorded plan is not readable"
	}
	_, old := d.rec.Plan.Worker(w.Key)
	if old == nil {
		return "new in the definition"
	}
	return differing(old, w)
}

// differing names the parts in which two assignments of a worker differ.
func differing(old, w *Worker) string {
	var parts []string
	add := func(name string, a, b any) {
		if Digest(a) != Digest(b) {
			parts = append(parts, name)
		}
	}
	add("instructions", old.Instructions, w.Instructions)
	add("command", old.Argv, w.Argv)
	add("program", old.Program.Path, w.Program.Path)
	add("model", old.Model, w.Model)
	add("environment", [2]any{old.Env, old.UnsetEnv}, [2]any{w.Env, w.UnsetEnv})
	add("role", old.Role, w.Role)
	add("access", old.Access, w.Access)
	add("folder", old.Dir, w.Dir)
	add("inputs", old.Inputs, w.Inputs)
	add("outputs", old.Outputs, w.Outputs)
	add("emits", old.Emits, w.Emits)
	add("delivery", [3]any{old.Prompt, old.Result, old.Output}, [3]any{w.Prompt, w.Result, w.Output})
	if len(parts) == 0 {
		return "what it reads"
	}
	return strings.Join(parts, ", ")
}

func (d *differ) dropped() {
	if d.fresh || d.plan.Difference.Finished {
		return
	}
	var keys []string
	for key := range d.rec.Workers {
		if _, w := d.plan.Worker(key); w == nil {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		old := d.rec.Workers[key]
		why := "no longer defined: its record is kept"
		if old.Live {
			why = "no longer defined: it is ended, its record is kept"
		}
		round, _, _ := strings.Cut(key, ".")
		d.plan.Difference.Workers = append(d.plan.Difference.Workers, WorkerAction{Key: key, Round: round, Action: ActionDropped, Why: why, Status: old.Status})
	}
}

// resolve turns worker keys and execution labels into a set of keys.
func (p *Plan) resolve(names []string) (map[string]bool, error) {
	set := map[string]bool{}
	for _, name := range names {
		found := false
		for _, r := range p.Rounds {
			for _, w := range r.Workers {
				if w.Key == name || w.Label == name {
					set[w.Key], found = true, true
				}
			}
		}
		if !found {
			var known []string
			for _, r := range p.Rounds {
				for _, w := range r.Workers {
					known = append(known, w.Key)
				}
			}
			return nil, fmt.Errorf("run %s has no worker %q; there are %s", p.Run.Name, name, Some(NearestFirst(name, known)))
		}
	}
	return set, nil
}
