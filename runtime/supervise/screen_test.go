package supervise

import (
	"testing"
	"testing/synctest"
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
