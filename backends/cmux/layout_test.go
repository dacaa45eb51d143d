package cmux

import (
	"fmt"
	"strings"
	"testing"

	"github.com/okstra/okstra/backends"
)

func boardOf(width, height float64, p backends.Policy) *board {
	return &board{lead: cell{surface: "lead", frame: frame{Width: width, Height: height}, cellWidth: 7.5, cellHeight: 15}, policy: p}
}

func TestLayout(t *testing.T) {
	t.Parallel()
	base := backends.Policy{LeadShare: 60, MinColumns: 40, MinRows: 8, PerWindow: 4}
	with := func(change func(*backends.Policy)) backends.Policy { p := base; change(&p); return p }
	tests := []struct {
		name          string
		width, height float64
		policy        backends.Policy
		n             int
		want          string // columns x rows of the lead, then of each worker
	}{
		{"one", 2320, 1382, base, 1, "185x92 123x92"},
		{"a full column", 2320, 1382, base, 4, "185x92 123x23 123x23 123x23 123x23"},
		{"one more than a column", 2320, 1382, base, 5, "185x92 61x23 123x23 123x23 123x23 61x23"},
		{"two columns", 2320, 1382, base, 8, "185x92 61x23 61x23 61x23 61x23 61x23 61x23 61x23 61x23"},
		{"more than two columns", 2320, 1382, base, 9, "185x92 61x11 61x23 61x23 61x23 61x23 61x23 61x23 61x23 61x11"},
		{"a higher floor", 2320, 1382, with(func(p *backends.Policy) { p.MinColumns = 80 }), 5, "185x92 123x11 123x23 123x23 123x23 123x11"},
		{"few rows", 2320, 300, base, 3, "185x20 61x10 123x10 61x10"},
		{"an even share", 2320, 1382, with(func(p *backends.Policy) { p.LeadShare = 0 }), 1, "154x92 154x92"},
		{"a share beyond the limits", 2320, 1382, with(func(p *backends.Policy) { p.LeadShare = 97 }), 1, "278x92 30x92"},
		{"one for each window", 2320, 1382, with(func(p *backends.Policy) { p.PerWindow = 1 }), 2, "185x92 61x92 61x92"},
		{"no space at all", 300, 60, base, 4, "24x4 16x1 16x1 16x1 16x1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := boardOf(test.width, test.height, test.policy)
			for i := range test.n {
				b.apply(b.next(test.n-i), fmt.Sprint("w", i))
			}
			got := []string{fmt.Sprintf("%dx%d", b.lead.columns(), b.lead.rows())}
			area := b.lead.frame.Width * b.lead.frame.Height
			for _, w := range b.workers {
				got = append(got, fmt.Sprintf("%dx%d", w.columns(), w.rows()))
				area += w.frame.Width * w.frame.Height
			}
			if s := strings.Join(got, " "); s != test.want {
				t.Errorf("got  %s\nwant %s", s, test.want)
			}
			if whole := test.width * test.height; area < whole*0.999 || area > whole*1.001 {
				t.Errorf("the panes cover %v of %v", area, whole)
			}
		})
	}
}

func TestStacked(t *testing.T) {
	t.Parallel()
	var full, half paneRow
	full.Surfaces, full.Frame = []string{"lead"}, frame{Width: 100, Height: 900}
	half.Surfaces, half.Frame = []string{"user"}, frame{Width: 100, Height: 450}
	list := paneList{Panes: []paneRow{full}}
	list.Container.Height = 900
	if stacked(list, nil) {
		t.Error("one pane is no stack")
	}
	list.Panes = append(list.Panes, half)
	if !stacked(list, nil) {
		t.Error("a user's pane of half the height is a stack")
	}
	if stacked(list, map[string]bool{"user": true}) {
		t.Error("a stack of okstra's own may be evened out")
	}
}
