// Package process is the backend without screens: each supervisor is a
// detached process of its own session, with nothing on its standard streams.
// It knows a supervisor by pid and start time, and ends it by asking. What a
// supervisor then does with its worker is not its business.
package process

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/backends/internal/ident"
)

// Name of the backend.
const Name = "process"

// defaultCloseTimeout is how long Close waits for a supervisor that was asked
// to end: it gives its worker a grace, then up to ten seconds more.
const defaultCloseTimeout = 30 * time.Second

// Options of New; the zero value is what production uses.
type Options struct {
	Environ      []string      // of the supervisors; nil is this process's
	CloseTimeout time.Duration // how long Close waits at most; 0 is 30 s
}

// Backend implements backends.Backend.
type Backend struct {
	environ      []string
	closeTimeout time.Duration
	children     reaper
}

// New returns the backend. It starts nothing.
func New(o Options) *Backend {
	b := &Backend{environ: o.Environ, closeTimeout: o.CloseTimeout}
	if b.environ == nil {
		b.environ = os.Environ()
	}
	if b.closeTimeout == 0 {
		b.closeTimeout = defaultCloseTimeout
	}
	return b
}

// Name returns "process".
func (b *Backend) Name() string { return Name }

// Probe says that processes can be started, which is so everywhere but where
// the kernel does not let us see them.
func (b *Backend) Probe(context.Context) backends.Probe {
	if _, err := ident.Read(os.Getpid()); err != nil {
		return backends.Probe{Found: err.Error(), Hint: "processes cannot be told apart here; mount /proc"}
	}
	return backends.Probe{Available: true, Found: "processes of this machine, without a screen"}
}

// Start starts one detached supervisor per launch.
func (b *Backend) Start(ctx context.Context, launches []backends.Launch) []backends.Started {
	out := make([]backends.Started, len(launches))
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		for i := range out {
			out[i].Err = fmt.Errorf("start supervisor: %w", err)
		}
		return out
	}
	defer null.Close()
	for i, l := range launches {
		if err := ctx.Err(); err != nil {
			out[i].Err = fmt.Errorf("start supervisor of %s: %w", l.Label, err)
			continue
		}
		out[i].Handle, out[i].Err = b.start(l, null.Fd())
	}
	return out
}

func (b *Backend) start(l backends.Launch, null uintptr) (backends.Handle, error) {
	if len(l.Command) == 0 || !filepath.IsAbs(l.Command[0]) {
		return backends.Handle{}, fmt.Errorf("start supervisor of %s: %q is no absolute path of a program", l.Label, strings.Join(l.Command, " "))
	}
	// The raw call instead of os/exec: nobody waits for a supervisor here, so
	// neither goroutine nor process descriptor should be spent on it.
	p, err := b.children.start(l.Command[0], l.Command, &syscall.ProcAttr{
		Dir:   "/", // a supervisor must not keep the runner's folder busy
		Env:   b.environ,
		Files: []uintptr{null, null, null},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return backends.Handle{}, fmt.Errorf("start supervisor %s of %s: %w", l.Command[0], l.Label, err)
	}
	return backends.Handle{Backend: Name, Tag: l.Tag, PID: p.PID, PIDStart: p.Start}, nil
}

// Adopt checks that the supervisor of h runs; its handle is whole as it is.
func (b *Backend) Adopt(_ context.Context, h backends.Handle) (backends.Handle, error) {
	if err := provable(h); err != nil {
		return backends.Handle{}, err
	}
	runs, err := ident.Running(h.PID, h.PIDStart)
	switch {
	case err != nil:
		return backends.Handle{}, err
	case !runs:
		return backends.Handle{}, fmt.Errorf("process %d: %w", h.PID, backends.ErrNotThere)
	}
	return h, nil
}

// Look tells which supervisors still run.
func (b *Backend) Look(_ context.Context, handles []backends.Handle) []backends.Sight {
	out := make([]backends.Sight, len(handles))
	for i, h := range handles {
		if err := provable(h); err != nil {
			out[i] = backends.Sight{Presence: backends.Unknown, Detail: err.Error()}
			continue
		}
		runs, err := ident.Running(h.PID, h.PIDStart)
		switch {
		case err != nil:
			out[i] = backends.Sight{Presence: backends.Unknown, Detail: err.Error()}
		case runs:
			out[i] = backends.Sight{Presence: backends.Alive, Detail: fmt.Sprintf("process %d", h.PID)}
		default:
			out[i] = backends.Sight{Presence: backends.Gone}
		}
	}
	return out
}

// Capture returns backends.ErrNoScreen.
func (b *Backend) Capture(context.Context, backends.Handle, int) (string, error) {
	return "", backends.ErrNoScreen
}

// Close asks the supervisors to end, all of them first, and then waits until
// each is gone. One that does not go is reported, never killed: it may be
// ending its worker.
func (b *Backend) Close(ctx context.Context, handles []backends.Handle) []backends.Closed {
	ctx, cancel := context.WithTimeout(ctx, b.closeTimeout)
	defer cancel()
	out := make([]backends.Closed, len(handles))
	asked := make([]bool, len(handles))
	for i, h := range handles {
		if err := provable(h); err != nil {
			out[i] = backends.Closed{Err: err, Refused: true}
			continue
		}
		asked[i], out[i].Err = ident.Signal(h.PID, h.PIDStart, syscall.SIGTERM)
	}
	for i, h := range handles {
		if asked[i] {
			if err := ident.WaitGone(ctx, h.PID, h.PIDStart); err != nil {
				out[i].Err = fmt.Errorf("it was asked to end: %w", err)
			}
		}
	}
	return out
}

// provable refuses handles that do not say enough to prove anything.
func provable(h backends.Handle) error {
	switch {
	case h.Backend != Name:
		return fmt.Errorf("handle of backend %q is not one of %s", h.Backend, Name)
	case h.PID <= 1 || h.PIDStart == 0:
		return fmt.Errorf("handle %s names no process by pid and start time", h.Tag)
	case h.PID == os.Getpid():
		return fmt.Errorf("handle %s names the calling process", h.Tag)
	}
	return nil
}
