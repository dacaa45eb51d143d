package supervise

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime/crash"
	"github.com/okstra/okstra/runtime/proc"
	"github.com/okstra/okstra/runtime/sidecar"
)

// phase is where a worker is on its way to its end. The zero value is invalid.
type phase string

const (
	running  phase = "running"
	asking   phase = "asking"   // TERM was sent to the group
	killing  phase = "killing"  // KILL was sent to the group
	sweeping phase = "sweeping" // the program ended; what it left behind is ended
	draining phase = "draining" // nothing is left; the last output comes in
	over     phase = "over"
)

// cause is why the supervisor ended a worker. The zero value means that it
// ended by itself.
type cause string

const (
	causeNone      cause = ""
	causeLimit     cause = "limit"
	causeCancelled cause = "cancelled"
	causePaneLost  cause = "pane-lost"
	causeDelivered cause = "delivered" // everything was there, and it went on hanging
)

// life is the state of the machine.
type life struct {
	phase phase
	cause cause
	limit *sidecar.Timeout // with causeLimit
	// With causeLimit: whether the provider's last word was an error, and which
	// bytes of standard error nothing on standard output followed.
	failing        bool
	errFrom, errTo int64

	exited    bool
	childless bool // nothing that we are the parent of is left
	exit      syscall.WaitStatus
	ended     time.Time

	asked    time.Time // TERM was sent
	killed   time.Time // KILL was sent
	drained  time.Time // when draining ends at the latest
	told     map[proc.Identity]bool
	pause    time.Duration // to the next look at what was left behind
	leftover []proc.Identity
	still    still
}

// still is how long everything that a worker delivers has been there unchanged.
type still struct {
	look  string
	since time.Time
}

const (
	// drainFor bounds the wait for the last output: a process that could not be
	// ended, or was not found, may hold the pipe for ever.
	drainFor = 2 * time.Second
	// far is a deadline that never comes.
	far = 24 * time.Hour

	firstPause = 2 * time.Millisecond
	lastPause  = 100 * time.Millisecond
)

// loop is the state machine. It ends when nothing of the worker runs and its
// output is in, or when what is left cannot be ended.
func (w *worker) loop() {
	w.phase = running
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case sig := <-w.super.signals.asks:
			w.askedBy(sig)
		case <-w.super.signals.child:
		case <-w.wake:
		case <-timer.C:
		}
		w.reap()
		now := time.Now()
		for was := phase(""); was != w.phase; {
			was = w.phase
			w.step(now)
		}
		if w.phase == over {
			return
		}
		timer.Reset(max(w.next(now).Sub(now), 0))
	}
}

// reap takes the status of everything that ended: the worker, and orphans that
// the kernel gave us. No other goroutine waits for a process.
func (w *worker) reap() {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			w.childless = errors.Is(err, syscall.ECHILD)
			return
		}
		if pid == w.pid {
			w.exited, w.exit, w.ended = true, ws, time.Now()
		}
	}
}

// askedBy takes what the outside says. Once the program has ended, its end
// stands, whatever is said.
func (w *worker) askedBy(sig os.Signal) {
	w.reap()
	why := causeCancelled
	if sig == unix.SIGHUP {
		why = causePaneLost
	}
	if sig == unix.SIGHUP || w.exited {
		w.super.dismissed = true
	}
	if w.phase == running && !w.exited {
		w.end(why, time.Now())
	}
}

// step makes at most one transition.
func (w *worker) step(now time.Time) {
	switch w.phase {
	case running:
		switch {
		case w.exited:
			w.programEnded()
		case !now.Before(w.wallEnds()):
			w.reached(sidecar.LimitWall, w.super.rec.Limits.Wall, now)
		case !w.reading.busy.Load() && !now.Before(w.idleEnds()):
			if w.delivered(now) {
				w.super.note("the program had delivered everything and said nothing more for %s; it was ended", w.super.rec.Limits.Idle)
				w.end(causeDelivered, now)
				return
			}
			w.reached(sidecar.LimitIdle, w.super.rec.Limits.Idle, now)
		case w.finished() && w.unchanged(now) >= w.grace():
			w.super.note("the program had said its last word and went on for %s; it was ended", w.grace())
			w.end(causeDelivered, now)
		}
	case asking:
		switch {
		case w.exited:
			w.programEnded()
		case !now.Before(w.asked.Add(w.grace())):
			w.killGroup(now)
		}
	case killing:
		switch {
		case w.exited:
			w.programEnded()
		case !now.Before(w.killed.Add(proc.Patience)):
			left, err := w.survivors()
			if err != nil {
				w.super.note("what the program left running is not known: %v", err)
			}
			w.leftover = left
			w.startDrain(now)
		}
	case sweeping:
		w.sweep(now)
	case draining:
		switch {
		case w.stdout.ended() && w.stderr.ended():
			crash.Point("supervisor.drained")
			w.phase = over
		case !now.Before(w.drained):
			w.super.note("something outside the worker's reach still held its output open")
			w.stdout.hurry()
			w.stderr.hurry()
			<-w.stdout.done
			<-w.stderr.done
			w.phase = over
		}
	}
}

// next is when step must be called again although nothing happens.
func (w *worker) next(now time.Time) time.Time {
	switch w.phase {
	case running:
		at := w.wallEnds()
		if idle := w.idleEnds(); !w.reading.busy.Load() && idle.Before(at) {
			at = idle
		}
		if w.finished() {
			if look := now.Add(min(time.Second, w.grace()/4+10*time.Millisecond)); look.Before(at) {
				at = look
			}
		}
		return at
	case asking:
		return w.asked.Add(w.grace())
	case killing:
		return w.killed.Add(proc.Patience)
	case sweeping:
		return now.Add(w.pause)
	case draining:
		return w.drained
	}
	return now.Add(far)
}

func (w *worker) grace() time.Duration { return w.super.rec.Limits.Grace.D() }

func (w *worker) wallEnds() time.Time { return w.started.Add(w.super.rec.Limits.Wall.D()) }

func (w *worker) idleEnds() time.Time { return w.active.time().Add(w.super.rec.Limits.Idle.D()) }

func (w *worker) reached(limit string, after plan.Duration, now time.Time) {
	crash.Point("supervisor.limit-reached")
	w.limit = &sidecar.Timeout{Limit: limit, After: after}
	// What it says of being ended is no trouble that it had before.
	w.failing = w.reading.failing.Load()
	if !w.reading.busy.Load() {
		w.errFrom, w.errTo = w.errSeen.Load(), w.stderr.bytes.Load()
	}
	w.end(causeLimit, now)
}

// end begins the ladder: TERM to the group. The program is not reaped yet, so
// the number of its group cannot be anybody else's.
func (w *worker) end(why cause, now time.Time) {
	w.cause, w.asked, w.phase = why, now, asking
	_ = syscall.Kill(-w.pgid, syscall.SIGTERM)
	_ = syscall.Kill(-w.pgid, syscall.SIGCONT) // a stopped process takes no TERM
	crash.Point("supervisor.term-sent")
}

func (w *worker) killGroup(now time.Time) {
	w.killed, w.phase = now, killing
	_ = syscall.Kill(-w.pgid, syscall.SIGKILL)
	crash.Point("supervisor.kill-sent")
}

func (w *worker) programEnded() {
	crash.Point("supervisor.worker-ended")
	w.phase, w.pause = sweeping, firstPause
	if w.asked.IsZero() {
		w.asked = w.ended
	}
}

// survivors are what is left of the worker: descendants, wherever they went,
// and whatever carries the claim.
func (w *worker) survivors() ([]proc.Identity, error) {
	scope := proc.Scope{Claim: w.super.status.Claim, Since: w.since}
	switch {
	case subreaper && w.childless:
		// Every orphan comes to us, so there are no descendants.
	case subreaper:
		scope.Ancestor = os.Getpid()
	default:
		scope.Group = w.pgid
	}
	return proc.Find(scope)
}

// sweep goes on with the ladder for what the program left behind.
func (w *worker) sweep(now time.Time) {
	left, err := w.survivors()
	if err == nil && len(left) == 0 {
		w.startDrain(now)
		return
	}
	if len(w.told) == 0 && err == nil {
		w.super.note("the program left %d running: %s", len(left), pids(left))
	}
	kill := !w.killed.IsZero() || !now.Before(w.asked.Add(w.grace()))
	if kill && w.killed.IsZero() {
		w.killed = now
		crash.Point("supervisor.kill-sent")
	}
	if kill && !now.Before(w.killed.Add(proc.Patience)) {
		w.leftover = left
		if err != nil {
			w.super.note("what the program left running is not known: %v", err)
		}
		w.startDrain(now)
		return
	}
	for _, id := range left {
		if kill {
			_ = proc.Signal(id, syscall.SIGKILL) // what cannot be signalled is leftover in the end
			continue
		}
		if !w.told[id] {
			_ = proc.Signal(id, syscall.SIGTERM)
			_ = proc.Signal(id, syscall.SIGCONT)
		}
		w.told[id] = true
	}
	if len(left) > 0 {
		w.told[left[0]] = true
	}
	w.pause = min(2*w.pause, lastPause)
}

func (w *worker) startDrain(now time.Time) {
	crash.Point("supervisor.swept")
	w.drained, w.phase = now.Add(drainFor), draining
}

// finished reports whether the program has said its last word, by closing its
// output or by the provider's final record.
func (w *worker) finished() bool { return w.stdout.ended() || w.reading.final.Load() }

// delivered reports whether a program that fell silent, with its output still
// open, has left everything that it must deliver, and not just now. What it
// hangs on is no loss then (contract section 4, step 6).
func (w *worker) delivered(now time.Time) bool {
	if w.super.rec.Result == plan.ResultStdout || w.super.rec.Output != plan.OutputText {
		return false // it has not ended saying its result, or has a word for its end
	}
	if _, ok := w.delivery(); !ok {
		return false
	}
	for _, c := range w.super.rec.CompletionPaths() {
		if info, err := os.Lstat(c.Path); err == nil && now.Sub(info.ModTime()) < w.grace() {
			return false
		}
	}
	return true
}

// unchanged is for how long everything that the worker must deliver has been
// there without a change.
func (w *worker) unchanged(now time.Time) time.Duration {
	look, ok := w.delivery()
	if !ok {
		w.still = still{}
		return -1
	}
	if look != w.still.look {
		w.still = still{look: look, since: now}
	}
	return now.Sub(w.still.since)
}

// delivery describes what the worker has delivered, and tells whether that is
// all of it. A fatal record is all that a failed provider delivers.
func (w *worker) delivery() (look string, ok bool) {
	rec := w.super.rec
	look = fmt.Sprint(w.stdout.bytes.Load(), w.stderr.bytes.Load())
	if w.stdout.ended() {
		if w.reading.outcome.Fatal != nil {
			return look, true
		}
		if rec.Result == plan.ResultStdout {
			p := splitParts(w.reading.outcome.FinalText)
			return look, w.reading.outcome.HasFinal && len(p.missing(rec)) == 0
		}
	} else if rec.Result == plan.ResultStdout {
		return look, true // the final record is in, and the result in it
	}
	for _, c := range rec.CompletionPaths() {
		if c.Name == "pointer" {
			continue // ours to write
		}
		info, err := os.Lstat(c.Path)
		if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
			return "", false
		}
		look += fmt.Sprintf(" %d@%d", info.Size(), info.ModTime().UnixNano())
	}
	return look, true
}
