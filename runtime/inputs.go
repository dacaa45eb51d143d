package runtime

import (
	"path/filepath"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime/durable"
	"github.com/okstra/okstra/runtime/record"
)

// InputsFormat is the version of the inputs index.
const InputsFormat = "okstra.inputs/1"

// Inputs is the index of what the workers of a batch are given. All paths are
// absolute, so that a plain script can open them.
type Inputs struct {
	Format   string              `json:"format"`
	Run      string              `json:"run"`
	Round    string              `json:"round"`
	Batch    string              `json:"batch"`
	Declared map[string][]string `json:"declared"` // by worker key: the duty's and the assign's inputs
	Upstream []Upstream          `json:"upstream"` // completed workers of the rounds in after
	// Convergence is the settled state of a reverify round among them.
	Convergence string       `json:"convergence,omitempty"`
	Gates       []GateAnswer `json:"gates"`
	// Report is the final report of the run that this one comes after.
	Report string `json:"report,omitempty"`
}

// Upstream is one completed worker of an earlier round.
type Upstream struct {
	Worker      string            `json:"worker"`
	Label       string            `json:"executionLabel"`
	Round       string            `json:"round"`
	Role        string            `json:"role"`
	Participant string            `json:"participantRef"`
	Result      string            `json:"result"`
	Emit        string            `json:"emit,omitempty"`
	Outputs     map[string]string `json:"outputs,omitempty"`
}

// GateAnswer is what a person answered before this round.
type GateAnswer struct {
	Round  string `json:"round"`
	Choice string `json:"choice,omitempty"`
	Note   string `json:"note,omitempty"`
}

// writeInputs writes the index of a batch.
func (s *session) writeInputs(r *plan.Round, batch string) error {
	in := Inputs{Format: InputsFormat, Run: s.run.Ref(), Round: r.Name, Batch: batch, Declared: map[string][]string{}, Upstream: []Upstream{}, Gates: []GateAnswer{}}
	for _, w := range r.Workers {
		if len(w.Inputs) == 0 {
			continue
		}
		for _, path := range w.Inputs {
			in.Declared[w.Key] = append(in.Declared[w.Key], absolute(s.run.Root, path))
		}
	}
	for _, name := range r.After {
		up := s.plan.Round(name)
		if up == nil {
			continue
		}
		if up.Kind == plan.RoundReverify && exists(s.run.Convergence()) {
			in.Convergence = s.run.Convergence()
		}
		for i := range up.Workers {
			if d := s.state.Latest(up.Workers[i].Key); d != nil && d.Status == plan.StatusCompleted {
				in.Upstream = append(in.Upstream, s.upstream(up, &up.Workers[i], d))
			}
		}
	}
	for i := range s.plan.Rounds {
		if rr := s.state.FindRound(s.plan.Rounds[i].Name); rr != nil && rr.Approval != nil && rr.Approval.Approved {
			in.Gates = append(in.Gates, GateAnswer{Round: rr.Name, Choice: rr.Approval.Choice, Note: rr.Approval.Note})
		}
		if s.plan.Rounds[i].Name == r.Name {
			break
		}
	}
	if s.plan.Run.AfterReport != "" {
		in.Report = absolute(s.run.Root, s.plan.Run.AfterReport)
	}
	b, err := plan.Indented(in)
	if err != nil {
		return err
	}
	return s.hand(r, s.run.InputsIndex(batch), b)
}

// hand writes a file for the workers of a round or for the lead, and records
// what it holds.
func (s *session) hand(r *plan.Round, path string, b []byte) error {
	if err := durable.MkdirAll(filepath.Dir(path)); err != nil {
		return err
	}
	if err := durable.WriteFile(path, b, 0o600); err != nil {
		return err
	}
	s.handed(r, path, plan.DigestBytes(b))
	return nil
}

// handed records the digest of such a file.
func (s *session) handed(r *plan.Round, path, digest string) {
	rec := s.state.Round(r.Name)
	if rec.Files == nil {
		rec.Files = map[string]string{}
	}
	if name := relative(s.run.Root, path); rec.Files[name] != digest {
		rec.Files[name] = digest
		s.changed()
	}
}

func (s *session) upstream(r *plan.Round, w *plan.Worker, d *record.Dispatch) Upstream {
	a := attemptFiles(s.run, w, d.Batch, d.Attempt)
	u := Upstream{Worker: w.Key, Label: w.Label, Round: r.Name, Role: w.Role, Participant: w.ParticipantRef, Result: a.Result()}
	if w.Emits != plan.EmitsNone {
		u.Emit = a.Emit()
	}
	for _, o := range w.Outputs {
		if path := a.Output(o.Name); exists(path) {
			if u.Outputs == nil {
				u.Outputs = map[string]string{}
			}
			u.Outputs[o.Name] = path
		}
	}
	return u
}
