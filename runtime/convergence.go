package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/converge"
	"github.com/okstra/okstra/runtime/durable"
	"github.com/okstra/okstra/runtime/jobs"
	"github.com/okstra/okstra/runtime/record"
)

// converge carries out a reverify round: one batch of judges after another, as
// the convergence rule says, each by a round plan that is persisted before its
// jobs file and followed exactly.
func (s *session) converge(ctx context.Context, r *plan.Round) (*Outcome, error) {
	for {
		rp, out, err := s.advance(r)
		if rp == nil {
			return out, err
		}
		if err := s.judgeBatch(ctx, r, rp); err != nil {
			return s.detached(err), err
		}
		if s.stopping || s.exhausted {
			return nil, nil
		}
	}
}

// advance goes from the findings through every round that is carried out and
// returns the plan of the one that is open, persisted and recorded. It is nil
// where convergence has ended, and, with an outcome, where the lead has to
// write it. The state artifact is brought up to date.
func (s *session) advance(r *plan.Round) (*converge.RoundPlan, *Outcome, error) {
	in, err := converge.InputOf(s.run.Ref(), s.plan, r, s.emitted(""))
	if err != nil {
		return nil, nil, err
	}
	st := converge.Start(in)
	if st.Ended == converge.Disabled {
		s.skip(r, plan.ReasonConvergenceDisabled)
		return nil, nil, s.writeConvergence(st)
	}
	for {
		want := st.Next()
		if want == nil {
			return nil, nil, s.writeConvergence(st)
		}
		rp, out, err := s.roundPlan(r, st, want)
		if rp == nil {
			return nil, out, err
		}
		for _, j := range s.judges(r, rp) {
			if _, _, owes := s.owes(r, j); owes {
				return rp, nil, s.writeConvergence(st)
			}
		}
		answers, err := converge.AnswersTo(rp, s.emitted(paths.ReverifyBatch(rp.Number)))
		if err != nil {
			return nil, nil, err
		}
		st = st.Judge(rp, answers)
	}
}

// emitted reads what the latest completed invocation of a worker emitted; with
// a batch, the latest in that batch.
func (s *session) emitted(batch string) converge.Emitted {
	return func(key string) ([]byte, bool, error) {
		d := s.state.Latest(key)
		if batch != "" {
			d = nil
			for _, one := range s.state.InBatch(batch) {
				if one.WorkerKey == key {
					d = one
				}
			}
		}
		_, w := s.plan.Worker(key)
		if d == nil || w == nil || d.Status != plan.StatusCompleted {
			return nil, false, nil
		}
		b, err := s.artifact(d, "emit", attemptFiles(s.run, w, d.Batch, d.Attempt).Emit())
		return b, err == nil, err
	}
}

// artifact reads what a completed attempt left under a name, and refuses what
// is no longer what was settled: nothing may be built on it.
func (s *session) artifact(d *record.Dispatch, name, path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", name, d.WorkerKey, err)
	}
	for _, a := range d.Artifacts {
		if a.Name == name && a.Digest != plan.DigestBytes(b) {
			return nil, &Refusal{What: fmt.Sprintf("the %s of %s was changed after it was settled", name, d.WorkerKey), Moved: []string{relative(s.run.Root, path)},
				Remedy: "restore it, or have the work done again: okstra apply " + s.state.RunName + " --replace " + d.WorkerKey}
		}
	}
	return b, nil
}

// roundPlan returns the plan of the next convergence round, persisted and
// recorded. Without one there is an outcome (the lead has to write it) or an
// error.
func (s *session) roundPlan(r *plan.Round, st *converge.State, want *converge.RoundPlan) (*converge.RoundPlan, *Outcome, error) {
	rec := s.state.Round(r.Name)
	path := s.run.RoundPlan(want.Number)
	persisted, err := readRoundPlan(path)
	byLead := r.Convergence.Source == "lead"
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		remedy := "restore it, or start anew with okstra apply --new"
		if byLead {
			remedy = "correct it; okstra schema round-plan shows its form"
		}
		return nil, nil, &Refusal{What: "the round plan cannot be read: " + relative(s.run.Root, path), Moved: strings.Split(err.Error(), "\n"), Remedy: remedy}
	}
	if persisted != nil && byLead {
		accepted, err := st.Accept(persisted)
		if err != nil {
			if want.Number > len(rec.Convergence) {
				// It may have been written for what has changed since.
				if err := s.writeConvergence(st); err != nil {
					return nil, nil, err
				}
			}
			return nil, nil, &Refusal{What: "the lead's round plan cannot be followed: " + relative(s.run.Root, path), Moved: strings.Split(err.Error(), "\n"),
				Remedy: "correct it; okstra schema round-plan shows its form"}
		}
		want = accepted
	}
	if want.Number <= len(rec.Convergence) {
		fixed := rec.Convergence[want.Number-1]
		if persisted == nil || want.Digest() != fixed.PlanDigest || !byLead && persisted.Digest() != fixed.PlanDigest {
			return nil, nil, &Refusal{What: fmt.Sprintf("the plan of convergence round %d is not the one that was begun with", want.Number),
				Moved: []string{relative(s.run.Root, path) + " or what it was made from has changed"}, Remedy: "restore it, or start anew with okstra apply --new"}
		}
		return want, nil, nil
	}
	if byLead && persisted == nil {
		return nil, s.waitsForRoundPlan(r, want.Number), s.writeConvergence(st)
	}
	if !byLead {
		if err := durable.MkdirAll(filepath.Dir(path)); err != nil {
			return nil, nil, err
		}
		if err := durable.WriteFile(path, converge.Encode(want), 0o600); err != nil {
			return nil, nil, err
		}
	}
	rec.Convergence = append(rec.Convergence, record.ConvergenceRound{Number: want.Number, Batch: paths.ReverifyBatch(want.Number), PlanDigest: want.Digest()})
	s.changed()
	return want, nil, s.commit()
}

// fixedRoundPlan derives the recorded plan of convergence round n again, whole,
// and refuses one that is not the one that was recorded. The error wraps
// fs.ErrNotExist where that round is not recorded.
func (s *session) fixedRoundPlan(r *plan.Round, n int) (*converge.RoundPlan, error) {
	var rec *record.Round
	if r != nil {
		rec = s.state.FindRound(r.Name)
	}
	if rec == nil || len(rec.Convergence) < n {
		return nil, fmt.Errorf("convergence round %d is not planned: %w", n, fs.ErrNotExist)
	}
	in, err := converge.InputOf(s.run.Ref(), s.plan, r, s.emitted(""))
	if err != nil {
		return nil, err
	}
	st := converge.Start(in)
	for {
		want := st.Next()
		if want == nil {
			return nil, fmt.Errorf("convergence ended before round %d: %w", n, fs.ErrNotExist)
		}
		rp, _, err := s.roundPlan(r, st, want) // recorded, so it only compares
		if err != nil || rp.Number == n {
			return rp, err
		}
		answers, err := converge.AnswersTo(rp, s.emitted(paths.ReverifyBatch(rp.Number)))
		if err != nil {
			return nil, err
		}
		st = st.Judge(rp, answers)
	}
}

func readRoundPlan(path string) (*converge.RoundPlan, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read round plan: %w", err)
	}
	rp, err := converge.ParseRoundPlan(b)
	if err != nil {
		return nil, err
	}
	return rp, nil
}

// judgeBatch starts the judges of one convergence round and awaits them.
func (s *session) judgeBatch(ctx context.Context, r *plan.Round, rp *converge.RoundPlan) error {
	batch := paths.ReverifyBatch(rp.Number)
	s.work = s.judges(r, rp)
	if err := s.beginBatch(r, batch); err != nil {
		return err
	}
	s.enlistJudges(r, rp)
	if err := s.writeJobs(r, s.run.ReverifyJobs(rp.Number), jobs.KindReverify(rp.Number), batch); err != nil {
		return err
	}
	if err := s.drive(ctx, batch, s.work, nil); err != nil {
		return err
	}
	s.work = nil
	return s.giveUpPlanned(batch)
}

// judges are the jobs of one convergence round, by worker key.
func (s *session) judges(r *plan.Round, rp *converge.RoundPlan) batchWork {
	batch := paths.ReverifyBatch(rp.Number)
	work := batchWork{}
	for i := range r.Workers {
		w := &r.Workers[i]
		if rp.JudgeItems(w.Key) != nil {
			work[w.Key] = &job{round: r, worker: w, batch: batch, extra: converge.Prompt(rp, w.Key)}
		}
	}
	return work
}

// enlistJudges records the invocations that the judges of a round still owe.
func (s *session) enlistJudges(r *plan.Round, rp *converge.RoundPlan) {
	for _, key := range rp.Workers() {
		j := s.work[key]
		if attempt, allowance, owes := s.owes(r, j); owes && attempt > 0 {
			s.enlist(j, attempt, allowance, nil)
		}
	}
}

// owes tells whether a judge has still to answer, and which attempt that is: 0
// where it is on its way. A judge that failed is asked again by a later apply,
// but not in a round that others were built on; a lead names whom it retries.
func (s *session) owes(r *plan.Round, j *job) (attempt, allowance int, owes bool) {
	var last *record.Dispatch
	for _, d := range s.state.InBatch(j.batch) {
		if d.WorkerKey == j.worker.Key {
			last = d
		}
	}
	fixed := s.state.Round(r.Name).Convergence
	newest := len(fixed) > 0 && fixed[len(fixed)-1].Batch == j.batch
	switch {
	case last == nil:
		return s.nextAttempt(j.worker.Key, j.batch), s.state.Allowance, true
	case last.Status == plan.StatusPlanned, last.Status == plan.StatusNotRun && last.Allowance != s.state.Allowance:
		return last.Attempt, s.state.Allowance, true
	case !last.Status.Terminal():
		return 0, 0, true
	case last.Status == plan.StatusCompleted, !newest, last.Allowance == s.state.Allowance, s.manifest != nil:
		return 0, 0, false
	}
	return last.Attempt + 1, s.state.Allowance, true
}

func (s *session) writeConvergence(st *converge.State) error {
	if err := durable.MkdirAll(filepath.Dir(s.run.Convergence())); err != nil {
		return err
	}
	return durable.WriteFile(s.run.Convergence(), converge.Encode(st), 0o600)
}

// convergenceState reads the state artifact, nil where there is none.
func (s *session) convergenceState() (*converge.State, error) {
	b, err := os.ReadFile(s.run.Convergence())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read convergence state: %w", err)
	}
	st, err := converge.ParseState(b)
	if err != nil {
		return nil, fmt.Errorf("convergence state %s: %w", s.run.Convergence(), err)
	}
	return st, nil
}

// convergenceResult is converge.Result by the state artifact as it stands; one
// that cannot be read met nothing.
func (s *session) convergenceResult(r *plan.Round) (string, int, int) {
	st, err := s.convergenceState()
	if err != nil {
		st = nil
	}
	met, completed, asked := converge.Result(r, st, s.state.Outcome)
	if !met {
		return "unmet", completed, asked
	}
	return "met", completed, asked
}

// writeJobs writes the jobs file of a batch from what is enlisted in it.
func (s *session) writeJobs(r *plan.Round, path string, kind jobs.Kind, batch string) error {
	var planned []jobs.Planned
	for _, d := range s.state.InBatch(batch) {
		j := s.work[d.WorkerKey]
		if j == nil || d.Attempt > 1 {
			continue
		}
		a := attemptFiles(s.run, j.worker, batch, d.Attempt)
		planned = append(planned, jobs.Planned{Round: j.round, Worker: j.worker, Batch: batch, Attempt: d.Attempt,
			Prompt: []byte(Prompt(s.plan, j.round, j.worker, a, d.Kind, j.extra))})
	}
	if len(planned) == 0 || exists(path) && s.state.Round(r.Name).Files[relative(s.run.Root, path)] != "" {
		return nil
	}
	return s.hand(r, path, jobs.Build(s.run, kind, planned))
}
