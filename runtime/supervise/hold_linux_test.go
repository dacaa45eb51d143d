package supervise

import (
	goruntime "runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestUnheard sends HUP right before the supervisor stops listening: it must be
// told, every time. Sent to the own thread, it is taken before Tgkill returns.
func TestUnheard(t *testing.T) {
	t.Parallel()
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	for i := range 2000 {
		s := &supervisor{signals: listen()}
		if err := unix.Tgkill(unix.Getpid(), unix.Gettid(), unix.SIGHUP); err != nil {
			t.Fatal(err)
		}
		if s.unheard() == nil {
			t.Fatalf("the signal was lost at turn %d", i)
		}
	}
}
