// Package verify derives every status of a recorded run again, offline, from
// what is on disk: sidecars, launch records, artifacts, digests, events, round
// plans, approvals. It lists each place where the record and the facts
// disagree. It changes nothing, asks no process and no multiplexer, and knows
// no more than the files.
package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/converge"
	"github.com/okstra/okstra/runtime/lead"
	"github.com/okstra/okstra/runtime/record"
	"github.com/okstra/okstra/runtime/sidecar"
)

// Rules are those of the runtime that settling uses too, so that verifying
// judges by the same.
type Rules struct {
	// Validate checks a document against a schema, as sidecar.Gather wants it.
	Validate sidecar.Validate
	// Overlapping names the workers and runs that ran beside a dispatch; nil
	// takes the record's word for it.
	Overlapping func(run paths.Run, st *record.State, d *record.Dispatch) []string
}

// Report is the outcome of Verify.
type Report struct {
	Run           string         `json:"run"`
	Workers       int            `json:"invocations"` // that were looked at
	Events        int            `json:"events"`
	Disagreements []Disagreement `json:"disagreements"` // sorted by subject
}

// Agree reports whether nothing disagrees.
func (r *Report) Agree() bool { return len(r.Disagreements) == 0 }

// Disagreement is one place where the record and the facts differ.
type Disagreement struct {
	Subject  string `json:"subject"` // an invocationRef, a round, or a file relative to the project root
	Fact     string `json:"fact"`    // which fact: status, sidecar, artifact result, event worker-settled …
	Recorded string `json:"recorded"`
	Found    string `json:"found"`
}

func (d Disagreement) String() string {
	return fmt.Sprintf("%s: %s: recorded %s, found %s", d.Subject, d.Fact, d.Recorded, d.Found)
}

// Verify derives a run again. The error is set where the run cannot be read at
// all: no team-state, or one that does not parse.
func Verify(run paths.Run, rules Rules) (*Report, error) {
	v := &verifier{run: run, rules: rules, seen: map[string]bool{}, owned: map[string]bool{}, roots: map[string]string{}, backends: map[string]string{}, out: &Report{Run: run.Ref(), Disagreements: []Disagreement{}}}
	raw, err := os.ReadFile(run.TeamState())
	if errors.Is(err, fs.ErrNotExist) && exists(run.Manifest()) && exists(run.Events()) {
		// Without the record nothing can be held against the facts, but that it is
		// gone is one.
		v.add(v.rel(run.TeamState()), "record", "a run whose manifest lies there", "missing")
		return v.out, nil
	}
	if err != nil {
		return nil, fmt.Errorf("verify %s: %w", run.Ref(), err)
	}
	if v.state, err = record.Load(run.TeamState()); err != nil {
		return nil, fmt.Errorf("verify %s: %w", run.Ref(), err)
	}
	if err := rules.Validate("team-state", raw); err != nil {
		v.add(v.rel(run.TeamState()), "schema", "a team-state", err.Error())
	}
	if v.state.Run != run.Ref() {
		v.add(v.rel(run.TeamState()), "run", v.state.Run, run.Ref())
	}
	v.loadPlan()
	m := v.manifest()
	v.conv = v.convergence()
	for _, d := range v.state.WorkerDispatches {
		v.dispatch(d)
	}
	if m != nil {
		v.head(m)
	}
	v.projection()
	v.strays()
	if v.plan != nil {
		v.rounds()
	}
	v.events()
	slices.SortStableFunc(v.out.Disagreements, func(a, b Disagreement) int { return strings.Compare(a.Subject, b.Subject) })
	return v.out, nil
}

type verifier struct {
	run   paths.Run
	rules Rules
	state *record.State
	plan  *plan.Plan // nil where it cannot be read
	out   *Report
	conv  *converge.State   // of the reverify round, derived; nil without one
	seen  map[string]bool   // invocationRefs
	owned map[string]bool   // files that some invocation accounts for, absolute
	roots map[string]string // where the project lay when an invocation was launched
	// backends that showed an invocation, by its launch record
	backends map[string]string
}

func (v *verifier) add(subject, fact, recorded, found string) {
	v.out.Disagreements = append(v.out.Disagreements, Disagreement{subject, fact, lead.OneLine(recorded), lead.OneLine(found)})
}

// compare adds a disagreement where two values differ, in their JSON form.
func (v *verifier) compare(subject, fact string, recorded, found any) {
	a, b := text(recorded), text(found)
	if a != b {
		v.add(subject, fact, a, b)
	}
}

func text(value any) string {
	if s, ok := value.(string); ok {
		if s == "" {
			return "(nothing)"
		}
		return s
	}
	b, err := plan.Canonical(value)
	if err != nil {
		panic(err) // plain data
	}
	return string(b)
}

// abs and rel are between the paths of records and those of the file system.
func (v *verifier) abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(v.run.Root, path)
}

func (v *verifier) rel(path string) string {
	if rel, err := filepath.Rel(v.run.Root, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// problem puts a read error in few words.
func problem(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "missing"
	}
	return err.Error()
}

// loadPlan reads the plan in force and holds it against its digest.
func (v *verifier) loadPlan() {
	path := v.abs(v.state.PlanPath)
	raw, err := os.ReadFile(path)
	if err != nil {
		v.add(v.rel(path), "plan", v.state.PlanDigest, problem(err))
		return
	}
	if got := plan.DigestBytes(raw); got != v.state.PlanDigest {
		v.add(v.rel(path), "plan", v.state.PlanDigest, got)
		return
	}
	p := new(plan.Plan)
	if err := json.Unmarshal(raw, p); err != nil {
		v.add(v.rel(path), "plan", "a plan", err.Error())
		return
	}
	v.plan = p
}

// manifest holds the run manifest against the plan that it was made from. It is
// nil where it cannot be read.
func (v *verifier) manifest() *lead.Manifest {
	subject := v.rel(v.run.Manifest())
	m, err := lead.ReadManifest(v.run.Manifest())
	if err != nil {
		v.add(subject, "manifest", "a run manifest", problem(err))
		return nil
	}
	if m.Identity() == 1 {
		return m
	}
	v.compare(subject, "run", m.Run, v.run.Ref())
	v.compare(subject, "runName", m.RunName, v.state.RunName)
	raw, err := os.ReadFile(v.abs(m.PlanPath))
	if err != nil {
		v.add(subject, "planPath", m.PlanPath, problem(err))
		return m
	}
	p := new(plan.Plan)
	if err := json.Unmarshal(raw, p); err != nil {
		v.add(v.rel(v.abs(m.PlanPath)), "plan", "a plan", err.Error())
		return m
	}
	want := lead.NewManifest(v.run, p, v.abs(m.PlanPath), lead.BackendOf(m.LeadAdapter.DispatchMode), m.LeadRuntime)
	// The root is where the project lay when the run was made; it may have moved.
	want.ProjectRoot = m.ProjectRoot
	if text(m) != text(want) {
		v.add(subject, "manifest", plan.Digest(m), "its plan gives "+plan.Digest(want))
	}
	return m
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// projection holds the lead's view in team-state against the dispatches.
func (v *verifier) projection() {
	derived := record.State{WorkerDispatches: v.state.WorkerDispatches}
	derived.Project()
	recorded := v.state.Workers
	for i := range max(len(recorded), len(derived.Workers)) {
		switch {
		case i >= len(recorded):
			v.add(derived.Workers[i].WorkerKey, "workers[]", "(nothing)", text(derived.Workers[i]))
		case i >= len(derived.Workers):
			v.add(recorded[i].WorkerKey, "workers[]", text(recorded[i]), "no dispatch of it")
		default:
			v.compare(recorded[i].WorkerKey, "workers[]", recorded[i], derived.Workers[i])
		}
	}
}

// emitted gives what a worker's latest completed invocation emitted; batch
// restricts it to one batch where it is not empty.
func (v *verifier) emitted(batch string) converge.Emitted {
	return func(worker string) ([]byte, bool, error) {
		for i := len(v.state.WorkerDispatches) - 1; i >= 0; i-- {
			d := v.state.WorkerDispatches[i]
			if d.WorkerKey != worker || d.Superseded != "" || batch != "" && d.Batch != batch {
				continue
			}
			if d.Status != plan.StatusCompleted {
				return nil, false, nil
			}
			for _, a := range d.Artifacts {
				if a.Name == "emit" {
					doc, err := os.ReadFile(v.here(d, a.Path))
					return doc, err == nil, err
				}
			}
			return nil, false, fmt.Errorf("%s emitted nothing", d.InvocationRef)
		}
		return nil, false, nil
	}
}
