package plan

import (
	"fmt"
	"testing"
)

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 workers", 1: "1 worker", 2: "2 workers"} {
		if got := Count(n, "worker"); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
}

// TestSome: of many names those are shown that may have been meant, and how
// many there are besides.
func TestSome(t *testing.T) {
	var many []string
	for i := range 200 {
		many = append(many, fmt.Sprintf("review.look.%03d", i))
	}
	if got, want := Some(NearestFirst("reviev.look.150", many)), "review.look.150, review.look.050, review.look.100, review.look.110, review.look.120 and 195 more"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if many[0] != "review.look.000" {
		t.Error("the names that were given are in another order now")
	}
	if got := Some([]string{"a", "b"}); got != "a, b" {
		t.Errorf("%q", got)
	}
	p := &Plan{Run: Run{Name: "r"}, Rounds: []Round{{}}}
	for _, key := range many {
		p.Rounds[0].Workers = append(p.Rounds[0].Workers, Worker{Key: key})
	}
	_, err := p.resolve([]string{"nobody"})
	if err == nil || len(err.Error()) > 200 {
		t.Errorf("--replace of nobody: %v", err)
	}
}
