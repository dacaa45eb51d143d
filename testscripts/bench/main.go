// Bench measures okstra against something real in the same run, and prints the
// ratios. It judges nothing: machines differ, and the aims are for a quiet one
// with two cores. It needs a built okstra, and on Linux only it can read what
// processes use.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// row is one line of the table.
type row struct {
	name      string
	measured  string
	reference string // what it is compared with, and what that took
	ratio     float64
	aim       string
}

// measurement fills some rows. What it could make before an error counts.
type measurement struct {
	name string
	run  func(context.Context, *bench) ([]row, error)
}

var measurements = []measurement{
	{"start", startUp},
	{"plan", plans},
	{"panes", panes},
	{"jobs", jobs},
	{"latency", latency},
	{"quiet", quiet},
}

// bench is what the measurements share.
type bench struct {
	okstra string // the program, absolute
	dir    string // scratch; a folder for each project below it
	rest   time.Duration
	env    []string
}

func main() {
	var b bench
	only := flag.String("only", "", "measure only these, by `NAMES` with commas between them")
	flag.StringVar(&b.okstra, "okstra", "bin/okstra", "the `PROGRAM` to measure")
	flag.DurationVar(&b.rest, "quiet", 30*time.Second, "how long quiet workers are watched")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := b.measure(ctx, *only)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (b *bench) measure(ctx context.Context, only string) (err error) {
	if b.okstra, err = filepath.Abs(b.okstra); err != nil {
		return err
	}
	// Sockets lie below it, so the path must be short.
	if b.dir, err = os.MkdirTemp("/tmp", "okb"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	b.env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "TMUX") || strings.HasPrefix(v, "OKSTRA_") || strings.HasPrefix(v, "XDG_")
	})
	b.env = append(b.env, "XDG_RUNTIME_DIR="+b.dir, "TERM=dumb")

	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "WHAT\tMEASURED\tREFERENCE\tRATIO\tAIM")
	var problems []error
	for _, m := range measurements {
		if only != "" && !slices.Contains(strings.Split(only, ","), m.name) {
			continue
		}
		fmt.Fprintln(os.Stderr, "measuring:", m.name)
		rows, err := m.run(ctx, b)
		for _, r := range rows {
			ratio := "–"
			if r.ratio > 0 {
				ratio = fmt.Sprintf("%.2f", r.ratio)
			}
			fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\n", r.name, r.measured, r.reference, ratio, r.aim)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", m.name, err))
		}
	}
	return errors.Join(append(problems, out.Flush())...)
}

// project makes a folder with a definition.
func (b *bench) project(name, definition string) (string, error) {
	dir := filepath.Join(b.dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return dir, os.WriteFile(filepath.Join(dir, "okstra.hcl"), []byte(definition), 0o600)
}

// cost is what a command took.
type cost struct {
	wall time.Duration
	cpu  time.Duration // of it and of all that it waited for
}

func (c cost) String() string {
	return fmt.Sprintf("%s, cpu %s", short(c.wall), short(c.cpu))
}

func short(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d < time.Second:
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// run runs a command in a folder and returns what it took and printed.
func (b *bench) run(ctx context.Context, dir, program string, args ...string) (cost, []byte, error) {
	cmd := b.command(ctx, dir, program, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	begun := time.Now()
	out, err := cmd.Output()
	c := cost{wall: time.Since(begun)}
	if err != nil {
		return c, out, fmt.Errorf("%s %s: %w: %.500s", filepath.Base(program), strings.Join(args, " "), err, stderr.String())
	}
	c.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return c, out, nil
}

func (b *bench) command(ctx context.Context, dir, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = dir, b.env
	return cmd
}

// best is the cheapest of several runs: what disturbs only ever adds.
func (b *bench) best(ctx context.Context, times int, dir, program string, args ...string) (cost, error) {
	var least cost
	for i := range times {
		c, _, err := b.run(ctx, dir, program, args...)
		if err != nil {
			return c, err
		}
		if i == 0 || c.wall < least.wall {
			least = c
		}
	}
	return least, nil
}

// found returns the program of a name, or "" where there is none.
func found(name string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return path
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }
