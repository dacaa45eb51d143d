package ident

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// Read reads one process. It returns ErrNoProcess where there is none.
func Read(pid int) (Process, error) {
	path := "/proc/" + strconv.Itoa(pid) + "/stat"
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		if _, err := os.Stat("/proc/self/stat"); err != nil {
			return Process{}, fmt.Errorf("read process %d: /proc is not mounted", pid)
		}
		return Process{}, ErrNoProcess
	}
	if err != nil {
		return Process{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	p, err := parseStat(data)
	if err != nil {
		return Process{}, fmt.Errorf("read %s: %w", path, err)
	}
	return p, nil
}

// parseStat reads a line of /proc/PID/stat. The second field is the name in
// parentheses and may itself hold spaces and parentheses.
func parseStat(data []byte) (Process, error) {
	open, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 0 || end < open {
		return Process{}, errors.New("no process name")
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(data[:open])))
	if err != nil {
		return Process{}, fmt.Errorf("pid: %w", err)
	}
	f := bytes.Fields(data[end+1:]) // f[0] is field 3, the state
	if len(f) < 20 {
		return Process{}, errors.New("too few fields")
	}
	parent, err := strconv.Atoi(string(f[1]))
	if err != nil {
		return Process{}, fmt.Errorf("parent: %w", err)
	}
	start, err := strconv.ParseInt(string(f[19]), 10, 64)
	if err != nil {
		return Process{}, fmt.Errorf("start time: %w", err)
	}
	state := f[0][0]
	return Process{
		PID: pid, Parent: parent, Start: start,
		Zombie: state == 'Z' || state == 'X',
		Name:   string(data[open+1 : end]),
	}, nil
}
