// Package ident reads what the kernel says of a process: when it started,
// whether it still runs, and its parent, and signals exactly one. It exists
// because backends import nothing of okstra; the units are those of
// backends.Handle.
package ident

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// ErrNoProcess is returned where no process has the pid.
var ErrNoProcess = errors.New("no such process")

// Process is one process as it was when it was read.
type Process struct {
	PID    int
	Parent int
	// Start is the start time in clock ticks since boot on Linux, in
	// microseconds since the epoch elsewhere. A reused pid has another.
	Start  int64
	Zombie bool   // it has ended and waits for its parent
	Name   string // short name, for people and for a plausibility check
}

// Running reports whether the process pid that started at start still runs.
// Not being able to tell is an error, never false.
func Running(pid int, start int64) (bool, error) {
	p, err := Read(pid)
	switch {
	case errors.Is(err, ErrNoProcess):
		return false, nil
	case err != nil:
		return false, err
	}
	return p.Start == start && !p.Zombie, nil
}

// Signal signals exactly the process pid that started at start, and reports
// whether it was there. The process is opened before its start time is compared,
// so that where the kernel has process descriptors a reused pid is never
// signalled.
func Signal(pid int, start int64, sig os.Signal) (bool, error) {
	p, err := os.FindProcess(pid)
	if errors.Is(err, os.ErrProcessDone) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("find process %d: %w", pid, err)
	}
	defer p.Release()
	runs, err := Running(pid, start)
	if !runs || err != nil {
		return false, err
	}
	err = p.Signal(sig)
	if errors.Is(err, os.ErrProcessDone) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("signal process %d: %w", pid, err)
	}
	return true, nil
}

// WaitGone polls until the process pid that started at start has ended. Where
// ctx ends first, the error wraps ctx's.
func WaitGone(ctx context.Context, pid int, start int64) error {
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		runs, err := Running(pid, start)
		if err != nil || !runs {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("process %d still runs: %w", pid, ctx.Err())
		case <-time.After(wait):
		}
	}
}

// Ancestors returns the pids above pid, the nearest first, without init. It
// ends where the chain cannot be read.
func Ancestors(pid int) []int {
	var out []int
	for range 128 { // a bound, in case pids are reused while we climb
		p, err := Read(pid)
		if err != nil || p.Parent <= 1 {
			break
		}
		pid = p.Parent
		out = append(out, pid)
	}
	return out
}
