package runtime

import (
	"slices"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime/record"
)

// pin records the project inputs and the program of a worker as they are when
// it is first dispatched. A change after that is noted in later plans, and no
// reason to do the work again.
func (s *session) pin(w *plan.Worker) {
	if slices.ContainsFunc(s.state.Pins, func(p record.Pin) bool { return p.WorkerKey == w.Key }) {
		return
	}
	program := w.Program
	p := record.Pin{WorkerKey: w.Key, Inputs: []plan.InputFile{}, Program: &program}
	for _, in := range s.plan.Inputs {
		if in.Kind == plan.InputProject && slices.Contains(w.Inputs, in.Path) {
			p.Inputs = append(p.Inputs, in)
		}
	}
	s.state.Pins = append(s.state.Pins, p)
	s.changed()
}

// unpin forgets what a worker was given, since it is to be done again.
func (s *session) unpin(key string) {
	s.state.Pins = slices.DeleteFunc(s.state.Pins, func(p record.Pin) bool { return p.WorkerKey == key })
	s.changed()
}
