package supervise

import (
	"runtime/debug"

	"github.com/okstra/okstra/runtime/crash"
)

// hold keeps the screen readable until it is closed: a pane lives as long as
// its process. Nothing is done meanwhile, with little memory.
func (s *supervisor) hold() {
	crash.Point("supervisor.hold")
	if !s.rec.Hold || s.dismissed {
		return
	}
	debug.FreeOSMemory()
	<-s.signals.asks
}
