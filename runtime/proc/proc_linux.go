package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func readBoot() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(b))
}

func read(pid int) (entry, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			return entry{}, ErrGone
		}
		return entry{}, err
	}
	return parseStat(pid, b)
}

// parseStat reads /proc/PID/stat. The command name stands in parentheses and
// may hold anything, parentheses and spaces included.
func parseStat(pid int, b []byte) (entry, error) {
	end := bytes.LastIndexByte(b, ')')
	if end < 0 {
		return entry{}, fmt.Errorf("process %d: no command name in its stat line", pid)
	}
	// Counted from the state, which is field 3 of the whole line.
	fields := bytes.Fields(b[end+1:])
	if len(fields) < 20 {
		return entry{}, fmt.Errorf("process %d: stat line of %d fields", pid, len(fields)+2)
	}
	e := entry{Identity: Identity{PID: pid}}
	var err error
	number := func(field int) int64 {
		n, e := strconv.ParseInt(string(fields[field-3]), 10, 64)
		if e != nil {
			err = fmt.Errorf("process %d: stat field %d: %w", pid, field, e)
		}
		return n
	}
	state := fields[0][0]
	e.zombie = state == 'Z' || state == 'X' || state == 'x'
	e.parent = int(number(4))
	e.group = int(number(5))
	e.StartTime = number(22)
	return e, err
}

// list reads the process table. What ends meanwhile is left out.
func list() []entry {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	var out []entry
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if e, err := read(pid); err == nil {
			out = append(out, e)
		}
	}
	return out
}

// carries reads the environment that the process was started with.
func carries(pid int, claim string) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	want := []byte(ClaimVar + "=" + claim)
	for len(b) > 0 {
		var v []byte
		v, b, _ = bytes.Cut(b, []byte{0})
		if bytes.Equal(v, want) {
			return true
		}
	}
	return false
}

// send holds the process by a descriptor while it compares the start time,
// so that the pid cannot be reused in between.
func send(id Identity, sig syscall.Signal) error {
	fd, err := unix.PidfdOpen(id.PID, 0)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		// A kernel before 5.3, or a sandbox that forbids the call.
		if !id.Alive() {
			return ErrGone
		}
		return unix.Kill(id.PID, sig)
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if !id.Alive() {
		return ErrGone
	}
	return unix.PidfdSendSignal(fd, sig, nil, 0)
}
