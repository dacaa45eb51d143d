package runtime

import (
	"context"
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
	s.join()
	s.note(lead.Event{TS: s.env.Now(), Type: lead.PanesReclaimed, Phase: lead.PhaseDispatch, Message: "closed the panes of the round before"})
	return s.commit()
}

// closePanes saves the screens of these dispatches and closes their panes,
// beside the owner. It returns how many there are to close.
func (s *session) closePanes(ds []*record.Dispatch) int {
	var open []*record.Dispatch
	var handles []backends.Handle
	for _, d := range ds {
		if onScreen(d) {
			open = append(open, d)
			handles = append(handles, *d.Handle)
		}
	}
	if len(open) == 0 {
		return 0
	}
	screens := make([]string, len(open))
	for i, d := range open {
		screens[i] = companions(s.run, d).Screen()
	}
	s.background(func() func() {
		closed := saveAndClose(s.env.Backends, handles, screens)
		return func() {
			for i, c := range closed {
				if c.Err == nil {
					open[i].Closed = true
					s.changed()
					continue
				}
				s.unclosed[open[i]] = c.Err
				s.note(lead.Event{TS: s.env.Now(), Type: lead.Note, Round: open[i].Round, InvocationRef: open[i].InvocationRef,
					Message: fmt.Sprintf("the pane of %s could not be closed: %v", open[i].ExecutionLabel, c.Err)})
			}
		}
	})
	return len(open)
}

// saveAndClose saves each screen for people and then closes all.
func saveAndClose(all map[string]backends.Backend, handles []backends.Handle, screens []string) []backends.Closed {
	for i, h := range handles {
		b, known := all[h.Backend]
		if !known {
			continue
		}
		text, err := b.Capture(context.Background(), h, screenLines)
		if err != nil || text == "" {
			continue // a screen is a courtesy: the log has everything
		}
		if durable.WriteFile(filepath.Clean(screens[i]), []byte(text), 0o600) != nil {
			break // no room to save it; closing matters more
		}
	}
	return closeAll(all, handles)
}

// goneOf tells of each dispatch whether its screen was seen to be gone. Not
// being able to tell is no.
func goneOf(ctx context.Context, all map[string]backends.Backend, ds []*record.Dispatch) []bool {
	gone := make([]bool, len(ds))
	places := map[string][]int{}
	for i, d := range ds {
		places[d.Handle.Backend] = append(places[d.Handle.Backend], i)
	}
	ctx, cancel := context.WithTimeout(ctx, backends.CallTimeout)
	defer cancel()
	for name, at := range places {
		b, known := all[name]
		if !known {
			continue
		}
		handles := make([]backends.Handle, len(at))
		for k, i := range at {
			handles[k] = *ds[i].Handle
		}
		for k, sight := range b.Look(ctx, handles) {
			gone[at[k]] = sight.Presence == backends.Gone
		}
	}
	return gone
}

// closeAll closes handles, each by the backend that made it, in as few calls as
// there are backends. The answers are in the handles' order.
func closeAll(all map[string]backends.Backend, handles []backends.Handle) []backends.Closed {
	out := make([]backends.Closed, len(handles))
	places := map[string][]int{}
	for i, h := range handles {
		places[h.Backend] = append(places[h.Backend], i)
	}
	for name, at := range places {
		b, known := all[name]
		group := make([]backends.Handle, len(at))
		for k, i := range at {
			group[k] = handles[i]
			if !known {
				out[i] = backends.Closed{Err: fmt.Errorf("backend %q is not here", name)}
			}
		}
		if !known {
			continue
		}
		for k, c := range b.Close(context.Background(), group) {
			out[at[k]] = c
		}
	}
	return out
}
