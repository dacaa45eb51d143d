package layout

import (
	"slices"
	"strings"
	"testing"

	"github.com/okstra/okstra/backends"
)

var policy = backends.Policy{Placement: "beside-lead", Layout: Tiled, LeadShare: 60, MinColumns: 40, MinRows: 8, PerWindow: 4}

func lead(columns, rows int) Lead {
	s := Size{columns, rows}
	return Lead{Window: s, Pane: s}
}

func TestBeside(t *testing.T) {
	tests := map[string]struct {
		lead Lead
		edit func(p *backends.Policy)
		n    int
		want int
		why  string
	}{
		"all fit":             {lead(200, 50), nil, 4, 4, ""},
		"none asked":          {lead(200, 50), nil, 0, 0, ""},
		"per window":          {lead(200, 50), nil, 6, 4, "at most 4 workers may stand beside the lead"},
		"rows":                {lead(200, 26), nil, 4, 3, "fewer than 8 rows"},
		"exactly enough rows": {lead(200, 35), nil, 4, 4, ""},
		"narrow":              {lead(100, 50), nil, 1, 0, "39 wide"},
		"just wide enough":    {lead(103, 50), nil, 1, 1, ""},
		"tiny":                {lead(3, 3), nil, 1, 0, "fewer than 40"},
		"zoomed":              {Lead{Window: Size{200, 50}, Pane: Size{200, 50}, Zoomed: true}, nil, 1, 0, "zoomed"},
		"lead is a narrow pane": {Lead{Window: Size{200, 50}, Pane: Size{60, 50}}, nil, 1, 0,
			"the lead would keep 36 columns"},
		"column has room":   {Lead{Window: Size{200, 50}, Pane: Size{120, 50}, Column: 2, Width: 79}, nil, 4, 2, "at most"},
		"column is full":    {Lead{Window: Size{200, 50}, Pane: Size{120, 50}, Column: 4, Width: 79}, nil, 1, 0, "at most"},
		"column was shrunk": {Lead{Window: Size{200, 50}, Pane: Size{170, 50}, Column: 1, Width: 29}, nil, 1, 0, "29 wide"},
		"borders cost rows": {Lead{Window: Size{200, 35}, Pane: Size{200, 35}, Borders: true}, nil, 4, 3, "fewer than 8 rows"},
		"larger share":      {lead(200, 50), func(p *backends.Policy) { p.LeadShare = 85 }, 1, 0, "29 wide"},
		"lower floor":       {lead(200, 50), func(p *backends.Policy) { p.LeadShare = 85; p.MinColumns = 20 }, 1, 1, ""},
		"no limit":          {lead(200, 50), func(p *backends.Policy) { p.PerWindow = 0 }, 9, 5, "fewer than 8 rows"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := policy
			if tt.edit != nil {
				tt.edit(&p)
			}
			got, why := Beside(tt.lead, p, tt.n)
			if got != tt.want || !strings.Contains(why, tt.why) || (why == "") != (tt.why == "") {
				t.Errorf("Beside = %d, %q, want %d, %q", got, why, tt.want, tt.why)
			}
		})
	}
}

func TestHeights(t *testing.T) {
	for n := 1; n <= 12; n++ {
		for rows := 2 * n; rows < 60; rows++ {
			hs := Heights(rows, n)
			sum := n - 1
			for _, h := range hs {
				sum += h
			}
			if len(hs) != n || sum != rows || slices.Max(hs)-slices.Min(hs) > 1 || !slices.IsSorted(hs) {
				t.Fatalf("Heights(%d, %d) = %v", rows, n, hs)
			}
		}
	}
}

func TestCapacity(t *testing.T) {
	tests := []struct {
		window Size
		layout string
		want   int
	}{
		{Size{200, 50}, Tiled, 20},
		{Size{120, 40}, Tiled, 6},
		{Size{80, 24}, Tiled, 2},
		{Size{200, 50}, Rows, 5},
		{Size{200, 50}, Columns, 4},
		{Size{10, 5}, Tiled, 1},
		{Size{10000, 5000}, Tiled, MaxPanes},
	}
	for _, tt := range tests {
		p := policy
		p.Layout = tt.layout
		got := Capacity(tt.window, p)
		if got != tt.want {
			t.Errorf("Capacity(%v, %s) = %d, want %d", tt.window, tt.layout, got, tt.want)
		}
		if g := Arrange(tt.layout, tt.window, got); got > 1 && (g.Cell.Columns < p.MinColumns || g.Cell.Rows < p.MinRows) {
			t.Errorf("Arrange(%s, %v, %d) = %+v is below the floors", tt.layout, tt.window, got, g)
		}
	}
}

func TestSpread(t *testing.T) {
	tests := []struct {
		free        []int
		capacity, n int
		want        []int
	}{
		{nil, 20, 0, nil},
		{nil, 20, 45, []int{20, 20, 5}},
		{[]int{3, 0, -2}, 5, 10, []int{3, 0, 0, 5, 2}},
		{[]int{3}, 5, 2, []int{2}},
		{nil, 0, 2, []int{1, 1}},
	}
	for _, tt := range tests {
		if got := Spread(tt.free, tt.capacity, tt.n); !slices.Equal(got, tt.want) {
			t.Errorf("Spread(%v, %d, %d) = %v, want %v", tt.free, tt.capacity, tt.n, got, tt.want)
		}
	}
}

func TestDescribe(t *testing.T) {
	l := lead(200, 50)
	got := Describe(&l, Size{200, 50}, "this tmux session", policy, 26)
	want := []string{
		"4 workers beside the lead in one column, each at least 79x11; the lead's side keeps 120 of 200 columns",
		"22 workers in windows of okstra's own: at most 4 workers may stand beside the lead",
		"window 1 in this tmux session: 20 workers, 4 columns × 5 rows, each at least 49x8",
		"window 2 in this tmux session: 2 workers, 1 column × 2 rows, each at least 200x23",
	}
	if !slices.Equal(got, want) {
		t.Errorf("Describe:\n%s", strings.Join(got, "\n"))
	}
	got = Describe(nil, Size{30, 5}, "a server", policy, 1)
	if len(got) != 1 || !strings.Contains(got[0], "smaller than the policy's 40x8") {
		t.Errorf("Describe of a small window = %q", got)
	}
	if got := Describe(nil, Size{30, 5}, "a server", policy, 0); len(got) != 0 {
		t.Errorf("Describe of nothing = %q", got)
	}
}
