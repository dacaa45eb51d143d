package cmux

import (
	"context"
	"fmt"
	"math"

	"github.com/okstra/okstra/backends"
)

// Place implements backends.Planner.
func (b *Backend) Place(ctx context.Context, policy backends.Policy, n int) []string {
	lines := limits(policy)
	if n <= 0 {
		return lines
	}
	s, a, err := b.anchor(ctx)
	if err != nil {
		return append(lines, "cmux: the panes cannot be planned: "+err.Error())
	}
	defer s.Close()
	list, err := s.panes(ctx, a.workspace)
	if err != nil {
		return append(lines, "cmux: the panes cannot be planned: "+err.Error())
	}
	plan := newBoard(list, a, nil, policy)
	if !plan.lead.known() {
		return append(lines, fmt.Sprintf("cmux: %d to the right of the lead; cmux does not tell the size of its pane yet", n))
	}
	for i := range n {
		plan.apply(plan.next(n-i), "")
	}
	lines = append(lines, fmt.Sprintf("cmux: the lead keeps %d columns and %d rows", plan.lead.columns(), plan.lead.rows()))
	for i, w := range plan.workers {
		line := fmt.Sprintf("cmux: worker %d gets %d columns and %d rows", i+1, w.columns(), w.rows())
		if w.columns() < floorColumns {
			line += fmt.Sprintf(" (fewer than %d columns)", floorColumns)
		}
		if w.rows() < policy.MinRows {
			line += fmt.Sprintf(" (fewer than min_rows = %d)", policy.MinRows)
		}
		lines = append(lines, line)
	}
	return lines
}

// newBoard builds the board from the panes of the lead's workspace. workers are
// the surfaces of this run, oldest first; those that are not listed are left
// out.
func newBoard(list paneList, a anchor, workers []string, policy backends.Policy) *board {
	bySurface := map[string]cell{}
	for _, p := range list.Panes {
		for _, id := range p.Surfaces {
			bySurface[id] = p.cell(id)
		}
	}
	b := &board{lead: bySurface[a.surface], policy: policy}
	if b.lead.surface == "" {
		b.lead = paneRow{}.cell(a.surface)
	}
	for _, id := range workers {
		if c, ok := bySurface[id]; ok {
			b.workers = append(b.workers, c)
		}
	}
	return b
}

func (p paneRow) cell(surface string) cell {
	c := cell{surface: surface, frame: p.Frame, cellWidth: p.CellWidth, cellHeight: p.CellHeight}
	if c.cellWidth <= 0 {
		c.cellWidth = usualCellWidth
	}
	if c.cellHeight <= 0 {
		c.cellHeight = usualCellHeight
	}
	return c
}

// stacked reports whether a pane that is not okstra's stands above another, so
// that equalizing the rows of the workspace would move what is the user's.
func stacked(list paneList, ours map[string]bool) bool {
	for _, p := range list.Panes {
		mine := len(p.Surfaces) > 0
		for _, id := range p.Surfaces {
			mine = mine && ours[id]
		}
		if !mine && math.Abs(p.Frame.Height-list.Container.Height) > p.CellHeight+2 {
			return true
		}
	}
	return false
}
