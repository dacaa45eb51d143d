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

// Capture implements backends.Backend. cmux draws nothing before a surface was
// shown once; that is an error, not an empty screen.
func (b *Backend) Capture(ctx context.Context, h backends.Handle, lines int) (string, error) {
	fail := func(err error) (string, error) {
		return "", fmt.Errorf("read the screen of surface %s: %w", h.Pane, err)
	}
	if err := valid(h); err != nil {
		return fail(err)
	}
	if lines <= 0 {
		return "", nil
	}
	s := newSession(b.link(h.Socket))
	defer s.Close()
	v := newSurvey(s)
	r, workspace, err := v.locate(ctx, h)
	if err != nil {
		return fail(err)
	}
	if b.own(ctx, v, h, r) != mine {
		return fail(errors.New("it is not provably okstra's"))
	}
	var screen struct {
		Text string `json:"text"`
	}
	err = s.call(ctx, "surface.read_text", map[string]any{
		// The rows below the cursor count as lines, so more are asked for.
		"workspace_id": workspace, "surface_id": r.ID, "scrollback": true, "lines": lines + 200,
	}, &screen)
	if err != nil {
		return fail(err)
	}
	return tail(screen.Text, lines), nil
}

// tail cuts the last lines off, without the blank rest of the screen.
func tail(text string, lines int) string {
	all := strings.Split(strings.TrimRight(text, " \t\r\n"), "\n")
	if len(all) > lines {
		all = all[len(all)-lines:]
	}
	for i, l := range all {
		all[i] = strings.TrimRight(strings.Map(drawable, l), " ")
	}
	return strings.Join(all, "\n")
}

func drawable(r rune) rune {
	if (r < ' ' && r != '\t') || r == 0x7f || (r >= 0x80 && r < 0xa0) {
		return -1
	}
	return r
}
