package testscripts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"github.com/okstra/okstra/runtime"
)

type command = func(ts *testscript.TestScript, neg bool, args []string)

// commands are what scripts can say beyond testscript's own commands.
func commands() map[string]command {
	c, apps := &background{}, &cmuxApps{}
	return map[string]command{
		"exitcode":   exitCode,
		"waitfile":   waitFile,
		"waitgrep":   waitGrep,
		"waitstatus": waitStatus,
		"waitgone":   waitGone,
		"start":      c.start,
		"starttty":   c.startTTY,
		"type":       c.typeLine,
		"signal":     c.signal,
		"finish":     c.finish,
		"scrub":      scrub,
		"tmuxserver": tmuxServer,
		"tmux":       tmuxCall,
		"cmuxserver": apps.start,
		"cmuxlook":   apps.look,
		"cmuxlose":   apps.lose,
		"cmuxquit":   apps.quit,
		"project":    projectCommand,
		"snapshot":   snapshotCommand,
	}
}

// waitLimit bounds every wait. It is long for a busy machine; a test that
// passes never comes near it.
const waitLimit = 60 * time.Second

// until polls f every 10 ms; where the time runs out, the script fails with
// what f saw last.
func until(ts *testscript.TestScript, what string, f func() (done bool, saw string)) {
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		done, saw := f()
		if done {
			return
		}
		select {
		case <-ctx.Done():
			ts.Fatalf("waited %s for %s; last seen:\n%s", waitLimit, what, saw)
		case <-tick.C:
		}
	}
}

func plainUse(ts *testscript.TestScript, neg bool, ok bool, usage string) {
	if neg || !ok {
		ts.Fatalf("usage: %s", usage)
	}
}

// exitCode runs a program and wants this exit code; stdout and stderr can be
// looked at after.
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	plainUse(ts, neg, len(args) >= 2, "exitcode N PROGRAM ARGS...")
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := codeOf(ts, ts.Exec(args[1], args[2:]...))
	if got != want {
		ts.Fatalf("%s ended with %d, not %d", args[1], got, want)
	}
}

// codeOf is 128+n for a program that signal n ended.
func codeOf(ts *testscript.TestScript, err error) int {
	if err == nil {
		return 0
	}
	e, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		ts.Fatalf("%v", err)
	}
	if w, ok := e.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return e.ExitCode()
}

func waitFile(ts *testscript.TestScript, neg bool, args []string) {
	plainUse(ts, neg, len(args) == 1, "waitfile PATH")
	path := ts.MkAbs(args[0])
	until(ts, path, func() (bool, string) {
		found, err := filepath.Glob(path)
		if err == nil && len(found) > 0 {
			return true, ""
		}
		return false, listing(filepath.Dir(path))
	})
}

func listing(dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, e := range entries {
		b.WriteString(e.Name() + "\n")
	}
	return b.String()
}

func waitGrep(ts *testscript.TestScript, neg bool, args []string) {
	plainUse(ts, neg, len(args) == 2, "waitgrep PATTERN FILE")
	re, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	path := ts.MkAbs(args[1])
	until(ts, args[0]+" in "+path, func() (bool, string) {
		b, err := os.ReadFile(path)
		if err != nil {
			return false, err.Error()
		}
		return re.Match(b), string(b)
	})
}

// waitStatus waits for a recorded status, or for "live".
func waitStatus(ts *testscript.TestScript, neg bool, args []string) {
	plainUse(ts, neg, len(args) == 3, "waitstatus RUN WORKER STATUS[/REASON]|live")
	sel, err := runtime.ParseSelector(ts.MkAbs("."), args[0])
	ts.Check(err)
	until(ts, strings.Join(args, " "), func() (bool, string) {
		st, err := runtime.Status(context.Background(), runtime.Env{Now: time.Now}, sel)
		if err != nil {
			return false, err.Error()
		}
		var seen strings.Builder
		for _, w := range st.Workers {
			got := string(w.Status)
			if w.Reason != "" {
				got += "/" + string(w.Reason)
			}
			if (w.WorkerKey == args[1] || w.Label == args[1]) && (got == args[2] || string(w.Status) == args[2] || args[2] == "live" && w.Live) {
				return true, ""
			}
			fmt.Fprintf(&seen, "%s (%s) %s live=%v\n", w.WorkerKey, w.Label, got, w.Live)
		}
		return false, seen.String()
	})
}

// waitGone waits until the process whose pid a file holds is no more.
func waitGone(ts *testscript.TestScript, neg bool, args []string) {
	plainUse(ts, neg, len(args) == 1, "waitgone PIDFILE")
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(args[0])))
	ts.Check(err)
	until(ts, "the end of process "+strconv.Itoa(pid), func() (bool, string) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		switch {
		case err == nil:
			// A zombie is gone; nobody has looked yet.
			return bytes.Contains(stat, []byte(") Z ")), string(stat)
		case errors.Is(err, os.ErrNotExist):
			return syscall.Kill(pid, 0) != nil, "alive"
		}
		return false, err.Error()
	})
}

// background holds the programs that a script has started, by script and name.
type background struct{ jobs sync.Map }

type job struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error
	tty  *os.File // the master side; nil without a terminal
}

func key(ts *testscript.TestScript, name string) string { return ts.Getenv("WORK") + "\x00" + name }

// start runs a program beside the script. Its output goes to NAME.stdout and
// NAME.stderr in the script's folder, so that it can be waited for and grepped.
func (b *background) start(ts *testscript.TestScript, neg bool, args []string) {
	plainUse(ts, neg, len(args) >= 2, "start NAME PROGRAM ARGS...")
	name := args[0]
	cmd := b.command(ts, args[1:])
	out, err := os.Create(ts.MkAbs(name + ".stdout"))
	ts.Check(err)
	errOut, err := os.Create(ts.MkAbs(name + ".stderr"))
	ts.Check(err)
	cmd.Stdout, cmd.Stderr = out, errOut
	ts.Check(cmd.Start())
	ts.Check(errors.Join(out.Close(), errOut.Close()))
	b.keep(ts, name, &job{cmd: cmd, done: make(chan struct{})}, func() {})
}

// startTTY is start on a terminal of 100 columns and 30 rows, all three
// streams. What the terminal shows goes to NAME.stdout as it comes.
func (b *background) startTTY(ts *testscript.TestScript, neg bool, args []string) {
	plainUse(ts, neg, len(args) >= 2, "starttty NAME PROGRAM ARGS...")
	name := args[0]
	cmd := b.command(ts, args[1:])
	cmd.Env = append(cmd.Env, "TERM=xterm-256color", "COLUMNS=")
	out, err := os.Create(ts.MkAbs(name + ".stdout"))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(name+".stderr"), nil, 0o644))
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 30, Cols: 100})
	ts.Check(err)
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		// Reading ends with an error when the last holder of the terminal ends.
		_, _ = io.Copy(out, tty)
	}()
	b.keep(ts, name, &job{cmd: cmd, done: make(chan struct{}), tty: tty}, func() {
		<-copied
		if err := errors.Join(out.Close(), tty.Close()); err != nil {
			ts.Logf("%s: %v", name, err)
		}
	})
}

// typeLine types a line into the terminal of a program.
func (b *background) typeLine(ts *testscript.TestScript, neg bool, args []string) {
	plainUse(ts, neg, len(args) == 2, "type NAME TEXT")
	j := b.job(ts, args[0])
	if j.tty == nil {
		ts.Fatalf("%s has no terminal", args[0])
	}
	_, err := j.tty.WriteString(args[1] + "\n")
	ts.Check(err)
}

func (b *background) command(ts *testscript.TestScript, args []string) *exec.Cmd {
	program, err := lookPath(ts, args[0])
	ts.Check(err)
	cmd := exec.Command(program, args[1:]...)
	cmd.Args[0] = args[0]
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = environ(ts)
	return cmd
}

// keep waits for a started program, and ends it with the script.
func (b *background) keep(ts *testscript.TestScript, name string, j *job, ended func()) {
	b.jobs.Store(key(ts, name), j)
	go func() {
		j.err = j.cmd.Wait()
		ended()
		close(j.done)
	}()
	ts.Defer(func() {
		select {
		case <-j.done:
		default:
			// It is our own child; Process knows whether it was waited for.
			if err := j.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				ts.Logf("end %s: %v", name, err)
			}
			<-j.done
		}
	})
}

// passed are the variables that a started program gets; testscript offers no
// list of its own.
var passed = []string{
	"PATH", "HOME", "WORK", "TMPDIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "LC_ALL", "TERM", "SHELL", "TZ", "COLUMNS", "TMUX", "TMUX_PANE",
	"GIT_CONFIG_NOSYSTEM", "GIT_CEILING_DIRECTORIES", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE",
	"GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_COMMITTER_DATE",
	"OKSTRA_CRASH_AT", socketsVariable, "GOCOVERDIR", "GORACE", "NO_COLOR", "CLICOLOR_FORCE", "CLAUDECODE",
	"CMUX_WORKSPACE_ID", "CMUX_SURFACE_ID", "CMUX_SOCKET_PATH", "CMUX_SOCKET_CAPABILITY", "CMUX_BUNDLED_CLI_PATH", "__CFBundleIdentifier",
}

func environ(ts *testscript.TestScript) []string {
	var out []string
	for _, name := range passed {
		if v := ts.Getenv(name); v != "" {
			out = append(out, name+"="+v)
		}
	}
	return out
}

func lookPath(ts *testscript.TestScript, name string) (string, error) {
	if strings.Contains(name, "/") {
		return ts.MkAbs(name), nil
	}
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is not on PATH", name)
}

func (b *background) job(ts *testscript.TestScript, name string) *job {
	j, ok := b.jobs.Load(key(ts, name))
	if !ok {
		ts.Fatalf("nothing was started as %q", name)
	}
	return j.(*job)
}

// signal sends a signal to a started program, or to the process whose pid a
// file holds.
func (b *background) signal(ts *testscript.TestScript, neg bool, args []string) {
	plainUse(ts, neg, len(args) == 2, "signal TERM|INT|HUP|KILL|... NAME|@PIDFILE")
	s := unix.SignalNum("SIG" + args[0])
	if s == 0 {
		ts.Fatalf("unknown signal %q", args[0])
	}
	if file, ok := strings.CutPrefix(args[1], "@"); ok {
		pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(file)))
		ts.Check(err)
		ts.Check(syscall.Kill(pid, s))
		return
	}
	ts.Check(b.job(ts, args[1]).cmd.Process.Signal(s))
}

// finish waits for a started program and wants this exit code.
func (b *background) finish(ts *testscript.TestScript, neg bool, args []string) {
	plainUse(ts, neg, len(args) == 2, "finish NAME CODE")
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	j := b.job(ts, args[0])
	until(ts, "the end of "+args[0], func() (bool, string) {
		select {
		case <-j.done:
			return true, ""
		default:
		}
		return false, ts.ReadFile(args[0]+".stdout") + ts.ReadFile(args[0]+".stderr")
	})
	if got := codeOf(ts, j.err); got != want {
		ts.Fatalf("%s ended with %d, not %d:\n%s%s", args[0], got, want, ts.ReadFile(args[0]+".stdout"), ts.ReadFile(args[0]+".stderr"))
	}
}

// scrubs are what differs from one run of a script to the next.
var scrubs = []struct {
	re   *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`), "<time>"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b`), "<time>"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d\b`), "<time>"},
	{regexp.MustCompile(`"duration_ms": \d+`), `"duration_ms": <ms>`},
	{regexp.MustCompile(`\b\d+(\.\d+)?(ms|s)\b`), "<duration>"},
	{regexp.MustCompile(`sha256:[0-9a-f]{64}`), "sha256:<digest>"},
	{regexp.MustCompile(`"(pid|serverPid|startTime|pidStart|pgid)": \d+`), `"$1": <n>`},
	{regexp.MustCompile(`"(claim|lineage|bootId|host|tag)": "[^"]*"`), `"$1": "<$1>"`},
}

// scrub writes SRC (a file, stdout or stderr) to DST without what differs from
// run to run, so that it can be compared.
func scrub(ts *testscript.TestScript, neg bool, args []string) {
	plainUse(ts, neg, len(args) >= 2 && len(args)%2 == 0, "scrub SRC DST [PATTERN REPLACEMENT]...")
	text := ts.ReadFile(args[0])
	for i := 2; i < len(args); i += 2 {
		re, err := regexp.Compile("(?m)" + args[i])
		ts.Check(err)
		text = re.ReplaceAllString(text, args[i+1])
	}
	text = strings.ReplaceAll(text, ts.Getenv("WORK"), "$WORK")
	for _, s := range scrubs {
		text = s.re.ReplaceAllString(text, s.with)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o644))
}
