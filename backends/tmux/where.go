package tmux

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/okstra/okstra/backends/tmux/layout"
)

// whereabouts is the tmux that this process is in.
type whereabouts struct {
	client  client
	snap    *snapshot
	session string
	lead    *pane // nil: in this server, but in no pane of it (popups, daemons)
}

var errNotInTmux = errors.New("not in tmux")

// where finds the server and the pane that the caller is in. It returns nil
// and the reason where there is none. The active pane is never taken for the
// caller's.
func (b *Backend) where(ctx context.Context) (*whereabouts, error) {
	socket, pid, session, ok := parseTMUX(b.getenv("TMUX"))
	if !ok {
		return nil, errNotInTmux
	}
	c := b.client(socket)
	snap, _, err := c.query(ctx)
	if err != nil {
		return nil, fmt.Errorf("the tmux that TMUX names does not answer: %w", err)
	}
	w := &whereabouts{client: c, snap: snap}
	w.lead = findLead(snap, b.getenv("TMUX_PANE"), pid, b.ancestors)
	switch {
	case w.lead != nil:
		w.session = w.lead.session
	case session != "" && pid == snap.server.pid && hasSession(snap, "$"+session):
		w.session = "$" + session
	default:
		return nil, errors.New("this process is in no pane and no session of the tmux that TMUX names")
	}
	return w, nil
}

// parseTMUX takes apart TMUX=socket,pid,session. Only the socket is sure to
// be right. A value of cmux is not a tmux at all.
func parseTMUX(value string) (socket string, pid int, session string, ok bool) {
	if value == "" || strings.HasPrefix(value, "/tmp/cmux-") {
		return "", 0, "", false
	}
	socket = value
	if i := strings.LastIndexByte(socket, ','); i >= 0 {
		socket, session = socket[:i], socket[i+1:]
	}
	if i := strings.LastIndexByte(socket, ','); i >= 0 {
		pid = number(socket[i+1:])
		socket = socket[:i]
	}
	if !strings.HasPrefix(socket, "/") {
		return "", 0, "", false
	}
	return socket, pid, session, true
}

// findLead returns the lead's pane: the one whose first process is our nearest
// ancestor, else the one that TMUX_PANE names. TMUX_PANE is void where it comes
// from an earlier server, whose ids mean nothing now.
func findLead(s *snapshot, env string, pid int, ancestors []int) *pane {
	byPID := make(map[int]*pane)
	for i := range s.panes {
		if p := &s.panes[i]; !p.dead && p.pid > 0 {
			byPID[p.pid] = p
		}
	}
	for _, a := range ancestors {
		if p := byPID[a]; p != nil {
			return p
		}
	}
	if pid != s.server.pid {
		return nil
	}
	return s.pane(env)
}

func hasSession(s *snapshot, id string) bool {
	for _, p := range s.panes {
		if p.session == id {
			return true
		}
	}
	return false
}

// scene describes the lead's window to the arithmetic. column holds the panes
// of ours that stand beside the lead already.
func scene(s *snapshot, lead *pane, column []pane) layout.Lead {
	l := layout.Lead{
		Window:  layout.Size{Columns: lead.windowW, Rows: lead.windowH},
		Pane:    layout.Size{Columns: lead.width, Rows: lead.height},
		Zoomed:  lead.zoomed,
		Borders: lead.borders,
		Column:  len(column),
	}
	if len(column) > 0 {
		l.Width = column[0].width
	}
	return l
}
