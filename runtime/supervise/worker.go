package supervise

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/okstra/okstra/runtime/crash"
	"github.com/okstra/okstra/runtime/launch"
	"github.com/okstra/okstra/runtime/proc"
	"github.com/okstra/okstra/runtime/providers"
	"github.com/okstra/okstra/runtime/sidecar"
	"github.com/okstra/okstra/runtime/supervise/tree"
)

// worker is one started program and everything that is known of it. All but
// the two pipes belongs to the supervisor's goroutine.
type worker struct {
	super *supervisor
	env   []string
	stdin *os.File

	stdout, stderr *pipe
	reading        *reading
	wake           chan struct{} // something happened that may move a deadline
	errTail        tail
	errSeen        atomic.Int64 // bytes of standard error when standard output came last
	active         clock        // when output came last

	before       *tree.Snapshot
	watchProblem string

	pid     int
	pgid    int
	started time.Time
	since   int64 // start time of the worker's process; 0 where it is not known

	life
}

// open makes the logs and pipes and opens the prompt.
func (w *worker) open(stream providers.Stream) (err error) {
	rec := w.super.rec
	// The prompt's file is the standard input: it ends where it ends, and a
	// worker that reads none of it blocks nobody.
	input := os.DevNull
	if rec.Stdin == launch.StdinPrompt {
		input = rec.Paths.Prompt
	}
	if w.stdin, err = os.Open(input); err != nil {
		return err
	}
	if w.stdout, err = openPipe(rec.Paths.Log); err != nil {
		return err
	}
	if w.stderr, err = openPipe(rec.Paths.ErrLog); err != nil {
		return err
	}
	w.reading = &reading{stream: stream}
	w.wake = make(chan struct{}, 1)
	w.errTail.max = 64 << 10
	w.told = map[proc.Identity]bool{}
	return nil
}

// closeAll closes what a worker that was not started had open.
func (w *worker) closeAll() {
	if w.stdin != nil {
		closeQuietly(w.stdin)
	}
	for _, p := range []*pipe{w.stdout, w.stderr} {
		if p != nil {
			closeQuietly(p.write)
			_ = p.close()
		}
	}
}

// work starts the worker and stays until nothing of it runs any more. The
// outcome stands in s.status, which is not yet terminal.
func (s *supervisor) work(w *worker) {
	s.status.Stage = sidecar.StageStart
	s.status.StartedAt = time.Now().UTC()
	// From here on the worker may have run: this write must be on the disk first.
	if err := sidecar.Write(s.rec.Paths.Status, &s.status); err != nil {
		w.closeAll()
		s.cannotStart(cannot("%v", err))
		return
	}
	crash.Point("supervisor.start-written")
	if err := w.fork(); err != nil {
		w.closeAll()
		s.cannotStart(execError(s.rec.Program, err))
		return
	}
	crash.Point("supervisor.forked")
	if id, err := proc.Of(w.pid); err == nil {
		s.status.Worker = &sidecar.Worker{Identity: id, PGID: w.pgid}
		w.since = id.StartTime
	}
	// The worker runs already, so a full disk must not end it: the terminal
	// sidecar has its space and will hold the same.
	if err := sidecar.Write(s.rec.Paths.Status, &s.status); err != nil {
		s.note("the worker's pid could not be written: %v", err)
	}
	crash.Point("supervisor.worker-written")
	s.removeEnv()
	crash.Point("supervisor.env-removed")

	go w.readOutput()
	go w.readErrors()
	crash.Point("supervisor.prompt-given")
	// Many workers run for long; what starting took is given back.
	trim := time.AfterFunc(time.Second, debug.FreeOSMemory)
	w.loop()
	trim.Stop()
	s.report(w)
}

// fork starts the program in a session of its own: its own process group, and
// no terminal that it could stop on or be hung up by.
func (w *worker) fork() error {
	rec := w.super.rec
	if err := adoptOrphans(); err != nil {
		w.super.note("processes that leave the worker's group are found by their claim only: %v", err)
	}
	attr := &syscall.ProcAttr{
		Dir:   rec.Dir,
		Env:   w.env,
		Files: []uintptr{w.stdin.Fd(), w.stdout.write.Fd(), w.stderr.write.Fd()},
		Sys:   childAttributes(),
	}
	restore := clearSignalMask()
	w.started = time.Now()
	pid, err := syscall.ForkExec(rec.Program, rec.Argv, attr)
	restore()
	if err != nil {
		return err
	}
	w.pid, w.pgid = pid, pid
	w.active.base = w.started
	closeQuietly(w.stdin)
	closeQuietly(w.stdout.write)
	closeQuietly(w.stderr.write)
	return nil
}

func (w *worker) readOutput() {
	l := &lines{max: providers.MaxLine, take: w.reading.line(w.show, w.nudge)}
	w.stdout.carry(func(b []byte) {
		w.active.touch()
		w.errSeen.Store(w.stderr.bytes.Load())
		l.feed(b)
	}, func() {
		l.end()
		w.reading.outcome = w.reading.stream.End()
	})
	w.nudge()
}

func (w *worker) readErrors() {
	errors := providers.NewErrors(w.super.rec.Output)
	show := func(line []byte, more bool) {
		for _, shown := range errors.Line(line) {
			w.show(shown)
		}
	}
	// The screen has no use for long lines; the log has them.
	l := &lines{max: 2 << 10, take: show}
	w.stderr.carry(func(b []byte) {
		w.active.touch()
		w.errTail.add(b)
		l.feed(b)
	}, l.end)
	w.nudge()
}

// show puts a line on the screen.
func (w *worker) show(l providers.Shown) {
	if l.Kind == providers.ShownTool {
		l.Text = nearer(l.Text, w.super.rec)
	}
	w.super.screen.show(l)
}

// nearer tells the paths of a tool call from the run's folder, else from the
// project's root: a pane is narrow.
func nearer(text string, rec *launch.Record) string {
	run := filepath.Dir(filepath.Dir(rec.Paths.Inputs)) // inputs are in its folder "state"
	if rel, err := filepath.Rel(rec.ProjectRoot, run); err == nil && filepath.IsLocal(rel) && rel != "." {
		text = strings.ReplaceAll(text, run+"/", "…/")
		text = strings.ReplaceAll(text, rel+"/", "…/")
	}
	return strings.ReplaceAll(text, rec.ProjectRoot+"/", "")
}

// lastErrors is what came on standard error between the last of standard output
// and a limit.
func (w *worker) lastErrors() []byte {
	begin := w.stderr.bytes.Load() - int64(len(w.errTail.b)) // of what was kept
	from, to := max(w.errFrom-begin, 0), max(w.errTo-begin, 0)
	if from >= to {
		return nil
	}
	return w.errTail.b[from:to]
}

// nudge makes the loop look again.
func (w *worker) nudge() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// clock holds an instant, in monotonic time, that another goroutine moves.
type clock struct {
	base time.Time
	last atomic.Int64 // nanoseconds after base
}

func (c *clock) touch()          { c.last.Store(int64(time.Since(c.base))) }
func (c *clock) time() time.Time { return c.base.Add(time.Duration(c.last.Load())) }
