// Package proc knows processes by identity: a pid together with its start
// time, which a reused pid does not share. It finds descendants and processes
// that carry a claim in their environment, and signals only what it has
// proven. It knows no worker, record or backend.
package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ClaimVar is the environment variable that every worker carries, and its
// descendants with it.
const ClaimVar = "OKSTRA_CLAIM"

// ErrGone means that the process of this identity runs no more.
var ErrGone = errors.New("process is gone")

// Identity is a process that cannot be confused with a later one of the same
// pid. StartTime is the kernel's start time in clock ticks since boot on Linux
// (field 22 of /proc/PID/stat), microseconds since the epoch elsewhere.
type Identity struct {
	PID       int   `json:"pid"`
	StartTime int64 `json:"startTime"`
}

// Zero reports whether no process is named.
func (i Identity) Zero() bool { return i.PID == 0 }

// Alive reports whether exactly this process runs. A zombie does not run.
func (i Identity) Alive() bool {
	if i.PID <= 0 {
		return false
	}
	e, err := read(i.PID)
	return err == nil && !e.zombie && e.StartTime == i.StartTime
}

// Self is the own process.
func Self() Identity {
	id, err := Of(os.Getpid())
	if err != nil {
		panic(fmt.Sprintf("identity of the own process: %v", err))
	}
	return id
}

// Of returns the identity of a pid, of a zombie too, and ErrGone where there is
// no such process.
func Of(pid int) (Identity, error) {
	e, err := read(pid)
	if err != nil {
		return Identity{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	return e.Identity, nil
}

// Parent returns the pid of a process's parent, and ErrGone where there is no
// such process.
func Parent(pid int) (int, error) {
	e, err := read(pid)
	if err != nil {
		return 0, fmt.Errorf("parent of process %d: %w", pid, err)
	}
	return e.parent, nil
}

// Host is the name that this host had when it was first asked for.
func Host() string { return host() }

var host = sync.OnceValue(func() string {
	h, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return h
})

// BootID names this boot of the kernel: nothing of another boot still runs.
func BootID() string { return boot() }

var boot = sync.OnceValue(readBoot)

// Signal sends sig to exactly this process, and returns ErrGone where it runs
// no more.
func Signal(id Identity, sig syscall.Signal) error {
	if id.PID <= 1 {
		return fmt.Errorf("signal process %d: not a process of ours", id.PID)
	}
	err := send(id, sig)
	if errors.Is(err, unix.ESRCH) {
		err = ErrGone
	}
	if err != nil {
		return fmt.Errorf("signal process %d: %w", id.PID, err)
	}
	return nil
}

// entry is one line of the process table.
type entry struct {
	Identity
	parent int
	group  int
	zombie bool
}

// Scope selects processes. A process that matches any member is selected; the
// caller itself and zombies never are.
type Scope struct {
	Ancestor int    // descendants of this pid; 0 is none
	Group    int    // members of this process group; 0 is none
	Claim    string // carriers of this claim; empty is none
	Since    int64  // carriers that started earlier, as Identity counts, carry nothing; 0 asks all
}

// Find returns what runs of a scope, sorted by pid. It reads the process table
// once; processes of other users cannot be asked for their claim. An error
// means that nothing is known, never that nothing runs.
func Find(s Scope) ([]Identity, error) {
	table, err := list()
	if err != nil {
		return nil, fmt.Errorf("read the process table: %w", err)
	}
	below := map[int]bool{}
	if s.Ancestor > 0 {
		children := map[int][]int{}
		for _, e := range table {
			children[e.parent] = append(children[e.parent], e.PID)
		}
		for todo := []int{s.Ancestor}; len(todo) > 0; {
			pid := todo[0]
			todo = todo[1:]
			for _, c := range children[pid] {
				if !below[c] {
					below[c] = true
					todo = append(todo, c)
				}
			}
		}
	}
	self := os.Getpid()
	var out []Identity
	for _, e := range table {
		if e.zombie || e.PID == self {
			continue
		}
		if below[e.PID] || s.Group > 0 && e.group == s.Group || s.Claim != "" && e.StartTime >= s.Since && carries(e.PID, s.Claim) {
			out = append(out, e.Identity)
		}
	}
	slices.SortFunc(out, func(a, b Identity) int { return a.PID - b.PID })
	return out, nil
}

// WithClaim returns the running processes that carry a claim.
func WithClaim(claim string) ([]Identity, error) {
	if claim == "" {
		return nil, nil
	}
	return Find(Scope{Claim: claim})
}

// Patience is how long processes are waited for after SIGKILL.
const Patience = 10 * time.Second

// EndClaim ends every process that carries a claim: TERM, after grace KILL,
// until none is left or Patience after KILL. It returns what was left, which
// is also what it returns when ctx ends. The error is that of the last look:
// what is left is then not known.
func EndClaim(ctx context.Context, claim string, grace time.Duration) (left []Identity, err error) {
	if claim == "" {
		return nil, nil
	}
	return End(ctx, func() ([]Identity, error) { return WithClaim(claim) }, grace)
}

// End ends whatever find returns, by the same ladder as EndClaim. find is
// asked again and again, since what is ended may have just started another.
func End(ctx context.Context, find func() ([]Identity, error), grace time.Duration) (left []Identity, err error) {
	begun := time.Now()
	asked := map[Identity]bool{}
	const step = 10 * time.Millisecond
	tick := time.NewTicker(step)
	defer tick.Stop()
	for {
		// A table that cannot be read now may be readable in a moment.
		left, err = find()
		if err == nil && len(left) == 0 {
			return nil, nil
		}
		since := time.Since(begun)
		if since > grace+Patience {
			return left, err
		}
		for _, id := range left {
			switch {
			case since >= grace:
				_ = Signal(id, unix.SIGKILL) // what cannot be signalled is found again and reported
			case !asked[id]:
				asked[id] = true
				_ = Signal(id, unix.SIGTERM)
				_ = Signal(id, unix.SIGCONT) // a stopped process takes no TERM
			}
		}
		select {
		case <-ctx.Done():
			return left, err
		case <-tick.C:
			// A slow look at the table makes both ready at once, and what is
			// returned must not depend on which of them is taken.
			if ctx.Err() != nil {
				return left, err
			}
		}
	}
}
