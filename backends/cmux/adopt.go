package cmux

import (
	"context"
	"errors"
	"fmt"

	"github.com/okstra/okstra/backends"
)

// Adopt implements backends.Backend: the surface must carry the tag's marker, or
// the launch of the tag have become the process that is named.
func (b *Backend) Adopt(ctx context.Context, h backends.Handle) (backends.Handle, error) {
	fail := func(err error) (backends.Handle, error) {
		return backends.Handle{}, fmt.Errorf("adopt surface %s of cmux: %w", h.Pane, err)
	}
	h.Pane = upperUUID(h.Pane)
	if h.Socket == "" || h.Workspace == "" {
		s, a, err := b.anchor(ctx)
		if err != nil {
			return fail(err)
		}
		s.Close()
		if h.Socket == "" {
			h.Socket = a.socket
		}
		if h.Workspace == "" {
			h.Workspace = a.workspace
		}
	}
	if err := valid(h); err != nil {
		return fail(err)
	}
	s := newSession(b.link(h.Socket))
	defer s.Close()
	v := newSurvey(s)
	r, workspace, err := v.locate(ctx, h)
	if errors.Is(err, errAbsent) {
		return fail(fmt.Errorf("%w: %w", backends.ErrNotThere, err))
	}
	if err != nil {
		return fail(err)
	}
	p := b.process(backends.Handle{Tag: h.Tag}, true)
	switch {
	case r.marks && r.mark != marker(h.Tag):
		return fail(fmt.Errorf("it does not carry the marker of %s", h.Tag))
	case h.PID != 0 && p.pid != 0 && p.pid != h.PID:
		return fail(fmt.Errorf("it was started as process %d, not %d", p.pid, h.PID))
	case !r.marks && (h.PID == 0 || p.pid != h.PID):
		return fail(errors.New("this cmux lists no markers, and no process proves that it is okstra's"))
	}
	id := v.server(ctx)
	h.Backend, h.Pane, h.Workspace = Name, r.ID, workspace
	h.ServerPID, h.ServerStart = id.pid, id.boot
	return h, nil
}
