package runtime

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/jobs"
	"github.com/okstra/okstra/runtime/lead"
	"github.com/okstra/okstra/runtime/record"
)

// carryOut brings every round of the plan to its end, in order, as far as
// gates, limits and failures let it.
func (s *session) carryOut(ctx context.Context) (*Outcome, error) {
	if err := s.settleDifference(ctx); err != nil {
		return nil, err
	}
	for i := range s.plan.Rounds {
		r := &s.plan.Rounds[i]
		if interruptible(ctx) != nil {
			err := s.detach(ctx)
			return s.detached(err), err
		}
		if why := s.barred(r); why != plan.ReasonNone {
			s.skip(r, why)
			continue
		}
		if !s.pendingWork(r) {
			if err := s.finishRound(r); err != nil {
				return nil, err
			}
			continue
		}
		out, err := s.carryOutRound(ctx, r)
		if out != nil || err != nil {
			return out, err
		}
	}
	return s.finish()
}

// carryOutRound brings one round to its end. An outcome means that the run
// cannot go on for now.
func (s *session) carryOutRound(ctx context.Context, r *plan.Round) (*Outcome, error) {
	if !s.passed(r) {
		// Who was started before the gate was put there, or became void, is
		// brought to its end; nobody else begins.
		if err := s.settleAll(ctx, func(d *record.Dispatch) bool { return d.Round == r.Name }); err != nil {
			return s.detached(err), err
		}
	}
	switch pass, err := s.gate(ctx, r); {
	case err != nil:
		return s.detached(err), err
	case pass == gateWaits && s.stopping:
		s.skip(r, plan.ReasonStopped)
		return nil, nil
	case pass == gateWaits:
		return s.waitsForApproval(r), nil
	case pass == gateDenied:
		return s.deny(r)
	}
	if s.held(r) {
		// What the gate held back is weighed now that it is open.
		if err := s.settleDifference(ctx); err != nil {
			return nil, err
		}
	}
	var err error
	if r.Kind == plan.RoundReverify {
		var out *Outcome
		if out, err = s.converge(ctx, r); out != nil {
			return out, err
		}
	} else {
		err = s.runBatch(ctx, r, paths.FirstBatch(r))
	}
	if err != nil {
		return s.detached(err), err
	}
	return nil, s.finishRound(r)
}

// passed reports whether a round has no gate, or one that was answered.
func (s *session) passed(r *plan.Round) bool {
	rec := s.state.FindRound(r.Name)
	return r.Gate == nil || rec != nil && rec.Approval != nil && approvalState(s.run, s.plan, s.state, rec) == "approved"
}

// held reports whether the difference had to leave something of a round behind
// its gate.
func (s *session) held(r *plan.Round) bool {
	return slices.ContainsFunc(r.Workers, func(w plan.Worker) bool { return s.actions[w.Key].Action == plan.ActionBlocked })
}

// waitsForApproval is the outcome of a gate that nobody has answered yet.
func (s *session) waitsForApproval(r *plan.Round) *Outcome {
	out := s.outcome(4, fmt.Sprintf("Round %s waits for an approval: %s", r.Name, asked(r, s.rejected)), s.next().answers(r)...)
	out.Waiting = "approval of round " + r.Name
	return out
}

// settleDifference computes what is to be done now that the record is up to
// date, ends what still runs but is wanted no more, and marks what no longer
// counts.
func (s *session) settleDifference(ctx context.Context) error {
	if err := s.compare(); err != nil {
		return err
	}
	outdated := s.outdated()
	unwanted := func(d *record.Dispatch) bool {
		a, known := s.actions[d.WorkerKey]
		return !known || a.Action == plan.ActionRedo || a.Action == plan.ActionDropped || outdated[d.Round] != ""
	}
	for _, f := range s.live {
		if unwanted(f.d) {
			why := "it is no longer defined"
			switch a, known := s.actions[f.d.WorkerKey]; {
			case outdated[f.d.Round] != "":
				why = outdated[f.d.Round]
			case known:
				why = a.Why
			}
			s.note(lead.Event{TS: s.env.Now(), Type: lead.Note, Round: f.d.Round, InvocationRef: f.d.InvocationRef, Message: f.d.ExecutionLabel + " is ended: " + why})
		}
	}
	if err := s.tellRedos(); err != nil {
		return err
	}
	if err := s.terminate(ctx, unwanted); err != nil {
		return err
	}
	stale := false // the difference kept something that is set aside here
	for i := range s.plan.Rounds {
		r := &s.plan.Rounds[i]
		why := outdated[r.Name]
		if why == "" {
			continue
		}
		s.doAgain(r, why)
		for _, w := range r.Workers {
			a := s.actions[w.Key].Action
			stale = stale || a == plan.ActionDone || a == plan.ActionAdopt
		}
	}
	for _, d := range s.state.WorkerDispatches {
		a, known := s.actions[d.WorkerKey]
		switch {
		case d.Superseded != "" || !unwanted(d):
		case !known || a.Action == plan.ActionDropped:
			d.Superseded = "dropped"
			s.unpin(d.WorkerKey)
			s.changed()
		case a.Action == plan.ActionRedo && !strings.HasPrefix(a.Why, failedBefore):
			d.Superseded = "redo: " + a.Why
			s.unpin(d.WorkerKey)
			s.changed()
		}
	}
	if stale {
		if err := s.compare(); err != nil {
			return err
		}
	}
	return s.commit()
}

// compare sets the actions by the difference between plan and record.
func (s *session) compare() error {
	rec, err := observe(s.run, s.state)
	if err != nil {
		return err
	}
	// The run may be finished in the record by now; what is left to do is then
	// nothing, round by round.
	rec.Ended = ""
	for _, f := range s.live {
		// What this session has taken up is on its way until it is settled here,
		// even if it has ended since it was judged.
		w := rec.Workers[f.d.WorkerKey]
		w.Live, w.NeverRan = true, false
		rec.Workers[f.d.WorkerKey] = w
	}
	if err := plan.Diff(s.plan, rec, plan.DiffOptions{Replace: s.replace}); err != nil {
		return err
	}
	s.actions = map[string]plan.WorkerAction{}
	for _, a := range s.plan.Difference.Workers {
		s.actions[a.Key] = a
	}
	return nil
}

// tellRedos says which completed work is done again, and what made it so.
func (s *session) tellRedos() error {
	for _, change := range s.plan.Difference.Changed {
		s.note(lead.Event{TS: s.env.Now(), Type: lead.Note, Message: "since the last apply: " + change})
	}
	for _, a := range s.plan.Difference.Workers {
		if d := s.state.Latest(a.Key); a.Action == plan.ActionRedo && d != nil && d.Status == plan.StatusCompleted {
			s.note(lead.Event{TS: s.env.Now(), Type: lead.Note, Round: d.Round, InvocationRef: d.InvocationRef, Message: d.ExecutionLabel + " had completed and is done again: " + a.Why})
		}
	}
	return s.commit()
}

// failedBefore begins the reason of a redo that repeats a failure, whose
// records go on counting as history.
const failedBefore = "failed before"

// pendingWork reports whether a round still has something to do. Between two
// convergence rounds every judge has answered, and yet they may be asked again.
func (s *session) pendingWork(r *plan.Round) bool {
	if r.Kind == plan.RoundReverify && s.roundOf(r.Name) != "met" {
		return true
	}
	for _, w := range r.Workers {
		if a := s.actions[w.Key]; a.Action != plan.ActionDone {
			return true
		}
	}
	return false
}

// barred says why a round cannot begin, with the reason for its workers.
func (s *session) barred(r *plan.Round) plan.Reason {
	switch {
	case s.stopping:
		return plan.ReasonStopped
	case s.exhausted:
		return plan.ReasonBudget
	case s.rejected != "" && r.Kind != plan.RoundReportWriter:
		return plan.ReasonNotNeeded
	case s.rejected != "":
		return plan.ReasonNone
	}
	for _, name := range r.After {
		if up := s.state.FindRound(name); up == nil || up.Result != "met" {
			return plan.ReasonUpstreamFailed
		}
	}
	if len(jobs.Unexecuted(s.plan, r, s.state.WorkerDispatches)) > 0 {
		return plan.ReasonUpstreamFailed
	}
	return plan.ReasonNone
}

// skip records that the workers of a round are not run, and why. It reports
// whether there were any: a round whose workers all ran before a verdict made
// it needless keeps what it came to.
func (s *session) skip(r *plan.Round, why plan.Reason) bool {
	batch := paths.FirstBatch(r)
	left := false
	for i := range r.Workers {
		w := &r.Workers[i]
		d := s.state.Latest(w.Key)
		switch {
		case d == nil:
			d = s.enlist(&job{round: r, worker: w, batch: batch}, s.nextAttempt(w.Key, batch), s.state.Allowance, nil)
		case d.Status != plan.StatusPlanned && d.Status != plan.StatusNotRun:
			continue // what ran keeps its record
		}
		left = true
		if d.Status == plan.StatusNotRun && d.Reason == why {
			continue
		}
		s.fail(d, why, "")
	}
	if left || why != plan.ReasonNotNeeded {
		s.state.Round(r.Name).Result = "unmet"
		s.changed()
	}
	return left
}

// nextAttempt is the first attempt number of a worker in a batch that no
// record has.
func (s *session) nextAttempt(key, batch string) int {
	n := 0
	for _, d := range s.state.WorkerDispatches {
		if d.WorkerKey == key && d.Batch == batch {
			n = max(n, d.Attempt)
		}
	}
	return n + 1
}

// runBatch runs the workers of a round as one batch.
func (s *session) runBatch(ctx context.Context, r *plan.Round, batch string) error {
	s.work = batchWork{}
	for i := range r.Workers {
		s.work[r.Workers[i].Key] = &job{round: r, worker: &r.Workers[i], batch: batch}
	}
	if err := s.beginBatch(r, batch); err != nil {
		return err
	}
	for i := range r.Workers {
		s.enlistFor(s.work[r.Workers[i].Key])
	}
	if r.Kind == plan.RoundReportWriter {
		if err := s.writeJobs(r, s.run.ReportWriterJobs(), jobs.KindReportWriter, batch); err != nil {
			return err
		}
	}
	if err := s.drive(ctx, batch, s.work, nil); err != nil {
		return err
	}
	s.work = nil
	return s.giveUpPlanned(batch)
}

// beginBatch reclaims the screens of earlier batches and writes what this one
// is given.
func (s *session) beginBatch(r *plan.Round, batch string) error {
	if err := s.reclaim(batch); err != nil {
		return err
	}
	if err := s.writeInputs(r, batch); err != nil {
		return err
	}
	rec := s.state.Round(r.Name)
	rec.Batch = batch
	rec.Result = ""
	if rec.BegunAt == nil {
		now := s.env.Now()
		rec.BegunAt = &now
	}
	s.note(lead.Event{TS: s.env.Now(), Type: lead.RoundBegun, Phase: lead.PhaseOf(lead.RoundBegun, r.Kind), Round: r.Name, Message: lead.Beginning(r.Name, batch)})
	return nil
}

// enlistFor records the invocation that a worker's action asks for.
func (s *session) enlistFor(j *job) {
	a := s.actions[j.worker.Key]
	latest := s.state.Latest(j.worker.Key)
	switch a.Action {
	case plan.ActionDone, plan.ActionAdopt:
	case plan.ActionRetry:
		s.enlist(j, latest.Attempt+1, latest.Allowance, nil)
	default:
		if latest != nil && !latest.Status.Terminal() && latest.Status != plan.StatusPlanned {
			return // it is on its way: nothing is started beside it
		}
		if latest != nil && latest.Batch == j.batch && (latest.Status == plan.StatusPlanned || latest.Status == plan.StatusNotRun) {
			if a.Action == plan.ActionRedo {
				latest.RetryAfter = nil // somebody asked for it now
			}
			s.enlist(j, latest.Attempt, latest.Allowance, nil)
			return
		}
		s.enlist(j, s.nextAttempt(j.worker.Key, j.batch), s.state.Allowance, nil)
	}
}

// giveUpPlanned records why what is still planned after a batch will not run.
func (s *session) giveUpPlanned(batch string) error {
	for _, d := range s.state.InBatch(batch) {
		if d.Status != plan.StatusPlanned {
			continue
		}
		switch {
		case s.stopping:
			s.fail(d, plan.ReasonStopped, "")
		case s.exhausted:
			_, w := s.plan.Worker(d.WorkerKey)
			s.fail(d, plan.ReasonBudget, s.affordable(w, batch))
		}
	}
	if s.exhausted {
		s.note(lead.Event{TS: s.env.Now(), Type: lead.BudgetExhausted, Phase: lead.PhaseAwait, Message: "the budget allows no further start"})
	}
	return s.commit()
}

// finishRound records whether a round met its require, and what a verdict in
// it means for the run.
func (s *session) finishRound(r *plan.Round) error {
	if r.Kind == plan.RoundReportWriter {
		// A report that the facts do not allow is none: its writer did not complete.
		if err := s.report(r); err != nil {
			return err
		}
	}
	rec := s.state.Round(r.Name)
	completed := 0
	for _, w := range r.Workers {
		if d := s.state.Latest(w.Key); d != nil && d.Status == plan.StatusCompleted {
			completed++
		}
	}
	result := "unmet"
	if completed >= r.Require.Needed(len(r.Workers)) {
		result = "met"
	}
	total := len(r.Workers)
	if r.Kind == plan.RoundReverify {
		result, completed, total = s.convergenceResult(r)
	}
	if rec.Batch == "" {
		rec.Batch = r.Name
	}
	if rec.Result != result {
		rec.Result = result
		s.note(lead.Event{TS: s.env.Now(), Type: lead.RoundEnded, Phase: lead.PhaseOf(lead.RoundEnded, r.Kind), Round: r.Name,
			Message: fmt.Sprintf("round %s: %d of %d completed, %s", r.Name, completed, total, result), Data: map[string]any{lead.DataResult: result}})
	}
	if err := s.weighVerdicts(r); err != nil {
		return err
	}
	return s.commit()
}

// deny ends a run at a gate that a person denied.
func (s *session) deny(at *plan.Round) (*Outcome, error) {
	reached := false
	for i := range s.plan.Rounds {
		if r := &s.plan.Rounds[i]; r == at || reached {
			reached = true
			s.skip(r, plan.ReasonGateDenied)
		}
	}
	s.state.Ended, s.state.EndedDetail = "denied", "the gate of round "+at.Name+" was denied"
	return s.finish()
}

// finish says how the run stands after its last round.
func (s *session) finish() (*Outcome, error) {
	now := s.env.Now()
	then := s.next()
	allMet := true
	for _, r := range s.plan.Rounds {
		if rec := s.state.FindRound(r.Name); rec == nil || rec.Result != "met" {
			allMet = false
		}
	}
	exit, summary := 0, ""
	var next []string
	switch {
	case s.rejected != "":
		s.state.Ended, s.state.EndedDetail = "rejected", s.rejected
		exit, summary = 3, fmt.Sprintf("Run %s is finished: rejected. %s", s.run.Ref(), s.state.EndedDetail)
		next = []string{then.plan("--new")}
		if exists(s.run.FinalReport()) {
			next = []string{then.plan("--after", then.numbered())}
		}
	case s.state.Ended == "denied":
		exit, summary = 3, fmt.Sprintf("Run %s is finished: %s.", s.run.Ref(), s.state.EndedDetail)
	case allMet:
		s.state.Ended = "completed"
		summary = fmt.Sprintf("Run %s is finished: every round met its require.", s.run.Ref())
		if failed := s.failed(); failed != "" {
			summary += " Not completed, and not needed for that: " + failed + "."
			next = s.whyCommands()
		}
	case s.stopping:
		exit, summary = 3, fmt.Sprintf("Run %s was stopped.", s.run.Ref())
		next = []string{then.apply()}
		s.note(lead.Event{TS: now, Type: lead.RunStopped, Phase: lead.PhaseClose, Message: "the run was stopped"})
	case s.exhausted:
		exit, summary = 3, fmt.Sprintf("Run %s ran out of budget. Not completed: %s. Raise the run's budget before it is applied again.", s.run.Ref(), s.failed())
		next = append(s.whyCommands(), s.goOn()...)
	default:
		exit, summary = 3, fmt.Sprintf("Run %s did not complete: %s.", s.run.Ref(), s.failed())
		next = append(s.whyCommands(), s.goOn()...)
	}
	if s.state.Ended != "" && s.state.EndedAt == nil {
		s.state.EndedAt = &now
		s.note(lead.Event{TS: now, Type: lead.RunEnded, Phase: lead.PhaseClose, Message: "the run is finished: " + s.state.Ended})
	}
	s.changed()
	if err := s.commit(); err != nil {
		return nil, err
	}
	return s.outcome(exit, summary, next...), nil
}
