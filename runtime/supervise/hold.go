package supervise

import (
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/okstra/okstra/runtime/crash"
)

// hold keeps the screen readable until it is closed: a pane lives as long as
// its process. Many panes are held at once, so the process then becomes the
// smallest that the system has: sleep, under the same pid, with the same lock
// and the same terminal, ended by the same signals.
func (s *supervisor) hold() {
	crash.Point("supervisor.hold")
	if !s.rec.Hold || s.dismissed {
		return
	}
	s.screen.close() // what is painted after this is painted by nobody
	if sleep, err := exec.LookPath("sleep"); err == nil && !s.deaf {
		if leave := s.becomeHolder(sleep); leave {
			return
		}
	}
	// There is no such program, it cannot be executed, or it would not end with
	// its terminal.
	debug.FreeOSMemory()
	signal.Notify(s.signals.asks, unix.SIGTERM, unix.SIGHUP)
	<-s.signals.asks
}

// unheard ends the listening: from here on TERM and HUP end the process by
// themselves. It returns one that came before. Stop, unlike Reset, waits until
// that is in the channel: it comes but once, and a holder that missed it would
// stay for ever, without a pane.
func (s *supervisor) unheard() os.Signal {
	signal.Stop(s.signals.asks)
	return s.asked()
}

// becomeHolder returns where it failed, and where we were asked to leave.
func (s *supervisor) becomeHolder(sleep string) (leave bool) {
	if _, err := unix.FcntlInt(s.lock.File().Fd(), unix.F_SETFD, 0); err != nil {
		return false
	}
	if s.unheard() != nil {
		return true
	}
	// Keys typed into the pane must not end it.
	signal.Ignore(unix.SIGINT, unix.SIGQUIT, unix.SIGTSTP)
	const longest = "2147483647" // seconds; every sleep takes it
	_ = syscall.Exec(sleep, []string{"sleep", longest}, nil)
	return false
}
