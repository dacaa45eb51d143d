// Package supervise is what runs in a worker's pane: it starts one worker, holds
// it to its limits, keeps its output, and is the only writer of its status
// sidecar (contract sections 4 and 5). It knows nothing of rounds, records or
// multiplexers, and shares nothing with the runner but files.
//
// One goroutine, on one locked thread, owns everything that decides. Others
// only carry bytes.
package supervise

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	goruntime "runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/okstra/okstra/runtime/crash"
	"github.com/okstra/okstra/runtime/durable"
	"github.com/okstra/okstra/runtime/launch"
	"github.com/okstra/okstra/runtime/proc"
	"github.com/okstra/okstra/runtime/sidecar"
)

// What Run returns. Nobody judges a worker by it; the sidecar tells.
const (
	Settled = 0 // the sidecar is terminal, or the attempt was left at init as asked
	Failed  = 1 // the supervisor could not do its work
	Refused = 5 // the attempt belongs to another supervisor
)

// reserved is the space that is set aside for the terminal sidecar, in bytes.
// What the sidecar can hold is bounded to fit (see terminal.go).
const reserved = 64 << 10

// lockPatience is how long the lock is tried for, since whoever judges the
// attempt holds it for an instant.
const lockPatience = 2 * time.Second

// Run supervises the attempt of a launch record, from the lock to the last
// line on the screen. It is to be called once in a process, from the goroutine
// that main runs in, and returns the exit code for it.
func Run(launchPath string) int {
	// The worker dies with the thread that forked it, so this one must last.
	goruntime.LockOSThread()
	deaf := signal.Ignored(unix.SIGHUP) // as nohup leaves it
	s := &supervisor{signals: listen(), screen: newScreen(os.Stdout), deaf: deaf}
	code := s.run(launchPath)
	s.screen.close()
	return code
}

type supervisor struct {
	rec     *launch.Record
	lock    *durable.Lock
	reserve *durable.Reservation
	status  sidecar.Status
	signals signals
	screen  *screen
	// dismissed is set when nobody needs the screen any more: it is gone, or we
	// were asked to leave after the worker had ended.
	dismissed bool
	// deaf is set when HUP is ignored as soon as nobody listens for it.
	deaf bool
}

func (s *supervisor) run(launchPath string) int {
	crash.Point("supervisor.begin")
	rec, err := launch.Read(launchPath)
	if err != nil {
		return s.fail(Failed, err)
	}
	s.rec = rec
	if code, err := s.claim(); err != nil {
		return s.fail(code, err)
	}
	defer s.lock.Close()
	if why := s.awaitGo(); why != "" {
		return s.leave(why)
	}
	crash.Point("supervisor.go-seen")
	w, err := s.prepare()
	if err != nil {
		s.cannotStart(err)
	} else if sig := s.asked(); sig != nil {
		w.closeAll()
		return s.leave("asked to leave by " + name(sig))
	} else {
		s.work(w)
	}
	s.settle()
	s.hold()
	return Settled
}

// fail says why nothing was done.
func (s *supervisor) fail(code int, err error) int {
	s.screen.message(fmt.Sprintf("okstra supervise: %v", err))
	return code
}

// asked tells without waiting whether we were asked to leave.
func (s *supervisor) asked() os.Signal {
	select {
	case sig := <-s.signals.asks:
		return sig
	default:
		return nil
	}
}

// leave ends before the worker, with the sidecar at init: it never started.
func (s *supervisor) leave(why string) int {
	if err := s.reserve.Release(); err != nil {
		s.screen.message(fmt.Sprintf("okstra supervise: %v", err))
	}
	s.screen.message("okstra: the worker was not started: " + why)
	return Settled
}

// claim takes the lock and writes init, and so makes the attempt ours.
func (s *supervisor) claim() (code int, err error) {
	if s.lock, err = lockFor(s.rec.Paths.Lock, lockPatience); err != nil {
		if errors.Is(err, durable.ErrLocked) {
			return Refused, fmt.Errorf("another supervisor has this attempt: %w", err)
		}
		return Failed, err
	}
	crash.Point("supervisor.locked")
	defer func() {
		if err != nil {
			s.lock.Close()
		}
	}()
	earlier, err := sidecar.Read(s.rec.Paths.Status)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Failed, err
	}
	if earlier != nil && earlier.Stage != sidecar.StageInit {
		return Refused, fmt.Errorf("attempt %s has been started already: its sidecar is at stage %q", s.rec.InvocationRef, earlier.Stage)
	}
	if s.reserve, err = durable.Reserve(s.rec.Paths.Status, reserved, 0o600); err != nil {
		return Failed, err
	}
	crash.Point("supervisor.reserved")
	s.status = sidecar.Status{
		SchemaVersion: sidecar.SchemaVersion,
		InvocationRef: s.rec.InvocationRef,
		WorkerKey:     s.rec.WorkerKey,
		Batch:         s.rec.Batch,
		DispatchKind:  s.rec.DispatchKind,
		Attempt:       s.rec.Attempt,
		Claim:         newClaim(),
		Stage:         sidecar.StageInit,
		Supervisor:    proc.Self(),
		Host:          proc.Host(),
		BootID:        proc.BootID(),
		Pane:          pane(s.rec.Backend, os.Getenv),
		StartedAt:     time.Now().UTC(),
	}
	if err := sidecar.Write(s.rec.Paths.Status, &s.status); err != nil {
		return Failed, errors.Join(err, s.reserve.Release())
	}
	crash.Point("supervisor.init-written")
	return Settled, nil
}

// lockFor takes the lock of an attempt. It must exist: a lock that we made
// ourselves would exclude nobody who judged before.
func lockFor(path string, patience time.Duration) (*durable.Lock, error) {
	const step = 20 * time.Millisecond
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(step)
	defer tick.Stop()
	for {
		l, err := durable.TryLockExisting(path)
		if err == nil || !errors.Is(err, durable.ErrLocked) || time.Now().After(deadline) {
			return l, err
		}
		<-tick.C
	}
}

func newClaim() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // it never fails: the process ends where there is no randomness
	return hex.EncodeToString(b)
}

// pane says where the backend put us, by what the multiplexer tells every
// process in a pane. A process without a pane has none.
func pane(backend string, getenv func(string) string) *sidecar.Pane {
	switch backend {
	case "tmux":
		if id := getenv("TMUX_PANE"); id != "" {
			return &sidecar.Pane{Backend: backend, Socket: tmuxSocket(getenv("TMUX")), ID: id}
		}
	case "cmux":
		if id := getenv("CMUX_SURFACE_ID"); id != "" {
			return &sidecar.Pane{Backend: backend, Socket: getenv("CMUX_SOCKET_PATH"), ID: id}
		}
	}
	return nil
}

// tmuxSocket is TMUX without its last two comma-separated fields: a path may
// hold commas.
func tmuxSocket(tmux string) string {
	for range 2 {
		for i := len(tmux) - 1; i >= 0; i-- {
			if tmux[i] == ',' {
				tmux = tmux[:i]
				break
			}
		}
	}
	return tmux
}

// signals are what the outside may tell a supervisor.
type signals struct {
	asks  chan os.Signal // TERM and HUP
	child chan os.Signal // something that we are the parent of has changed
}

// listen takes every signal that would otherwise end or stop the supervisor.
// Caught ones, unlike ignored ones, are at their defaults in the worker.
func listen() signals {
	s := signals{asks: make(chan os.Signal, 16), child: make(chan os.Signal, 1)}
	signal.Notify(s.asks, unix.SIGTERM, unix.SIGHUP)
	signal.Notify(s.child, unix.SIGCHLD)
	dropped := make(chan os.Signal, 1)
	signal.Notify(dropped, unix.SIGINT, unix.SIGQUIT, unix.SIGTSTP, unix.SIGTTOU, unix.SIGPIPE, unix.SIGXFSZ, unix.SIGUSR1, unix.SIGUSR2)
	return s
}

// folders returns the distinct folders of paths.
func folders(paths []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, p := range paths {
		if d := filepath.Dir(p); !seen[d] {
			seen[d] = true
			out = append(out, d)
		}
	}
	return out
}
