package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/converge"
	"github.com/okstra/okstra/runtime/jobs"
	"github.com/okstra/okstra/runtime/record"
)

// batch is what a lead asks to be dispatched.
type batch struct {
	round *plan.Round
	name  string
	kind  jobs.Kind
	work  batchWork
	order []string // worker keys
	// file is the jobs file that it was taken from, and digest what that held.
	file, digest string
}

// batchOf decides what a dispatch is about and refuses what must not start. A
// nil batch comes with an outcome: there is nothing to dispatch, or a gate
// waits.
func (s *session) batchOf(ctx context.Context, o DispatchOptions) (*batch, *Outcome, error) {
	var b *batch
	var out *Outcome
	var err error
	switch {
	case s.manifest.Identity() == 1:
		b, err = s.batchV1(o)
	case o.JobsFile != "":
		b, err = s.batchFromFile(o)
	case len(o.Workers) > 0:
		b, err = s.batchFromKeys(o)
	case o.Kind == string(jobs.KindRetry):
		err = s.retryOfWhom()
	default:
		b, out, err = s.nextBatch(o)
	}
	if err != nil || out != nil {
		return nil, out, err
	}
	if b == nil {
		return nil, s.outcome(0, "There is nothing to dispatch.", teamCommand("await", s.run)), nil
	}
	if err := s.checkPhaseOrder(b); err != nil {
		return nil, nil, err
	}
	if open := s.openBatches(); len(open) > 0 && !slices.Contains(open, b.name) {
		return nil, nil, &Refusal{What: fmt.Sprintf("batch %s has not ended", open[0]), Remedy: "await it first: " + teamCommand("await", s.run)}
	}
	if why := s.barred(b.round); why != plan.ReasonNone {
		return nil, nil, s.cannotBegin(b.round, why)
	}
	if _, _, err := backendInForce(ctx, s.env, s.plan, s.state, ""); err != nil {
		return nil, nil, err
	}
	if o.DryRun {
		return b, nil, nil
	}
	switch pass, err := s.gate(ctx, b.round); {
	case err != nil:
		return nil, nil, err
	case pass == gateWaits:
		return nil, s.waitsForApproval(b.round), nil
	case pass == gateDenied:
		out, err := s.deny(b.round)
		return nil, out, err
	}
	return b, nil, nil
}

func (s *session) checkPhaseOrder(b *batch) error {
	var members []jobs.Member
	for _, key := range b.order {
		w := b.work[key].worker
		members = append(members, jobs.MemberOf(b.round, w))
	}
	if r := jobs.PhaseOrder(s.plan.Run.TaskType, jobs.Roster(s.plan), members, jobs.Statuses(s.state.WorkerDispatches)); r != nil {
		return refusal(r)
	}
	return nil
}

// batchFromFile takes the batch from a jobs file.
func (s *session) batchFromFile(o DispatchOptions) (*batch, error) {
	src, err := os.ReadFile(o.JobsFile)
	if err != nil {
		return nil, fmt.Errorf("read jobs file: %w", err)
	}
	var unfixed error // what is wrong with a round plan is not the jobs file's fault
	list, r := jobs.Check(src, o.JobsFile, jobs.Context{
		Run: s.run, Manifest: s.manifest, Plan: s.plan, Dispatches: s.state.WorkerDispatches, Kind: o.Kind,
		Prompt: func(j jobs.Job) ([]byte, error) { return s.promptOf(j) },
		RoundPlan: func(n int) (*converge.RoundPlan, error) {
			rp, err := s.fixedRoundPlan(s.reverifyRound(), n)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				unfixed = err
			}
			return rp, err
		},
	})
	if unfixed != nil {
		return nil, unfixed
	}
	if r != nil {
		return nil, refusal(r)
	}
	first := list[0]
	work, err := s.workOf(first.Batch)
	if err != nil {
		return nil, err
	}
	b := &batch{round: first.Round, name: first.Batch, kind: first.Kind, work: work, file: o.JobsFile, digest: plan.DigestBytes(src)}
	for _, j := range list {
		b.order = append(b.order, j.Worker.Key)
	}
	return b, nil
}

// promptOf renders the prompt of a job as it would be written now.
func (s *session) promptOf(j jobs.Job) ([]byte, error) {
	work, err := s.workOf(j.Batch)
	if err != nil {
		return nil, err
	}
	one := work[j.Worker.Key]
	if one == nil {
		return nil, fmt.Errorf("%s is not asked in %s", j.Worker.Key, j.Batch)
	}
	return []byte(Prompt(s.plan, one.round, one.worker, j.Files, string(j.Kind), one.extra)), nil
}

// batchFromKeys takes the named workers, which must be of one round.
func (s *session) batchFromKeys(o DispatchOptions) (*batch, error) {
	kind := jobs.KindInitial
	if o.Kind != "" {
		var err error
		if kind, err = jobs.ParseKind(o.Kind); err != nil {
			return nil, &Refusal{What: err.Error()}
		}
	}
	var members []jobs.Member
	var rounds []*plan.Round
	var workers []*plan.Worker
	unknown := ""
	for _, name := range o.Workers {
		r, w := s.named(name)
		if w == nil {
			unknown = name
			continue
		}
		rounds, workers = append(rounds, r), append(workers, w)
		members = append(members, jobs.MemberOf(r, w))
	}
	if r := jobs.PhaseOrder(s.plan.Run.TaskType, jobs.Roster(s.plan), members, jobs.Statuses(s.state.WorkerDispatches)); r != nil {
		return nil, refusal(r)
	}
	if unknown != "" {
		return nil, &Refusal{What: fmt.Sprintf("no worker %q in this run", unknown), Remedy: "there are " + plan.Some(plan.NearestFirst(unknown, s.allKeys()))}
	}
	b := &batch{round: rounds[0], kind: kind}
	for i, w := range workers {
		if rounds[i] != b.round {
			return nil, &Refusal{What: fmt.Sprintf("%s and %s are of different rounds; one batch is one round", workers[0].Key, w.Key)}
		}
		if slices.Contains(b.order, w.Key) {
			return nil, &Refusal{What: fmt.Sprintf("%s is named twice", w.Key)}
		}
		b.order = append(b.order, w.Key)
		if kind == jobs.KindRetry {
			var err error
			if b.name, err = s.retryBatch(b.round, w); err != nil {
				return nil, err
			}
			continue
		}
		if last := s.state.Latest(w.Key); last != nil && last.Status != plan.StatusPlanned && last.Status != plan.StatusNotRun {
			return nil, &Refusal{What: fmt.Sprintf("%s is dispatched already; the record is %s", w.Key, last.InvocationRef), Remedy: "await it, or dispatch it with --dispatch-kind retry once it has failed"}
		}
	}
	if b.name == "" {
		switch b.round.Kind {
		case plan.RoundWork:
			b.name, b.kind = b.round.Name, jobs.KindInitial
		case plan.RoundReportWriter:
			b.name, b.kind = paths.ReportWriterBatch, jobs.KindReportWriter
		default:
			return nil, &Refusal{What: fmt.Sprintf("round %s re-verifies findings; it is dispatched by its jobs file, since its round plan says who is asked", b.round.Name),
				Remedy: "leave --workers out: " + teamCommand("dispatch", s.run)}
		}
	}
	if o.Kind != "" && kind != jobs.KindRetry && kind != b.kind {
		return nil, &Refusal{What: fmt.Sprintf("dispatch kind %s does not fit round %s", o.Kind, b.round.Name)}
	}
	var err error
	if b.work, err = s.workOf(b.name); err != nil {
		return nil, err
	}
	return b, s.followsPlan(b)
}

// retryBatch is the batch in which a worker of a round is tried again.
func (s *session) retryBatch(r *plan.Round, w *plan.Worker) (string, error) {
	last := s.state.Latest(w.Key)
	reverify := r.Kind == plan.RoundReverify
	open := s.openReverify(r)
	// A batch that was dispatched before and set aside is dispatched again as a
	// retry.
	anew := slices.ContainsFunc(s.state.WorkerDispatches, func(d *record.Dispatch) bool {
		return d.Round == r.Name && d.Superseded != "" && (last == nil || d.Batch == open)
	})
	switch {
	case reverify && open != "" && (last == nil || last.Batch != open) && anew:
		return open, nil // what it said there before was set aside with its whole re-verification
	case !reverify && last == nil && anew:
		return paths.FirstBatch(r), nil
	case reverify && last == nil && open == "":
		return "", s.withoutRoundPlan(r)
	case last == nil:
		return "", &Refusal{What: fmt.Sprintf("%s has no ended attempt that could be retried", w.Key), Remedy: "dispatch it without --dispatch-kind: " + teamCommand("dispatch", s.run, "--workers", w.Key)}
	case !last.Status.Terminal():
		return "", &Refusal{What: fmt.Sprintf("%s has not ended; the record is %s", w.Key, last.InvocationRef), Remedy: "await it first: " + teamCommand("await", s.run)}
	case last.Status == plan.StatusCompleted:
		return "", &Refusal{What: fmt.Sprintf("%s has completed; the record is %s", w.Key, last.InvocationRef)}
	case reverify && open != "" && last.Batch != open:
		return "", &Refusal{What: fmt.Sprintf("%s failed in %s, on which %s was built", w.Key, last.Batch, open), Remedy: "go on without it: " + teamCommand("await", s.run)}
	}
	return last.Batch, nil
}

// openReverify is the batch of the convergence round that was planned last.
func (s *session) openReverify(r *plan.Round) string {
	rec := s.state.FindRound(r.Name)
	if rec == nil || len(rec.Convergence) == 0 {
		return ""
	}
	return rec.Convergence[len(rec.Convergence)-1].Batch
}

// followsPlan refuses a batch of judges that leaves one of its round plan out,
// or asks another.
func (s *session) followsPlan(b *batch) error {
	if b.round.Kind != plan.RoundReverify {
		return nil
	}
	var moved []string
	for _, key := range b.order {
		if b.work[key] == nil {
			moved = append(moved, key+" is not in it")
		}
	}
	for key, j := range b.work {
		if _, _, owes := s.owes(b.round, j); owes && !slices.Contains(b.order, key) && s.state.Latest(key) == nil {
			moved = append(moved, key+" is missing")
		}
	}
	if len(moved) == 0 {
		return nil
	}
	slices.Sort(moved)
	return &Refusal{What: "the round plan of " + b.name + " is followed exactly", Moved: moved, Remedy: "name the workers of the plan: --workers " + strings.Join(keysOf(b.work), ",")}
}

func keysOf(work batchWork) []string { return slices.Sorted(maps.Keys(work)) }

func (s *session) named(name string) (*plan.Round, *plan.Worker) {
	for i := range s.plan.Rounds {
		for j := range s.plan.Rounds[i].Workers {
			if w := &s.plan.Rounds[i].Workers[j]; w.Key == name || w.Label == name {
				return &s.plan.Rounds[i], w
			}
		}
	}
	return nil, nil
}

func (s *session) allKeys() []string {
	var out []string
	for _, m := range jobs.Roster(s.plan) {
		out = append(out, m.Key)
	}
	return out
}

// nextBatch is the next round that can begin. An outcome means that the lead has
// something to write first.
func (s *session) nextBatch(o DispatchOptions) (*batch, *Outcome, error) {
	for i := range s.plan.Rounds {
		r := &s.plan.Rounds[i]
		if s.wholeRound(r) && r.Kind != plan.RoundReverify || s.roundOf(r.Name) == "met" {
			continue
		}
		why := s.barred(r)
		switch {
		case why == plan.ReasonNotNeeded:
			continue // what is left is the report
		case r.Kind == plan.RoundReverify && why != plan.ReasonNone:
			return nil, nil, s.cannotBegin(r, why)
		case r.Kind == plan.RoundReverify:
			return s.nextJudges(r, o)
		case r.Kind == plan.RoundReportWriter && exists(s.run.ReportWriterJobs()) && s.attemptOf(r.Workers[0].Key, paths.ReportWriterBatch) == 1:
			o.JobsFile = s.run.ReportWriterJobs()
			b, err := s.batchFromFile(o)
			return b, nil, err
		}
		var keys []string
		for _, w := range r.Workers {
			d := s.state.Latest(w.Key)
			if d == nil || d.Status == plan.StatusPlanned || d.Status == plan.StatusNotRun {
				keys = append(keys, w.Key)
			}
		}
		if len(keys) == 0 {
			return nil, nil, nil
		}
		o.Workers = keys
		b, err := s.batchFromKeys(o)
		return b, nil, err
	}
	return nil, nil, nil
}

// nextJudges is the batch of judges that a reverify round asks next.
func (s *session) nextJudges(r *plan.Round, o DispatchOptions) (*batch, *Outcome, error) {
	name := s.openReverify(r)
	if name == "" {
		if r.Convergence.Source == "lead" && !exists(s.run.RoundPlan(1)) && s.goesOn(r) {
			return nil, s.waitsForRoundPlan(r, 1), nil
		}
		return nil, nil, s.withoutRoundPlan(r)
	}
	work, err := s.workOf(name)
	if err != nil {
		return nil, nil, err
	}
	n, _ := jobs.Kind(name).Reverify()
	var open []string
	first := true // no judge of it has been asked before
	for key, j := range work {
		if _, _, owes := s.owes(r, j); owes {
			open = append(open, key)
			first = first && s.attemptOf(key, name) == 1
		}
	}
	switch {
	case len(open) == 0 && r.Convergence.Source == "lead" && !exists(s.run.RoundPlan(n+1)) && s.goesOn(r):
		return nil, s.waitsForRoundPlan(r, n+1), nil
	case len(open) == 0:
		return nil, nil, &Refusal{What: fmt.Sprintf("every judge of %s has ended, and what they said is not weighed yet", name), Remedy: "await it first: " + teamCommand("await", s.run)}
	case first && exists(s.run.ReverifyJobs(n)):
		o.JobsFile = s.run.ReverifyJobs(n)
		b, err := s.batchFromFile(o)
		return b, nil, err
	}
	slices.Sort(open)
	o.Workers, o.Kind = open, string(jobs.KindRetry)
	b, err := s.batchFromKeys(o)
	return b, nil, err
}

// goesOn tells whether the convergence that was weighed last has not ended.
func (s *session) goesOn(r *plan.Round) bool {
	st, err := s.convergenceState()
	return err == nil && st != nil && st.Stage != converge.StageDone && len(st.Rounds) == len(s.state.Round(r.Name).Convergence)
}

// attemptFor is the attempt that a batch gives a worker.
func (s *session) attemptFor(b *batch, key string) int { return s.attemptOf(key, b.name) }

// attemptOf is the attempt that comes next for a worker in a batch: one that was
// recorded and never ran is meant again.
func (s *session) attemptOf(key, batch string) int {
	if d := s.state.Latest(key); d != nil && d.Batch == batch && (d.Status == plan.StatusPlanned || d.Status == plan.StatusNotRun) {
		return d.Attempt
	}
	return s.nextAttempt(key, batch)
}

// openBatches are the batches with something that is not terminal.
func (s *session) openBatches() []string {
	var out []string
	for _, d := range s.state.WorkerDispatches {
		if d.Superseded == "" && !d.Status.Terminal() && !slices.Contains(out, d.Batch) {
			out = append(out, d.Batch)
		}
	}
	return out
}

// workOf rebuilds the jobs of a recorded batch.
func (s *session) workOf(name string) (batchWork, error) {
	for i := range s.plan.Rounds {
		r := &s.plan.Rounds[i]
		if !inRound(r, name) {
			continue
		}
		if n, ok := jobs.Kind(name).Reverify(); ok && r.Kind == plan.RoundReverify {
			rp, err := s.fixedRoundPlan(r, n)
			if err != nil {
				return nil, err
			}
			return s.judges(r, rp), nil
		}
		work := batchWork{}
		for j := range r.Workers {
			w := &r.Workers[j]
			work[w.Key] = &job{round: r, worker: w, batch: name}
		}
		return work, nil
	}
	return nil, fmt.Errorf("batch %s belongs to no round of the plan", name)
}
