package cmux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/backends/internal/ident"
)

// process is the process that a launch script became. cmux tells no pid of a
// surface, so the script notes its own; the start time is added to the note when
// the process is first seen behind a surface that is provably okstra's.
type process struct {
	pid   int
	start int64
	state processState
}

type processState int

const (
	unseen  processState = iota // nothing was noted: it may not have begun
	running                     // it runs, as far as can be told
	ended
)

// process reads the note of a handle. listed says that its surface is listed
// and okstra's, so that a running process without a start time is taken for it.
func (b *Backend) process(h backends.Handle, listed bool) process {
	p := process{pid: h.PID, start: h.PIDStart}
	path := b.pidPath(h.Tag)
	if data, err := os.ReadFile(path); err == nil {
		// A note that is being written has no pid yet.
		_, _ = fmt.Sscan(string(data), &p.pid, &p.start)
	}
	if p.pid <= 1 {
		return process{}
	}
	now, err := ident.Read(p.pid)
	switch {
	case errors.Is(err, ident.ErrNoProcess), err == nil && now.Zombie, err == nil && p.start != 0 && now.Start != p.start:
		p.state = ended
	case err != nil:
		p.state = running
	case p.start != 0:
		p.state = running
	case listed:
		p.start, p.state = now.Start, running
		// Without the note a later look has to trust the pid again.
		_ = os.WriteFile(path, fmt.Appendf(nil, "%d %d\n", p.pid, p.start), 0o600)
	default:
		return process{} // the pid may have been given to another since
	}
	return p
}

// hangUpAfter is how long a process that lost its terminal is given before it
// is told once more.
const hangUpAfter = time.Second

// awaitEnd waits until a process that lost its terminal has ended. The hang-up
// that the kernel sends is lost where it comes while a shell is about to become
// the supervisor, so after a moment it is sent again.
func (b *Backend) awaitEnd(ctx context.Context, p process) error {
	if p.state != running {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, b.endWait)
	defer cancel()
	var err, told error
	ended := func() bool {
		var runs bool
		runs, err = ident.Running(p.pid, p.start)
		return err == nil && !runs
	}
	patient, stop := context.WithTimeout(ctx, hangUpAfter)
	defer stop()
	if poll(patient, ended) {
		return nil
	}
	if ctx.Err() == nil {
		_, told = ident.Signal(p.pid, p.start, syscall.SIGHUP)
	}
	if poll(ctx, ended) {
		return nil
	}
	return errors.Join(fmt.Errorf("its surface is closed, and its process %d still runs", p.pid), told, err)
}
