package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
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
	s.looking = true
	// A verdict that blocks decides what may begin, for a first look too.
	if err := s.weighAll(); err != nil {
		return nil, err
	}
	if !o.DryRun {
		violations, err := reported(s.run, s.state)
		if err != nil {
			return nil, err
		}
		if !s.onItsWay() && len(violations) == 0 {
			// The record is the truth already: what is refused is refused before
			// anything is written.
			look := o
			look.DryRun = true
			if _, _, err := s.batchOf(ctx, look); err != nil {
				return nil, err
			}
		}
		if err := s.bringUp(); err != nil {
			return nil, err
		}
	}
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
		report.Outcome = s.outcome(0, fmt.Sprintf("%s of batch %s would start.", plan.Count(len(b.order), "worker"), b.name))
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
	if s.exhausted {
		report.Outcome = s.outcome(3, fmt.Sprintf("The budget allows no further start; of batch %s some workers wait.", b.name), teamCommand("await", s.run))
		return report, nil
	}
	report.Outcome = s.outcome(0, fmt.Sprintf("Batch %s is dispatched: %s.", b.name, plan.Count(len(b.order), "worker")), teamCommand("await", s.run))
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
	s.outdate(b.round.Name, "round "+b.round.Name+" is done again")
	if err := s.beginBatch(b.round, b.name); err != nil {
		return err
	}
	if rec := s.state.FindRound(b.round.Name); rec != nil && rec.Files[relative(s.run.Root, b.file)] != "" {
		s.handed(b.round, b.file, b.digest) // the lead may have written its own in its place
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

// TeamRun is the run that a lead's command is about, for one that needs nothing
// else of it. It refuses another lead runtime or run name than the manifest's.
func TeamRun(o TeamOptions) (paths.Run, error) {
	run, _, err := o.manifest()
	return run, err
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
	return s, nil
}

// onItsWay reports whether the record holds attempts of which only the disk
// tells what became of them.
func (s *session) onItsWay() bool {
	return slices.ContainsFunc(s.state.WorkerDispatches, func(d *record.Dispatch) bool {
		return d.Status == plan.StatusSpawning || d.Status == plan.StatusRunning
	})
}

// bringUp brings the record up to what is on disk, for a command that goes on
// with the run. A stop that is still at work is not undone.
func (s *session) bringUp() error {
	if s.manifest.Identity() == 1 && !exists(s.run.TeamState()) {
		return nil // nothing is recorded yet
	}
	if exists(s.run.Stop()) {
		if s.onItsWay() {
			return &Refusal{What: fmt.Sprintf("run %s is being stopped", s.run.Ref()), Remedy: "wait for okstra stop to end, then give the command again"}
		}
		if err := os.Remove(s.run.Stop()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the request to stop: %w", err)
		}
	}
	if err := s.reconcile(); err != nil {
		return err
	}
	return s.weighAll()
}

// weighAll finds the verdicts that already block the work.
func (s *session) weighAll() error {
	s.rejected = "" // what was set aside since blocks nothing
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
