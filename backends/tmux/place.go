package tmux

import (
	"context"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/backends/tmux/layout"
)

// Place says where n workers would stand now. It only reads.
func (b *Backend) Place(ctx context.Context, p backends.Policy, n int) []string {
	if b.tmuxErr != nil || n <= 0 {
		return nil
	}
	if p.Placement != placeSession {
		if w, _ := b.where(ctx); w != nil {
			size := layout.Size{Columns: w.snap.panes[0].windowW, Rows: w.snap.panes[0].windowH}
			for _, q := range w.snap.panes {
				if q.session == w.session {
					size = layout.Size{Columns: q.windowW, Rows: q.windowH}
					break
				}
			}
			var lead *layout.Lead
			if w.lead != nil && p.Placement != placeWindow {
				l := scene(w.snap, w.lead, nil)
				lead = &l
			}
			return layout.Describe(lead, size, "this tmux session", p, n)
		}
	}
	return layout.Describe(nil, b.size, "a tmux server of okstra's own", p, n)
}
