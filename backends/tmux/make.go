package tmux

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/backends/tmux/layout"
)

// maxBatch bounds the panes that one call makes: while tmux works at a chain,
// the user's screen stands still.
const maxBatch = 8

// step makes the pane of one job. window is set where the pane goes into a
// window of ours, whose layout is then made anew.
type step struct {
	job    *job
	words  []string
	window func() string
}

func (s step) command(index int) command {
	words := s.words
	if s.window != nil {
		words = append(slices.Clone(words), s.window())
	}
	c := cmd(words[0], words[1:]...)
	c = append(c, "-P", "-F", madeFormat(index))
	return append(c, s.job.Command...)
}

// make carries out steps, several in a call. What a call did is read from its
// output and, where that is not complete, from the list of panes; nothing is
// repeated before it was looked for.
func (v *venue) make(ctx context.Context, steps []step) {
	for len(steps) > 0 {
		if v.hung != nil {
			for _, s := range steps {
				s.job.err = fmt.Errorf("not tried: %w", v.hung)
			}
			return
		}
		steps = slices.DeleteFunc(steps, func(s step) bool {
			if s.window != nil && s.window() == "" {
				s.job.err = errors.New("its window could not be made")
				return true
			}
			return false
		})
		batch, cmds := v.batch(steps)
		if len(batch) == 0 {
			return
		}
		steps = steps[len(batch):]
		out, err := v.client.run(ctx, v.client.patience(len(batch)), cmds...)
		jobs := make([]*job, len(batch))
		for i, s := range batch {
			jobs[i] = s.job
		}
		v.take(out, jobs)
		steps = append(v.missing(ctx, batch, err), steps...)
	}
}

// batch takes as many steps as fit in one call and returns its commands: the
// panes, the layouts of the windows that they went to, and the tags of panes
// that earlier calls made.
func (v *venue) batch(steps []step) ([]step, []command) {
	var cmds, layouts []command
	var windows []string
	bytes := 0
	n := 0
	for n < len(steps) && n < maxBatch {
		c := steps[n].command(n)
		if bytes += size(c); n > 0 && bytes > maxChain/2 {
			break
		}
		if w := steps[n].window; w != nil && !slices.Contains(windows, w()) {
			windows = append(windows, w())
			layouts = append(layouts, cmd("select-layout", "-t", w(), presetOf(v.policy.Layout)))
		}
		if steps[n].job.tries > 0 && steps[n].window != nil {
			// The last try found no space: even the window out first.
			cmds = append(cmds, layouts[len(layouts)-1])
		}
		cmds = append(cmds, c)
		n++
	}
	cmds = append(cmds, layouts...)
	for len(v.untold) > 0 {
		tags := v.tags(v.untold[0])
		for _, c := range tags {
			bytes += size(c)
		}
		if bytes > maxChain {
			break
		}
		cmds = append(cmds, tags...)
		v.untold = v.untold[1:]
	}
	return steps[:n], cmds
}

func presetOf(l string) string {
	switch l {
	case layout.Columns:
		return "even-horizontal"
	case layout.Rows:
		return "even-vertical"
	}
	return "tiled"
}

// take reads what a call made.
func (v *venue) take(out string, jobs []*job) {
	for _, m := range parseMade(out) {
		if m.index < 0 || m.index >= len(jobs) || v.known[m.pane] || jobs[m.index].made() {
			continue
		}
		v.assign(jobs[m.index], m)
	}
}

func (v *venue) assign(j *job, m made) {
	v.known[m.pane] = true
	j.pane, j.window, j.pid = m.pane, m.window, m.pid
	v.untold = append(v.untold, j)
}

// missing deals with the steps of a call that reported no pane, and returns
// those that are to be tried again.
func (v *venue) missing(ctx context.Context, batch []step, err error) []step {
	var lost []step
	for _, s := range batch {
		if !s.job.made() {
			lost = append(lost, s)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	progress := len(lost) < len(batch)
	if found := v.find(ctx, lost); found != nil {
		// Whether they were made cannot be known now, and neither can later
		// calls hope for an answer.
		v.hung = found
		for _, s := range lost {
			s.job.err = fmt.Errorf("%w: %w", backends.ErrUnanswered, both(err, found))
		}
		return nil
	}
	var again []step
	for i, s := range lost {
		j := s.job
		switch {
		case j.made():
		case errors.Is(err, errTimeout):
			// A slow server may still make it.
			j.err = fmt.Errorf("%w: %w", backends.ErrUnanswered, err)
		case err == nil:
			j.err = fmt.Errorf("%w: its pane was gone as soon as it was made", backends.ErrUnanswered)
		case j.tries > 0 || i == 0 && !progress && len(batch) == 1:
			if strings.Contains(err.Error(), "no space") {
				j.noSpace = true
			} else {
				j.err = err
			}
		default:
			// The chain stopped at one of them: each gets a try of its own.
			j.tries++
			again = append(again, s)
		}
	}
	return again
}

// find looks for panes that a call made without saying so: a pane knows the
// command that it was started with, which ends in a path of one attempt only.
func (v *venue) find(ctx context.Context, lost []step) error {
	const format = markMade + "\t0\t#{pane_id}\t#{window_id}\t#{pane_pid}\t#{pane_start_command}"
	snap, out, err := v.client.query(ctx, cmd("list-panes", "-a", "-F", format))
	if err != nil {
		return err
	}
	v.snap = snap
	lines(out, markMade, 5, func(f []string) {
		if v.known[f[1]] || !isPane(f[1]) || !isWindow(f[2]) {
			return
		}
		started := plain(f[4])
		for _, s := range lost {
			words := s.job.Command
			if !s.job.made() && strings.Contains(started, plain(words[len(words)-1])) {
				v.assign(s.job, made{pane: f[1], window: f[2], pid: number(f[3])})
				return
			}
		}
	})
	return nil
}

// plain takes away what tmux adds when it quotes a command for display.
func plain(s string) string {
	return strings.NewReplacer(`\`, "", `"`, "", `'`, "").Replace(s)
}

// tags returns the commands that mark a pane as ours.
func (v *venue) tags(j *job) []command {
	cs := []command{
		cmd("set-option", "-p", "-t", j.pane, optionTag, j.Tag),
		cmd("set-option", "-p", "-t", j.pane, optionLabel, j.Label),
		cmd("set-option", "-p", "-t", j.pane, "remain-on-exit", "on"),
		// Unknown before 3.3, where the notice of a dead pane scrolls it.
		cmd("set-option", "-pq", "-t", j.pane, "remain-on-exit-format", ""),
	}
	if t := title(j.Title); t != "" {
		cs = append(cs, cmd("select-pane", "-t", j.pane, "-T", t))
	}
	if !j.own && v.before != "" {
		cs = append(cs, cmd("set-option", "-p", "-t", j.pane, optionBefore, v.before))
	}
	return cs
}

// settle tags what is not tagged yet, evens out the column, reads the geometry
// back, and moves what does not fit to a window of our own.
func (v *venue) settle(ctx context.Context, jobs []*job) {
	if v.hung != nil {
		unmarked(jobs, v.hung)
		return
	}
	if v.snap == nil || !slices.ContainsFunc(jobs, (*job).made) {
		return
	}
	var cmds []command
	rows := 0
	if v.lead != nil {
		rows = v.lead.windowH
	}
	cmds = append(cmds, evenColumn(v.column, rows)...)
	for _, j := range v.untold {
		cmds = append(cmds, v.tags(j)...)
	}
	v.untold = nil
	cmds = append(cmds, noteLayout(v.column)...)
	if !v.readBack(ctx, jobs, cmds) {
		return
	}
	if v.crowded(jobs) {
		v.moveOut(ctx, jobs)
	}
}

// evenColumn divides rows among the panes of a column; only they change.
func evenColumn(column []string, rows int) []command {
	var cmds []command
	if len(column) < 2 {
		return nil
	}
	for i, h := range layout.Heights(rows, len(column))[:len(column)-1] {
		cmds = append(cmds, cmd("resize-pane", "-t", column[i], "-y", fmt.Sprint(h)))
	}
	return cmds
}

// noteLayout keeps the window's layout with our panes, so that it can be told
// later whether anybody changed it since.
func noteLayout(column []string) []command {
	var cmds []command
	for _, id := range column {
		cmds = append(cmds, cmd("set-option", "-pF", "-t", id, optionAfter, "#{window_layout}"))
	}
	return cmds
}

// readBack carries out the last commands, reads what stands, and mends tags
// that did not take. It reports whether anything is known.
func (v *venue) readBack(ctx context.Context, jobs []*job, cmds []command) bool {
	snap, err := v.runAll(ctx, cmds)
	if err != nil {
		unmarked(jobs, err)
		return false
	}
	v.snap = snap
	var mend []*job
	for _, j := range jobs {
		if !j.made() {
			continue
		}
		p := snap.pane(j.pane)
		if p == nil {
			j.err = fmt.Errorf("%w: its pane %s was gone as soon as it was made", backends.ErrUnanswered, j.pane)
			j.pane = ""
			continue
		}
		j.pid, j.window = p.pid, p.window
		if p.tag != j.Tag {
			mend = append(mend, j)
		}
	}
	for _, j := range mend {
		// A chain ends at its first failing command, and a vanished pane makes
		// one. A wider option of the same name hides ours: ask the pane.
		_, err := v.client.run(ctx, v.client.timeout, v.tags(j)...)
		values, oerr := v.client.options(ctx, []string{j.pane}, optionTag)
		if oerr != nil || values[j.pane][optionTag] != j.Tag {
			j.err = fmt.Errorf("%w: tag pane %s: %w", backends.ErrUnanswered, j.pane, both(both(err, oerr), errors.New("the tag did not take")))
		}
	}
	return true
}

// unmarked reports panes that were made and could not be marked as ours.
func unmarked(jobs []*job, why error) {
	for _, j := range jobs {
		if j.made() && j.err == nil {
			j.err = fmt.Errorf("%w: its pane %s is not tagged: %w", backends.ErrUnanswered, j.pane, why)
		}
	}
}

// runAll sends commands in as many calls as they need and returns what stands
// after the last one.
func (v *venue) runAll(ctx context.Context, cmds []command) (*snapshot, error) {
	for {
		n, bytes := 0, 1000
		for n < len(cmds) && bytes < maxChain {
			bytes += size(cmds[n])
			n++
		}
		if n == len(cmds) {
			snap, _, err := v.client.query(ctx, cmds...)
			if err != nil && !errors.Is(err, errNoServer) && !errors.Is(err, errTimeout) {
				snap, _, err = v.client.query(ctx) // one of the commands failed
			}
			return snap, err
		}
		v.client.run(ctx, v.client.timeout, cmds[:n]...) // judged by what stands at the end
		cmds = cmds[n:]
	}
}

// crowded reports whether the panes beside the lead came out smaller than the
// policy allows, or leave the lead too little.
func (v *venue) crowded(jobs []*job) bool {
	if v.lead == nil {
		return false
	}
	for _, j := range jobs {
		p := v.snap.pane(j.pane)
		if p == nil || j.own {
			continue
		}
		lead := v.snap.pane(v.lead.id)
		if p.width < v.policy.MinColumns || p.height < v.policy.MinRows || lead == nil || lead.width < min(v.policy.MinColumns, v.lead.width) {
			return true
		}
	}
	return false
}

// moveOut moves the new panes from beside the lead to a window of our own.
func (v *venue) moveOut(ctx context.Context, jobs []*job) {
	var moved []*job
	for _, j := range jobs {
		if j.made() && !j.own {
			moved = append(moved, j)
		}
	}
	first := moved[0]
	cmds := []command{cmd("break-pane", "-d", "-s", first.pane, "-n", privateSession, "-t", v.session+":")}
	if _, err := v.client.run(ctx, v.client.timeout, cmds...); err != nil {
		first.note = "it stands beside the lead although there is little room: " + err.Error()
		return
	}
	cmds = nil
	if snap, _, err := v.client.query(ctx); err == nil && snap.pane(first.pane) != nil {
		window := snap.pane(first.pane).window
		cmds = append(cmds, dressing(window)...)
		for _, j := range moved[1:] {
			cmds = append(cmds,
				cmd("join-pane", "-d", "-v", "-l", "2", "-s", j.pane, "-t", first.pane),
				cmd("select-layout", "-t", window, presetOf(v.policy.Layout)))
		}
	}
	var rest []string
	for _, id := range v.column {
		if !slices.ContainsFunc(moved, func(j *job) bool { return j.pane == id }) {
			rest = append(rest, id)
		}
	}
	v.column = rest
	switch {
	case len(rest) > 0:
		cmds = append(cmds, evenColumn(rest, v.lead.windowH)...)
		cmds = append(cmds, noteLayout(rest)...)
	case v.before != "":
		cmds = append(cmds, cmd("select-layout", "-t", v.lead.window, v.before))
	}
	for _, j := range moved {
		cmds = append(cmds,
			cmd("set-option", "-pu", "-t", j.pane, optionBefore),
			cmd("set-option", "-pu", "-t", j.pane, optionAfter))
		j.own, j.note = true, "beside the lead it would have been smaller than the policy allows"
	}
	v.readBack(ctx, jobs, cmds)
}
