package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// panes compares 64 panes, from apply to the last worker's start, with the
// fewest raw tmux calls that start the same supervisor program in as many
// panes, from the first call to the last supervisor's first sign of life.
func panes(ctx context.Context, b *bench) (rows []row, err error) {
	const n = 64
	const name = "64 panes"
	if found("tmux") == "" {
		return []row{{name, "–", "tmux is not installed", 0, "1.50"}}, nil
	}
	dir, err := b.project("panes", fleet("tmux", n, n, "/bin/sh", "-c", "echo done; exec sleep 600"))
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	apply := b.command(ctx, dir, b.okstra, "apply", "fleet")
	if err := apply.Start(); err != nil {
		return nil, err
	}
	last, waitErr := b.started(ctx, dir, n, "start")
	ours := last.Sub(begun)
	perWindow, listErr := b.windows(ctx, dir)
	// Prepared while the records stand and nothing is closed.
	raw, copyErr := b.copies(dir)
	_, _, stopErr := b.run(ctx, dir, b.okstra, "stop", "fleet")
	_ = apply.Wait() // it ends with the code of a stopped run
	_, _, downErr := b.run(ctx, dir, b.okstra, "teardown", "fleet")
	if err := errors.Join(waitErr, listErr, copyErr, stopErr, downErr); err != nil {
		return nil, err
	}
	theirs, err := b.raw(ctx, raw, perWindow)
	if err != nil {
		return nil, err
	}
	return []row{{
		name + ", apply to last start", short(ours), fmt.Sprintf("raw tmux, %d windows  %s", len(perWindow), short(theirs)),
		ratio(ours, theirs), "1.50",
	}}, nil
}

// started waits until n sidecars have reached a stage and returns when the last
// of them did.
func (b *bench) started(ctx context.Context, dir string, n int, stage string) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("not all of %d supervisors reached %s: %w", n, stage, ctx.Err())
		case <-tick.C:
		}
		all, err := statuses(dir)
		if err != nil {
			continue // one is being replaced
		}
		there, last := 0, time.Time{}
		for _, s := range all {
			if s.Stage == stage && s.StartedAt != nil {
				there++
				if s.StartedAt.After(last) {
					last = *s.StartedAt
				}
			}
		}
		if there == n {
			return last, nil
		}
	}
}

// windows lists how many panes each window of the run's server has.
func (b *bench) windows(ctx context.Context, dir string) ([]int, error) {
	socket, err := socketOf(dir)
	if err != nil {
		return nil, err
	}
	_, out, err := b.run(ctx, dir, "tmux", "-S", socket, "list-windows", "-a", "-F", "#{window_panes}")
	if err != nil {
		return nil, err
	}
	var counts []int
	for _, line := range strings.Fields(string(out)) {
		var n int
		if _, err := fmt.Sscan(line, &n); err != nil {
			return nil, fmt.Errorf("tmux lists a window of %q panes", line)
		}
		counts = append(counts, n)
	}
	return counts, nil
}

func socketOf(dir string) (string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, ".okstra/tasks/*/*/*/runs/*/prompts/*/*.status.json"))
	if err != nil || len(paths) == 0 {
		return "", errors.Join(err, errors.New("no sidecars"))
	}
	var s struct{ Pane struct{ Socket string } }
	if err := readJSON(paths[0], &s); err != nil {
		return "", err
	}
	return s.Pane.Socket, nil
}

// copies makes launch records like those of the run, in a folder of their own.
func (b *bench) copies(dir string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, ".okstra/tasks/*/*/*/runs/*/prompts/*/*.launch.json"))
	if err != nil {
		return nil, err
	}
	to := filepath.Join(b.dir, "raw")
	var out []string
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			return nil, err
		}
		data = []byte(strings.ReplaceAll(string(data), `"`+dir+`/`, `"`+to+`/`))
		path := to + strings.TrimPrefix(p, dir)
		var rec struct {
			Paths struct{ Lock string }
		}
		if err := errors.Join(
			os.MkdirAll(filepath.Dir(path), 0o700),
			json.Unmarshal(data, &rec),
			os.WriteFile(path, data, 0o600),
			os.WriteFile(rec.Paths.Lock, nil, 0o600),
		); err != nil {
			return nil, err
		}
		out = append(out, path)
	}
	return out, nil
}

// raw starts the supervisors with one chain of tmux commands for each window
// and returns how long it took until all of them showed a sign of life.
func (b *bench) raw(ctx context.Context, records []string, perWindow []int) (took time.Duration, err error) {
	n := len(records)
	dir := filepath.Join(b.dir, "raw")
	socket := filepath.Join(dir, "s")
	defer func() {
		// Supervisors at the gate leave with their pane.
		_, _, killErr := b.run(ctx, dir, "tmux", "-S", socket, "kill-server")
		err = errors.Join(err, killErr)
	}()
	begun := time.Now()
	for i, panes := range perWindow {
		window := fmt.Sprintf("w%d", i)
		make := []string{"new-window", "-d", "-t", "raw:", "-n", window}
		if i == 0 {
			make = []string{"new-session", "-d", "-s", "raw", "-n", window, "-x", "240", "-y", "67"}
		}
		args := append([]string{"-S", socket, "-f", os.DevNull}, make...)
		for j := range panes {
			if j > 0 {
				args = append(args, ";", "split-window", "-d", "-t", "raw:"+window)
			}
			args = append(args, b.okstra, "supervise", records[0])
			records = records[1:]
			if j > 0 {
				args = append(args, ";", "select-layout", "-t", "raw:"+window, "tiled")
			}
		}
		if _, _, err := b.run(ctx, dir, "tmux", args...); err != nil {
			return 0, err
		}
	}
	last, err := b.started(ctx, dir, n, "init")
	return last.Sub(begun), err
}
