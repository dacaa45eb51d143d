package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"

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

// Writer saves one run's state. It keeps the encoded form of what stands still,
// which is most of a large run, so that a write costs what changed. The zero
// value is ready.
type Writer struct {
	dispatches map[*Dispatch]*kept[Dispatch]
	workers    map[string]*kept[Worker]
	buf        []byte
}

// kept is a value as it was when it was written, and how.
type kept[T any] struct {
	was  T
	json []byte
}

// head is a state without its lists: the outer fields hide the embedded ones
// of the same JSON names and are left out themselves.
type head struct {
	*State
	Workers          *struct{} `json:"workers,omitempty"`
	WorkerDispatches *struct{} `json:"workerDispatches,omitempty"`
}

// Save writes the state durably with the next serial. The caller holds the
// run lock. On an error the file is as it was before, and so is the serial.
func (w *Writer) Save(path string, s *State) error {
	if w.dispatches == nil {
		w.dispatches, w.workers = map[*Dispatch]*kept[Dispatch]{}, map[string]*kept[Worker]{}
	}
	s.Serial++
	b := append(w.buf[:0], bytes.TrimSuffix(encode(head{State: s}), []byte("}"))...)
	b = append(b, `,"workers":`...)
	b = list(b, s.Workers, w.worker)
	b = append(b, `,"workerDispatches":`...)
	b = list(b, s.WorkerDispatches, w.dispatch)
	b = append(b, "}\n"...)
	w.buf = b
	if err := durable.WriteFile(path, b, 0o600); err != nil {
		s.Serial--
		return fmt.Errorf("write team-state: %w", err)
	}
	return nil
}

func list[T any](b []byte, values []T, encode func(T) []byte) []byte {
	b = append(b, '[')
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, encode(v)...)
	}
	return append(b, ']')
}

// dispatch keeps what waits or has ended. While a worker is on its way its
// dispatch changes with every write, and in place.
func (w *Writer) dispatch(d *Dispatch) []byte {
	if d.Status != plan.StatusPlanned && !d.Status.Terminal() {
		delete(w.dispatches, d)
		return encode(d)
	}
	if k, ok := w.dispatches[d]; ok && same(&k.was, d) {
		return k.json
	}
	k := &kept[Dispatch]{*d, encode(d)}
	w.dispatches[d] = k
	return k.json
}

func (w *Writer) worker(v Worker) []byte {
	if k, ok := w.workers[v.WorkerKey]; ok && same(&k.was, &v) {
		return k.json
	}
	k := &kept[Worker]{v, encode(v)}
	w.workers[v.WorkerKey] = k
	return k.json
}

// same compares field by field: pointers by what they point to, slices by being
// the very same.
func same[T any](a, b *T) bool {
	x, y := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for i := range x.NumField() {
		f, g := x.Field(i), y.Field(i)
		switch {
		case f.Kind() == reflect.Slice:
			if f.Len() != g.Len() || f.UnsafePointer() != g.UnsafePointer() {
				return false
			}
			continue
		case f.Kind() == reflect.Pointer && !f.IsNil() && !g.IsNil():
			f, g = f.Elem(), g.Elem()
		}
		if !f.Equal(g) {
			return false
		}
	}
	return true
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

// Tag identifies one invocation to a backend: the run's lineage, and the
// invocation as a digest, in the alphabet that every backend keeps.
func (s *State) Tag(invocation string) string {
	return s.Lineage + "." + plan.DigestBytes([]byte(invocation))[len("sha256:"):][:16]
}

// Outcome returns how the newest dispatch of a worker key stands, and false
// where nothing that counts is recorded of it.
func (s *State) Outcome(workerKey string) (plan.Status, plan.Reason, bool) {
	if d := s.Latest(workerKey); d != nil {
		return d.Status, d.Reason, true
	}
	return "", plan.ReasonNone, false
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
	at := make(map[string]int, len(s.WorkerDispatches))
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
