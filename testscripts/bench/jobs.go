package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// fleet is a definition of n workers that run one command at most parallel at
// a time. What they print is their result.
func fleet(backend string, n, parallel int, command ...string) string {
	argv, err := json.Marshal(command)
	if err != nil {
		panic(err) // strings
	}
	return fmt.Sprintf(`
provider "script" {
  extends = provider.command
  command = %s
  access "read" {
    result = "stdout"
  }
}
duty "do" {
  instructions = "Do it."
}
run "fleet" {
  backend     = backend.%s
  parallelism = %d
  timeout     = { idle = "10m" }
  round "all" {
    assign {
      duty     = duty.do
      to       = provider.script
      for_each = [%s]
    }
  }
}
`, argv, backend, parallel, quoted(n))
}

// jobs compares many short workers, with every record and sync, with what
// starts the same program as often and keeps nothing.
func jobs(ctx context.Context, b *bench) ([]row, error) {
	const n, parallel = 500, 8
	dir, err := b.project("jobs", fleet("process", n, parallel, "/bin/echo", "done"))
	if err != nil {
		return nil, err
	}
	ours, _, err := b.run(ctx, dir, b.okstra, "apply", "fleet")
	if err != nil {
		return nil, err
	}
	names := fmt.Sprintf("%d short jobs, %d at a time", n, parallel)
	var rows []row
	for _, rival := range []struct {
		program string
		args    []string
		aim     string
	}{
		{"xargs", []string{"-P8", "-n1", "-a", "list", "/bin/echo"}, "2.50"},
		{"parallel", []string{"-j8", "-a", "list", "/bin/echo"}, "1.00"},
	} {
		if found(rival.program) == "" {
			rows = append(rows, row{names, ours.String(), rival.program + " is not installed", 0, rival.aim})
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, "list"), []byte(strings.Repeat("x\n", n)), 0o600); err != nil {
			return rows, err
		}
		theirs, err := b.best(ctx, 3, dir, rival.program, rival.args...)
		if err != nil {
			return rows, err
		}
		rows = append(rows, row{names, ours.String(), rival.program + "  " + theirs.String(), ratio(ours.wall, theirs.wall), rival.aim})
	}
	return rows, nil
}

// latency is the time from a worker's end, as its supervisor saw it, to the
// record of it, compared with writing one small file durably three times,
// which is the least that lies between: result, sidecar, record.
func latency(ctx context.Context, b *bench) ([]row, error) {
	const n = 40
	dir, err := b.project("latency", fleet("process", n, 2, "/bin/sh", "-c", "sleep 0.1; echo done"))
	if err != nil {
		return nil, err
	}
	apply := b.command(ctx, dir, b.okstra, "apply", "fleet")
	if err := apply.Start(); err != nil {
		return nil, err
	}
	seen, watchErr := settled(ctx, dir, n)
	if err := errors.Join(watchErr, apply.Wait()); err != nil {
		return nil, err
	}
	sidecars, err := statuses(dir)
	if err != nil {
		return nil, err
	}
	var took []time.Duration
	for _, s := range sidecars {
		at, ok := seen[s.InvocationRef]
		if !ok || s.FinishedAt == nil {
			return nil, fmt.Errorf("%s was never seen as completed", s.InvocationRef)
		}
		took = append(took, at.Sub(*s.FinishedAt))
	}
	ours := median(took)
	least, err := durableWrites(b.dir, 3, n)
	if err != nil {
		return nil, err
	}
	return []row{{"worker's end to its record, median", short(ours), "3 durable writes  " + short(least), ratio(ours, least), "20ms"}}, nil
}

// settled reads team-state again whenever it is another file, until n workers
// are completed in it, and tells when each first was.
func settled(ctx context.Context, dir string, n int) (map[string]time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	seen := map[string]time.Time{}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	var last os.FileInfo
	for len(seen) < n {
		select {
		case <-ctx.Done():
			return seen, fmt.Errorf("%d of %d workers completed: %w", len(seen), n, ctx.Err())
		case <-tick.C:
		}
		paths, err := filepath.Glob(filepath.Join(dir, ".okstra/tasks/*/*/*/runs/*/state/team-state-*.json"))
		if err != nil || len(paths) == 0 {
			continue
		}
		info, err := os.Stat(paths[0])
		if err != nil || last != nil && os.SameFile(info, last) {
			continue
		}
		last = info
		var state struct {
			WorkerDispatches []struct{ InvocationRef, Status string }
		}
		if err := readJSON(paths[0], &state); err != nil {
			return seen, err
		}
		for _, d := range state.WorkerDispatches {
			if _, known := seen[d.InvocationRef]; !known && d.Status == "completed" {
				seen[d.InvocationRef] = info.ModTime()
			}
		}
	}
	return seen, nil
}

// status is what the bench reads of a sidecar.
type status struct {
	InvocationRef string
	Stage         string
	StartedAt     *time.Time
	FinishedAt    *time.Time
	Supervisor    struct{ PID int }
}

func statuses(dir string) ([]status, error) {
	paths, err := filepath.Glob(filepath.Join(dir, ".okstra/tasks/*/*/*/runs/*/prompts/*/*.status.json"))
	if err != nil {
		return nil, err
	}
	out := make([]status, len(paths))
	for i, p := range paths {
		if err := readJSON(p, &out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func readJSON(path string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// durableWrites is the median of n times writing each files of 2 KiB: made,
// synced, renamed, folder synced.
func durableWrites(dir string, each, n int) (time.Duration, error) {
	var took []time.Duration
	for range n {
		begun := time.Now()
		for range each {
			if err := durableWrite(dir, make([]byte, 2<<10)); err != nil {
				return 0, err
			}
		}
		took = append(took, time.Since(begun))
	}
	return median(took), nil
}

func durableWrite(dir string, data []byte) error {
	f, err := os.CreateTemp(dir, "durable")
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), filepath.Join(dir, "durable")); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
