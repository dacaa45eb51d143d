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
	"time"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/durable"
	"github.com/okstra/okstra/runtime/jobs"
	"github.com/okstra/okstra/runtime/lead"
	"github.com/okstra/okstra/runtime/record"
)

// TeamOptions name the run that a lead's command is about.
type TeamOptions struct {
	ProjectRoot  string // empty: taken from the manifest's place
	ManifestPath string
	LeadRuntime  string // must be the manifest's where given
	RunName      string // must be the manifest's where given
	Progress     Progress
	// Heartbeat is how often await calls Beat; 0 is never.
	Heartbeat time.Duration
	Beat      func(running, total int)
}

// DispatchOptions select the batch of TeamDispatch: a jobs file, or workers,
// or, with neither, the next ready round.
type DispatchOptions struct {
	TeamOptions
	Workers  []string // worker keys or labels
	Kind     string   // --dispatch-kind
	JobsFile string
	DryRun   bool
}

// DispatchReport is what TeamDispatch started, or would start.
type DispatchReport struct {
	Outcome *Outcome     `json:"-"`
	Batch   string       `json:"batch"`
	Kind    string       `json:"dispatchKind"`
	DryRun  bool         `json:"dryRun"`
	Workers []Dispatched `json:"workers"`
}

// Dispatched is one worker of a dispatch report.
type Dispatched struct {
	WorkerKey     string      `json:"workerKey"`
	Label         string      `json:"executionLabel"`
	InvocationRef string      `json:"invocationRef"`
	Status        plan.Status `json:"status"`
	PaneID        string      `json:"paneId,omitempty"`
	PromptPath    string      `json:"promptPath"`
	ResultPath    string      `json:"resultPath"`
}

// TeamDispatch starts one batch of a run: it records every worker as planned,
// starts as many as parallelism allows, and returns when those are released.
func TeamDispatch(ctx context.Context, env Env, o DispatchOptions) (*DispatchReport, error) {
	run, m, err := o.manifest()
	if err != nil {
		return nil, err
	}
	s, err := o.take(env, run, m, o.DryRun)
	if err != nil {
		return nil, err
	}
	defer s.close()
	b, out, err := s.batchOf(ctx, o)
	if err != nil {
		return nil, err
	}
	if b == nil {
		return &DispatchReport{Outcome: out, DryRun: o.DryRun, Workers: []Dispatched{}}, nil
	}
	report := &DispatchReport{Batch: b.name, Kind: string(b.kind), DryRun: o.DryRun}
	if o.DryRun {
		for _, key := range b.order {
			w, attempt := b.work[key].worker, s.attemptFor(b, key)
			files := attemptFiles(s.run, w, b.name, attempt)
			report.Workers = append(report.Workers, Dispatched{WorkerKey: key, Label: w.Label, InvocationRef: paths.InvocationRef(w.AssignmentRef, b.name, attempt),
				Status: plan.StatusPlanned, PromptPath: files.Prompt(), ResultPath: files.Result()})
		}
		report.Outcome = s.outcome(0, fmt.Sprintf("%d workers of batch %s would start.", len(b.order), b.name))
		return report, nil
	}
	if err := s.dispatchBatch(ctx, b); err != nil {
		return nil, s.broken(err)
	}
	for _, key := range b.order {
		d := s.state.Latest(key)
		report.Workers = append(report.Workers, Dispatched{WorkerKey: key, Label: d.ExecutionLabel, InvocationRef: d.InvocationRef, Status: d.Status, PaneID: d.PaneID,
			PromptPath: absolute(run.Root, d.PromptPath), ResultPath: absolute(run.Root, d.ResultPath)})
	}
	report.Outcome = s.outcome(0, fmt.Sprintf("%d workers of batch %s are dispatched.", len(b.order), b.name), teamCommand("await", s.run))
	return report, nil
}

// dispatchBatch records a batch and releases its first workers.
func (s *session) dispatchBatch(ctx context.Context, b *batch) error {
	s.work = b.work
	if b.kind == jobs.KindRetry {
		// A lead that asks for another attempt gives a fresh allowance.
		s.state.Allowance++
	}
	if s.manifest.Identity() == 1 {
		if err := s.writePlanV1(); err != nil {
			return err
		}
	}
	if err := s.beginBatch(b.round, b.name); err != nil {
		return err
	}
	for _, key := range b.order {
		s.enlist(b.work[key], s.attemptFor(b, key), s.state.Allowance, nil)
	}
	released := func() bool {
		for _, f := range s.live {
			if !f.going && !f.settling {
				return false
			}
		}
		return s.running == 0
	}
	return s.drive(ctx, b.name, b.work, released)
}

// attemptFor is the attempt that a batch gives a worker.
func (s *session) attemptFor(b *batch, key string) int {
	if d := s.state.Latest(key); d != nil && d.Batch == b.name && (d.Status == plan.StatusPlanned || d.Status == plan.StatusNotRun) {
		return d.Attempt
	}
	return s.nextAttempt(key, b.name)
}

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
		return ended(run, st), nil
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

// ended is the outcome of a run that was finished before.
func ended(run paths.Run, st *record.State) *Outcome {
	out := &Outcome{Run: run, RunName: st.RunName, State: st, Nothing: true, Summary: fmt.Sprintf("Run %s is finished: %s.", run.Ref(), st.Ended)}
	if st.Ended != "completed" {
		out.Exit, out.Summary = 3, fmt.Sprintf("Run %s is finished: %s. %s", run.Ref(), st.Ended, st.EndedDetail)
	}
	return out
}

var errAwaitTimeout = errors.New("the time to wait has passed")

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
				return s.readyBatch(r, paths.ReverifyBatch(rp.Number), jobs.KindReverify(rp.Number), s.run.ReverifyJobs(rp.Number), s.judges(r, rp))
			}
		} else if !s.wholeRound(r) {
			if why := s.barred(r); why != plan.ReasonNone {
				out := s.outcome(3, fmt.Sprintf("Round %s cannot begin: %s. Not completed: %s.", r.Name, why, s.failed()), teamCommand("dispatch", s.run, "--dispatch-kind", "retry", "--workers", "KEYS"))
				return out, s.commit()
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

// wholeRound reports whether every worker of a round has ended.
func (s *session) wholeRound(r *plan.Round) bool {
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
		attempt := s.nextAttempt(j.worker.Key, name)
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
	if err := durable.WriteFile(path, jobs.Build(s.run, kind, planned), 0o600); err != nil {
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
	if r.Gate != nil && (rec == nil || rec.Approval == nil || approvalState(s.state, rec) != "approved") {
		next = append([]string{s.next().approve(r)}, next...)
	}
	return s.outcome(0, fmt.Sprintf("Everything that was dispatched has ended. Next is round %s.", r.Name), next...), nil
}

// teamCommand is an exact command line of this run.
func teamCommand(verb string, run paths.Run, args ...string) string {
	words := append([]string{"okstra", "team", verb, "--project-root", run.Root, "--run-manifest", run.Manifest()}, args...)
	for i, w := range words {
		words[i] = lead.Quote(w)
	}
	return strings.Join(words, " ")
}

// TeamTeardown is Teardown for the run that a manifest names.
func TeamTeardown(ctx context.Context, env Env, o TeamOptions, force bool) (*TeardownReport, error) {
	run, _, err := o.manifest()
	if err != nil {
		return nil, err
	}
	return Teardown(ctx, env, Selector{ProjectRoot: run.Root, Name: run.Ref()}, force)
}

// manifest reads the run manifest that a lead's command names.
func (o TeamOptions) manifest() (paths.Run, *lead.Manifest, error) {
	m, err := lead.ReadManifest(o.ManifestPath)
	if err != nil {
		return paths.Run{}, nil, err
	}
	if r := jobs.CheckLead(m, o.LeadRuntime, o.RunName); r != nil {
		return paths.Run{}, nil, refusal(r)
	}
	run, err := lead.RunOf(o.ManifestPath, o.ProjectRoot)
	return run, m, err
}

// take opens the run: for a dry run without its lock, and without changing
// anything.
func (o TeamOptions) take(env Env, run paths.Run, m *lead.Manifest, dry bool) (*session, error) {
	var lock *durable.Lock
	if !dry {
		var err error
		if lock, err = acquire(run); err != nil {
			return nil, err
		}
	}
	open, unrecorded := takeRun, m.Identity() == 1 && !exists(run.TeamState())
	if unrecorded {
		open = func(env Env, run paths.Run, lock *durable.Lock, progress Progress) (*session, error) {
			return beginV1(env, run, m, lock, progress)
		}
	}
	s, err := open(env, run, lock, o.Progress)
	if err != nil {
		return nil, err
	}
	s.manifest = m
	if s.state.Ended != "" {
		s.close()
		return nil, &Refusal{What: fmt.Sprintf("run %s is finished (%s)", run.Ref(), s.state.Ended), Remedy: "start another with okstra apply --new " + s.state.RunName}
	}
	if dry || unrecorded {
		return s, nil
	}
	if err := os.Remove(run.Stop()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.close()
		return nil, fmt.Errorf("remove the request to stop: %w", err)
	}
	if err := s.reconcile(); err != nil {
		s.close()
		return nil, err
	}
	return s, s.weighAll()
}

// weighAll finds the verdicts that already block the work.
func (s *session) weighAll() error {
	for i := range s.plan.Rounds {
		if err := s.weighVerdicts(&s.plan.Rounds[i]); err != nil {
			return err
		}
	}
	return nil
}

// refusal gives a jobs refusal the engine's type.
func refusal(r *jobs.Refusal) error {
	return &Refusal{What: r.What, Moved: r.Moved, Remedy: r.Remedy}
}
