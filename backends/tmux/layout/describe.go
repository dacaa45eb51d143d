package layout

import (
	"fmt"

	"github.com/okstra/okstra/backends"
)

// Describe says, a line each, where n workers will stand. lead is nil where
// there is none; window is the size of windows of okstra's own, and server
// says whose they are ("this tmux session", "a tmux server of okstra's own").
func Describe(lead *Lead, window Size, server string, p backends.Policy, n int) []string {
	var out []string
	if lead != nil {
		fit, why := Beside(*lead, p, n)
		if fit > 0 {
			width := lead.Width
			if lead.Column == 0 {
				width = ColumnWidth(lead.Window.Columns, p.LeadShare)
			}
			total := lead.Column + fit
			out = append(out, fmt.Sprintf("%s beside the lead in one column, each at least %dx%d; the lead's side keeps %d of %d columns",
				workers(fit), width, smallest(lead.Window.Rows, total, lead.Borders), lead.Window.Columns-width-1, lead.Window.Columns))
		}
		if n -= fit; n > 0 && why != "" {
			out = append(out, fmt.Sprintf("%s in windows of okstra's own: %s", workers(n), why))
		}
	}
	capacity := Capacity(window, p)
	for i, k := range Spread(nil, capacity, n) {
		g := Arrange(p.Layout, window, k)
		line := fmt.Sprintf("window %d in %s: %s, %s × %s, each at least %v", i+1, server, workers(k), count(g.Columns, "column"), count(g.Rows, "row"), g.Cell)
		if g.Cell.Columns < p.MinColumns || g.Cell.Rows < p.MinRows {
			line += fmt.Sprintf(" (smaller than the policy's %dx%d: the window is %v)", p.MinColumns, p.MinRows, window)
		}
		out = append(out, line)
	}
	return out
}

func workers(n int) string { return count(n, "worker") }

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
