package runtime

import (
	"fmt"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/record"
)

// stale refuses a saved plan where anything that it depends on has moved. It
// is judged once, under the lock, before anything is reconciled.
func stale(o ApplyOptions, p *plan.Plan, st *record.State, saved string, isNew bool) error {
	if st != nil && st.SavedPlanDigest == saved {
		return nil // this plan made or drove the run and was interrupted
	}
	var moved []string
	switch {
	case isNew:
	case st == nil:
		moved = append(moved, "the run is gone")
	case p.State.New:
		moved = append(moved, fmt.Sprintf("run %03d exists by now", p.State.Seq))
	case st.Lineage != p.State.Lineage:
		moved = append(moved, "the state is of another run than the one planned against")
	case st.Serial != p.State.Serial:
		moved = append(moved, fmt.Sprintf("the state is at serial %d; the plan was computed against %d", st.Serial, p.State.Serial))
	}
	if st != nil && !isNew {
		violations, err := reported(paths.Run{Root: p.ProjectRoot, Task: p.Run.Task, TaskType: p.Run.TaskType, Seq: p.State.Seq}, st)
		if err != nil {
			return err
		}
		for _, v := range violations {
			for _, a := range p.Difference.Workers {
				if a.Key == v.d.WorkerKey && a.Action == plan.ActionDone && v.counts(st) {
					moved = append(moved, "a forbidden action of "+v.d.InvocationRef+" was reported since")
				}
			}
		}
	}
	if o.Recheck != nil {
		now, err := o.Recheck()
		if err != nil {
			return &Refusal{What: "the plan is stale", Moved: append(moved, "the definition does not compile any more: "+err.Error()), Remedy: "make a new plan"}
		}
		moved = append(moved, differences(p, now)...)
	}
	if len(moved) == 0 {
		return nil
	}
	return &Refusal{What: "the plan is stale", Moved: moved, Remedy: "make a new plan with okstra plan --out, look at it, and apply that"}
}

// differences names what moved between a plan and the same definition compiled
// now.
func differences(old, now *plan.Plan) []string {
	var moved []string
	was := map[string]string{}
	for _, in := range old.Inputs {
		was[string(in.Kind)+" "+in.Path] = in.Digest
	}
	for _, in := range now.Inputs {
		key := string(in.Kind) + " " + in.Path
		digest, known := was[key]
		delete(was, key)
		switch {
		case !known:
			moved = append(moved, in.Path+" is read by now")
		case digest != in.Digest:
			moved = append(moved, in.Path+" changed")
		}
	}
	for _, in := range old.Inputs {
		if _, left := was[string(in.Kind)+" "+in.Path]; left {
			moved = append(moved, in.Path+" is not read any more")
		}
	}
	programs := map[string]plan.Program{}
	for _, r := range old.Rounds {
		for _, w := range r.Workers {
			programs[w.Key] = w.Program
		}
	}
	told := map[string]bool{}
	for _, r := range now.Rounds {
		for _, w := range r.Workers {
			before, known := programs[w.Key]
			if known && before != w.Program && !told[w.Program.Path] {
				told[w.Program.Path] = true
				if before.Path == w.Program.Path {
					moved = append(moved, fmt.Sprintf("the program %s changed", w.Program.Path))
				} else {
					moved = append(moved, fmt.Sprintf("the program is %s; it was %s", w.Program.Path, before.Path))
				}
			}
		}
	}
	if old.Observed.Git.Head != now.Observed.Git.Head {
		moved = append(moved, fmt.Sprintf("the git head is %s; it was %s", short(now.Observed.Git.Head), short(old.Observed.Git.Head)))
	}
	if len(moved) > 0 {
		return moved
	}
	if old.Identity() != now.Identity() {
		return []string{"the definition compiles to other work (variables or environment)"}
	}
	return edited(old, now)
}

// edited names what a plan file says that the definition does not compile to,
// though nothing that the plan depends on has moved: somebody has changed the
// file.
func edited(file, now *plan.Plan) []string {
	var out []string
	was, is := file.Run, now.Run
	// What comes of --after is looked up when a plan is compared with a record.
	was.After, was.AfterReport, is.After, is.AfterReport = "", "", "", ""
	if plan.Digest(was) != plan.Digest(is) {
		out = append(out, "the plan file was edited: its run is not what the definition compiles to")
	}
	for i := range file.Rounds {
		if i >= len(now.Rounds) || plan.Digest(file.Rounds[i]) != plan.Digest(now.Rounds[i]) {
			out = append(out, fmt.Sprintf("the plan file was edited: its round %s is not what the definition compiles to", file.Rounds[i].Name))
		}
	}
	if len(file.Rounds) < len(now.Rounds) {
		out = append(out, "the plan file was edited: rounds are missing")
	}
	return out
}

func short(s string) string {
	if s == "" {
		return "none"
	}
	return s[:min(12, len(s))]
}
