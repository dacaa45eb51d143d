package tmux

import (
	"strconv"
	"strings"
)

// lines calls f with the fields of every line of out that begins with mark.
// The last field keeps whatever tabs it holds.
func lines(out, mark string, fields int, f func([]string)) {
	for line := range strings.SplitSeq(out, "\n") {
		rest, ok := strings.CutPrefix(line, mark+"\t")
		if !ok {
			continue
		}
		if parts := strings.SplitN(rest, "\t", fields); len(parts) == fields {
			f(parts)
		}
	}
}

// parseSnapshot reads the output of query. It reports false where the line of
// the server is missing, without which the list proves nothing.
func parseSnapshot(out string) (*snapshot, bool) {
	s := &snapshot{byID: make(map[string]*pane)}
	ok := false
	lines(out, markServer, 3, func(f []string) {
		pid, err := strconv.Atoi(f[0])
		if err == nil && pid > 0 && f[1] != "" {
			s.server = server{pid: pid, start: f[1], version: f[2]}
			ok = true
		}
	})
	if !ok {
		return nil, false
	}
	seen := make(map[string]bool)
	lines(out, markPane, 15, func(f []string) {
		p := pane{id: f[0], window: f[1], session: f[2], tag: f[14]}
		if !isPane(p.id) || !isWindow(p.window) || !isSession(p.session) {
			return
		}
		if seen[p.id] { // a window that is linked into two sessions is listed twice
			return
		}
		seen[p.id] = true
		p.pid = number(f[3])
		p.dead = f[4] == "1"
		p.active = f[5] == "1"
		p.width, p.height, p.left, p.top = number(f[6]), number(f[7]), number(f[8]), number(f[9])
		p.windowW, p.windowH = number(f[10]), number(f[11])
		p.zoomed = f[12] == "1"
		p.borders = f[13] != "" && f[13] != "off"
		s.panes = append(s.panes, p)
	})
	for i := range s.panes {
		s.byID[s.panes[i].id] = &s.panes[i]
	}
	return s, true
}

// number reads a number that tmux prints; what is none counts as 0.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// made is one line of a command that made a pane.
type made struct {
	index  int // of the launch in its batch
	pane   string
	window string
	pid    int
}

func madeFormat(index int) string {
	return markMade + "\t" + strconv.Itoa(index) + "\t#{pane_id}\t#{window_id}\t#{pane_pid}"
}

func parseMade(out string) []made {
	var ms []made
	lines(out, markMade, 4, func(f []string) {
		i, err := strconv.Atoi(f[0])
		if err != nil || !isPane(f[1]) || !isWindow(f[2]) {
			return
		}
		ms = append(ms, made{index: i, pane: f[1], window: f[2], pid: number(f[3])})
	})
	return ms
}
