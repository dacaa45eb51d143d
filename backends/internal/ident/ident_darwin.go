package ident

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

const zombie = 5 // SZOMB of sys/proc.h

// Read reads one process. It returns ErrNoProcess where there is none.
func Read(pid int) (Process, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if errors.Is(err, unix.EIO) || errors.Is(err, unix.ESRCH) { // an answer of no bytes
		return Process{}, ErrNoProcess
	}
	if err != nil {
		return Process{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	if int(k.Proc.P_pid) != pid {
		return Process{}, ErrNoProcess
	}
	return Process{
		PID:    pid,
		Parent: int(k.Eproc.Ppid),
		Start:  k.Proc.P_starttime.Sec*1_000_000 + int64(k.Proc.P_starttime.Usec),
		Zombie: k.Proc.P_stat == zombie,
		Name:   unix.ByteSliceToString(k.Proc.P_comm[:]),
	}, nil
}
