package supervise

import (
	"testing"
	"testing/synctest"

	"github.com/okstra/okstra/runtime/launch"
)

// A terminal that was stopped keeps its painter for ever. Holding the pane
// closes the screen, and so does the end of the process.
func TestScreenOfAStoppedTerminalIsClosedTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(*testing.T) {
		s := &screen{closing: make(chan struct{}), closed: make(chan struct{})}
		s.close()
		s.close()
	})
}

func TestNearer(t *testing.T) {
	t.Parallel()
	rec := &launch.Record{ProjectRoot: "/home/ada/shop"}
	rec.Paths.Inputs = "/home/ada/shop/.okstra/tasks/shop/g/i/t/runs/n/state/inputs-a.json"
	for in, want := range map[string]string{
		"> Read: " + rec.Paths.Inputs:                                 "> Read: …/state/inputs-a.json",
		"> Read: .okstra/tasks/shop/g/i/t/runs/n/state/inputs-a.json": "> Read: …/state/inputs-a.json",
		"> shell: cat /home/ada/shop/cart.go /home/ada/other.go":      "> shell: cat cart.go /home/ada/other.go",
		"> Read: /home/ada/shop":                                      "> Read: /home/ada/shop",
	} {
		if got := nearer(in, rec); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	rec.Paths.Inputs = "/tmp/inputs.json"
	if got := nearer("> shell: ls ../x", rec); got != "> shell: ls ../x" {
		t.Errorf("inputs elsewhere: %q", got)
	}
}
