//go:build !linux

package supervise

import "syscall"

// subreaper: there is none here; processes are found by group and claim.
const subreaper = false

func adoptOrphans() error { return nil }

// childAttributes give the worker a session of its own.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// clearSignalMask does nothing: the runtime blocks no signal here.
func clearSignalMask() (restore func()) { return func() {} }
