package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// quiet measures what a runner and its supervisors use while 64 workers say
// nothing, compared with xargs waiting for as many.
func quiet(ctx context.Context, b *bench) ([]row, error) {
	const n = 64
	if _, err := os.Stat("/proc/self/schedstat"); err != nil {
		return []row{{"64 quiet workers", "–", "no /proc/PID/schedstat here", 0, "50ms"}}, nil
	}
	dir, err := b.project("quiet", fleet("process", n, n, "/bin/sh", "-c", "echo done; exec sleep 900"))
	if err != nil {
		return nil, err
	}
	apply := b.command(ctx, dir, b.okstra, "apply", "fleet")
	if err := apply.Start(); err != nil {
		return nil, err
	}
	rows, err := b.watch(ctx, dir, n, apply.Process.Pid)
	_, _, stopErr := b.run(ctx, dir, b.okstra, "stop", "fleet")
	_ = apply.Wait() // it ends with the code of a stopped run
	return rows, errors.Join(err, stopErr)
}

func (b *bench) watch(ctx context.Context, dir string, n, runner int) ([]row, error) {
	if _, err := b.started(ctx, dir, n, "start"); err != nil {
		return nil, err
	}
	all, err := statuses(dir)
	if err != nil {
		return nil, err
	}
	supervisors := make([]int, 0, n)
	for _, s := range all {
		supervisors = append(supervisors, s.Supervisor.PID)
	}
	list := filepath.Join(dir, "list")
	if err := os.WriteFile(list, []byte(strings.Repeat("900\n", n)), 0o600); err != nil {
		return nil, err
	}
	xargs := b.command(ctx, dir, "xargs", "-P64", "-n1", "-a", list, "sleep")
	// Its sleeps end with it.
	xargs.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := xargs.Start(); err != nil {
		return nil, err
	}
	defer func() {
		_ = syscall.Kill(-xargs.Process.Pid, syscall.SIGKILL)
		_ = xargs.Wait()
	}()
	if err := pause(ctx, 3*time.Second); err != nil { // starting is over
		return nil, err
	}
	var before, after [3]time.Duration
	groups := [3][]int{{runner}, supervisors, {xargs.Process.Pid}}
	for i, g := range groups {
		if before[i], err = used(g); err != nil {
			return nil, err
		}
	}
	if err := pause(ctx, b.rest); err != nil {
		return nil, err
	}
	for i, g := range groups {
		if after[i], err = used(g); err != nil {
			return nil, err
		}
	}
	ran, held, theirs := after[0]-before[0], after[1]-before[1], after[2]-before[2]
	rows := []row{{
		fmt.Sprintf("cpu for %s of %d quiet workers", b.rest, n),
		fmt.Sprintf("%s (runner %s)", short(ran+held), short(ran)), "xargs -P64  " + short(theirs), 0, "50ms",
	}}
	runnerKB, err := resident(runner)
	if err != nil {
		return rows, err
	}
	most := 0
	for _, pid := range supervisors {
		kb, err := resident(pid)
		if err != nil {
			return rows, err
		}
		most = max(most, kb)
	}
	xargsKB, err := resident(xargs.Process.Pid)
	if err != nil {
		return rows, err
	}
	return append(rows,
		row{"memory of the runner", megabytes(runnerKB), "xargs  " + megabytes(xargsKB), float64(runnerKB) / float64(xargsKB), "40 MB"},
		row{"memory of the largest supervisor", megabytes(most), "xargs  " + megabytes(xargsKB), float64(most) / float64(xargsKB), "15 MB"},
	), nil
}

func megabytes(kb int) string { return fmt.Sprintf("%.1f MB", float64(kb)/1024) }

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// used is the time on a processor of all threads of these processes.
func used(pids []int) (time.Duration, error) {
	var sum time.Duration
	for _, pid := range pids {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
		if err != nil || len(threads) == 0 {
			return 0, errors.Join(err, fmt.Errorf("process %d is gone", pid))
		}
		for _, t := range threads {
			data, err := os.ReadFile(t)
			if errors.Is(err, os.ErrNotExist) {
				continue // a thread that ended
			}
			if err != nil {
				return 0, err
			}
			first, _, _ := strings.Cut(string(data), " ")
			ns, err := strconv.ParseInt(first, 10, 64)
			if err != nil {
				return 0, fmt.Errorf("%s: %w", t, err)
			}
			sum += time.Duration(ns)
		}
	}
	return sum, nil
}

// resident is the resident memory of a process in KiB.
func resident(pid int) (int, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			return strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
		}
	}
	return 0, fmt.Errorf("process %d has no VmRSS", pid)
}
