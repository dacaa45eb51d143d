package tmux

import (
	"context"
	"slices"
	"strings"
)

const markWindow = "okstra-window"

// layouts returns the layout of every window.
func (c client) layouts(ctx context.Context) map[string]string {
	out, _ := c.run(ctx, c.timeout, cmd("list-windows", "-a", "-F", markWindow+"\t#{window_id}\t#{window_layout}"))
	m := make(map[string]string)
	lines(out, markWindow, 2, func(f []string) { m[f[0]] = f[1] })
	return m
}

// options reads options of the panes themselves, never inherited ones. Panes
// that are not there are missing from the answer.
func (c client) options(ctx context.Context, panes []string, names ...string) (map[string]map[string]string, error) {
	m := make(map[string]map[string]string)
	for chunk := range slices.Chunk(panes, 32) {
		var cmds []command
		for _, id := range chunk {
			for _, name := range names {
				cmds = append(cmds,
					cmd("display-message", "-p", "-t", id, markOption+"\t#{pane_id}\t"+name),
					cmd("show-options", "-pqv", "-t", id, name))
			}
		}
		out, err := c.run(ctx, c.timeout, cmds...)
		if err != nil {
			return nil, err
		}
		id, name := "", ""
		for line := range strings.Lines(out) {
			line = strings.TrimSuffix(line, "\n")
			if rest, ok := strings.CutPrefix(line, markOption+"\t"); ok {
				id, name, _ = strings.Cut(rest, "\t")
				continue
			}
			if id == "" {
				continue
			}
			if m[id] == nil {
				m[id] = make(map[string]string)
			}
			m[id][name] = line
			id = ""
		}
	}
	return m, nil
}
