package proc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// The state of a zombie in struct extern_proc.
const stateZombie = 5

func readBoot() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return "unknown"
	}
	return id
}

func read(pid int) (entry, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if errors.Is(err, unix.EIO) || errors.Is(err, unix.ESRCH) || err == nil && int(k.Proc.P_pid) != pid {
		return entry{}, ErrGone
	}
	if err != nil {
		return entry{}, err
	}
	return fromKinfo(k), nil
}

func fromKinfo(k *unix.KinfoProc) entry {
	t := k.Proc.P_starttime
	return entry{
		Identity: Identity{PID: int(k.Proc.P_pid), StartTime: t.Sec*1_000_000 + int64(t.Usec)},
		parent:   int(k.Eproc.Ppid),
		group:    int(k.Eproc.Pgid),
		zombie:   k.Proc.P_stat == stateZombie,
	}
}

func list() ([]entry, error) {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	out := make([]entry, 0, len(all))
	for i := range all {
		out = append(out, fromKinfo(&all[i]))
	}
	return out, nil
}

// carries reads the argument area of the process: the number of arguments, the
// program, the arguments, then the environment, all ended by NUL.
func carries(pid int, claim string) bool {
	b, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil || len(b) < 4 {
		return false
	}
	args := int(binary.LittleEndian.Uint32(b))
	_, b, _ = bytes.Cut(b[4:], []byte{0})
	b = bytes.TrimLeft(b, "\x00")
	want := []byte(ClaimVar + "=" + claim)
	for n := 0; len(b) > 0; n++ {
		var v []byte
		v, b, _ = bytes.Cut(b, []byte{0})
		if n >= args && bytes.Equal(v, want) {
			return true
		}
	}
	return false
}

func send(id Identity, sig syscall.Signal) error {
	if !id.Alive() {
		return ErrGone
	}
	return unix.Kill(id.PID, sig)
}
