package cmux

import (
	"context"
	"errors"
	"fmt"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/backends/internal/ident"
)

// survey reads one server for any number of handles: every list is asked for
// once, and the tree and the identity only where a surface is missing.
type survey struct {
	s      *session
	lists  map[string]listing
	places map[string]location
	treed  bool
	treeE  error
	id     server
	asked  bool
}

type listing struct {
	rows []row
	err  error
}

func newSurvey(s *session) *survey { return &survey{s: s, lists: map[string]listing{}} }

func (v *survey) list(ctx context.Context, workspace string) ([]row, error) {
	l, ok := v.lists[workspace]
	if !ok {
		l.rows, l.err = v.s.list(ctx, workspace)
		v.lists[workspace] = l
	}
	return l.rows, l.err
}

func (v *survey) tree(ctx context.Context) (map[string]location, error) {
	if !v.treed {
		v.places, v.treeE = v.s.tree(ctx)
		v.treed = true
	}
	return v.places, v.treeE
}

func (v *survey) server(ctx context.Context) server {
	if !v.asked {
		v.id, v.asked = v.s.server(ctx), true
	}
	return v.id
}

// errAbsent: neither the list of the workspace nor the tree of all windows
// shows the surface.
var errAbsent = errors.New("cmux lists no such surface")

// locate finds the row of a handle, in its workspace or, if it was moved, in
// another. A handle without a surface (the answer to its split was lost) is
// found by its marker.
func (v *survey) locate(ctx context.Context, h backends.Handle) (row, string, error) {
	rows, err := v.list(ctx, h.Workspace)
	if err != nil && code(err) != codeNotFound {
		return row{}, "", err
	}
	if h.Pane == "" {
		if r := marked(rows, h.Tag); r != nil {
			return *r, h.Workspace, nil
		}
		return row{}, "", errAbsent
	}
	if r := find(rows, h.Pane); r != nil {
		return *r, h.Workspace, nil
	}
	places, err := v.tree(ctx)
	if err != nil {
		return row{}, "", err
	}
	at, ok := places[h.Pane]
	if !ok {
		return row{}, "", errAbsent
	}
	rows, err = v.list(ctx, at.Workspace)
	if err != nil {
		return row{}, "", err
	}
	if r := find(rows, h.Pane); r != nil {
		return *r, at.Workspace, nil
	}
	return row{}, "", fmt.Errorf("cmux shows surface %s in its tree and not in its list", h.Pane)
}

// serverEnded reports whether a request failed because the recorded server is no
// more. Its surfaces went with it.
func serverEnded(h backends.Handle, err error) bool {
	if !errors.Is(err, errDown) || h.ServerPID <= 1 {
		return false
	}
	_, err = ident.Read(h.ServerPID)
	return errors.Is(err, ident.ErrNoProcess)
}

// ownership is whether a listed surface is what a handle recorded.
type ownership int

const (
	mine      ownership = iota + 1
	foreign             // it carries another marker, or none, on the recorded server
	restarted           // cmux was started anew; the process of the handle ended with the old one
	unproven            // nothing proves either
)

// own judges a listed surface. The marker proves it. A server without markers
// must be the recorded one, in which a surface id is never used again, and the
// tag one that was launched.
func (b *Backend) own(ctx context.Context, v *survey, h backends.Handle, r row) ownership {
	pid := v.s.peerPID
	if r.marks && r.mark == marker(h.Tag) && (pid == 0 || h.ServerPID == 0 || pid == h.ServerPID) {
		return mine
	}
	same, known := server{h.ServerPID, h.ServerStart}.same(v.server(ctx))
	switch {
	case known && !same:
		return restarted
	case r.marks:
		return foreign
	case known && b.launched(h.Tag):
		return mine
	}
	return unproven
}
