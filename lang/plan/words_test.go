package plan

import "testing"

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 workers", 1: "1 worker", 2: "2 workers"} {
		if got := Count(n, "worker"); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
}
