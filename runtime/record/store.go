package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime/durable"
)

// Load reads team-state. It returns an error that wraps fs.ErrNotExist where
// there is none, and one that names the file where it cannot be read; a state
// that does not parse is never taken for an absent one.
func Load(path string) (*State, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		return nil, fmt.Errorf("read team-state: %w", err)
	}
	var s State
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("team-state %s is damaged: %w", path, err)
	}
	if s.SchemaVersion != SchemaVersion {
		return nil, fmt.Errorf("team-state %s has version %q; this okstra knows %q", path, s.SchemaVersion, SchemaVersion)
	}
	return &s, nil
}

// Writer saves one run's state. It keeps the encoded form of dispatches that
// have ended, which are most of a large run and do not change any more, so that
// a write costs what changed. The zero value is ready.
type Writer struct {
	encoded map[*Dispatch]encodedDispatch
}

// encodedDispatch is an ended dispatch as it was written, with everything that
// may still change in one: whatever else it holds was settled with its status.
type encodedDispatch struct {
	status     plan.Status
	reason     plan.Reason
	detail     string
	superseded string
	closed     bool
	uncounted  bool
	json       json.RawMessage
}

func (e encodedDispatch) current(d *Dispatch) bool {
	return e.status == d.Status && e.reason == d.Reason && e.detail == d.Detail && e.superseded == d.Superseded &&
		e.closed == d.Closed && e.uncounted == d.Uncounted
}

// head is a state without its dispatches: the outer field hides the embedded
// one of the same JSON name and is left out itself.
type head struct {
	*State
	WorkerDispatches *struct{} `json:"workerDispatches,omitempty"`
}

// Save writes the state durably with the next serial. The caller holds the
// run lock. On an error the file is as it was before, and so is the serial.
func (w *Writer) Save(path string, s *State) error {
	s.Serial++
	b := bytes.TrimSuffix(encode(head{State: s}), []byte("}"))
	b = append(b, `,"workerDispatches":[`...)
	for i, d := range s.WorkerDispatches {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, w.encode(d)...)
	}
	b = append(b, "]}\n"...)
	if err := durable.WriteFile(path, b, 0o600); err != nil {
		s.Serial--
		return fmt.Errorf("write team-state: %w", err)
	}
	return nil
}

func (w *Writer) encode(d *Dispatch) json.RawMessage {
	if !d.Status.Terminal() {
		delete(w.encoded, d)
		return encode(d)
	}
	if e, ok := w.encoded[d]; ok && e.current(d) {
		return e.json
	}
	e := encodedDispatch{d.Status, d.Reason, d.Detail, d.Superseded, d.Closed, d.Uncounted, encode(d)}
	if w.encoded == nil {
		w.encoded = map[*Dispatch]encodedDispatch{}
	}
	w.encoded[d] = e
	return e.json
}

// encode panics on a value without a JSON form, which no type here holds.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// Latest returns the newest dispatch of a worker key that is not superseded,
// or nil.
func (s *State) Latest(workerKey string) *Dispatch {
	for i := len(s.WorkerDispatches) - 1; i >= 0; i-- {
		d := s.WorkerDispatches[i]
		if d.WorkerKey == workerKey && d.Superseded == "" {
			return d
		}
	}
	return nil
}

// Invocation returns the dispatch with this reference, or nil.
func (s *State) Invocation(ref string) *Dispatch {
	for _, d := range s.WorkerDispatches {
		if d.InvocationRef == ref {
			return d
		}
	}
	return nil
}

// InBatch returns the dispatches of one batch that are not superseded, in the
// order in which they were made.
func (s *State) InBatch(batch string) []*Dispatch {
	var out []*Dispatch
	for _, d := range s.WorkerDispatches {
		if d.Batch == batch && d.Superseded == "" {
			out = append(out, d)
		}
	}
	return out
}

// Round returns the round's entry, made where there is none.
func (s *State) Round(name string) *Round {
	if r := s.FindRound(name); r != nil {
		return r
	}
	r := &Round{Name: name}
	s.Rounds = append(s.Rounds, r)
	return r
}

// FindRound returns the round's entry, or nil.
func (s *State) FindRound(name string) *Round {
	for _, r := range s.Rounds {
		if r.Name == name {
			return r
		}
	}
	return nil
}

// Project fills Workers, the lead's view, from the dispatches.
func (s *State) Project() {
	at := map[string]int{}
	s.Workers = s.Workers[:0]
	for _, d := range s.WorkerDispatches {
		if d.Superseded != "" {
			continue
		}
		w := Worker{
			WorkerKey: d.WorkerKey, ExecutionLabel: d.ExecutionLabel, Round: d.Round, Role: d.Role, BackendType: d.BackendType,
			Status: d.Status, Reason: d.Reason, Attempt: d.Attempt, ResultPath: d.ResultPath, Usage: d.Usage,
		}
		if w.Usage == nil {
			w.Usage = &plan.Usage{Source: plan.UsageUnavailable}
		}
		if j, ok := at[d.WorkerKey]; ok {
			s.Workers[j] = w
			continue
		}
		at[d.WorkerKey] = len(s.Workers)
		s.Workers = append(s.Workers, w)
	}
}
