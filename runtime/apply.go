package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/durable"
	"github.com/okstra/okstra/runtime/lead"
	"github.com/okstra/okstra/runtime/record"
)

// Apply executes a plan: it creates or takes up the run, brings every round to
// its end and returns how the run stands. When ctx ends it detaches: workers go
// on, and the error wraps ErrInterrupted. The outcome is usable with an error
// wherever it is not nil.
func Apply(ctx context.Context, env Env, o ApplyOptions) (*Outcome, error) {
	s, out, err := begin(ctx, env, o)
	if s == nil {
		return out, err
	}
	defer s.close()
	out, err = s.carryOut(ctx)
	return out, s.broken(err)
}

// broken adds to an error that ended the driving what became of the records
// and of the workers.
func (s *session) broken(err error) error {
	if err == nil || errors.Is(err, ErrInterrupted) {
		return err
	}
	if !exists(s.run.TeamState()) {
		return fmt.Errorf("the records of %s were removed while it was driven, as git clean -x does%s: %w", s.run.Ref(), s.endUnrecorded(), err)
	}
	if len(s.live) == 0 {
		return err
	}
	return fmt.Errorf("%w\nnothing more is started; what was started goes on: %s. Continue with %s, or end it with %s", err, plan.Count(len(s.live), "worker"), s.next().apply(), s.next().verb("stop"))
}

// endUnrecorded ends what still runs of a run whose records are gone, since
// nobody could take it up again, and says what came of it.
func (s *session) endUnrecorded() string {
	var said []string
	for _, f := range s.live {
		if f.seen == nil {
			continue // at its gate it leaves by itself
		}
		if err := s.kill(f.seen); err != nil {
			said = append(said, fmt.Sprintf("%s could not be ended (pid %d): %v", f.d.WorkerKey, f.seen.Supervisor.PID, err))
			continue
		}
		said = append(said, f.d.WorkerKey+" was ended")
	}
	if len(said) == 0 {
		return ""
	}
	slices.Sort(said)
	return "; " + strings.Join(said, ", ")
}

// begin takes the run's lock and brings plan and record together. A nil
// session with an outcome means that there is nothing to do.
func begin(ctx context.Context, env Env, o ApplyOptions) (*session, *Outcome, error) {
	p := o.Plan
	saved := ""
	if o.Saved {
		saved = plan.Digest(p)
	}
	run := paths.Run{Root: p.ProjectRoot, Task: p.Run.Task, TaskType: p.Run.TaskType}
	diff := plan.DiffOptions{New: o.New, Replace: o.Replace}
	rec, err := ObserveRun(ctx, env, p, o.Seq)
	if err != nil {
		return nil, nil, err
	}
	if o.Seq > 0 && (o.New || rec.Ended != "") {
		return nil, nil, &Refusal{What: fmt.Sprintf("run %s@%03d is finished (%s)", p.Run.Name, o.Seq, rec.Ended), Remedy: "leave the number out to start or continue the latest"}
	}
	if o.Saved {
		diff.Replace = p.Difference.Replace
	} else if err := plan.Diff(p, rec, diff); err != nil {
		return nil, nil, err
	}
	if p.Difference.Finished {
		run.Seq = p.State.Seq
		return nil, nothing(run, rec, p), completeEvents(env, run)
	}
	switch done, err := carriedOut(o, rec, run, saved); {
	case err != nil:
		return nil, nil, err
	case done:
		run.Seq = rec.Seq
		p.Difference.Summary = fmt.Sprintf("Run %03d is finished (%s): this plan has been carried out. Nothing to do.", rec.Seq, rec.Ended)
		return nil, nothing(run, rec, p), completeEvents(env, run)
	}
	run.Seq = p.State.Seq
	isNew := p.State.New
	var st *record.State
	if o.Saved && isNew && rec.Exists && rec.Seq == run.Seq {
		// Either this very plan made the run and was interrupted, or somebody
		// else was faster: the state tells, under the lock.
		isNew = false
	}
	if o.Saved && isNew {
		// Refused here, nothing is written; it is judged again under the lock.
		if err := stale(o, p, nil, saved, true); err != nil {
			return nil, nil, err
		}
	}
	var seq *durable.Lock
	if isNew {
		if seq, err = lockSeq(ctx, run); err != nil {
			return nil, nil, err
		}
		defer seq.Close()
		latest, err := latestSeq(run)
		if err != nil {
			return nil, nil, err
		}
		recorded, err := latestState(run)
		if err != nil {
			return nil, nil, err
		}
		// Another runner may have been creating a run when it was looked at: its
		// manifest was there, its state was not.
		if latest >= run.Seq || recorded != rec.Seq && o.Seq == 0 {
			if o.Saved {
				return nil, nil, &Refusal{What: "the plan is stale", Moved: []string{fmt.Sprintf("run %03d exists by now", latest)}, Remedy: "make a new plan"}
			}
			seq.Close()
			return begin(ctx, env, o)
		}
	}
	for isNew && leftovers(run, p) {
		// Records that somebody removed left files of that number behind; what an
		// old attempt wrote must never settle a new one.
		run.Seq++
		p.State.Seq = run.Seq
	}
	lock, err := acquire(run)
	if err != nil {
		return nil, nil, err
	}
	keep := false
	defer func() {
		if !keep {
			lock.Close()
		}
	}()

	if !isNew {
		if st, err = record.Load(run.TeamState()); err != nil {
			return nil, nil, err
		}
		if err := ofDefinition(run); err != nil {
			return nil, nil, err
		}
		if rec, err = observe(run, st); err != nil {
			return nil, nil, err
		}
	}
	if o.Saved {
		if err := stale(o, p, st, saved, isNew); err != nil {
			return nil, nil, err
		}
	} else if !isNew {
		if err := plan.Diff(p, rec, plan.DiffOptions{Replace: o.Replace}); err != nil {
			return nil, nil, err
		}
		if p.Difference.Finished || p.State.New {
			lock.Close()
			keep = true // released already
			return begin(ctx, env, o)
		}
	}
	backend, mixed, err := backendInForce(ctx, env, p, st, o.Backend)
	if err != nil && o.renderOnly {
		backend, mixed, err = "", false, nil
	}
	if err != nil {
		return nil, nil, err
	}
	created := st == nil
	if created {
		if st, err = create(env, run, p, backend, leadRuntimeOf(p)); err != nil {
			return nil, nil, err
		}
		closeEarlier(ctx, env, run)
	} else if err := goOn(run, st, p, backend, mixed); err != nil {
		return nil, nil, err
	}
	st.SavedPlanDigest = saved
	if len(o.Again) > 0 {
		st.Again = o.Again
	}
	s, err := newSession(env, run, lock, st, p)
	if err != nil {
		return nil, nil, err
	}
	keep = true
	s.backend, s.progress, s.asker = env.Backends[backend], o.Progress, o.Asker
	s.replace = diff.Replace
	if err := s.open(created); err != nil {
		s.close()
		return nil, nil, err
	}
	return s, nil, nil
}

// goOn has a recorded run driven by this plan from here on.
func goOn(run paths.Run, st *record.State, p *plan.Plan, backend string, mixed bool) error {
	switch {
	case mixed:
		st.DispatchMode = "mixed"
	case st.Backend == "": // it was prepared where none was available
		st.DispatchMode = string(lead.ModeOf(backend))
	}
	st.Backend = backend
	if err := os.Remove(run.Stop()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the request to stop: %w", err)
	}
	return writePlan(run, st, p)
}

// open says that the run is driven from here on and brings its record up to
// what is on disk. Where workers have failed they get a fresh allowance of
// attempts.
func (s *session) open(created bool) error {
	kind, msg := lead.RunResumed, "taking up "+s.run.Ref()
	if created {
		kind, msg = lead.RunCreated, "starting "+s.run.Ref()
	}
	s.note(lead.Event{TS: s.env.Now(), Type: kind, Phase: lead.PhaseOf(kind, ""), Message: msg})
	s.note(lead.Event{TS: s.env.Now(), Type: lead.PlanApplied, Phase: lead.PhaseOf(lead.PlanApplied, ""), Message: fmt.Sprintf("plan %d, backend %s", s.state.PlanNumber, s.state.Backend)})
	if err := s.commit(); err != nil {
		return err
	}
	if err := s.reconcile(); err != nil {
		return err
	}
	if s.anyFailed() {
		s.state.Allowance++
		s.changed()
	}
	return nil
}

// anyFailed tells whether a worker of the run has ended without completing.
func (s *session) anyFailed() bool {
	return slices.ContainsFunc(s.state.WorkerDispatches, func(d *record.Dispatch) bool {
		return d.Superseded == "" && d.Status.Terminal() && d.Status != plan.StatusCompleted
	})
}

// ofDefinition refuses a run that a version 1 manifest described: no definition
// can go on with it.
func ofDefinition(run paths.Run) error {
	m, err := lead.ReadManifest(run.Manifest())
	if err != nil {
		return err
	}
	if m.Identity() == 1 {
		return &Refusal{What: fmt.Sprintf("run %s is of a version 1 run manifest", run.Ref()), Remedy: "go on with okstra team, or start another with okstra apply --new"}
	}
	return nil
}

func leadRuntimeOf(p *plan.Plan) string {
	if p.Run.Lead.Runtime != "" {
		return p.Run.Lead.Runtime
	}
	return "external"
}

// carriedOut tells whether a finished run was driven to its end by this very
// saved plan. A finished run is not touched again.
func carriedOut(o ApplyOptions, rec *plan.Recorded, run paths.Run, saved string) (bool, error) {
	if !o.Saved || rec.Ended == "" {
		return false, nil
	}
	run.Seq = rec.Seq
	st, err := record.Load(run.TeamState())
	if err != nil {
		return false, err
	}
	return st.SavedPlanDigest == saved, nil
}

// leftovers reports whether files of a run's first attempts lie there though
// nothing is recorded of it.
func leftovers(run paths.Run, p *plan.Plan) bool {
	for i := range p.Rounds {
		r := &p.Rounds[i]
		for j := range r.Workers {
			if exists(attemptFiles(run, &r.Workers[j], paths.FirstBatch(r), 1).Status()) {
				return true
			}
		}
	}
	return false
}

// completeEvents appends what a crash after the last state of a run kept back.
// Whoever holds the run does that itself.
func completeEvents(env Env, run paths.Run) error {
	lock, err := acquire(run)
	if errors.Is(err, ErrHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	st, err := record.Load(run.TeamState())
	if err != nil {
		return err
	}
	p, err := loadPlan(run, st)
	if err != nil {
		return err
	}
	return restoreEvents(env, run, st, p)
}

// nothing is the outcome of a finished run that nothing changed for.
func nothing(run paths.Run, rec *plan.Recorded, p *plan.Plan) *Outcome {
	out := &Outcome{Run: run, RunName: p.Run.Name, Plan: p, Nothing: true, Summary: p.Difference.Summary}
	if rec.Ended != "completed" {
		out.Exit = 3
		if st, err := record.Load(run.TeamState()); err == nil {
			n := following{run: run, st: st}
			out.Next = []string{n.verb("status"), n.apply("--new")}
		}
	}
	return out
}

// lockSeq takes the lock under which run numbers are chosen.
func lockSeq(ctx context.Context, run paths.Run) (*durable.Lock, error) {
	path := paths.SeqLock(run.Root, run.Task, run.TaskType)
	if err := durable.MkdirAll(filepath.Dir(path)); err != nil {
		return nil, err
	}
	return durable.WaitLock(ctx, path)
}

// outcome describes how the run stands.
func (s *session) outcome(exit int, summary string, next ...string) *Outcome {
	out := &Outcome{Run: s.run, RunName: s.state.RunName, State: s.state, Plan: s.plan, Exit: exit, Summary: summary, Next: next}
	if panes := s.openPanes(""); len(panes) > 0 {
		if s.manifest == nil { // a lead closes them after its cleanup gate
			out.Cleanup = s.next().verb("teardown")
		}
		if slices.ContainsFunc(panes, func(h backends.Handle) bool { return h.Own }) {
			out.Attach = s.next().verb("attach")
			if raw := attach(s.env.Backends[panes[0].Backend], panes[0]); raw != "" {
				out.Attach += ", or " + raw
			}
		}
	}
	return out
}

// detached is the outcome of an interrupted session: workers go on. For any
// other error there is none; the error says what happened.
func (s *session) detached(err error) *Outcome {
	if !errors.Is(err, ErrInterrupted) {
		return nil
	}
	return s.outcome(0, "Interrupted: nothing more is started, and workers that run go on.", s.next().apply(), s.next().verb("stop"))
}

// notCompleted are the ended dispatches that the run's workers are left with
// and that did not complete, in plan order.
func (s *session) notCompleted() []*record.Dispatch {
	var out []*record.Dispatch
	for _, r := range s.plan.Rounds {
		for _, w := range r.Workers {
			if d := s.state.Latest(w.Key); d != nil && d.Status.Terminal() && d.Status != plan.StatusCompleted {
				out = append(out, d)
			}
		}
	}
	return out
}

// failed lists the workers that did not complete, for a summary.
func (s *session) failed() string {
	var out []string
	for _, d := range s.notCompleted() {
		out = append(out, fmt.Sprintf("%s %s/%s", d.WorkerKey, d.Status, d.Reason))
	}
	const most = 6
	if len(out) > most {
		out = append(out[:most], fmt.Sprintf("and %d more", len(out)-most))
	}
	return strings.Join(out, ", ")
}
