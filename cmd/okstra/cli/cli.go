// Package cli is okstra's command line: the table of verbs, their flags, the
// exit codes, and the way from a verb to one library function and one view.
// It holds no rule about runs: what a test would want to reach without a
// command line belongs in lang or runtime.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/cmd/okstra/view"
	"github.com/okstra/okstra/runtime/supervise"
)

// Env is what the command line takes from the process that it lives in.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Environ        []string // NAME=value
	Dir            string   // working directory, absolute
	Executable     string   // absolute path of the okstra program, for supervisors
	Now            func() time.Time
	// Signals starts and stops the delivery of the signals that interrupt.
	Signals func() (signals <-chan os.Signal, stop func())
	// Exit ends the process at once, for the second signal.
	Exit func(code int)
	// Backends makes the backends of a project on first use.
	Backends func(env Env, projectRoot string) map[string]backends.Backend
}

// Process returns the environment of this process.
func Process() Env {
	dir, err := os.Getwd()
	if err != nil {
		// Verbs that need the folder say so; help and version still work.
		dir = ""
	}
	executable, err := os.Executable()
	if err != nil {
		executable = ""
	}
	return Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Environ: os.Environ(), Dir: dir, Executable: executable, Now: time.Now,
		Signals: processSignals, Exit: os.Exit, Backends: realBackends,
	}
}

// processSignals delivers what interrupts, but what the caller had ignored
// (nohup) stays ignored.
func processSignals() (<-chan os.Signal, func()) {
	c := make(chan os.Signal, 2)
	var want []os.Signal
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			want = append(want, s)
		}
	}
	if len(want) > 0 {
		signal.Notify(c, want...)
	}
	return c, func() { signal.Stop(c) }
}

// getenv returns the last value of a variable, as a process sees it.
func (e Env) getenv(name string) string {
	v, _ := e.lookup(name)
	return v
}

func (e Env) lookup(name string) (string, bool) {
	for i := len(e.Environ) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(e.Environ[i], name+"="); ok {
			return v, true
		}
	}
	return "", false
}

// asks reports whether a person can be asked: they see Stderr and type into
// Stdin.
func (e Env) asks() bool {
	in, ok := e.Stdin.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return false
	}
	out, ok := e.Stderr.(*os.File)
	return ok && term.IsTerminal(int(out.Fd()))
}

// Main runs one command line, without the program's name, and returns the
// exit code.
func Main(args []string, env Env) int {
	// The supervisor is started for every worker and must stay small: nothing
	// else is set up for it.
	if len(args) == 2 && args[0] == superviseName {
		return supervise.Run(args[1])
	}

	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	defer watchSignals(env, cancel)()

	g := globals{dir: env.Dir, color: string(view.ColorAuto)}
	s := &session{env: env, globals: &g}
	err := s.main(ctx, args)
	if err == nil {
		return ExitDone
	}
	code := exitCode(ctx, err)
	if s.view == nil {
		s.openView()
	}
	if failure := s.explain(err, code); failure != nil && !errors.Is(failure, syscall.EPIPE) {
		return ExitError
	}
	return code
}

// watchSignals turns the first signal into the end of the context and the
// second into the end of the process. The returned function ends the watch.
func watchSignals(env Env, cancel context.CancelCauseFunc) (stop func()) {
	if env.Signals == nil {
		return func() {}
	}
	signals, stopSignals := env.Signals()
	done := make(chan struct{})
	go func() {
		first := true
		for {
			select {
			case <-done:
				return
			case got := <-signals:
				sig, ok := got.(syscall.Signal)
				if !ok {
					continue
				}
				if !first {
					env.Exit(interrupted{sig}.ExitCode())
				}
				first = false
				cancel(interrupted{sig})
			}
		}
	}()
	return func() {
		stopSignals()
		close(done)
	}
}

// main finds the verb, parses its flags and runs it.
func (s *session) main(ctx context.Context, args []string) error {
	fs := newFlagSet("okstra")
	fs.SetInterspersed(false)
	s.globals.bind(fs)
	version := fs.Bool("version", false, "show the version")
	if err := fs.Parse(args); err != nil {
		return s.parseError(nil, fs, err)
	}
	rest := fs.Args()
	if err := s.openView(); err != nil {
		return err
	}
	switch {
	case *version:
		rest = []string{"version"}
	case len(rest) == 0:
		return s.view.Lines(overview(s.helpWidth())...)
	}

	c, rest, err := find(rest)
	if err != nil {
		return err
	}
	fs = newFlagSet(c.name)
	s.globals.bind(fs)
	run := c.bind(fs)
	if err := fs.Parse(rest); err != nil {
		return s.parseError(c, fs, err)
	}
	if err := s.openView(); err != nil {
		return err
	}
	operands := fs.Args()
	if err := c.count(len(operands)); err != nil {
		return err
	}
	if err := s.checkDir(); err != nil {
		return err
	}
	if !c.reads() {
		return run(ctx, s, operands)
	}
	defer s.endSoon(ctx)()
	if err := run(ctx, s, operands); err != nil {
		return err
	}
	if sig, ok := errors.AsType[interrupted](context.Cause(ctx)); ok {
		return sig
	}
	return nil
}

// reads reports whether a verb changes no run and starts no worker, so that
// nothing has to be put in order where a signal ends it.
func (c *command) reads() bool {
	switch c.name {
	case "plan":
		return true
	case "attach", "doctor": // these wait for programs that they end first; doctor says itself when it only reads
		return false
	}
	return c.group == groupWrite || c.group == groupLook || c.group == groupOkstra
}

// moment is how long a verb that only reads may take to end by itself after a
// signal: a file that it writes is whole by then. The evaluation of a definition
// heeds no context, nor does a read of standard input.
const moment = 500 * time.Millisecond

// endSoon ends the process a moment after a signal ended ctx. The returned
// function says that the verb has ended by itself.
func (s *session) endSoon(ctx context.Context) (ended func()) {
	done := make(chan struct{})
	forget := context.AfterFunc(ctx, func() {
		sig, ok := errors.AsType[interrupted](context.Cause(ctx))
		if !ok {
			return
		}
		t := time.NewTimer(moment)
		defer t.Stop()
		select {
		case <-done:
		case <-t.C:
			s.env.Exit(sig.ExitCode())
		}
	})
	return func() {
		forget()
		close(done)
	}
}

// checkDir holds -C to be a folder, and takes the working directory by its own
// name: a project that is entered through a link is the same project.
func (s *session) checkDir() error {
	given := s.globals.dir
	if real, err := filepath.EvalSymlinks(given); err == nil && given != "" {
		s.globals.dir, s.view.Dir = real, real
	}
	if given == s.env.Dir {
		return nil
	}
	info, err := os.Stat(s.globals.dir)
	if err != nil {
		return fmt.Errorf("working directory %s: %w", given, reason(err))
	}
	if !info.IsDir() {
		return fmt.Errorf("working directory %s is not a folder", given)
	}
	return nil
}

// reason is what was wrong with a file, without the operation and the path,
// which the message around it names in the person's terms.
func reason(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	} else if le, ok := errors.AsType[*os.LinkError](err); ok {
		err = le.Err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return errMissing
	}
	return err
}

// errMissing is the reason of what is not there.
var errMissing = errors.New("there is no such file or folder")

// openView makes the view that the flags so far ask for.
func (s *session) openView() error {
	mode, err := view.ParseColorMode(s.globals.color)
	if err != nil {
		mode = view.ColorAuto
		err = usage(nil, "%s", err)
	}
	s.view = &view.View{
		Out:  view.NewStream(s.env.Stdout, mode, s.env.getenv),
		Err:  view.NewStream(s.env.Stderr, mode, s.env.getenv),
		JSON: s.globals.json,
		Dir:  s.globals.dir,
	}
	return err
}

// absolute makes a path of the command line absolute.
func (s *session) absolute(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(s.globals.dir, path)
}
