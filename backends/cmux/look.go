package cmux

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/okstra/okstra/backends"
)

// Look implements backends.Backend.
func (b *Backend) Look(ctx context.Context, handles []backends.Handle) []backends.Sight {
	out := make([]backends.Sight, len(handles))
	for _, group := range bySocket(handles) {
		s := newSession(b.link(group.socket))
		v := newSurvey(s)
		for _, i := range group.index {
			out[i] = b.sight(ctx, v, handles[i])
		}
		s.Close()
	}
	return out
}

func (b *Backend) sight(ctx context.Context, v *survey, h backends.Handle) backends.Sight {
	if err := valid(h); err != nil {
		return backends.Sight{Presence: backends.Unknown, Detail: err.Error()}
	}
	r, workspace, err := v.locate(ctx, h)
	if errors.Is(err, errAbsent) {
		return b.absent(ctx, v, h)
	}
	if serverEnded(h, err) {
		return backends.Sight{Presence: backends.Gone, Detail: fmt.Sprintf("cmux, process %d, has ended", h.ServerPID)}
	}
	b.present(h)
	if err != nil {
		return backends.Sight{Presence: backends.Unknown, Detail: err.Error()}
	}
	switch b.own(ctx, v, h, r) {
	case mine:
		detail := "surface " + r.ID
		if workspace != h.Workspace {
			detail += ", moved to workspace " + workspace
		}
		exited := b.process(h, true).state == ended
		if exited {
			detail += ", whose process has ended"
		}
		return backends.Sight{Presence: backends.Alive, Detail: detail, Exited: exited}
	case restarted:
		return backends.Sight{Presence: backends.Gone, Detail: "cmux was restarted; the surface holds another process now"}
	case foreign:
		return backends.Sight{Presence: backends.Unknown, Detail: "the surface is listed and does not carry okstra's marker"}
	}
	return backends.Sight{Presence: backends.Unknown, Detail: "nothing proves that the listed surface is okstra's"}
}

// absent calls a surface gone when its server was replaced, when its process is
// known to have ended, or when it was missing from every list for the settling
// time: lists lag behind.
func (b *Backend) absent(ctx context.Context, v *survey, h backends.Handle) backends.Sight {
	if same, known := (server{h.ServerPID, h.ServerStart}).same(v.server(ctx)); known && !same {
		return backends.Sight{Presence: backends.Gone, Detail: "cmux was restarted"}
	}
	if b.process(h, false).state == ended {
		return backends.Sight{Presence: backends.Gone, Detail: errAbsent.Error() + ", and its process has ended"}
	}
	now := b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	since, ok := b.missing[key(h)]
	if !ok {
		b.missing[key(h)], since = now, now
	}
	if now.Sub(since) >= b.settle {
		return backends.Sight{Presence: backends.Gone, Detail: errAbsent.Error()}
	}
	return backends.Sight{Presence: backends.Unknown, Detail: fmt.Sprintf("%v; lists lag behind, so it is looked at again after %s", errAbsent, b.settle)}
}

func (b *Backend) present(h backends.Handle) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.missing, key(h))
}

func key(h backends.Handle) string { return h.Socket + " " + h.Tag + " " + h.Pane }

// valid refuses a handle that this backend cannot have made.
func valid(h backends.Handle) error {
	switch {
	case h.Backend != Name:
		return fmt.Errorf("a handle of backend %q", h.Backend)
	case h.Socket == "":
		return errors.New("a handle without a socket")
	case upperUUID(h.Workspace) == "":
		return fmt.Errorf("a handle with the workspace %q, which is no id of cmux", h.Workspace)
	case h.Pane != "" && upperUUID(h.Pane) == "":
		return fmt.Errorf("a handle with the surface %q, which is no id of cmux", h.Pane)
	case h.Tag == "":
		return errors.New("a handle without a tag")
	}
	return nil
}

type group struct {
	socket string
	index  []int
}

// bySocket groups handles by their server, in a stable order.
func bySocket(handles []backends.Handle) []group {
	index := map[string][]int{}
	for i, h := range handles {
		index[h.Socket] = append(index[h.Socket], i)
	}
	var groups []group
	for _, socket := range slices.SortedFunc(maps.Keys(index), strings.Compare) {
		groups = append(groups, group{socket, index[socket]})
	}
	return groups
}
