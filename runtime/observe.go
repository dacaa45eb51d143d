package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"unicode/utf8"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/jobs"
	"github.com/okstra/okstra/runtime/launch"
	"github.com/okstra/okstra/runtime/record"
	"github.com/okstra/okstra/runtime/sidecar"
)

// Observe returns what is recorded of the latest run of a plan's task and task
// type. It reads and writes nothing, takes no lock but the shared probe of an
// attempt's, and is correct for a run that nobody drives; of one that is driven
// it is a snapshot.
func Observe(ctx context.Context, env Env, p *plan.Plan) (*plan.Recorded, error) {
	return ObserveRun(ctx, env, p, 0)
}

// ObserveRun is Observe for one recorded run number; 0 is the latest.
func ObserveRun(_ context.Context, _ Env, p *plan.Plan, seq int) (*plan.Recorded, error) {
	run := paths.Run{Root: p.ProjectRoot, Task: p.Run.Task, TaskType: p.Run.TaskType}
	if !utf8.ValidString(p.ProjectRoot) {
		// Records are JSON, which holds nothing else.
		return nil, fmt.Errorf("the path of the project, %q, is not UTF-8; move the project to one that is", p.ProjectRoot)
	}
	if err := findReport(p); err != nil {
		return nil, err
	}
	latest, err := latestSeq(run)
	if err != nil {
		return nil, err
	}
	if run.Seq, err = latestState(run); err != nil {
		return nil, err
	}
	if seq > 0 {
		run.Seq = seq
		if !exists(run.TeamState()) {
			return nil, fmt.Errorf("%w: %s@%03d", ErrNotFound, p.Run.Name, seq)
		}
	}
	if run.Seq == 0 {
		return &plan.Recorded{Latest: latest}, nil
	}
	st, err := record.Load(run.TeamState())
	if err != nil {
		return nil, err
	}
	rec, err := observe(run, st)
	if err != nil {
		return nil, err
	}
	rec.Latest = latest
	return rec, nil
}

func observe(run paths.Run, st *record.State) (*plan.Recorded, error) {
	rec := &plan.Recorded{
		Exists: true, Seq: run.Seq, Latest: run.Seq, Lineage: st.Lineage, Serial: st.Serial, Ended: st.Ended, Backend: st.Backend,
		Workers: map[string]plan.RecordedWorker{}, Rounds: map[string]plan.RecordedRound{},
	}
	var err error
	if rec.Plan, err = loadPlan(run, st); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	violations, err := reported(run, st)
	if err != nil {
		return nil, err
	}
	violators, weakened := map[*record.Dispatch]bool{}, map[string]bool{}
	for _, v := range violations {
		if v.counts(st) {
			violators[v.d], weakened[v.d.Round] = true, true
		}
	}
	pins := map[string]*record.Pin{}
	for i := range st.Pins {
		pins[st.Pins[i].WorkerKey] = &st.Pins[i]
	}
	for _, d := range st.WorkerDispatches {
		if d.Superseded != "" {
			continue
		}
		w := plan.RecordedWorker{
			Status: d.Status, Reason: d.Reason, AssignmentDigest: d.Digests.Assignment, Batch: d.Batch, Attempt: d.Attempt,
			Allowance: used(st, d),
		}
		switch {
		case d.Status == plan.StatusPlanned, d.Status == plan.StatusNotRun:
			w.NeverRan = true
		case !d.Status.Terminal():
			j, err := sidecar.Judge(absolute(run.Root, d.StatusPath), lockOf(absolute(run.Root, d.StatusPath)))
			if err != nil {
				return nil, err
			}
			w.Live = j.Verdict == sidecar.Live
			w.NeverRan = j.Verdict == sidecar.NeverStarted
			w.Unsettled = j.Verdict == sidecar.Terminal
			if j.Verdict == sidecar.Lost {
				w.Status, w.Reason = plan.StatusError, plan.ReasonSupervisorLost
			}
		}
		if violators[d] { // the next runner takes it in
			w.Status, w.Reason = plan.StatusContractViolated, plan.ReasonForbiddenAction
		}
		if pin := pins[d.WorkerKey]; pin != nil {
			w.InputsPinned, w.ProgramPinned = pin.Inputs, pin.Program
		}
		rec.Workers[d.WorkerKey] = w
	}
	for _, r := range st.Rounds {
		rr := plan.RecordedRound{Settled: r.Result == "met" && !weakened[r.Name] && (rec.Plan == nil || !jobs.Wanted(rec.Plan, r.Name, st.WorkerDispatches))}
		if r.Approval != nil {
			rr.Approval = approvalState(run, rec.Plan, st, r)
		}
		rec.Rounds[r.Name] = rr
	}
	if rec.Plan == nil {
		return rec, nil
	}
	rec.Spent = spent(st, rec.Plan).sum()
	for _, r := range rec.Plan.Rounds {
		if rr := rec.Rounds[r.Name]; r.Gate != nil && rr.Approval != "approved" && st.Ended == "" {
			// An answer that no runner has taken up yet.
			a, err := loadApproval(run.Approval(r.Name))
			if err != nil {
				return nil, err
			}
			if a == nil || a.Seen != resultsDigest(run, rec.Plan, st, r.Name) {
				continue
			}
			if rr.Approval = "denied"; a.Approved {
				rr.Approval = "approved"
			}
			rec.Rounds[r.Name] = rr
		}
	}
	return rec, nil
}

// approvalState tells whether an answered gate still holds. Without the run's
// plan nobody can say so.
func approvalState(run paths.Run, p *plan.Plan, st *record.State, r *record.Round) string {
	switch {
	case !r.Approval.Approved:
		return "denied"
	case st.Ended != "":
		return "approved" // what it saw then is no question any more
	case p == nil, r.Approval.Seen != resultsDigest(run, p, st, r.Name):
		return "void"
	}
	return "approved"
}

// resultsDigest is the digest of everything that stood before a round of the
// plan, as it lies on disk: what an approval of its gate has seen. What the
// rounds after it leave is no reason to ask again.
func resultsDigest(run paths.Run, p *plan.Plan, st *record.State, round string) string {
	before := map[string]bool{}
	for _, r := range p.Rounds {
		if r.Name == round {
			break
		}
		before[r.Name] = true
	}
	type seen struct {
		Worker string
		Status plan.Status
		Files  []string
	}
	results := []seen{}
	index := map[string]int{}
	for _, d := range st.WorkerDispatches {
		if d.Superseded != "" || !before[d.Round] || d.Status == plan.StatusNotRun || d.Status == plan.StatusPlanned {
			continue // it left nothing
		}
		one := seen{Worker: d.Batch + "/" + d.WorkerKey, Status: d.Status}
		for _, path := range d.CompletionPaths {
			f := sidecar.Look(launch.CompletionPath{Path: absolute(run.Root, path)})
			one.Files = append(one.Files, path+"="+f.Digest)
		}
		if i, ok := index[one.Worker]; ok {
			results[i] = one
			continue
		}
		index[one.Worker] = len(results)
		results = append(results, one)
	}
	return plan.Digest(results)
}

// used counts the attempts that a worker has used of its present allowance, up
// to and with d.
func used(st *record.State, d *record.Dispatch) int {
	n := 0
	for _, o := range st.WorkerDispatches {
		if o.WorkerKey == d.WorkerKey && o.Batch == d.Batch && o.Allowance == d.Allowance && o.Superseded == "" && !o.Uncounted &&
			o.Status != plan.StatusNotRun && o.Attempt <= d.Attempt {
			n++
		}
	}
	return n
}

// loadPlan reads the plan that a run is driven by and checks it against the
// digest in its state.
func loadPlan(run paths.Run, st *record.State) (*plan.Plan, error) {
	path := absolute(run.Root, st.PlanPath)
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the run's plan: %w", err)
	}
	if got := plan.DigestBytes(b); got != st.PlanDigest {
		return nil, fmt.Errorf("plan %s was changed: its digest is %s, the run's state has %s", path, got, st.PlanDigest)
	}
	return DecodePlan(b, path)
}

// DecodePlan reads a plan of this version's format. Only the values of a
// worker's environment may refer to sensitive variables.
func DecodePlan(b []byte, name string) (*plan.Plan, error) {
	var p plan.Plan
	if err := json.Unmarshal(b, &p); err != nil {
		return nil, fmt.Errorf("plan %s cannot be read: %w", name, err)
	}
	if p.Format != plan.Format {
		return nil, fmt.Errorf("plan %s has format %q; this okstra reads %q", name, p.Format, plan.Format)
	}
	if err := p.Check(); err != nil {
		return nil, fmt.Errorf("plan %s: %w", name, err)
	}
	for _, r := range p.Rounds {
		for _, w := range r.Workers {
			for _, t := range append([]plan.Template{w.Instructions}, w.Argv...) {
				for _, ref := range t.Refs() {
					if secret, ok := ref.SecretName(); ok {
						return nil, fmt.Errorf("plan %s gives the sensitive variable %s to worker %s outside of its environment", name, secret, w.Key)
					}
				}
			}
		}
	}
	return &p, nil
}
