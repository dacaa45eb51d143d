package runtime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/durable"
	"github.com/okstra/okstra/runtime/jobs"
	"github.com/okstra/okstra/runtime/record"
)

// TeamAwait drives the dispatched workers of a run to their ends, starts what
// waits for a free place, retries, settles, and prepares what comes next. With
// a timeout it returns exit 7 when that has passed; workers go on.
func TeamAwait(ctx context.Context, env Env, o TeamOptions, timeout time.Duration) (*Outcome, error) {
	run, m, err := o.manifest()
	if err != nil {
		return nil, err
	}
	if st, err := record.Load(run.TeamState()); err == nil && st.Ended != "" {
		// An await that is asked again must tell the same as the one before.
		return finished(run, st), nil
	}
	s, err := o.take(env, run, m, false)
	if err != nil {
		return nil, err
	}
	defer s.close()
	wait := ctx
	if timeout > 0 {
		var cancel context.CancelFunc
		wait, cancel = context.WithTimeoutCause(ctx, timeout, errAwaitTimeout)
		defer cancel()
	}
	if err := s.bringUp(); err != nil {
		return nil, err
	}
	s.heartbeat, s.beat = o.Heartbeat, o.Beat
	for _, name := range s.openBatches() {
		work, err := s.workOf(name)
		if err != nil {
			return nil, err
		}
		s.work = work
		if err := s.drive(wait, name, work, nil); err != nil {
			if errors.Is(err, errAwaitTimeout) {
				return s.outcome(7, "The time to wait has passed; workers go on.", teamCommand("await", s.run)), nil
			}
			return s.detached(err), s.broken(err)
		}
		s.work = nil
		if err := s.giveUpPlanned(name); err != nil {
			return nil, err
		}
	}
	if s.manifest.Identity() == 1 {
		return s.wrapUpV1()
	}
	return s.wrapUp()
}

// finished is the outcome of a run that was finished before.
func finished(run paths.Run, st *record.State) *Outcome {
	out := &Outcome{Run: run, RunName: st.RunName, State: st, Nothing: true, Summary: fmt.Sprintf("Run %s is finished: %s.", run.Ref(), st.Ended)}
	if st.Ended != "completed" {
		out.Exit, out.Summary = 3, fmt.Sprintf("Run %s is finished: %s. %s", run.Ref(), st.Ended, st.EndedDetail)
	}
	return out
}

var errAwaitTimeout = errors.New("the time to wait has passed")

// wrapUp finishes the rounds that have ended, prepares the next batch and says
// how it is started.
func (s *session) wrapUp() (*Outcome, error) {
	for i := range s.plan.Rounds {
		r := &s.plan.Rounds[i]
		if s.barred(r) == plan.ReasonNotNeeded && s.skip(r, plan.ReasonNotNeeded) {
			continue
		}
		if r.Kind == plan.RoundReverify && s.barred(r) == plan.ReasonNone && s.roundOf(r.Name) != "met" {
			rp, out, err := s.advance(r)
			if err != nil || out != nil {
				return out, err
			}
			if rp != nil {
				work := s.judges(r, rp)
				maps.DeleteFunc(work, func(_ string, j *job) bool { _, _, owes := s.owes(r, j); return !owes })
				return s.readyBatch(r, paths.ReverifyBatch(rp.Number), jobs.KindReverify(rp.Number), s.run.ReverifyJobs(rp.Number), work)
			}
		} else if !s.wholeRound(r) {
			if why := s.barred(r); why != plan.ReasonNone {
				next := s.retries()
				if len(next) == 0 {
					next = append(s.whyCommands(), s.replaceStuck()...)
				}
				return s.outcome(3, fmt.Sprintf("Round %s cannot begin: %s. Not completed: %s.", r.Name, why, s.failed()), next...), s.commit()
			}
			if r.Kind == plan.RoundReportWriter {
				return s.readyBatch(r, paths.ReportWriterBatch, jobs.KindReportWriter, s.run.ReportWriterJobs(), batchWork{r.Workers[0].Key: {round: r, worker: &r.Workers[0], batch: paths.ReportWriterBatch}})
			}
			return s.ready(r, teamCommand("dispatch", s.run))
		}
		if err := s.finishRound(r); err != nil {
			return nil, err
		}
	}
	return s.finish()
}

// replaceStuck is the command that starts a re-verification anew where its judges
// cannot be tried again in it.
func (s *session) replaceStuck() []string {
	for i := range s.plan.Rounds {
		if stuck := s.stuck(&s.plan.Rounds[i]); len(stuck) > 0 {
			return []string{following{run: s.run, st: s.state}.apply("--replace", stuck[0])}
		}
	}
	return nil
}

// reverifyRound is the plan's re-verification round, nil where it has none.
func (s *session) reverifyRound() *plan.Round {
	for i := range s.plan.Rounds {
		if r := &s.plan.Rounds[i]; r.Kind == plan.RoundReverify {
			return r
		}
	}
	return nil
}

func (s *session) roundOf(name string) string {
	if rec := s.state.FindRound(name); rec != nil {
		return rec.Result
	}
	return ""
}

// wholeRound reports whether every worker of a round has ended. A judge that had
// nothing to judge has no record.
func (s *session) wholeRound(r *plan.Round) bool {
	if r.Kind == plan.RoundReverify && s.roundOf(r.Name) == "met" {
		return true
	}
	for _, w := range r.Workers {
		d := s.state.Latest(w.Key)
		if d == nil || !d.Status.Terminal() || d.Status == plan.StatusNotRun && s.rejected == "" {
			return false
		}
	}
	return true
}

// readyBatch writes prompts and jobs file of the batch that comes next.
func (s *session) readyBatch(r *plan.Round, name string, kind jobs.Kind, path string, work batchWork) (*Outcome, error) {
	var planned []jobs.Planned
	again := false
	for i := range r.Workers {
		j := work[r.Workers[i].Key]
		if j == nil {
			continue
		}
		attempt := s.attemptOf(j.worker.Key, name)
		a := attemptFiles(s.run, j.worker, name, attempt)
		text := Prompt(s.plan, r, j.worker, a, string(kind), j.extra)
		if attempt > 1 {
			again = true // a later attempt is dispatched by kind, not by a jobs file
			continue
		}
		if err := durable.MkdirAll(filepath.Dir(a.Prompt())); err != nil {
			return nil, err
		}
		if err := durable.WriteFile(a.Prompt(), []byte(text), 0o600); err != nil {
			return nil, err
		}
		planned = append(planned, jobs.Planned{Round: r, Worker: j.worker, Batch: name, Attempt: attempt, Prompt: []byte(text)})
	}
	if err := s.writeInputs(r, name); err != nil {
		return nil, err
	}
	if again {
		return s.ready(r, teamCommand("dispatch", s.run, "--dispatch-kind", "retry", "--workers", strings.Join(keysOf(work), ",")))
	}
	if err := s.hand(r, path, jobs.Build(s.run, kind, planned)); err != nil {
		return nil, err
	}
	args := []string{"--jobs-file", path}
	if r.Kind == plan.RoundReverify {
		args = append([]string{"--dispatch-kind", string(kind)}, args...)
	}
	return s.ready(r, teamCommand("dispatch", s.run, args...))
}

// ready says what starts the next round, gate first.
func (s *session) ready(r *plan.Round, command string) (*Outcome, error) {
	if err := s.commit(); err != nil {
		return nil, err
	}
	next := []string{command}
	rec := s.state.FindRound(r.Name)
	if r.Gate != nil {
		var rs RoundStatus
		if err := answerOf(s.run, s.plan, s.state, r, rec, &rs); err != nil {
			return nil, err
		}
		if rs.Approval != "approved" && rs.Approval != "denied" { // the dispatch takes an answer that is there
			next = append(s.next().answers(r), next...)
		}
	}
	const done = "Everything that was dispatched has ended."
	switch {
	case s.rejected != "":
		return s.outcome(3, fmt.Sprintf("%s %s. What is left is round %s.", done, s.rejected, r.Name), next...), nil
	case slices.ContainsFunc(s.plan.Rounds, func(r plan.Round) bool { return s.short(&r) }):
		return s.outcome(3, fmt.Sprintf("%s Not completed: %s. Next is round %s.", done, s.failed(), r.Name), append(s.retries(), next...)...), nil
	}
	return s.outcome(0, fmt.Sprintf("%s Next is round %s.", done, r.Name), next...), nil
}
