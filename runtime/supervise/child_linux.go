package supervise

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// subreaper says that every orphan of the worker's becomes our child, so that
// nothing can leave the tree of descendants.
const subreaper = true

func adoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become subreaper: %w", err)
	}
	return nil
}

// childAttributes give the worker a session of its own, and its death with
// the supervisor's.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// clearSignalMask unblocks every signal in the present thread, whose mask a
// child inherits, and returns what restores it.
func clearSignalMask() (restore func()) {
	var none, old unix.Sigset_t
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &none, &old); err != nil {
		return func() {}
	}
	return func() { _ = unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil) }
}
