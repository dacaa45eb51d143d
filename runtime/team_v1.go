package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/durable"
	"github.com/okstra/okstra/runtime/jobs"
	"github.com/okstra/okstra/runtime/lead"
	"github.com/okstra/okstra/runtime/record"
)

// Runs of version 1 manifests. Such a manifest names its workers and brings
// their prompts and the paths of their results with it; somebody else made it
// and decides what comes next. So there is no plan that a definition compiled
// to: one is made, round by round, from what is dispatched. A round is a
// dispatch kind, commands are those of the catalog's providers, and from there
// on everything is the same core.

// beginV1 opens a version 1 run of which nothing is recorded yet. Nothing is
// written before its first batch is dispatched.
func beginV1(env Env, run paths.Run, m *lead.Manifest, lock *durable.Lock, progress Progress) (_ *session, err error) {
	defer func() {
		if err != nil && lock != nil {
			lock.Close()
		}
	}()
	p, err := catalogPlan(env, run, m)
	if err != nil {
		return nil, err
	}
	wanted := p.Run.Backend
	if mode := modeV1(m); mode != "" {
		wanted = []string{lead.BackendOf(mode)}
	}
	name, probes, err := choose(context.Background(), env, wanted, "")
	if err != nil {
		return nil, &Refusal{What: err.Error(), Remedy: "start one, or correct the run manifest"}
	}
	p.Observed.Backend, p.Observed.Backends = name, probes
	p.Rounds = []plan.Round{}
	st := &record.State{
		SchemaVersion: record.SchemaVersion, Lineage: token(8), RunName: p.Run.Name, Run: run.Ref(), LeadRuntime: string(m.LeadRuntime),
		Backend: name, DispatchMode: string(lead.ModeOf(name)), LeadUsage: &plan.Usage{Source: plan.UsageUnavailable},
		StartedAt: env.Now(), Allowance: 1, Rounds: []*record.Round{}, WorkerDispatches: []*record.Dispatch{},
	}
	s, err := newSession(env, run, lock, st, p)
	if err != nil {
		return nil, err
	}
	s.backend, s.progress = env.Backends[name], progress
	return s, nil
}

// catalogPlan compiles the workers of a version 1 manifest.
func catalogPlan(env Env, run paths.Run, m *lead.Manifest) (*plan.Plan, error) {
	if env.Catalog == nil {
		return nil, &Refusal{What: "the run manifest has identity version 1, which cannot be dispatched here"}
	}
	p, err := env.Catalog(run, m.Workers)
	if err != nil {
		return nil, &Refusal{What: "the workers of the version 1 run manifest cannot be started", Moved: []string{err.Error()},
			Remedy: "their providers are those of okstra catalog"}
	}
	p.Run.Name, p.Run.TaskType, p.Run.Lead.Runtime = m.RunName, run.TaskType, string(m.LeadRuntime)
	if p.Run.Name == "" {
		p.Run.Name = run.TaskType
	}
	return p, nil
}

// modeV1 is the dispatch mode that a version 1 manifest asks for, if any.
func modeV1(m *lead.Manifest) lead.Mode {
	for _, mode := range []lead.Mode{m.TerminalBackend, m.LeadAdapter.DispatchMode} {
		switch mode {
		case lead.ModeCmuxPane, lead.ModeTmuxPane, lead.ModeCLIWrapper:
			return mode
		}
	}
	return ""
}

// batchV1 takes the batch from a jobs file or from the manifest's roster, by
// the same checks.
func (s *session) batchV1(o DispatchOptions) (*batch, error) {
	src, name := []byte(nil), o.JobsFile
	var err error
	if o.JobsFile != "" {
		if src, err = os.ReadFile(o.JobsFile); err != nil {
			return nil, fmt.Errorf("read jobs file: %w", err)
		}
	} else {
		name = "roster of " + filepath.Base(o.ManifestPath)
		if src, err = s.rosterV1(o); src == nil {
			return nil, err
		}
	}
	list, r := jobs.Check(src, name, jobs.Context{Run: s.run, Manifest: s.manifest, Dispatches: s.state.WorkerDispatches, Kind: o.Kind})
	if r != nil {
		return nil, refusal(r)
	}
	templates, err := catalogPlan(s.env, s.run, s.manifest)
	if err != nil {
		return nil, err
	}
	b := &batch{name: list[0].Batch, kind: list[0].Kind}
	for _, j := range list {
		if j.Batch != b.name {
			return nil, &Refusal{What: fmt.Sprintf("%s and %s were of different batches; retry one batch at a time", list[0].V1.WorkerID, j.V1.WorkerID)}
		}
		s.joinV1(templates, j)
		b.order = append(b.order, j.V1.WorkerID)
	}
	b.round = s.plan.Round(b.name)
	b.work, err = s.workOf(b.name)
	return b, err
}

// joinV1 puts a worker, with the files of one attempt, into the plan's round of
// its batch.
func (s *session) joinV1(templates *plan.Plan, j jobs.Job) {
	round := s.plan.Round(j.Batch)
	if round == nil {
		s.plan.Rounds = append(s.plan.Rounds, plan.Round{
			Name: j.Batch, Kind: plan.RoundWork, Index: len(s.plan.Rounds), After: []string{}, Require: plan.Require{All: true}, Parallelism: s.plan.Run.Parallelism,
		})
		round = &s.plan.Rounds[len(s.plan.Rounds)-1]
	}
	given := map[string]plan.Given{}
	if _, known := s.plan.Worker(j.V1.WorkerID); known != nil {
		maps.Copy(given, known.Given)
	}
	given[plan.GivenKey(j.Batch, j.Attempt)] = plan.Given{Prompt: relative(s.run.Root, j.PromptPath), Result: relative(s.run.Root, j.ResultPath)}
	if !slices.ContainsFunc(round.Workers, func(w plan.Worker) bool { return w.Key == j.V1.WorkerID }) {
		round.Workers = append(round.Workers, workerV1(templates, j.V1))
	}
	// Whichever round a worker is looked up in, all of its attempts are known.
	for i := range s.plan.Rounds {
		for k := range s.plan.Rounds[i].Workers {
			if w := &s.plan.Rounds[i].Workers[k]; w.Key == j.V1.WorkerID {
				w.Given = given
			}
		}
	}
}

// workerV1 is the catalog's worker under the name that the manifest gives it.
// It is started once; a retry is a jobs file with files of its own.
func workerV1(templates *plan.Plan, v *lead.WorkerV1) plan.Worker {
	_, t := templates.Worker(v.WorkerID)
	if t == nil {
		panic("the catalog compiled no worker for " + v.WorkerID)
	}
	w := *t
	w.AssignmentRef, w.Label, w.Title, w.Role = v.WorkerID, v.WorkerID, v.WorkerID, v.Role
	w.Retry.Attempts = 1
	return w
}

// rosterV1 writes the jobs file that the manifest's roster stands for: the
// workers that are named or, with none, all that were not dispatched; the
// report-writer comes when the others are done. It is nil where nobody is left.
func (s *session) rosterV1(o DispatchOptions) ([]byte, error) {
	kind := jobs.KindInitial
	if o.Kind != "" {
		var err error
		if kind, err = jobs.ParseKind(o.Kind); err != nil {
			return nil, &Refusal{What: err.Error()}
		}
	}
	if kind != jobs.KindInitial && kind != jobs.KindReportWriter {
		return nil, &Refusal{What: fmt.Sprintf("a %s of a version 1 worker needs a prompt and a result path of its own", kind), Remedy: "name them in a jobs file: --jobs-file"}
	}
	chosen, writers := s.openV1(), []lead.WorkerV1(nil)
	if len(o.Workers) > 0 {
		chosen = nil
		for _, id := range o.Workers {
			i := slices.IndexFunc(s.manifest.Workers, func(w lead.WorkerV1) bool { return w.WorkerID == id })
			if i < 0 {
				return nil, &Refusal{What: fmt.Sprintf("no worker %q in this run", id), Remedy: "there are " + plan.Some(plan.NearestFirst(id, idsV1(s.manifest.Workers)))}
			}
			chosen = append(chosen, s.manifest.Workers[i])
		}
	}
	isWriter := func(w lead.WorkerV1) bool { return w.Role == lead.RoleReportWriter }
	if kind == jobs.KindInitial && len(o.Workers) == 0 {
		writers = slices.DeleteFunc(slices.Clone(chosen), func(w lead.WorkerV1) bool { return !isWriter(w) })
		chosen = slices.DeleteFunc(slices.Clone(chosen), isWriter)
	}
	if o.Kind == "" && (len(chosen) == 0 || !slices.ContainsFunc(chosen, func(w lead.WorkerV1) bool { return !isWriter(w) })) {
		chosen, kind = append(chosen, writers...), jobs.KindReportWriter
	}
	if len(chosen) == 0 {
		return nil, nil
	}
	entries := []map[string]string{}
	for _, w := range chosen {
		entries = append(entries, map[string]string{"workerId": w.WorkerID, "provider": w.Provider, "promptPath": w.PromptPath, "workerResultPath": w.WorkerResultPath, "role": w.Role})
	}
	return json.Marshal(map[string]any{"dispatchKind": kind, "workers": entries})
}

// openV1 are the roster's workers that were never started.
func (s *session) openV1() []lead.WorkerV1 {
	return slices.DeleteFunc(slices.Clone(s.manifest.Workers), func(w lead.WorkerV1) bool {
		d := s.state.Latest(w.WorkerID)
		return d != nil && d.Status != plan.StatusNotRun
	})
}

func idsV1(workers []lead.WorkerV1) []string {
	var out []string
	for _, w := range workers {
		out = append(out, w.WorkerID)
	}
	return out
}

// writePlanV1 stores the plan as it is with the batch that is about to begin.
func (s *session) writePlanV1() error {
	for _, path := range []string{s.run.Plan(1), s.run.TeamState(), s.run.Events()} {
		if err := durable.MkdirAll(filepath.Dir(path)); err != nil {
			return err
		}
	}
	if s.state.PlanNumber == 0 {
		s.note(lead.Event{TS: s.env.Now(), Type: lead.RunCreated, Phase: lead.PhaseOf(lead.RunCreated, ""), Message: "starting " + s.run.Ref()})
	}
	s.changed()
	return writePlan(s.run, s.state, s.plan)
}

// wrapUpV1 says how everything that was dispatched has ended. What comes next
// is the lead's to know.
func (s *session) wrapUpV1() (*Outcome, error) {
	for i := range s.plan.Rounds {
		if r := &s.plan.Rounds[i]; s.wholeRound(r) {
			if err := s.finishRound(r); err != nil {
				return nil, err
			}
		}
	}
	if len(s.state.WorkerDispatches) == 0 {
		return s.outcome(0, "Nothing was dispatched yet.", teamCommand("dispatch", s.run)), nil
	}
	var next []string
	if len(s.openV1()) > 0 {
		next = append(next, teamCommand("dispatch", s.run))
	}
	if failed := s.failed(); failed != "" {
		return s.outcome(3, fmt.Sprintf("Everything that was dispatched has ended. Not completed: %s. To try one again, write a jobs file of kind retry with a prompt and a result path of its own, and dispatch that.", failed),
			append(append(s.whyCommands(), "okstra schema jobs"), next...)...), nil
	}
	return s.outcome(0, "Everything that was dispatched has ended.", next...), nil
}
