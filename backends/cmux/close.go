package cmux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/okstra/okstra/backends"
)

// errHarm: closing one surface took another with it. This Backend closes no
// more on that socket.
var errHarm = errors.New("cmux closed more than it was asked to")

// errForeign: the surface is not provably okstra's, or is the caller's own.
var errForeign = errors.New("left alone")

// Close implements backends.Backend.
func (b *Backend) Close(ctx context.Context, handles []backends.Handle) []backends.Closed {
	out := make([]backends.Closed, len(handles))
	self := b.self(ctx)
	for _, g := range bySocket(handles) {
		b.closeGroup(ctx, g, handles, self, out)
	}
	return out
}

// self returns the caller's own surfaces: what the environment says, and what
// cmux says where the environment is stale or stripped.
func (b *Backend) self(ctx context.Context) map[string]bool {
	self := map[string]bool{}
	at := b.where()
	if !at.inside {
		return self
	}
	if at.surface != "" {
		self[at.surface] = true
		return self
	}
	if s, a, err := b.anchor(ctx); err == nil {
		s.Close()
		self[a.surface] = true
	}
	return self
}

func (b *Backend) closeGroup(ctx context.Context, g group, handles []backends.Handle, self map[string]bool, out []backends.Closed) {
	unlock, err := b.lock(ctx, g.socket)
	if err != nil {
		for _, i := range g.index {
			out[i].Err = closeError(handles[i], err)
		}
		return
	}
	defer unlock()
	s := newSession(b.link(g.socket))
	defer s.Close()
	for _, i := range g.index {
		h := handles[i]
		err := valid(h)
		if err == nil {
			err = b.closeOne(ctx, s, h, self)
		} else {
			err = fmt.Errorf("%w: %w", errForeign, err)
		}
		out[i] = backends.Closed{Err: closeError(h, err), Refused: errors.Is(err, errForeign)}
	}
}

func closeError(h backends.Handle, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("close %s (cmux surface %s): %w", h.Tag, h.Pane, err)
}

// closeOne closes one surface: it must be listed, okstra's, and not the
// caller's; and it must be gone from the list after, and alone.
func (b *Backend) closeOne(ctx context.Context, s *session, h backends.Handle, self map[string]bool) error {
	v := newSurvey(s)
	r, workspace, err := v.locate(ctx, h)
	if errors.Is(err, errAbsent) || serverEnded(h, err) {
		return b.finish(ctx, h, b.process(h, false))
	}
	if err != nil {
		return err
	}
	if self[r.ID] {
		return fmt.Errorf("%w: it is the surface that this okstra runs in", errForeign)
	}
	switch b.own(ctx, v, h, r) {
	case mine:
	case restarted:
		return nil
	case foreign:
		return fmt.Errorf("%w: it does not carry okstra's marker", errForeign)
	default:
		return fmt.Errorf("%w: nothing proves that it is okstra's", errForeign)
	}
	if harm := b.harmDone(h.Socket); harm != nil {
		return fmt.Errorf("not tried, since %w", harm)
	}
	before, err := v.list(ctx, workspace)
	if err != nil {
		return err
	}
	p := b.process(h, true)
	if err := b.closeListed(ctx, s, workspace, r.ID, before); err != nil {
		if errors.Is(err, errHarm) {
			b.remember(h.Socket, err)
		}
		return err
	}
	return b.finish(ctx, h, p)
}

// harmDone is what a close on this socket did that it should not have.
func (b *Backend) harmDone(socket string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.harm[socket]
}

func (b *Backend) remember(socket string, harm error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.harm[socket] = harm
}

// finish waits for the process of a surface that is gone. What is kept for it
// stays until both are.
func (b *Backend) finish(ctx context.Context, h backends.Handle, p process) error {
	if err := b.awaitEnd(ctx, p); err != nil {
		return err
	}
	b.forget(h)
	return nil
}

// closeListed asks twice at most. What became of it is read from the list, not
// from the answer, which cmux gives for other surfaces too.
func (b *Backend) closeListed(ctx context.Context, s *session, workspace, surface string, before []row) error {
	var asked error
	for range 2 {
		asked = s.call(ctx, "surface.close", map[string]any{"workspace_id": workspace, "surface_id": surface}, nil)
		if code(asked) == codeInvalidState {
			return fmt.Errorf("cmux does not close the last surface of a workspace; close the workspace by hand: %w", asked)
		}
		gone, after, err := b.awaitGone(ctx, s, workspace, surface)
		if err != nil {
			return errors.Join(asked, err)
		}
		if others := vanished(before, after, surface); len(others) > 0 {
			return fmt.Errorf("%w: surface %s of the same workspace went too", errHarm, strings.Join(others, ", "))
		}
		if gone {
			return nil
		}
		if asked != nil {
			return asked
		}
	}
	return errors.New("cmux says that it is closed, and lists it still")
}

// awaitGone looks until the surface is not listed any more. A workspace that is
// not found went with its last surface.
func (b *Backend) awaitGone(ctx context.Context, s *session, workspace, surface string) (gone bool, after []row, err error) {
	ctx, cancel := context.WithTimeout(ctx, b.closeWait)
	defer cancel()
	poll(ctx, func() bool {
		var rows []row
		rows, err = s.list(ctx, workspace)
		switch {
		case code(err) == codeNotFound:
			gone, after, err = true, nil, nil
		case err == nil:
			gone, after = find(rows, surface) == nil, rows
		}
		return gone
	})
	if after != nil {
		err = nil // an earlier look tells enough
	}
	return gone, after, err
}

// vanished lists the surfaces that are missing after, but for the closed one
// and those that okstra made, which may end at any time. Nothing can be said
// where the whole workspace went.
func vanished(before, after []row, closed string) []string {
	if after == nil {
		return nil
	}
	var out []string
	for _, r := range before {
		ours := strings.HasPrefix(r.mark, markerPrefix)
		if r.ID != closed && !ours && find(after, r.ID) == nil {
			out = append(out, r.ID)
		}
	}
	return out
}

// forget removes what was kept for a surface that is gone, and remembers that
// it was seen to be.
func (b *Backend) forget(h backends.Handle) {
	b.mu.Lock()
	b.missing[key(h)] = time.Time{}
	b.mu.Unlock()
	for _, path := range []string{b.scriptPath(h.Tag), b.pidPath(h.Tag)} {
		// A file that stays is swept later.
		_ = os.Remove(path)
	}
}
