package cmux

import (
	"fmt"
	"math"

	"github.com/okstra/okstra/backends"
)

// floorColumns is the width below which the tools that workers are draw badly.
// A narrower pane is made all the same, and said.
const floorColumns = 60

// Cell sizes in points where cmux does not tell them.
const (
	usualCellWidth  = 7.5
	usualCellHeight = 15.0
)

// Dividers stay within these, whatever is asked for.
const (
	minDivider = 0.1
	maxDivider = 0.9
)

// cell is a pane as the arithmetic sees it. It is a value: splitting one gives
// two, and nothing here talks to cmux.
type cell struct {
	surface string
	frame   frame
	// Points per column and per row.
	cellWidth, cellHeight float64
}

func (c cell) columns() int { return int(c.frame.Width / c.cellWidth) }
func (c cell) rows() int    { return int(c.frame.Height / c.cellHeight) }

// known reports whether the size of the pane is known.
func (c cell) known() bool { return c.frame.Width > 0 && c.frame.Height > 0 }

// split returns what is left of c and the new cell beside it. divider is the
// part that c keeps.
func (c cell) split(direction string, divider float64) (rest, made cell) {
	rest, made = c, c
	made.surface = ""
	if direction == "right" {
		rest.frame.Width = c.frame.Width * divider
		made.frame.X += rest.frame.Width
		made.frame.Width -= rest.frame.Width
	} else {
		rest.frame.Height = c.frame.Height * divider
		made.frame.Y += rest.frame.Height
		made.frame.Height -= rest.frame.Height
	}
	return rest, made
}

// board is the lead with this run's workers beside it, oldest first.
type board struct {
	lead    cell
	workers []cell
	policy  backends.Policy
}

// step is one split to make.
type step struct {
	worker    int // index of the worker to split, or -1 for the lead
	direction string
	divider   float64 // the part that the split pane keeps
}

// next says where the next worker goes, when left more (itself included) are to
// come: the first to the right of the lead; further ones down from the last, up
// to per_window in the column, each time leaving equal parts; then to the right
// in the widest worker, as long as both halves keep the floor; then down in the
// tallest. Nothing is refused for want of space.
func (b *board) next(left int) step {
	if len(b.workers) == 0 {
		return step{-1, "right", b.leadDivider()}
	}
	perColumn := max(b.policy.PerWindow, 1)
	last := len(b.workers) - 1
	if n := len(b.workers); n < perColumn && b.columnHolds(n+1) {
		parts := 1 + min(left, perColumn-n)
		for parts > 2 && !b.columnHolds(n+parts-1) {
			parts--
		}
		return step{last, "down", clamp(1 / float64(parts))}
	}
	widest, tallest := 0, 0
	for i, w := range b.workers {
		if w.columns() > b.workers[widest].columns() {
			widest = i
		}
		if w.rows() > b.workers[tallest].rows() {
			tallest = i
		}
	}
	if b.workers[widest].columns()/2 >= max(b.policy.MinColumns, floorColumns) {
		return step{widest, "right", 0.5}
	}
	return step{tallest, "down", 0.5}
}

// columnHolds reports whether n workers in the column keep min_rows.
func (b *board) columnHolds(n int) bool {
	height := 0.0
	for _, w := range b.workers {
		if w.frame.X == b.workers[0].frame.X {
			height += w.frame.Height
		}
	}
	if height == 0 {
		return true // the size is not known yet
	}
	return int(height/b.workers[0].cellHeight)/n >= b.policy.MinRows
}

// leadDivider is the lead's share within the limits of cmux.
func (b *board) leadDivider() float64 {
	if b.policy.LeadShare == 0 {
		return 0.5
	}
	return clamp(float64(b.policy.LeadShare) / 100)
}

// apply carries a step out on the board; the new worker shows surface.
func (b *board) apply(s step, surface string) {
	var rest, made cell
	if s.worker < 0 {
		rest, made = b.lead.split(s.direction, s.divider)
		b.lead = rest
	} else {
		rest, made = b.workers[s.worker].split(s.direction, s.divider)
		b.workers[s.worker] = rest
	}
	made.surface = surface
	b.workers = append(b.workers, made)
}

// drop takes a worker that vanished off the board.
func (b *board) drop(i int) { b.workers = append(b.workers[:i:i], b.workers[i+1:]...) }

func clamp(v float64) float64 { return math.Min(maxDivider, math.Max(minDivider, v)) }

// limits says, a line each, what of the policy cmux cannot do.
func limits(p backends.Policy) []string {
	var out []string
	if p.Placement != "" && p.Placement != "beside-lead" {
		out = append(out, fmt.Sprintf("placement %q is not possible in cmux, which may not start a program in a workspace that is not shown: panes stand beside the lead", p.Placement))
	}
	if share := float64(p.LeadShare) / 100; p.LeadShare != 0 && clamp(share) != share {
		out = append(out, fmt.Sprintf("lead_share = %d is not possible in cmux: the lead keeps %d percent", p.LeadShare, int(math.Round(clamp(share)*100))))
	}
	return out
}

// narrow describes a pane below the floor, or returns "".
func narrow(c cell) string {
	switch {
	case !c.known():
		return ""
	case c.columns() < floorColumns:
		return fmt.Sprintf("the pane has %d columns, fewer than %d", c.columns(), floorColumns)
	}
	return ""
}
