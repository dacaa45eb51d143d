package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/lead"
	"github.com/okstra/okstra/runtime/record"
)

// LeadEvent appends one of the lead's own events to a run's log. It takes no
// run lock: what an event means for the record (a forbidden action) is taken in
// by whoever drives the run next.
func LeadEvent(env Env, run paths.Run, e lead.Event) (lead.Event, error) {
	kind, known := lead.KindOf(e.Type)
	if err := e.Check(); err != nil {
		return e, &Refusal{What: err.Error()}
	}
	if !known || !kind.Lead {
		return e, &Refusal{What: fmt.Sprintf("events of type %s are okstra's own", e.Type), Remedy: "okstra event --help lists the lead's"}
	}
	if e.InvocationRef != "" {
		st, err := record.Load(run.TeamState())
		if err != nil {
			return e, err
		}
		d := st.Invocation(e.InvocationRef)
		if d == nil {
			return e, &Refusal{What: fmt.Sprintf("no invocation %q is recorded", e.InvocationRef), Remedy: "okstra status --json lists them"}
		}
		e.Round = d.Round
	}
	if e.Phase == "" {
		// It belongs to where the run is.
		events, err := lead.Read(run.Events())
		if err != nil {
			return e, err
		}
		e.Phase = lead.PhaseNow(events)
	}
	e.TS = env.Now()
	return e, lead.Append(run, e)
}

// violation is a forbidden action that the lead has reported.
type violation struct {
	d       *record.Dispatch
	message string
}

// reported are the violations that no runner has taken into the record yet.
func reported(run paths.Run, st *record.State) ([]violation, error) {
	events, err := lead.Read(run.Events())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []violation
	for _, e := range events {
		if e.Type != lead.ForbiddenAction {
			continue
		}
		d := st.Invocation(e.InvocationRef)
		if d == nil || !d.Status.Terminal() || d.Status == plan.StatusContractViolated || slices.ContainsFunc(out, func(v violation) bool { return v.d == d }) {
			continue
		}
		out = append(out, violation{d, e.Message})
	}
	return out, nil
}

// counts reports whether something was made from what a violator did: it was
// not set aside, and no later attempt took its place.
func (v violation) counts(st *record.State) bool {
	return v.d.Superseded == "" && !replaced(st, v.d)
}

// takeViolations marks the invocations of which the lead reported a forbidden
// action.
func (s *session) takeViolations() error {
	list, err := reported(s.run, s.state)
	if err != nil {
		return err
	}
	for _, v := range list {
		counts := v.counts(s.state)
		s.end(v.d, plan.StatusContractViolated, plan.ReasonForbiddenAction, v.message, nil)
		if counts {
			s.discount(v.d)
		}
	}
	return s.endOutdated()
}

// replaced reports whether a later attempt of the same batch took the place of
// an invocation.
func replaced(st *record.State, d *record.Dispatch) bool {
	return slices.ContainsFunc(st.InBatch(d.Batch), func(o *record.Dispatch) bool {
		return o.WorkerKey == d.WorkerKey && o.Attempt > d.Attempt && o.Status != plan.StatusPlanned && o.Status != plan.StatusNotRun
	})
}

// discount takes what a violator did out of the run, with everything that was
// made from it. A re-verification in which it judged starts anew.
func (s *session) discount(d *record.Dispatch) {
	r := s.plan.Round(d.Round)
	if r == nil {
		return // it is no longer defined: nothing was made from it
	}
	if rec := s.state.FindRound(d.Round); rec != nil {
		rec.Result = "" // it is weighed again
	}
	why := d.InvocationRef + " is contract-violated"
	if r.Kind == plan.RoundReverify {
		s.voidConvergence(r, "redo: "+why)
	}
	s.outdate(d.Round, why)
}

// endOutdated ends what still runs though nothing will be made from it.
func (s *session) endOutdated() error {
	for _, f := range s.live {
		if f.d.Superseded != "" {
			s.note(lead.Event{TS: s.env.Now(), Type: lead.Note, Round: f.d.Round, InvocationRef: f.d.InvocationRef, Message: f.d.ExecutionLabel + " is ended: " + strings.TrimPrefix(f.d.Superseded, "redo: ")})
		}
	}
	if err := s.commit(); err != nil {
		return err
	}
	return s.terminate(context.Background(), func(d *record.Dispatch) bool { return d.Superseded != "" })
}
