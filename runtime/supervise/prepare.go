package supervise

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/okstra/okstra/runtime/crash"
	"github.com/okstra/okstra/runtime/durable"
	"github.com/okstra/okstra/runtime/launch"
	"github.com/okstra/okstra/runtime/proc"
	"github.com/okstra/okstra/runtime/providers"
)

// Exit codes of a program that could not be started, as shells have them.
const (
	codeNotFound      = 127
	codeNotExecutable = 126
)

// startError is why a worker cannot be started.
type startError struct {
	code   int
	detail string
}

func (e *startError) Error() string { return e.detail }

func cannot(format string, args ...any) error {
	return &startError{codeNotExecutable, fmt.Sprintf(format, args...)}
}

// prepare does everything that can fail before the worker may have run.
func (s *supervisor) prepare() (*worker, error) {
	rec := s.rec
	if err := s.unclaimed(); err != nil {
		return nil, err
	}
	w := &worker{super: s}
	var err error
	if w.env, err = s.environment(); err != nil {
		return nil, err
	}
	if err := startable(rec.Program, rec.Dir); err != nil {
		return nil, err
	}
	stream, err := providers.New(rec.Output)
	if err != nil {
		return nil, cannot("%v", err)
	}
	for _, dir := range folders(s.written()) {
		if err := durable.MkdirAll(dir); err != nil {
			return nil, cannot("%v", err)
		}
	}
	if err := w.open(stream); err != nil {
		w.closeAll()
		return nil, cannot("%v", err)
	}
	if rec.Watch {
		w.before, w.watchProblem = s.snapshot()
	}
	crash.Point("supervisor.checked")
	return w, nil
}

// written lists what the worker, or the supervisor for it, may write.
func (s *supervisor) written() []string {
	var out []string
	for _, c := range s.rec.CompletionPaths() {
		out = append(out, c.Path)
	}
	for _, o := range s.rec.Outputs {
		if !o.Required {
			out = append(out, o.Path)
		}
	}
	return out
}

// unclaimed makes sure that nothing old can complete the worker.
func (s *supervisor) unclaimed() error {
	for _, p := range s.written() {
		if _, err := os.Lstat(p); err == nil {
			return cannot("%s exists already; it belongs to an earlier start of %s", p, s.rec.InvocationRef)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return cannot("%v", err)
		}
	}
	return nil
}

// environment is the runner's, as recorded, and the claim.
func (s *supervisor) environment() ([]string, error) {
	e, err := launch.ReadEnv(s.rec.Paths.Env)
	if err != nil {
		return nil, cannot("%v", err)
	}
	out := make([]string, 0, len(e.Env)+1)
	for _, v := range e.Env {
		if !strings.HasPrefix(v, proc.ClaimVar+"=") {
			out = append(out, v)
		}
	}
	return append(out, proc.ClaimVar+"="+s.status.Claim), nil
}

// startable finds what a failed exec would tell less well.
func startable(program, dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return cannot("the working directory %s does not exist", dir)
	case err != nil:
		return cannot("the working directory cannot be used: %v", err)
	case !info.IsDir():
		return cannot("the working directory %s is not a folder", dir)
	}
	info, err = os.Stat(program)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &startError{codeNotFound, fmt.Sprintf("the program %s does not exist", program)}
	case err != nil:
		return cannot("the program cannot be used: %v", err)
	case info.IsDir():
		return cannot("the program %s is a folder", program)
	case unix.Access(program, unix.X_OK) != nil:
		return cannot("the program %s is not executable", program)
	}
	return nil
}

// execError words the refusal of the kernel.
func execError(program string, err error) error {
	switch {
	case errors.Is(err, unix.ENOENT):
		// It exists, so it is the interpreter of its first line that does not.
		return &startError{codeNotFound, fmt.Sprintf("the program %s names an interpreter that does not exist", program)}
	case errors.Is(err, unix.ENOEXEC):
		return cannot("the program %s is in no form that the system executes; a script must begin with #!", program)
	case errors.Is(err, unix.E2BIG):
		return cannot("the arguments and environment are longer than the system takes; give the prompt by path or on stdin")
	}
	return cannot("start %s: %v", program, err)
}
