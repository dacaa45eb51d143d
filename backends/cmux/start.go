package cmux

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/okstra/okstra/backends"
)

// Start implements backends.Backend. It splits once per launch and never
// repeats a split whose answer was lost: the surface is looked up by its marker.
func (b *Backend) Start(ctx context.Context, launches []backends.Launch) []backends.Started {
	out := make([]backends.Started, len(launches))
	if len(launches) == 0 {
		return out
	}
	st, done, err := b.newStarter(ctx, launches)
	if err != nil {
		for i := range out {
			out[i].Err = fmt.Errorf("start %s in cmux: %w", launches[i].Label, err)
		}
		return out
	}
	defer done()
	for i, l := range launches {
		out[i] = st.start(ctx, l, len(launches)-i)
		if out[i].Err != nil {
			out[i].Err = fmt.Errorf("start %s in cmux: %w", l.Label, out[i].Err)
		}
	}
	st.settle(ctx, out)
	return out
}

// starter carries one batch of launches out.
type starter struct {
	b      *Backend
	s      *session
	at     anchor
	rows   []row // of the workspace when the batch began
	marks  bool  // the server knows commands and markers of a split
	board  *board
	policy backends.Policy
}

func (b *Backend) newStarter(ctx context.Context, launches []backends.Launch) (*starter, func(), error) {
	s, at, err := b.anchor(ctx)
	if err != nil {
		return nil, nil, err
	}
	unlock, err := b.lock(ctx, at.socket)
	if err != nil {
		s.Close()
		return nil, nil, err
	}
	st := &starter{b: b, s: s, at: at, policy: launches[0].Policy}
	if err := st.look(ctx, launches[0].Beside); err != nil {
		unlock()
		s.Close()
		return nil, nil, err
	}
	b.sweepScripts()
	return st, func() { unlock(); s.Close() }, nil
}

// look reads the workspace and puts the run's workers on the board.
func (st *starter) look(ctx context.Context, beside []backends.Handle) error {
	rows, err := st.s.list(ctx, st.at.workspace)
	if err != nil {
		return err
	}
	list, err := st.s.panes(ctx, st.at.workspace)
	if err != nil {
		return err
	}
	st.rows = rows
	for _, r := range rows {
		st.marks = st.marks || r.marks
	}
	var workers []string
	for _, h := range beside {
		if r := find(rows, h.Pane); r != nil && (!r.marks || r.mark == marker(h.Tag)) {
			workers = append(workers, h.Pane)
		}
	}
	st.board = newBoard(list, st.at, workers, st.policy)
	return nil
}

func (st *starter) handle(tag string) backends.Handle {
	return backends.Handle{
		Backend:     Name,
		Tag:         tag,
		Socket:      st.at.socket,
		ServerPID:   st.at.server.pid,
		ServerStart: st.at.server.boot,
		Workspace:   st.at.workspace,
	}
}

// start makes one surface. left counts the launches that are still to come,
// this one included.
func (st *starter) start(ctx context.Context, l backends.Launch, left int) backends.Started {
	if err := ctx.Err(); err != nil {
		return backends.Started{Err: err}
	}
	h := st.handle(l.Tag)
	if r := marked(st.rows, l.Tag); r != nil {
		h.Pane = r.ID
		return backends.Started{Handle: h, Note: "a surface of this start was there already and was taken over"}
	}
	script, err := st.b.writeScript(l.Tag, l.Command)
	if err != nil {
		return backends.Started{Err: err}
	}
	made, where, err := st.split(ctx, l, script, left)
	switch {
	case errors.Is(err, errLost):
		return st.lookUp(ctx, l, h, err)
	case err != nil:
		return backends.Started{Err: err}
	}
	h.Pane, h.Window = made.Surface, made.Window
	if made.Workspace != "" {
		h.Workspace = made.Workspace
	}
	st.board.apply(where, h.Pane)
	if !st.marks {
		if started, ok := st.respawn(ctx, l, h, script); !ok {
			return started
		}
	}
	return backends.Started{Handle: h, Note: st.title(ctx, l, h)}
}

// created is what a split answers.
type created struct {
	Window    string `json:"window_id"`
	Workspace string `json:"workspace_id"`
	Surface   string `json:"surface_id"`
}

// split asks for one surface. A target that is gone is replaced: a worker by
// the next one, the lead by asking again where it stands.
func (st *starter) split(ctx context.Context, l backends.Launch, script string, left int) (created, step, error) {
	asked := false
	for {
		where := st.board.next(left)
		target := st.board.lead.surface
		if where.worker >= 0 {
			target = st.board.workers[where.worker].surface
		}
		params := map[string]any{
			"workspace_id":             st.at.workspace,
			"surface_id":               target,
			"direction":                where.direction,
			"focus":                    false,
			"initial_divider_position": where.divider,
			"working_directory":        st.directory(l),
		}
		if st.marks {
			params["initial_command"] = script
			params["tmux_start_command"] = marker(l.Tag)
		}
		var made created
		err := st.s.call(ctx, "surface.split", params, &made)
		switch {
		case code(err) == codeNotFound && where.worker >= 0:
			st.board.drop(where.worker)
		case code(err) == codeNotFound && !asked:
			asked = true
			if err := st.ask(ctx); err != nil {
				return created{}, step{}, err
			}
		case err != nil:
			return created{}, step{}, err
		default:
			made.Window, made.Workspace, made.Surface = upperUUID(made.Window), upperUUID(made.Workspace), upperUUID(made.Surface)
			if made.Surface == "" {
				return created{}, step{}, fmt.Errorf("%w: cmux handed the split on, as it does for workspaces of a remote tmux, and named no surface", backends.ErrUnanswered)
			}
			return made, where, nil
		}
	}
}

// ask finds the lead again, which moved or was closed.
func (st *starter) ask(ctx context.Context) error {
	s, at, err := st.b.anchor(ctx)
	if err != nil {
		return err
	}
	if at.socket != st.at.socket {
		s.Close()
		return fmt.Errorf("cmux moved from %s to %s meanwhile", st.at.socket, at.socket)
	}
	st.s.Close()
	st.s, st.at = s, at
	return st.look(ctx, nil)
}

func (st *starter) directory(l backends.Launch) string {
	if filepath.IsAbs(st.b.projectRoot) {
		return st.b.projectRoot
	}
	if n := len(l.Command); n > 0 && filepath.IsAbs(l.Command[n-1]) {
		return filepath.Dir(l.Command[n-1])
	}
	return "/"
}

// lookUp finds what became of a split whose answer was lost. cmux may still
// carry it out later, so the handle is returned in any case: closing looks for
// the marker again.
func (st *starter) lookUp(ctx context.Context, l backends.Launch, h backends.Handle, lost error) backends.Started {
	if !st.marks {
		return backends.Started{Handle: h, Err: fmt.Errorf("%w: %w; this cmux lists no markers, so an empty pane may be left over", backends.ErrUnanswered, lost)}
	}
	found := false
	ctx, cancel := context.WithTimeout(ctx, st.b.callTimeout)
	defer cancel()
	poll(ctx, func() bool {
		rows, err := st.s.list(ctx, st.at.workspace)
		if err != nil {
			return false
		}
		if r := marked(rows, l.Tag); r != nil {
			h.Pane, found = r.ID, true
		}
		return found
	})
	if !found {
		return backends.Started{Handle: h, Err: fmt.Errorf("%w: %w; no surface carries its marker, and the split was not repeated", backends.ErrUnanswered, lost)}
	}
	// Where it stands is not known; the next one is placed by a fresh look.
	beside := make([]string, 0, len(st.board.workers)+1)
	for _, w := range st.board.workers {
		beside = append(beside, w.surface)
	}
	if list, err := st.s.panes(ctx, st.at.workspace); err == nil {
		st.board = newBoard(list, st.at, append(beside, h.Pane), st.policy)
	}
	note := "the answer to the split was lost; the surface was found by its marker"
	return backends.Started{Handle: h, Note: join(note, st.title(ctx, l, h))}
}

// respawn gives the new surface its command where a split cannot. What it
// leaves half made is closed again, or returned to be closed later.
func (st *starter) respawn(ctx context.Context, l backends.Launch, h backends.Handle, script string) (backends.Started, bool) {
	params := map[string]any{
		"workspace_id":       h.Workspace,
		"surface_id":         h.Pane,
		"command":            script,
		"tmux_start_command": marker(l.Tag),
		"focus":              false,
	}
	err := st.s.call(ctx, "surface.respawn", params, nil)
	if err == nil {
		return backends.Started{}, true
	}
	st.board.drop(len(st.board.workers) - 1)
	lost := errors.Is(err, errLost)
	if undo := st.b.closeOne(ctx, st.s, h, nil); undo != nil {
		err = fmt.Errorf("%w; the pane made for it is left over: %v", err, undo)
		if lost {
			err = fmt.Errorf("%w: %w", backends.ErrUnanswered, err)
		}
		return backends.Started{Handle: h, Err: err}, false
	}
	return backends.Started{Err: err}, false
}

// title names the surface for people. Nothing depends on it.
func (st *starter) title(ctx context.Context, l backends.Launch, h backends.Handle) string {
	title := harmless(l.Title)
	if title == "" {
		title = harmless(l.Label)
	}
	if title == "" {
		return ""
	}
	err := st.s.call(ctx, "tab.action", map[string]any{
		"action": "rename", "title": title, "workspace_id": h.Workspace, "surface_id": h.Pane,
	}, nil)
	if err != nil {
		return "the pane keeps cmux's title: " + err.Error()
	}
	return ""
}

// harmless makes a title of one line of moderate length.
func harmless(title string) string {
	title = printable(title)
	if r := []rune(title); len(r) > 80 {
		title = strings.TrimSpace(string(r[:79])) + "…"
	}
	return title
}

// settle evens the rows out, unless that would move panes of the user, and says
// what is below the floor.
func (st *starter) settle(ctx context.Context, out []backends.Started) {
	ours := map[string]bool{}
	for _, w := range st.board.workers {
		ours[w.surface] = true
	}
	first := -1
	for i := range out {
		if out[i].Handle.Pane != "" && out[i].Err == nil {
			first = i
			break
		}
	}
	if first < 0 {
		return
	}
	list, err := st.s.panes(ctx, st.at.workspace)
	if err != nil {
		out[first].Note = join(out[first].Note, "the sizes of the panes are not known: "+err.Error())
		return
	}
	if len(st.board.workers) > 1 && !stacked(list, ours) {
		err := st.s.call(ctx, "workspace.equalize_splits", map[string]any{
			"workspace_id": st.at.workspace, "orientation": "vertical",
		}, nil)
		if err != nil {
			out[first].Note = join(out[first].Note, "the rows were not evened out: "+err.Error())
		} else if again, err := st.s.panes(ctx, st.at.workspace); err == nil {
			list = again
		}
	}
	for i := range out {
		if out[i].Err != nil {
			continue
		}
		if b := newBoard(list, st.at, []string{out[i].Handle.Pane}, st.policy); len(b.workers) == 1 {
			out[i].Note = join(out[i].Note, narrow(b.workers[0]))
		}
	}
	for _, line := range limits(st.policy) {
		out[first].Note = join(out[first].Note, line)
	}
}

// join puts two notes into one.
func join(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	}
	return a + "; " + b
}

// pollEvery is the pause between two looks at something that should change.
const pollEvery = 100 * time.Millisecond

// poll calls done until it is true or the context ends, and reports which.
func poll(ctx context.Context, done func() bool) bool {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		if done() {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
	}
}
