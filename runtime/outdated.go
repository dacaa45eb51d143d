package runtime

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime/converge"
	"github.com/okstra/okstra/runtime/lead"
)

// What is done again makes outdated what was made from it. It is one rule, of
// plan.Plan.Reads, for a difference, for a lead's retry and for a violation.

// outdated says of the rounds whose results are made of something that is done
// again, or is dropped, what that is. A re-verification is one whole: it starts
// anew where one of its judges does.
func (s *session) outdated() map[string]string {
	again, dropped := map[string]bool{}, map[string]bool{}
	for _, a := range s.plan.Difference.Workers {
		again[a.Round] = again[a.Round] || a.Action != plan.ActionDone && a.Action != plan.ActionDropped
		dropped[a.Round] = dropped[a.Round] || a.Action == plan.ActionDropped
	}
	out := map[string]string{}
	for i := range s.plan.Rounds {
		r := &s.plan.Rounds[i]
		for _, up := range s.plan.Reads(r) {
			switch {
			case again[up]:
				out[r.Name] = "round " + up + " is done again"
			case dropped[up] && r.Kind == plan.RoundReverify:
				out[r.Name] = "round " + up + " has lost a worker"
			}
		}
		for _, w := range r.Workers {
			if a := s.actions[w.Key]; r.Kind == plan.RoundReverify && a.Action == plan.ActionRedo && !strings.HasPrefix(a.Why, failedBefore) && out[r.Name] == "" {
				out[r.Name] = "a judge is asked again: " + a.Why
			}
		}
		if stuck := s.stuck(r); len(stuck) > 0 && out[r.Name] == "" {
			out[r.Name] = fmt.Sprintf("%s failed in it, and later rounds were built on that", stuck[0])
		}
		again[r.Name] = again[r.Name] || out[r.Name] != ""
	}
	return out
}

// stuck are the judges for whom a re-verification that has ended is unmet, and
// who cannot be asked again in it: a later round was built on the one in which
// they failed.
func (s *session) stuck(r *plan.Round) []string {
	if r.Kind != plan.RoundReverify || s.roundOf(r.Name) != "unmet" {
		return nil
	}
	if st, err := s.convergenceState(); err != nil || st == nil || st.Stage != converge.StageDone {
		return nil
	}
	var out []string
	for _, w := range r.Workers {
		d := s.state.Latest(w.Key)
		if ended(d) && d.Batch == s.openReverify(r) {
			return nil // it is tried again there first
		}
		if ended(d) {
			out = append(out, w.Key)
		}
	}
	return out
}

// outdate sets aside what was made from the results of a round that is done
// again. It is the rule of plan.Diff, which redoes every round behind one that
// it redoes, for whoever has a round done again without a difference.
func (s *session) outdate(name, why string) {
	again := map[string]bool{name: true}
	for i := range s.plan.Rounds {
		r := &s.plan.Rounds[i]
		if r.Name == name || !slices.ContainsFunc(s.plan.Reads(r), func(up string) bool { return again[up] }) {
			continue
		}
		again[r.Name] = true
		s.doAgain(r, why)
	}
}

// doAgain sets aside what a round came to: its results, its convergence and
// whether it met its require. What never ran is left to be started.
func (s *session) doAgain(r *plan.Round, why string) {
	if r.Kind == plan.RoundReverify {
		s.voidConvergence(r, "redo: "+why) // a lead's plan may lie there already
	}
	rec := s.state.FindRound(r.Name)
	if rec == nil {
		return
	}
	for _, d := range s.state.WorkerDispatches {
		if d.Round != r.Name || d.Superseded != "" || d.Status == plan.StatusPlanned || d.Status == plan.StatusNotRun {
			continue
		}
		d.Superseded = "redo: " + why
		s.unpin(d.WorkerKey)
		s.changed()
	}
	if rec.Result != "" {
		rec.Result = ""
		s.changed()
	}
}

// voidConvergence sets the plans, the judges' records and the state of a
// convergence aside, none of which counts any more.
func (s *session) voidConvergence(r *plan.Round, why string) {
	rec := s.state.Round(r.Name)
	begun := len(rec.Convergence) > 0 // else its judges were not asked, and may be now
	files := []string{s.run.Convergence()}
	for _, c := range rec.Convergence {
		files = append(files, s.run.RoundPlan(c.Number), s.run.ReverifyJobs(c.Number))
	}
	// The next one may lie there, written by the lead and not taken yet.
	files = append(files, s.run.RoundPlan(len(rec.Convergence)+1))
	for _, path := range files {
		delete(rec.Files, relative(s.run.Root, path))
	}
	// Not before the record no longer counts them: a crash between would leave
	// plans recorded that are not there.
	s.then(func() {
		for _, path := range files {
			if err := os.Rename(path, path+".void-"+token(4)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				s.note(lead.Event{TS: s.env.Now(), Type: lead.Note, Phase: lead.PhaseConvergence, Round: r.Name, Message: fmt.Sprintf("a void convergence could not be set aside: %v", err)})
			}
		}
	})
	for _, d := range s.state.WorkerDispatches {
		if begun && d.Round == r.Name && d.Superseded == "" {
			d.Superseded = why
		}
	}
	rec.Convergence, rec.Result = nil, ""
	s.changed()
}
