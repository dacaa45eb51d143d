// Package crash names the instants at which a crash must do no harm, so that a
// test can kill a process exactly there. In a shipped program a point does
// nothing: only test binaries call Enable.
package crash

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// EnvVar is the variable that test binaries read to choose a point: "name", or
// "name#n" for the n-th passing.
const EnvVar = "OKSTRA_CRASH_AT"

// Process says which process passes a point. The zero value is invalid.
type Process string

const (
	Runner     Process = "runner"
	Supervisor Process = "supervisor"
)

// Named is one point.
type Named struct {
	Name    string
	Process Process
}

// Points lists every point, in the order in which one attempt passes them.
func Points() []Named {
	return []Named{
		{"runner.intent-written", Runner},
		{"runner.launch-written", Runner},
		{"runner.backend-started", Runner},
		{"runner.init-seen", Runner},
		{"runner.claim-recorded", Runner},
		{"runner.go-written", Runner},
		{"runner.state-written", Runner},
		{"runner.settled", Runner},

		{"supervisor.begin", Supervisor},
		{"supervisor.locked", Supervisor},
		{"supervisor.reserved", Supervisor},
		{"supervisor.init-written", Supervisor},
		{"supervisor.go-seen", Supervisor},
		{"supervisor.checked", Supervisor},
		{"supervisor.start-written", Supervisor},
		{"supervisor.forked", Supervisor},
		{"supervisor.worker-written", Supervisor},
		{"supervisor.env-removed", Supervisor},
		{"supervisor.prompt-given", Supervisor},
		{"supervisor.limit-reached", Supervisor},
		{"supervisor.term-sent", Supervisor},
		{"supervisor.kill-sent", Supervisor},
		{"supervisor.worker-ended", Supervisor},
		{"supervisor.swept", Supervisor},
		{"supervisor.drained", Supervisor},
		{"supervisor.result-written", Supervisor},
		{"supervisor.artifacts-synced", Supervisor},
		{"supervisor.before-terminal", Supervisor},
		{"supervisor.after-terminal", Supervisor},
		{"supervisor.hold", Supervisor},
	}
}

var hook atomic.Pointer[func(name string)]

// Enable makes every Point call f. Test binaries only.
func Enable(f func(name string)) { hook.Store(&f) }

// Point marks an instant. An unlisted name panics where points are enabled.
func Point(name string) {
	f := hook.Load()
	if f == nil {
		return
	}
	for _, p := range Points() {
		if p.Name == name {
			(*f)(name)
			return
		}
	}
	panic("crash point " + name + " is not listed")
}

// KillAt returns a hook that kills the own process with SIGKILL at the point
// that at names ("name", or "name#n" for the n-th passing). An empty at gives
// a hook that does nothing; one that names no point is an error.
func KillAt(at string) (func(name string), error) {
	if at == "" {
		return func(string) {}, nil
	}
	want, count, numbered := strings.Cut(at, "#")
	n := 1
	if numbered {
		var err error
		if n, err = strconv.Atoi(count); err != nil || n < 1 {
			return nil, fmt.Errorf("crash point %q: the part after # counts passings from 1", at)
		}
	}
	known := false
	for _, p := range Points() {
		known = known || p.Name == want
	}
	if !known {
		return nil, fmt.Errorf("there is no crash point %q", want)
	}
	var mu sync.Mutex
	return func(name string) {
		if name != want {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if n--; n == 0 {
			// SIGKILL cannot be caught; the select waits for its delivery.
			if err := unix.Kill(os.Getpid(), unix.SIGKILL); err != nil {
				panic(err)
			}
			select {}
		}
	}, nil
}
