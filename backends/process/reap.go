package process

import (
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/okstra/okstra/backends/internal/ident"
)

// reaper takes the exit status of children that ended, so that none stays a
// zombie while the runner lives. It waits for its own children only and never
// blocks: its goroutine lives while there are any.
type reaper struct {
	mu      sync.Mutex
	running bool
	pids    map[int]struct{}
}

// start forks a child and reads its identity before anyone can reap it.
func (r *reaper) start(path string, argv []string, attr *syscall.ProcAttr) (ident.Process, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.running {
		// Listen before the fork, or the signal of a short child is missed.
		r.running = true
		r.pids = make(map[int]struct{})
		go r.run(childSignals())
	}
	pid, err := syscall.ForkExec(path, argv, attr)
	if err != nil {
		return ident.Process{}, err
	}
	r.pids[pid] = struct{}{}
	return ident.Read(pid)
}

func childSignals() chan os.Signal {
	c := make(chan os.Signal, 1) // signals coalesce, and so do sweeps
	signal.Notify(c, syscall.SIGCHLD)
	return c
}

func (r *reaper) run(signals chan os.Signal) {
	defer signal.Stop(signals)
	for range signals {
		if r.sweep() {
			return
		}
	}
}

// sweep reaps every child that has ended and reports whether none is left.
func (r *reaper) sweep() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for pid := range r.pids {
		got, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		for err == syscall.EINTR {
			got, err = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		}
		if got == pid || err == syscall.ECHILD {
			delete(r.pids, pid)
		}
	}
	if len(r.pids) == 0 {
		r.running = false
		return true
	}
	return false
}
