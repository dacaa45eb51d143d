package supervise

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/okstra/okstra/runtime/launch"
	"github.com/okstra/okstra/runtime/sidecar"
)

// awaitGo waits for the runner's word to exactly this supervisor. It returns
// "" when the worker may start, else why it must not.
func (s *supervisor) awaitGo() (why string) {
	limit := time.NewTimer(s.rec.Limits.Start.D())
	defer limit.Stop()
	watch, err := sidecar.NewWatcher()
	if err != nil {
		return err.Error()
	}
	defer watch.Close()
	watch.Add(s.rec.Paths.Go)
	for {
		select {
		case <-watch.Changed():
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
