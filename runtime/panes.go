package runtime

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime/durable"
	"github.com/okstra/okstra/runtime/lead"
	"github.com/okstra/okstra/runtime/record"
)

// screenLines is how much of a screen is saved before its pane is closed.
const screenLines = 2000

// keepPane closes the pane of a worker that has just ended where the policy
// says that it does not stay.
func (s *session) keepPane(d *record.Dispatch) {
	keep := s.plan.Run.Panes.Keep
	if keep == plan.KeepNever || keep == plan.KeepOnFailure && d.Status == plan.StatusCompleted {
		s.closePanes([]*record.Dispatch{d})
	}
}

// reclaim closes the panes of every batch but the one that begins. It waits
// until that is done, so that the new round gets their space.
func (s *session) reclaim(batch string) error {
	var old []*record.Dispatch
	for _, d := range s.state.WorkerDispatches {
		if d.Batch != batch && d.Status.Terminal() {
			old = append(old, d)
		}
	}
	if s.closePanes(old) == 0 {
		return nil
	}
	for s.running > 0 {
		f := <-s.messages
		s.running--
		f()
	}
	s.note(lead.Event{TS: s.env.Now(), Type: lead.PanesReclaimed, Phase: lead.PhaseDispatch, Message: "closed the panes of the round before"})
	return s.commit()
}

// closePanes saves the screens of these dispatches and closes their panes,
// beside the owner. It returns how many there are to close.
func (s *session) closePanes(ds []*record.Dispatch) int {
	var open []*record.Dispatch
	var handles []backends.Handle
	for _, d := range ds {
		if d.Handle != nil && d.Handle.Pane != "" && !d.Closed {
			open = append(open, d)
			handles = append(handles, *d.Handle)
		}
	}
	if len(open) == 0 {
		return 0
	}
	screens := make([]string, len(open))
	for i, d := range open {
		screens[i] = absolute(s.run.Root, d.PromptPath) + ".screen.txt"
	}
	s.background(func() func() {
		closed := closeHandles(s.backend, handles, screens)
		return func() {
			for i, c := range closed {
				if c.Err == nil {
					open[i].Closed = true
					s.changed()
					continue
				}
				s.note(lead.Event{TS: s.env.Now(), Type: lead.Note, Round: open[i].Round, InvocationRef: open[i].InvocationRef,
					Message: fmt.Sprintf("the pane of %s could not be closed: %v", open[i].ExecutionLabel, c.Err)})
			}
		}
	})
	return len(open)
}

// closeHandles saves each screen for people and then closes all.
func closeHandles(b backends.Backend, handles []backends.Handle, screens []string) []backends.Closed {
	ctx := context.Background()
	for i, h := range handles {
		text, err := b.Capture(ctx, h, screenLines)
		if err != nil || text == "" {
			continue // a screen is a courtesy: the log has everything
		}
		if err := durable.WriteFile(filepath.Clean(screens[i]), []byte(text), 0o600); err != nil && !errors.Is(err, context.Canceled) {
			break // no room to save it; closing matters more
		}
	}
	return b.Close(ctx, handles)
}
