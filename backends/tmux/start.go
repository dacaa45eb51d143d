package tmux

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gofrs/flock"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/backends/internal/ident"
	"github.com/okstra/okstra/backends/tmux/layout"
)

// job is one launch on its way to a pane.
type job struct {
	backends.Launch
	pane, window string
	pid          int
	own          bool   // in a window or server of okstra's own
	note         string // why it is not where the policy wanted it
	err          error
	tries        int
	noSpace      bool
}

func (j *job) made() bool { return j.pane != "" }

// venue is the server in which one batch is placed, locked against other runs.
type venue struct {
	b       *Backend
	client  client
	policy  backends.Policy
	lock    *flock.Flock
	snap    *snapshot // nil: the private server is to be started
	lead    *pane     // nil: nobody to stand beside
	session string
	private bool
	note    string   // why it is not the venue that the policy wanted
	before  string   // the layout of the lead's window before we came
	column  []string // panes beside the lead, from the top
	known   map[string]bool
	untold  []*job // made, and not yet tagged
	hung    error  // set once the server did not answer: nothing more is sent
}

// Start starts the launches, those with the same policy together.
func (b *Backend) Start(ctx context.Context, launches []backends.Launch) []backends.Started {
	out := make([]backends.Started, len(launches))
	jobs := make([]*job, len(launches))
	var policies []backends.Policy
	for i, l := range launches {
		jobs[i] = &job{Launch: l}
		if jobs[i].err = checkLaunch(l.Command, l.Tag, l.Label); jobs[i].err == nil && !slices.Contains(policies, l.Policy) {
			policies = append(policies, l.Policy)
		}
	}
	for _, p := range policies {
		var batch []*job
		for _, j := range jobs {
			if j.err == nil && j.Policy == p {
				batch = append(batch, j)
			}
		}
		b.startBatch(ctx, p, batch, out, jobs)
	}
	for i, j := range jobs {
		if j.err == nil && !j.made() {
			panic("tmux: the launch of " + j.Label + " came to no end")
		}
		if j.err != nil {
			out[i].Err = fmt.Errorf("start pane of %s: %w", j.Label, j.err)
		}
	}
	return out
}

func (b *Backend) startBatch(ctx context.Context, p backends.Policy, batch []*job, out []backends.Started, all []*job) {
	v, err := b.open(ctx, p, batch)
	if err != nil {
		fail(batch, err)
		return
	}
	defer v.lock.Close()
	v.place(ctx, batch)
	for i, j := range all {
		if slices.Contains(batch, j) {
			out[i].Note = j.note
			// A pane of a server that was never seen can be proven to nobody:
			// its supervisor says where it is.
			if j.made() && v.snap != nil {
				out[i].Handle = v.handle(j)
			}
		}
	}
}

// fail gives jobs that were not tried the reason.
func fail(jobs []*job, why error) {
	for _, j := range jobs {
		j.err = why
	}
}

// open finds and locks the venue that a policy asks for.
func (b *Backend) open(ctx context.Context, p backends.Policy, jobs []*job) (*venue, error) {
	if b.tmuxErr != nil {
		return nil, b.tmuxErr
	}
	v := &venue{b: b, policy: p, known: make(map[string]bool)}
	if p.Placement != placeSession {
		w, err := b.where(ctx)
		switch {
		case w != nil:
			v.client, v.session = w.client, w.session
		case errors.Is(err, errTimeout):
			return nil, err // it hangs; a private server would hide that
		case !errors.Is(err, errNotInTmux):
			v.note = err.Error()
		}
	}
	if v.session == "" {
		v.private = true
		v.client = b.client(b.privateSocket())
	}
	var err error
	if v.lock, err = b.lock(ctx, v.client.socket); err != nil {
		return nil, err
	}
	if err := v.look(ctx, jobs); err != nil {
		v.lock.Close()
		return nil, err
	}
	return v, nil
}

// look takes stock under the lock.
func (v *venue) look(ctx context.Context, jobs []*job) error {
	if v.private {
		var err error
		if v.client, v.snap, err = v.b.openPrivate(ctx); err != nil {
			return err
		}
		if v.snap == nil {
			// A server of this run may live on without its socket; a second
			// one beside it would make its panes unreachable.
			v.snap = v.b.reviveAny(ctx, jobs)
		}
		if v.snap != nil && len(v.snap.panes) > 0 {
			v.session = v.snap.panes[0].session
		}
		return nil
	}
	w, err := v.b.where(ctx)
	if w == nil {
		return err
	}
	v.snap = w.snap
	if v.policy.Placement != placeWindow {
		v.lead = w.lead
	}
	return nil
}

// place puts every job somewhere: beside the lead as far as there is room, the
// others in windows of okstra's own.
func (v *venue) place(ctx context.Context, jobs []*job) {
	if v.snap != nil {
		for _, p := range v.snap.panes {
			v.known[p.id] = true
		}
	}
	for _, j := range jobs {
		j.note = v.note
	}
	present := v.present(jobs)
	rest := jobs
	if v.lead != nil {
		column := columnOf(present, v.lead.window)
		fit, why := layout.Beside(scene(v.snap, v.lead, column), v.policy, len(jobs))
		v.beside(ctx, column, jobs[:fit])
		rest = nil
		for i, j := range jobs {
			if i >= fit || j.noSpace {
				j.note, j.noSpace, j.tries = why, false, 0
				if i < fit {
					j.note = "tmux found no space beside the lead"
				}
				rest = append(rest, j)
			}
		}
	}
	v.windows(ctx, present, rest)
	v.settle(ctx, jobs)
}

// present returns the panes of this run that still stand in this server.
func (v *venue) present(jobs []*job) []pane {
	var out []pane
	seen := make(map[string]bool)
	for _, j := range jobs {
		for _, h := range j.Beside {
			p := v.snap.pane(h.Pane)
			if p == nil || seen[p.id] || h.Socket != v.client.socket || h.ServerPID != v.snap.server.pid ||
				h.ServerStart != v.snap.server.start || p.tag != h.Tag {
				continue
			}
			seen[p.id] = true
			out = append(out, *p)
		}
	}
	return out
}

// columnOf returns the panes that stand in the given window, from the top.
func columnOf(present []pane, window string) []pane {
	var out []pane
	for _, p := range present {
		if p.window == window {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b pane) int { return a.top - b.top })
	return out
}

// beside adds jobs to the column beside the lead. New panes are split off one
// pane whose id is known, the lowest first, so that one call makes them all.
func (v *venue) beside(ctx context.Context, column []pane, jobs []*job) {
	if len(jobs) == 0 {
		return
	}
	for _, p := range column {
		v.column = append(v.column, p.id)
	}
	rows := v.lead.windowH
	if len(column) == 0 {
		v.before = v.layoutOf(ctx, v.lead.window)
		width := layout.ColumnWidth(v.lead.windowW, v.policy.LeadShare)
		first := jobs[0]
		v.make(ctx, []step{{job: first, words: []string{"split-window", "-d", "-h", "-f", "-l", fmt.Sprint(width), "-t", v.lead.id}}})
		if !first.made() {
			if !first.noSpace {
				fail(jobs[1:], errors.New("the first pane of the column could not be made"))
			}
			for _, j := range jobs[1:] {
				j.noSpace = first.noSpace
			}
			return
		}
		v.column = append(v.column, first.pane)
		heights := layout.Heights(rows, len(jobs))
		v.stack(ctx, first.pane, jobs[1:], func(i int) int { return heights[i+1] })
		return
	}
	last := column[len(column)-1]
	v.before = v.optionOf(ctx, last.id, optionBefore)
	each := max((last.height-len(jobs))/(len(jobs)+1), 1)
	v.stack(ctx, last.id, jobs, func(int) int { return each })
}

// stack splits jobs off the pane above, and notes where they stand.
func (v *venue) stack(ctx context.Context, above string, jobs []*job, rows func(i int) int) {
	var steps []step
	for i := len(jobs) - 1; i >= 0; i-- {
		steps = append(steps, step{job: jobs[i], words: []string{"split-window", "-d", "-v", "-l", fmt.Sprint(rows(i)), "-t", above}})
	}
	v.make(ctx, steps)
	for _, j := range jobs {
		if j.made() {
			v.column = append(v.column, j.pane)
		}
	}
}

// windows puts jobs into windows of okstra's own: those of this run that have
// room and hold nobody else's pane, then new ones.
func (v *venue) windows(ctx context.Context, present []pane, jobs []*job) {
	if len(jobs) == 0 {
		return
	}
	if v.hung != nil {
		fail(jobs, fmt.Errorf("not tried: %w", v.hung))
		return
	}
	for _, j := range jobs {
		j.own = true
	}
	if v.snap == nil || v.session == "" {
		if !v.startPrivate(ctx, jobs[0]) {
			fail(jobs[1:], errors.New("the first pane of okstra's tmux server could not be made"))
			return
		}
		p := v.snap.pane(jobs[0].pane)
		present = append(present, *p)
		jobs = jobs[1:]
	}
	ids, free := v.ownWindows(present)
	size := v.windowSize()
	spread := layout.Spread(free, layout.Capacity(size, v.policy), len(jobs))
	var opening, filling []step
	var openers []*job
	next := jobs
	for i, n := range spread {
		if n == 0 {
			continue
		}
		these := next[:n]
		next = next[n:]
		if i < len(ids) {
			filling = append(filling, v.fill(func() string { return ids[i] }, these)...)
			continue
		}
		opener := these[0]
		openers = append(openers, opener)
		opening = append(opening, step{job: opener, words: []string{"new-window", "-d", "-t", v.session + ":", "-n", privateSession}})
		filling = append(filling, v.fill(func() string { return opener.window }, these[1:])...)
	}
	v.make(ctx, opening)
	v.dress(ctx, openers)
	v.make(ctx, filling)
	// A window that somebody made smaller meanwhile: one more window each.
	var again []step
	for _, j := range jobs {
		if j.noSpace {
			j.noSpace, j.tries, j.note = false, 0, "tmux found no space in the window that was meant"
			again = append(again, step{job: j, words: []string{"new-window", "-d", "-t", v.session + ":", "-n", privateSession}})
		}
	}
	v.make(ctx, again)
	for _, j := range jobs {
		if j.noSpace && !j.made() {
			j.err = errors.New("tmux finds no space even in a window of its own")
		}
	}
}

// fill returns the steps that add jobs to a window of ours: full-width rows at
// the bottom, small, put into their places by the layout that follows.
func (v *venue) fill(window func() string, jobs []*job) []step {
	var steps []step
	for _, j := range jobs {
		steps = append(steps, step{job: j, window: window, words: []string{"split-window", "-d", "-v", "-f", "-l", "2", "-t"}})
	}
	return steps
}

// dress gives new windows of ours their border lines.
func (v *venue) dress(ctx context.Context, openers []*job) {
	var cmds []command
	for _, j := range openers {
		if j.made() {
			cmds = append(cmds, dressing(j.window)...)
		}
	}
	if len(cmds) > 0 && v.hung == nil {
		v.client.run(ctx, v.client.timeout, cmds...) // decoration: what fails is not missed
	}
}

func dressing(window string) []command {
	return []command{
		cmd("set-option", "-w", "-t", window, "pane-border-status", "top"),
		cmd("set-option", "-w", "-t", window, "pane-border-format", " #{"+optionLabel+"} "),
		cmd("set-option", "-w", "-t", window, "automatic-rename", "off"),
	}
}

// ownWindows returns the windows of this run that are wholly its own, and how
// many more panes each takes.
func (v *venue) ownWindows(present []pane) (ids []string, free []int) {
	ours := make(map[string]int)
	for _, p := range present {
		if v.lead == nil || p.window != v.lead.window {
			ours[p.window]++
		}
	}
	for _, p := range present {
		all := v.snap.inWindow(p.window)
		if len(all) != ours[p.window] || slices.Contains(ids, p.window) {
			continue
		}
		ids = append(ids, p.window)
		size := layout.Size{Columns: p.windowW, Rows: p.windowH}
		free = append(free, layout.Capacity(size, v.policy)-len(all))
	}
	return ids, free
}

// windowSize is the size that a new window of the session will have.
func (v *venue) windowSize() layout.Size {
	for _, p := range v.snap.panes {
		if p.session == v.session {
			return layout.Size{Columns: p.windowW, Rows: p.windowH}
		}
	}
	return v.b.size
}

// startPrivate starts the private server with the job as its first pane.
func (v *venue) startPrivate(ctx context.Context, j *job) bool {
	if v.snap != nil {
		j.err = fmt.Errorf("okstra's tmux server at %s runs without a session; end it with: tmux -S %s kill-server", v.client.socket, v.client.socket)
		return false
	}
	config, err := v.b.writePrivateConfig()
	if err != nil {
		j.err = err
		return false
	}
	start := cmd("new-session", "-d", "-x", fmt.Sprint(v.b.size.Columns), "-y", fmt.Sprint(v.b.size.Rows),
		"-s", privateSession, "-n", privateSession, "-P", "-F", madeFormat(0))
	start = append(start, j.Command...)
	for range 2 { // an older server may just be ending on the same socket
		var out string
		out, err = v.client.exec(ctx, v.client.timeout, []string{"-f", config}, start,
			cmd("set-option", "-s", "exit-unattached", "off"),
			cmd("set-option", "-g", "destroy-unattached", "off"))
		if v.take(out, []*job{j}); j.made() || !errors.Is(err, errNoServer) {
			break
		}
	}
	snap, _, qerr := v.client.query(ctx, dressingOf(j)...)
	switch {
	case qerr != nil && err == nil:
		j.err = fmt.Errorf("start okstra's tmux server: %w: %w", backends.ErrUnanswered, qerr)
		return false
	case qerr != nil || !j.made() || snap.pane(j.pane) == nil:
		if err == nil {
			err = errors.New("its first pane was gone at once")
		}
		j.pane = ""
		j.err = fmt.Errorf("start okstra's tmux server: %w: %w", backends.ErrUnanswered, err)
		return false
	}
	v.snap, v.session = snap, snap.pane(j.pane).session
	return true
}

func dressingOf(j *job) []command {
	if !j.made() {
		return nil
	}
	return dressing(j.window)
}

// handle is what finds a job's pane again.
func (v *venue) handle(j *job) backends.Handle {
	h := backends.Handle{
		Backend: Name, Tag: j.Tag, Socket: v.client.socket,
		ServerPID: v.snap.server.pid, ServerStart: v.snap.server.start,
		Window: j.window, Pane: j.pane, Own: j.own, PID: j.pid,
	}
	if p, err := ident.Read(j.pid); err == nil {
		h.PIDStart = p.Start
	} else {
		h.PID = 0 // it has ended already
	}
	return h
}

// layoutOf returns the layout of a window, empty where it cannot be read.
func (v *venue) layoutOf(ctx context.Context, window string) string {
	return v.client.layouts(ctx)[window]
}

func (v *venue) optionOf(ctx context.Context, id, option string) string {
	values, err := v.client.options(ctx, []string{id}, option)
	if err != nil {
		return ""
	}
	return values[id][option]
}
