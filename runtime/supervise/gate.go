package supervise

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/okstra/okstra/runtime/launch"
)

// awaitGo waits for the runner's word to exactly this supervisor. It returns
// "" when the worker may start, else why it must not.
func (s *supervisor) awaitGo() (why string) {
	limit := time.NewTimer(s.rec.Limits.Start.D())
	defer limit.Stop()
	// The word is a matter of milliseconds, and watching a folder that every
	// other attempt writes to costs more than looking for one file.
	const firstLook, lastLook = 500 * time.Microsecond, 20 * time.Millisecond
	pause := firstLook
	look := time.NewTimer(pause)
	defer look.Stop()
	for {
		select {
		case <-look.C:
			g, err := launch.ReadGo(s.rec.Paths.Go)
			switch {
			case errors.Is(err, fs.ErrNotExist):
			case err != nil:
				return err.Error()
			case g.Claim != s.status.Claim:
				// For an earlier supervisor of this attempt.
			case g.Go:
				return ""
			default:
				return "the runner gave it up"
			}
			pause = min(pause*3/2, lastLook)
			look.Reset(pause)
		case <-limit.C:
			return fmt.Sprintf("no word from the runner within %s", s.rec.Limits.Start)
		case sig := <-s.signals.asks:
			return "asked to leave by " + name(sig)
		}
	}
}

// name is a signal's name as people write it.
func name(sig os.Signal) string {
	if n, ok := sig.(unix.Signal); ok {
		if s := unix.SignalName(n); s != "" {
			return s
		}
	}
	return sig.String()
}
