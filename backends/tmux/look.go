package tmux

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/backends/internal/ident"
)

// sighting is what one server says of one handle.
type sighting struct {
	backends.Sight
	pane *pane // where it stands
}

// Look asks every server once for all of its panes.
func (b *Backend) Look(ctx context.Context, handles []backends.Handle) []backends.Sight {
	seen := b.look(ctx, handles)
	out := make([]backends.Sight, len(seen))
	for i, s := range seen {
		out[i] = s.Sight
	}
	return out
}

func (b *Backend) look(ctx context.Context, handles []backends.Handle) []sighting {
	type answer struct {
		snap *snapshot
		err  error
	}
	answers := make(map[string]answer)
	out := make([]sighting, len(handles))
	for i, h := range handles {
		if err := provable(h); err != nil {
			out[i].Sight = unknown(err)
			continue
		}
		a, asked := answers[h.Socket]
		if !asked {
			a.snap, a.err = b.ask(ctx, h)
			answers[h.Socket] = a
		}
		out[i] = judge(h, a.snap, a.err)
	}
	return out
}

// ask queries the server of h, and has a private one make its socket again
// where somebody removed it.
func (b *Backend) ask(ctx context.Context, h backends.Handle) (*snapshot, error) {
	if b.tmuxErr != nil {
		return nil, b.tmuxErr
	}
	snap, _, err := b.client(h.Socket).query(ctx)
	if errors.Is(err, errNoServer) {
		if s, rerr := b.revive(ctx, h); rerr == nil {
			return s, nil
		}
		// A server that ends with its last pane stops answering before it is
		// gone. Whether it went is for the caller to see.
		_ = waitServer(ctx, h.ServerPID, time.Second)
	}
	return snap, err
}

// judge is the rule of Look: gone is only what was seen to be gone.
func judge(h backends.Handle, snap *snapshot, err error) sighting {
	if err != nil && !errors.Is(err, errNoServer) {
		return sighting{Sight: unknown(err)}
	}
	if err != nil || snap.server.pid != h.ServerPID || snap.server.start != h.ServerStart {
		// Nothing or another server answers there. The recorded one may live
		// on without its socket.
		runs, perr := false, error(nil)
		if err != nil || snap.server.pid != h.ServerPID {
			runs, perr = serverRuns(h.ServerPID)
		}
		switch {
		case perr != nil:
			return sighting{Sight: unknown(perr)}
		case runs:
			return sighting{Sight: unknown(fmt.Errorf("tmux server %d runs, but does not answer at %s; kill -USR1 %d makes its socket again", h.ServerPID, h.Socket, h.ServerPID))}
		}
		return sighting{Sight: backends.Sight{Presence: backends.Gone, Detail: fmt.Sprintf("tmux server %d has ended", h.ServerPID)}}
	}
	p := snap.pane(h.Pane)
	if p == nil {
		return sighting{Sight: backends.Sight{Presence: backends.Gone}}
	}
	s := backends.Sight{Presence: backends.Alive, Detail: "pane " + p.id + " of " + h.Socket}
	if p.dead && !processRuns(p.pid, h) {
		s.Exited = true
	}
	return sighting{Sight: s, pane: p}
}

// processRuns reports whether the first process of a pane may still run. tmux
// calls a pane dead whose process only let go of the terminal.
func processRuns(pid int, h backends.Handle) bool {
	p, err := ident.Read(pid)
	switch {
	case errors.Is(err, ident.ErrNoProcess):
		return false
	case err != nil:
		return true
	}
	return !p.Zombie && (h.PIDStart == 0 || p.Start == h.PIDStart)
}

func unknown(err error) backends.Sight {
	return backends.Sight{Presence: backends.Unknown, Detail: err.Error()}
}

// provable refuses handles that do not say enough to prove anything.
func provable(h backends.Handle) error {
	switch {
	case h.Backend != Name:
		return fmt.Errorf("handle of backend %q is not one of %s", h.Backend, Name)
	case !strings.HasPrefix(h.Socket, "/") || h.ServerPID <= 1 || !isEpoch(h.ServerStart):
		return fmt.Errorf("handle %s does not name its tmux server", h.Tag)
	case !isPane(h.Pane):
		return fmt.Errorf("handle %s names no pane: %q", h.Tag, h.Pane)
	case !isTag(h.Tag):
		return fmt.Errorf("handle has no tag, or a bad one: %q", h.Tag)
	}
	return nil
}

// Capture returns the last lines of a pane's screen and history. Wrapped lines
// are whole.
func (b *Backend) Capture(ctx context.Context, h backends.Handle, n int) (string, error) {
	s := b.look(ctx, []backends.Handle{h})[0]
	if s.Presence != backends.Alive {
		return "", fmt.Errorf("capture pane %s: it is %s: %s", h.Pane, s.Presence, s.Detail)
	}
	n = max(n, 1)
	c := b.client(h.Socket)
	out, err := c.run(ctx, c.timeout, cmd("capture-pane", "-p", "-J", "-S", fmt.Sprint(-n), "-t", h.Pane))
	if err != nil {
		return "", fmt.Errorf("capture pane %s: %w", h.Pane, err)
	}
	all := strings.Split(out, "\n")
	for i := range all {
		all[i] = strings.TrimRight(all[i], " ")
	}
	for len(all) > 0 && all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return strings.Join(all[max(len(all)-n, 0):], "\n"), nil
}

// Adopt completes the handle of a supervisor that said where it is: it must be
// the first process of that pane. The pane is marked as Start would have.
func (b *Backend) Adopt(ctx context.Context, h backends.Handle) (backends.Handle, error) {
	if b.tmuxErr != nil {
		return h, b.tmuxErr
	}
	if h.Socket == "" {
		h.Socket = b.privateSocket()
	}
	if !strings.HasPrefix(h.Socket, "/") || !isTag(h.Tag) || h.Pane != "" && !isPane(h.Pane) {
		return h, fmt.Errorf("adopt %s: no socket, tag or pane by which to find it", h.Tag)
	}
	c := b.client(h.Socket)
	snap, _, err := c.query(ctx)
	if errors.Is(err, errNoServer) && h.PID != 0 && h.PIDStart != 0 {
		// Without its server, and without its process, nothing is left.
		if runs, rerr := ident.Running(h.PID, h.PIDStart); rerr == nil && !runs {
			err = backends.ErrNotThere
		}
	}
	if err != nil {
		return h, fmt.Errorf("adopt %s: %w", h.Tag, err)
	}
	p := snap.pane(h.Pane)
	if h.Pane == "" {
		for i := range snap.panes {
			if snap.panes[i].tag == h.Tag {
				p = &snap.panes[i]
			}
		}
	}
	switch {
	case p == nil:
		return h, fmt.Errorf("adopt %s: pane %q of %s: %w", h.Tag, h.Pane, h.Socket, backends.ErrNotThere)
	case p.tag != h.Tag && (h.PID == 0 || p.pid != h.PID):
		return h, fmt.Errorf("adopt %s: pane %s belongs to process %d, not to supervisor %d: %w", h.Tag, p.id, p.pid, h.PID, backends.ErrNotThere)
	}
	h.Backend, h.Pane, h.Window = Name, p.id, p.window
	h.ServerPID, h.ServerStart = snap.server.pid, snap.server.start
	h.PID = p.pid
	if q, err := ident.Read(p.pid); err == nil {
		h.PIDStart = q.Start
	}
	h.Own = h.Own || h.Socket == b.privateSocket()
	_, err = c.run(ctx, c.timeout,
		cmd("set-option", "-p", "-t", p.id, optionTag, h.Tag),
		cmd("set-option", "-p", "-t", p.id, "remain-on-exit", "on"),
		cmd("set-option", "-pq", "-t", p.id, "remain-on-exit-format", ""))
	values, oerr := c.options(ctx, []string{p.id}, optionTag)
	if oerr != nil || values[p.id][optionTag] != h.Tag {
		return h, fmt.Errorf("adopt %s: tag pane %s: %w", h.Tag, p.id, both(err, oerr))
	}
	return h, nil
}

// AttachCommand returns the command that shows a pane, or the private server
// of the project for a zero handle.
func (b *Backend) AttachCommand(ctx context.Context, h backends.Handle) ([]string, error) {
	if b.tmuxErr != nil {
		return nil, b.tmuxErr
	}
	inside, _, _, _ := parseTMUX(b.getenv("TMUX"))
	if h == (backends.Handle{}) {
		if _, snap, err := b.openPrivate(ctx); err != nil || snap == nil {
			return nil, both(errors.New("okstra's tmux server of this project does not run"), err)
		}
		return b.attach(inside, b.privateSocket(), ""), nil
	}
	if s := b.look(ctx, []backends.Handle{h})[0]; s.Presence != backends.Alive {
		return nil, fmt.Errorf("pane %s is %s: %s", h.Pane, s.Presence, s.Detail)
	}
	return b.attach(inside, h.Socket, h.Pane), nil
}

func (b *Backend) attach(inside, socket, pane string) []string {
	argv := []string{b.tmux, "-u", "-S", socket}
	verb := "attach-session"
	switch inside {
	case socket:
		verb = "switch-client"
	case "":
	default: // tmux refuses to attach from within another tmux
		argv = append([]string{"env", "-u", "TMUX"}, argv...)
	}
	argv = append(argv, verb)
	if pane != "" {
		argv = append(argv, "-t", pane)
	}
	return argv
}
