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

func read(pid int) (entry, error) { return readWith(pid, make([]byte, maxStat)) }

// maxStat is more bytes than a stat line has.
const maxStat = 1024

func readWith(pid int, buf []byte) (entry, error) {
	b, err := slurp("/proc/"+strconv.Itoa(pid)+"/stat", buf)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			return entry{}, ErrGone
		}
		return entry{}, err
	}
	return parseStat(pid, b)
}

// slurp reads a file of /proc into buf, or into more where that is too small.
// The process table is read at the end of every worker, and package os spends
// more on a file than the kernel does on these.
func slurp(path string, buf []byte) ([]byte, error) {
	fd, err := ignoringEINTR(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	n := 0
	for {
		if n == len(buf) {
			buf = append(buf, make([]byte, len(buf))...)
		}
		got, err := ignoringEINTR(func() (int, error) { return unix.Read(fd, buf[n:]) })
		if err != nil {
			return nil, &fs.PathError{Op: "read", Path: path, Err: err}
		}
		if got == 0 {
			return buf[:n], nil
		}
		n += got
	}
}

func ignoringEINTR(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// parseStat reads /proc/PID/stat. The command name stands in parentheses and
// may hold anything, parentheses and spaces included.
func parseStat(pid int, b []byte) (entry, error) {
	end := bytes.LastIndexByte(b, ')')
	if end < 0 {
		return entry{}, fmt.Errorf("process %d: no command name in its stat line", pid)
	}
	// Counted from the state, which is field 3 of the whole line.
	const last = 22 // the last field that is looked at
	var fields [last - 2][]byte
	n := 0
	for field := range bytes.FieldsSeq(b[end+1:]) {
		if n == len(fields) {
			break
		}
		fields[n] = field
		n++
	}
	if n < len(fields) {
		return entry{}, fmt.Errorf("process %d: stat line of %d fields", pid, n+2)
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
func list() ([]entry, error) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	out := make([]entry, 0, len(names))
	buf := make([]byte, maxStat)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if e, err := readWith(pid, buf); err == nil {
			out = append(out, e)
		}
	}
	return out, nil
}

// carries reads the environment that the process was started with.
func carries(pid int, claim string) bool {
	b, err := slurp("/proc/"+strconv.Itoa(pid)+"/environ", make([]byte, 8<<10))
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
