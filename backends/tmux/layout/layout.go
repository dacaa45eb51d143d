// Package layout is the arithmetic of pane policy: how many panes fit beside
// the lead and in windows of okstra's own, and how large they become. It is
// pure; it knows tmux's way of dividing a window and never talks to a tmux.
//
// The policy's per_window bounds the column beside the lead. In windows of
// okstra's own only the smallest sizes bound, since nobody else works there.
package layout

import (
	"fmt"

	"github.com/okstra/okstra/backends"
)

// The layouts of windows of okstra's own.
const (
	Tiled   = "tiled"
	Columns = "columns"
	Rows    = "rows"
)

// MaxPanes bounds one window: beyond it tmux itself becomes slow.
const MaxPanes = 128

// Size is a size in cells.
type Size struct{ Columns, Rows int }

func (s Size) String() string { return fmt.Sprintf("%dx%d", s.Columns, s.Rows) }

// Lead is the lead's window as it stands, before anything is made.
type Lead struct {
	Window  Size
	Pane    Size // the lead's own pane, part of the window
	Zoomed  bool // somebody looks at one pane of it alone
	Borders bool // the window draws a border line over every pane
	Column  int  // workers that stand beside the lead already
	Width   int  // their width, where there are any
}

// Beside returns how many of n more workers fit in the column beside the lead,
// and, where not all do, why.
func Beside(l Lead, p backends.Policy, n int) (fit int, why string) {
	if n <= 0 {
		return 0, ""
	}
	if l.Zoomed {
		return 0, "the lead's window is zoomed"
	}
	width := l.Width
	if l.Column == 0 {
		width = ColumnWidth(l.Window.Columns, p.LeadShare)
		// A full-height column narrows every pane of the window in proportion.
		lead := l.Pane.Columns - ceilDiv(l.Pane.Columns*(width+1), l.Window.Columns)
		if lead < p.MinColumns {
			return 0, fmt.Sprintf("the lead would keep %d columns, fewer than %d", max(lead, 0), p.MinColumns)
		}
	}
	if width < p.MinColumns {
		return 0, fmt.Sprintf("a column beside the lead would be %d wide, less than %d", max(width, 0), p.MinColumns)
	}
	limit := p.PerWindow
	if limit <= 0 {
		limit = MaxPanes
	}
	for fit < n && l.Column+fit < limit {
		if smallest(l.Window.Rows, l.Column+fit+1, l.Borders) < p.MinRows {
			return fit, fmt.Sprintf("%s beside the lead would have fewer than %d rows", workers(l.Column+fit+1), p.MinRows)
		}
		fit++
	}
	if fit < n {
		why = fmt.Sprintf("at most %s may stand beside the lead", workers(limit))
	}
	return fit, why
}

// ColumnWidth returns the width of the workers' column where the lead's side
// keeps leadShare percent of the window. It may be zero or less.
func ColumnWidth(window, leadShare int) int {
	return window - ceilDiv(window*leadShare, 100) - 1
}

// Heights divides rows among n panes of one column with a line between each
// two. The lower ones take what is left over.
func Heights(rows, n int) []int {
	out := make([]int, n)
	free := rows - (n - 1)
	for i := range out {
		out[i] = free / n
		if i >= n-free%n {
			out[i]++
		}
	}
	return out
}

// Grid is how panes stand in one window of okstra's own.
type Grid struct {
	Panes, Columns, Rows int
	Cell                 Size // of the smallest pane
}

// Arrange returns the grid that tmux makes of n panes in a window in which
// every pane has a border line with its label.
func Arrange(layout string, window Size, n int) Grid {
	g := Grid{Panes: n, Columns: 1, Rows: 1}
	switch layout {
	case Columns:
		g.Columns = n
	case Rows:
		g.Rows = n
	default:
		for g.Columns*g.Rows < n {
			g.Rows++
			if g.Columns*g.Rows < n {
				g.Columns++
			}
		}
	}
	g.Cell = Size{
		Columns: (window.Columns - (g.Columns - 1)) / g.Columns,
		Rows:    smallest(window.Rows, g.Rows, true),
	}
	if layout == Rows && (window.Rows-(n-1))%n > 0 {
		g.Cell.Rows++ // the topmost pane, which gives up a row, is given one more
	}
	return g
}

// Capacity returns how many panes a window of okstra's own takes with none
// smaller than the policy's floors. It is at least one: nothing is refused for
// want of space.
func Capacity(window Size, p backends.Policy) int {
	n := 1
	for n < MaxPanes {
		g := Arrange(p.Layout, window, n+1)
		if g.Cell.Columns < max(p.MinColumns, 1) || g.Cell.Rows < max(p.MinRows, 1) {
			break
		}
		n++
	}
	return n
}

// Spread distributes n panes over present windows with free places, and then
// over new ones of the given capacity. It returns how many go to each of the
// present windows, followed by the new ones.
func Spread(free []int, capacity, n int) []int {
	out := make([]int, len(free))
	for i, f := range free {
		out[i] = min(max(f, 0), n)
		n -= out[i]
	}
	for n > 0 {
		take := min(max(capacity, 1), n)
		out = append(out, take)
		n -= take
	}
	return out
}

// smallest returns the rows of the lowest pane of n in a column. With border
// lines the line between two panes carries the lower one's label, and only
// the topmost pane gives up a row of its own.
func smallest(rows, n int, borders bool) int {
	h := (rows - (n - 1)) / n
	if borders {
		h--
	}
	return h
}

func ceilDiv(a, b int) int {
	if b <= 0 {
		return a
	}
	return (a + b - 1) / b
}
