package plan

import (
	"fmt"
	"slices"
	"strings"
)

// mostChanges bounds what a difference lists; the plan itself holds everything.
const mostChanges = 8

// changes names, a line each, what differs between the plan that a run was last
// driven by and this one, for people: variables first, since a forgotten --var
// is the cheapest mistake with the dearest outcome.
func (d *differ) changes() []string {
	old, now := d.rec.Plan, d.plan
	if old == nil {
		return nil
	}
	var out []string
	was := map[string]Variable{}
	for _, v := range old.Variables {
		was[v.Name] = v
	}
	for _, v := range now.Variables {
		before, known := was[v.Name]
		switch {
		case !known:
			out = append(out, fmt.Sprintf("variable %s is new", v.Name))
		case v.Sensitive || before.Sensitive:
		case Digest(before.Value) != Digest(v.Value):
			out = append(out, fmt.Sprintf("variable %s is %v; it was %v", v.Name, shown(v.Value), shown(before.Value)))
		}
	}
	if !slices.Equal(old.Run.Fingerprint, now.Run.Fingerprint) {
		out = append(out, "the fingerprint changed")
	}
	for _, r := range now.Rounds {
		for _, w := range r.Workers {
			_, before := old.Worker(w.Key)
			switch {
			case before == nil:
				out = append(out, fmt.Sprintf("worker %s is new", w.Key))
			case before.Digests.Assignment != w.Digests.Assignment:
				out = append(out, fmt.Sprintf("worker %s changed (%s)", w.Key, differing(before, &w)))
			}
		}
		if b := old.Round(r.Name); b != nil && (Digest(b.Require) != Digest(r.Require) || Digest(b.Gate) != Digest(r.Gate) || Digest(b.Convergence) != Digest(r.Convergence) || !slices.Equal(b.After, r.After)) {
			out = append(out, fmt.Sprintf("round %s has other rules", r.Name))
		}
	}
	for _, r := range old.Rounds {
		for _, w := range r.Workers {
			if _, still := now.Worker(w.Key); still == nil {
				out = append(out, fmt.Sprintf("worker %s is no longer defined", w.Key))
			}
		}
	}
	if len(out) > mostChanges {
		out = append(out[:mostChanges], fmt.Sprintf("and %d more", len(out)-mostChanges))
	}
	return out
}

// shown is a value short enough for a line.
func shown(v any) string {
	s := strings.TrimSpace(fmt.Sprint(v))
	if len([]rune(s)) > 40 {
		s = string([]rune(s)[:40]) + "…"
	}
	if s == "" {
		return `""`
	}
	return s
}

// programNote tells that the program of a worker that is kept is another file
// by now. A program is no part of an assignment: okstra cannot know what a
// change of it means.
func (d *differ) programNote(w *Worker) string {
	if w.Program.Path == "" {
		return ""
	}
	was := d.rec.Workers[w.Key].ProgramPinned
	if was == nil && d.rec.Plan != nil {
		if _, old := d.rec.Plan.Worker(w.Key); old != nil {
			was = &old.Program
		}
	}
	if was == nil || was.Path == w.Program.Path && was.Size == w.Program.Size && was.ModTime == w.Program.ModTime {
		return ""
	}
	return "its program changed since; --replace does it again"
}
