// Package fakeworker is a worker CLI whose behaviour is scripted: it stands in
// for claude, codex and the like in tests. It knows the OKSTRA_ variables of a
// worker and nothing else of okstra.
//
// Its arguments are steps, one each: fakeworker "print hello" "result done".
// An argument "@FILE" stands for the lines of a file. testscripts/README.md
// lists the steps.
package fakeworker

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Step is one thing that a fake worker can do.
type Step struct {
	Name string
	Args string // as the documentation shows them
	Does string
	do   func(w *worker, rest string) error
}

// Steps lists every step.
func Steps() []Step {
	return []Step{
		{"print", "TEXT", "prints a line", func(w *worker, rest string) error { return w.out(rest + "\n") }},
		{"print-stderr", "TEXT", "prints a line on standard error", func(_ *worker, rest string) error { return note(rest + "\n") }},
		{"result", "TEXT", "writes the result file", toVariable("OKSTRA_RESULT")},
		{"audit", "TEXT", "writes the audit sidecar", toVariable("OKSTRA_AUDIT")},
		{"emit", "TEXT", "writes the emit file", toVariable("OKSTRA_EMIT")},
		{"emit-file", "FILE", "copies FILE to the emit file", emitFile},
		{"out", "NAME TEXT", "writes the declared output NAME", output},
		{"write", "PATH TEXT", "writes any file", write},
		{"append", "PATH TEXT", "adds a line to any file", appendTo},
		{"touch", "PATH", "makes an empty file", func(_ *worker, rest string) error { return os.WriteFile(rest, nil, 0o644) }},
		{"wait-file", "PATH", "waits until PATH exists", func(_ *worker, rest string) error { return waitFile(rest) }},
		{"read-stdin", "[PATH]", "reads standard input to its end, into PATH", readStdin},
		{"prompt", "PATH", "copies the prompt to PATH", copyVariable("OKSTRA_PROMPT")},
		{"inputs", "PATH", "copies the inputs index to PATH", copyVariable("OKSTRA_INPUTS")},
		{"env", "NAME PATH", "writes the value of NAME to PATH; \"unset\" where it is not set", environmentVariable},
		{"invocation", "PATH", "adds its invocation to PATH, as a line", invocation},
		{"env-names", "PATH", "writes the names of all variables to PATH, sorted as they come", environmentNames},
		{"argv", "PATH", "writes all arguments to PATH as a JSON list", argv},
		{"cwd", "PATH", "writes the working directory to PATH", workingDirectory},
		{"pid", "PATH", "writes the process id to PATH", func(_ *worker, rest string) error { return place(rest, strconv.Itoa(os.Getpid())+"\n") }},
		{"terminal", "PATH", "writes to PATH which of stdin, stdout and stderr are terminals", terminals},
		{"stream", "FILE", "prints FILE as it is", stream},
		{"flood", "SIZE", "prints SIZE bytes of lines (K and M are understood)", flood},
		{"hang", "", "prints a line every 100 ms, for ever", func(w *worker, _ string) error { return hang(w) }},
		{"silent", "", "does nothing, for ever", func(*worker, string) error { select {} }},
		{"ignore", "SIGNAL...", "ignores signals from now on (TERM, HUP, INT)", ignore},
		{"grandchild", "PATH", "leaves a child that holds standard output, its pid in PATH", grandchild(false)},
		{"escape", "PATH", "leaves a child in a session of its own that holds nothing, its pid in PATH", grandchild(true)},
		{"detach-stdio", "", "moves standard input, output and error to nowhere", func(*worker, string) error { return detach() }},
		{"attempt", "N STEP", "does STEP in the N-th attempt only", attempt},
		{"batch", "NAME STEP", "does STEP in the batch NAME only", batch},
		{"exit", "N", "ends with this code", func(_ *worker, rest string) error { return exit(rest) }},
		{"die", "SIGNAL", "ends by this signal", func(_ *worker, rest string) error { return die(rest) }},
	}
}

type worker struct {
	stdout io.Writer
	args   []string
}

func (w *worker) out(s string) error {
	_, err := io.WriteString(w.stdout, s)
	return err
}

func note(s string) error {
	_, err := io.WriteString(os.Stderr, s)
	return err
}

// life bounds every fake worker.
const life = 5 * time.Minute

// exitError ends the script with a code.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// Main runs the steps and returns the exit code; 0 where no step says another.
// A step that fails ends it with 125, which no test uses for anything else.
func Main(args []string) int {
	// Nothing that a broken test leaves behind lives for long.
	time.AfterFunc(life, func() { os.Exit(124) })
	w := &worker{stdout: os.Stdout, args: args}
	err := w.run(args)
	if code, ok := errors.AsType[exitError](err); ok {
		return int(code)
	}
	if err != nil {
		// A test that looks at standard error sees it; there is nobody else to tell.
		_ = note("fakeworker: " + err.Error() + "\n")
		return 125
	}
	return 0
}

func (w *worker) run(args []string) error {
	for _, a := range args {
		if name, ok := strings.CutPrefix(a, "@"); ok {
			if err := w.file(name); err != nil {
				return err
			}
			continue
		}
		if err := w.step(a); err != nil {
			return err
		}
	}
	return nil
}

func (w *worker) file(name string) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	for n, l := range strings.Split(string(b), "\n") {
		if l = strings.TrimSpace(l); l == "" || strings.HasPrefix(l, "#") {
			continue
		}
		if err := w.step(l); err != nil {
			if _, ok := errors.AsType[exitError](err); ok {
				return err
			}
			return fmt.Errorf("%s:%d: %w", name, n+1, err)
		}
	}
	return nil
}

func (w *worker) step(l string) error {
	name, rest, _ := strings.Cut(l, " ")
	for _, s := range Steps() {
		if s.Name == name {
			return s.do(w, rest)
		}
	}
	return fmt.Errorf("unknown step %q", name)
}

// place writes a file at once, so that a test that waits for it reads it whole.
func place(path, text string) error {
	if path == "" {
		return errors.New("no path is given")
	}
	tmp := fmt.Sprintf("%s.%d.tmp", path, os.Getpid())
	if err := os.WriteFile(tmp, []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

// toVariable writes to the path that a variable of okstra names.
func toVariable(name string) func(*worker, string) error {
	return func(_ *worker, rest string) error {
		path := os.Getenv(name)
		if path == "" {
			return fmt.Errorf("%s is not set", name)
		}
		return os.WriteFile(path, []byte(unescape(rest)+"\n"), 0o644)
	}
}

// unescape lets a step hold line ends, written \n.
func unescape(s string) string { return strings.ReplaceAll(s, `\n`, "\n") }

func copyVariable(name string) func(*worker, string) error {
	return func(_ *worker, rest string) error {
		b, err := os.ReadFile(os.Getenv(name))
		if err != nil {
			return err
		}
		return place(rest, string(b))
	}
}

func emitFile(_ *worker, rest string) error {
	b, err := os.ReadFile(rest)
	if err != nil {
		return err
	}
	return os.WriteFile(os.Getenv("OKSTRA_EMIT"), b, 0o644)
}

func output(w *worker, rest string) error {
	name, text, _ := strings.Cut(rest, " ")
	variable := "OKSTRA_OUTPUT_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
	return toVariable(variable)(w, text)
}

func write(_ *worker, rest string) error {
	path, text, _ := strings.Cut(rest, " ")
	return place(path, unescape(text)+"\n")
}

func appendTo(_ *worker, rest string) error {
	path, text, _ := strings.Cut(rest, " ")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(unescape(text) + "\n")
	return errors.Join(err, f.Close())
}

// waitFile waits without a limit of its own: the limits are what is tested.
func waitFile(path string) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Lstat(path); err == nil {
			return nil
		}
		<-tick.C
	}
}

func readStdin(_ *worker, rest string) error {
	b, err := io.ReadAll(os.Stdin)
	if err != nil || rest == "" {
		return err
	}
	return place(rest, string(b))
}

func environmentVariable(_ *worker, rest string) error {
	name, path, _ := strings.Cut(rest, " ")
	value, ok := os.LookupEnv(name)
	if !ok {
		value = "unset"
	}
	return place(path, value+"\n")
}

func invocation(w *worker, rest string) error {
	return appendTo(w, rest+" "+os.Getenv("OKSTRA_INVOCATION"))
}

func environmentNames(_ *worker, rest string) error {
	var b strings.Builder
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		b.WriteString(name + "\n")
	}
	return place(rest, b.String())
}

func argv(w *worker, rest string) error {
	b, err := json.Marshal(w.args)
	if err != nil {
		return err
	}
	return place(rest, string(b)+"\n")
}

func workingDirectory(_ *worker, rest string) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	return place(rest, dir+"\n")
}

func terminals(_ *worker, rest string) error {
	var b strings.Builder
	for i, name := range []string{"stdin", "stdout", "stderr"} {
		fmt.Fprintf(&b, "%s %v\n", name, term.IsTerminal(i))
	}
	return place(rest, b.String())
}

func stream(w *worker, rest string) error {
	b, err := os.ReadFile(rest)
	if err != nil {
		return err
	}
	return w.out(string(b))
}

func flood(w *worker, rest string) error {
	unit := int64(1)
	switch {
	case strings.HasSuffix(rest, "K"):
		unit = 1 << 10
	case strings.HasSuffix(rest, "M"):
		unit = 1 << 20
	}
	n, err := strconv.ParseInt(strings.TrimRight(rest, "KM"), 10, 64)
	if err != nil {
		return err
	}
	b := bufio.NewWriterSize(w.stdout, 1<<16)
	line := append(bytes.Repeat([]byte("x"), 79), '\n')
	for left := n * unit; left > 0; left -= int64(len(line)) {
		if _, err := b.Write(line[:min(int64(len(line)), left)]); err != nil {
			return err
		}
	}
	return b.Flush()
}

func hang(w *worker) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if err := w.out("still here\n"); err != nil {
			return err
		}
		<-tick.C
	}
}

func signalOf(name string) (syscall.Signal, error) {
	s := unix.SignalNum("SIG" + strings.TrimPrefix(strings.ToUpper(name), "SIG"))
	if s == 0 {
		return 0, fmt.Errorf("unknown signal %q", name)
	}
	return s, nil
}

func ignore(_ *worker, rest string) error {
	for _, name := range strings.Fields(rest) {
		s, err := signalOf(name)
		if err != nil {
			return err
		}
		signal.Ignore(s)
	}
	return nil
}

// grandchild leaves a process behind; apart, it is in its own session and
// holds none of our files.
func grandchild(apart bool) func(*worker, string) error {
	return func(_ *worker, rest string) error {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		cmd := exec.Command(self, "silent")
		// The program picks its part by the name that it is started under.
		cmd.Args[0] = filepath.Base(os.Args[0])
		if apart {
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		} else {
			cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		return place(rest, strconv.Itoa(cmd.Process.Pid)+"\n")
	}
}

func detach() error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	for fd := range 3 {
		if err := dup(int(null.Fd()), fd); err != nil {
			return err
		}
	}
	return null.Close()
}

func attempt(w *worker, rest string) error {
	n, step, _ := strings.Cut(rest, " ")
	if n != os.Getenv("OKSTRA_ATTEMPT") {
		return nil
	}
	return w.step(step)
}

// batch reads the batch out of the invocation, <assignment>@<batch>#<attempt>.
func batch(w *worker, rest string) error {
	name, step, _ := strings.Cut(rest, " ")
	if !strings.Contains(os.Getenv("OKSTRA_INVOCATION"), "@"+name+"#") {
		return nil
	}
	return w.step(step)
}

func exit(rest string) error {
	code, err := strconv.Atoi(rest)
	if err != nil {
		return err
	}
	return exitError(code)
}

func die(rest string) error {
	s, err := signalOf(rest)
	if err != nil {
		return err
	}
	signal.Reset(s)
	if err := syscall.Kill(os.Getpid(), s); err != nil {
		return err
	}
	select {} // the signal is on its way
}
