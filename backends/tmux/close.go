package tmux

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/backends/internal/ident"
)

// Close closes panes after proving each: it is listed, its server is the
// recorded one, the tag on the pane itself is ours, and the caller does not
// live in it. Then it looks again, waits for the processes, and puts the
// lead's window back as it was.
func (b *Backend) Close(ctx context.Context, handles []backends.Handle) []backends.Closed {
	out := make([]backends.Closed, len(handles))
	var sockets []string
	var closed []condemned
	for i, h := range handles {
		if err := provable(h); err != nil {
			out[i] = backends.Closed{Err: err, Refused: true}
		} else if !slices.Contains(sockets, h.Socket) {
			sockets = append(sockets, h.Socket)
		}
	}
	for _, socket := range sockets {
		var mine []int
		for i, h := range handles {
			if h.Socket == socket && out[i].Err == nil {
				mine = append(mine, i)
			}
		}
		closed = append(closed, b.closeOn(ctx, socket, handles, mine, out)...)
	}
	waiting, cancel := context.WithTimeout(ctx, b.closeTimeout)
	defer cancel()
	for _, d := range closed {
		if out[d.index].Err == nil && d.start != 0 {
			// It was hung up, and may be ending its worker.
			if err := ident.WaitGone(waiting, d.pane.pid, d.start); err != nil {
				out[d.index].Err = fmt.Errorf("the pane is closed, but %w", err)
			}
		}
	}
	if i := slices.IndexFunc(handles, func(h backends.Handle) bool { return h.Socket == b.privateSocket() }); i >= 0 {
		b.tidyPrivate(ctx, handles[i].ServerPID)
	}
	return out
}

// condemned is a pane that is proven to be ours.
type condemned struct {
	index  int
	handle backends.Handle
	pane   pane
	start  int64 // of its first process, 0 where that has ended
	hidden bool  // a wider option hides the tag from formats
	before string
	after  string
}

// closeOn closes what is on one server, under its lock, and returns the panes
// that it dealt with.
func (b *Backend) closeOn(ctx context.Context, socket string, handles []backends.Handle, mine []int, out []backends.Closed) []condemned {
	l, err := b.lock(ctx, socket)
	if err != nil {
		for _, i := range mine {
			out[i].Err = err
		}
		return nil
	}
	defer l.Close()
	c := b.client(socket)
	some := make([]backends.Handle, len(mine))
	for k, i := range mine {
		some[k] = handles[i]
	}
	seen := b.look(ctx, some)
	var found []condemned
	var ids []string
	for k, i := range mine {
		switch s := seen[k]; s.Presence {
		case backends.Gone:
		case backends.Unknown:
			out[i].Err = fmt.Errorf("close pane %s: %s", handles[i].Pane, s.Detail)
		default:
			found = append(found, condemned{index: i, handle: handles[i], pane: *s.pane})
			ids = append(ids, s.pane.id)
		}
	}
	if len(found) == 0 {
		return nil
	}
	proven := b.prove(ctx, c, found, ids, out)
	b.closeFound(ctx, c, proven, out)
	return proven
}

// prove keeps those whose own tag is ours, and which the caller is not in.
func (b *Backend) prove(ctx context.Context, c client, found []condemned, ids []string, out []backends.Closed) []condemned {
	values, err := c.options(ctx, ids, optionTag, optionBefore, optionAfter)
	var proven []condemned
	for _, d := range found {
		h := d.handle
		switch tag := values[h.Pane][optionTag]; {
		case err != nil:
			out[d.index].Err = fmt.Errorf("close pane %s: read its tag: %w", h.Pane, err)
		case tag != h.Tag:
			out[d.index] = backends.Closed{Refused: true, Err: fmt.Errorf("pane %s carries the tag %q, not %q: it is not closed", h.Pane, tag, h.Tag)}
		case slices.Contains(b.ancestors, d.pane.pid):
			out[d.index] = backends.Closed{Refused: true, Err: fmt.Errorf("pane %s is the one that this command runs in", h.Pane)}
		default:
			d.hidden = d.pane.tag != h.Tag
			d.before, d.after = values[h.Pane][optionBefore], values[h.Pane][optionAfter]
			if p, err := ident.Read(d.pane.pid); err == nil && !p.Zombie && (h.PIDStart == 0 || h.PIDStart == p.Start) {
				d.start = p.Start
			}
			proven = append(proven, d)
		}
	}
	return proven
}

// closeFound closes what was proven, looks again, and puts the windows right.
func (b *Backend) closeFound(ctx context.Context, c client, proven []condemned, out []backends.Closed) {
	if len(proven) == 0 {
		return
	}
	restore := b.restorations(ctx, c, proven)
	var calls error
	for chunk := range slices.Chunk(proven, maxBatch) {
		var cmds []command
		for _, d := range chunk {
			cmds = append(cmds, guardedKill(d))
		}
		if _, err := c.run(ctx, c.patience(len(chunk)), cmds...); err != nil {
			calls = err // judged by what stands after
		}
	}
	again := make([]backends.Handle, len(proven))
	for i, d := range proven {
		again[i] = d.handle
	}
	seen := b.look(ctx, again)
	for i, d := range proven {
		switch seen[i].Presence {
		case backends.Unknown:
			out[d.index].Err = both(fmt.Errorf("whether pane %s is closed is not known: %s", d.handle.Pane, seen[i].Detail), calls)
		case backends.Alive:
			out[d.index].Err = both(fmt.Errorf("pane %s is still there", d.handle.Pane), calls)
		}
	}
	for _, r := range restore {
		r.run(ctx, c)
	}
}

// guardedKill kills a pane inside the server, where nothing can come between
// the check and the deed. Without the comparison of the pane's id a missing
// target would make tmux judge the current pane instead.
func guardedKill(d condemned) command {
	h := d.handle
	test := fmt.Sprintf("#{==:#{pane_id},%s}", h.Pane)
	conditions := []string{
		fmt.Sprintf("#{==:#{pid},%d}", h.ServerPID),
		fmt.Sprintf("#{==:#{start_time},%s}", h.ServerStart),
	}
	if !d.hidden {
		conditions = append(conditions, fmt.Sprintf("#{==:#{%s},%s}", optionTag, h.Tag))
	}
	for _, c := range conditions {
		test = fmt.Sprintf("#{&&:%s,%s}", test, c)
	}
	return cmd("if-shell", "-F", "-t", h.Pane, test, builtin("kill-pane")+" -t "+h.Pane)
}

// restoration is what has to be put right in one window of the user's after
// workers left it.
type restoration struct {
	window    string
	width     int
	height    int
	zoomed    string   // the user's pane that was zoomed
	left      []string // our panes that stay, from the top
	before    string   // the layout to return to, where nobody changed it since
	remaining []string // panes that will be there
}

var layoutPane = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\d+x\d+,\d+,\d+,(\d+)`)
})

// restorations works out, before anything is closed, what each window that is
// not ours will need.
func (b *Backend) restorations(ctx context.Context, c client, proven []condemned) []restoration {
	var out []restoration
	snap, _, err := c.query(ctx)
	if err != nil {
		return nil // the panes can be closed all the same
	}
	layouts := c.layouts(ctx)
	for _, d := range proven {
		window := d.pane.window
		if d.after == "" || slices.ContainsFunc(out, func(r restoration) bool { return r.window == window }) {
			continue
		}
		r := restoration{window: window, width: d.pane.windowW, height: d.pane.windowH}
		var column []pane
		for _, p := range snap.inWindow(window) {
			leaves := slices.ContainsFunc(proven, func(d condemned) bool { return d.pane.id == p.id })
			if leaves {
				continue
			}
			r.remaining = append(r.remaining, p.id)
			if p.zoomed && p.active {
				r.zoomed = p.id
			}
			if p.tag != "" && p.left == d.pane.left && p.width == d.pane.width {
				column = append(column, p)
			}
		}
		slices.SortFunc(column, func(a, b pane) int { return a.top - b.top })
		for _, p := range column {
			r.left = append(r.left, p.id)
		}
		if layouts[window] == d.after {
			r.before = d.before
		}
		out = append(out, r)
	}
	return out
}

// run puts the window right. Its commands are a courtesy: the panes are closed
// whether they work or not.
func (r restoration) run(ctx context.Context, c client) {
	var cmds []command
	switch {
	case len(r.left) > 0:
		cmds = append(cmds, evenColumn(r.left, r.height)...)
		cmds = append(cmds, noteLayout(r.left)...)
	case r.before != "" && samePanes(r.before, r.remaining):
		cmds = append(cmds, cmd("select-layout", "-t", r.window, r.before))
	}
	if len(r.remaining) > 1 && r.zoomed != "" {
		cmds = append(cmds, cmd("if-shell", "-F", "-t", r.zoomed, "#{window_zoomed_flag}", "", builtin("resize-pane")+" -Z -t "+r.zoomed))
	}
	if len(cmds) > 0 {
		c.run(ctx, c.timeout, cmds...)
	}
}

// samePanes reports whether a layout describes exactly the given panes.
func samePanes(layout string, panes []string) bool {
	var ids []string
	for _, m := range layoutPane().FindAllStringSubmatch(layout, -1) {
		ids = append(ids, "%"+m[1])
	}
	want := slices.Clone(panes)
	slices.Sort(ids)
	slices.Sort(want)
	return slices.Equal(ids, want)
}

// tidyPrivate removes the socket of a private server that ended with its last
// pane.
func (b *Backend) tidyPrivate(ctx context.Context, pid int) {
	l, err := b.lock(ctx, b.privateSocket())
	if err != nil {
		return // the next sweep tidies up
	}
	defer l.Close()
	if _, snap, err := b.openPrivate(ctx); err != nil || snap != nil && len(snap.panes) > 0 {
		return
	}
	if waitServer(ctx, pid, time.Second) == nil {
		b.removeSocket(ctx)
	}
}
