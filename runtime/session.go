package runtime

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/crash"
	"github.com/okstra/okstra/runtime/durable"
	"github.com/okstra/okstra/runtime/lead"
	"github.com/okstra/okstra/runtime/proc"
	"github.com/okstra/okstra/runtime/record"
	"github.com/okstra/okstra/runtime/sidecar"
)

// session drives one run while it holds the run's lock. One goroutine owns it:
// whatever is slow (backend calls, file preparation, judging) runs beside it
// and answers through messages, and nothing else touches the state.
//
// Changes gather in memory and are written together by commit; what may only
// happen once they are on disk is queued with then.
type session struct {
	env      Env
	run      paths.Run
	lock     *durable.Lock
	state    *record.State
	writer   record.Writer
	plan     *plan.Plan
	manifest *lead.Manifest // the run's own; version 1 runs have no plan
	backend  backends.Backend
	progress Progress
	asker    Asker

	announcer *announcer // nil until there is something to show, and where nothing can be

	dirty   bool
	noted   bool // the lock file says who holds it
	pending []lead.Event
	rest    time.Time // until when changes are gathered, see commit
	flushBy time.Time // when pending must be written though nothing is dirty; zero: nothing waits
	after   []func()

	watch    *sidecar.Watcher
	live     map[string]*flight         // by status sidecar path
	messages chan func()                // applied by the owner, one at a time
	unclosed map[*record.Dispatch]error // why a pane could not be closed
	running  int                        // goroutines that will still send a message

	work    batchWork // the workers of the batch that is driven
	actions map[string]plan.WorkerAction
	replace []string // worker keys or labels to redo

	heartbeat time.Duration // how often beat is called while driving; 0 is never
	beat      func(running, total int)

	looking   bool   // what still runs is none of this command's business
	stopping  bool   // .stop was seen
	exhausted bool   // the budget allows no further start
	rejected  string // who blocks the work, and why; empty while nobody does
}

// flight is what the owner remembers of a dispatch that is on its way. None of
// it is needed after a crash.
type flight struct {
	d        *record.Dispatch
	round    *plan.Round
	worker   *plan.Worker
	startBy  time.Time // by when init and start must have been seen
	asked    bool      // the backend has answered
	adopted  bool      // an earlier runner started it
	going    bool      // .go was or is being written
	settling bool
	looking  bool            // the backend is being asked what became of it
	seen     *sidecar.Status // what the supervisor last said once the worker may have run
	stale    string          // claim of an earlier supervisor of this attempt, which left at its gate
	endBy    time.Time       // the runner's own net
}

// then queues f until what is changed now is on disk.
func (s *session) then(f func()) { s.after = append(s.after, f) }

// changed marks the state as changed.
func (s *session) changed() { s.dirty = true }

// note queues an event for the log and the progress view.
func (s *session) note(e lead.Event) {
	s.pending = append(s.pending, e)
	s.dirty = true
}

// noteLater queues an event that nothing waits for: it is written with the next
// change, or alone after a moment.
func (s *session) noteLater(e lead.Event) {
	s.pending = append(s.pending, e)
	if s.flushBy.IsZero() {
		s.flushBy = s.env.Now().Add(flushAfter)
	}
}

// flushAfter is the longest that a change waits which nothing depends on.
const flushAfter = 100 * time.Millisecond

// due is when what is pending must be written; zero while nothing is.
func (s *session) due() time.Time {
	if s.dirty || len(s.after) > 0 {
		return s.rest
	}
	return s.flushBy
}

// urgent reports whether there is something that must not wait.
func (s *session) urgent() bool {
	pending := s.dirty || len(s.after) > 0 || !s.flushBy.IsZero()
	return pending && !s.env.Now().Before(s.due())
}

// flushTimer fires when what waits must be written; it is nil while nothing
// waits.
func (s *session) flushTimer() <-chan time.Time {
	due := s.due()
	if due.IsZero() {
		return nil
	}
	return time.After(max(0, due.Sub(s.env.Now())))
}

// maxRest bounds how long changes are gathered.
const maxRest = 10 * time.Millisecond

// commit writes the pending changes as one state, appends the events that
// belong to it and then does what waited for that. For as long as the write
// took, changes are then gathered for the next one: with many workers at once
// the runner would else do nothing but write.
func (s *session) commit() error {
	begun := s.env.Now()
	defer func() {
		now := s.env.Now()
		s.rest = now.Add(min(now.Sub(begun), maxRest))
	}()
	for s.dirty || len(s.pending) > 0 || len(s.after) > 0 {
		if s.dirty || len(s.pending) > 0 {
			s.state.Project()
			if err := s.writer.Save(s.run.TeamState(), s.state); err != nil {
				return err
			}
			if !s.noted {
				noteHolder(s.lock)
				s.noted = true
			}
			s.dirty, s.flushBy = false, time.Time{}
			crash.Point("runner.state-written")
			events := s.pending
			s.pending = nil
			for i := range events {
				events[i].Serial = s.state.Serial
			}
			if err := lead.Append(s.run, events...); err != nil {
				return err
			}
			for _, e := range events {
				s.show(e)
			}
			s.announce(events)
		}
		todo := s.after
		s.after = nil
		for _, f := range todo {
			f()
		}
	}
	return nil
}

func (s *session) show(e lead.Event) {
	if s.progress == nil {
		return
	}
	out := Event{Time: e.TS, Type: string(e.Type), Phase: string(e.Phase), Log: e, Round: e.Round, InvocationRef: e.InvocationRef, Message: e.Message}
	if d := s.state.Invocation(e.InvocationRef); d != nil {
		out.Label, out.Status, out.Reason, out.WorkerKey, out.Attempt = d.ExecutionLabel, d.Status, d.Reason, d.WorkerKey, d.Attempt
		if e.Type == lead.WorkerSettled {
			out.Detail = lead.OneLine(d.Detail)
		}
		switch {
		case e.Type == lead.Note:
			out.Status, out.Reason = "", plan.ReasonNone // it tells of something else
		case e.Type == lead.WorkerStarted && d.Status.Terminal():
			// One state may carry both the start and the end of a quick worker.
			out.Status, out.Reason = plan.StatusRunning, plan.ReasonNone
		}
	}
	s.progress.Event(out)
}

// background runs f beside the owner; the function that it returns is applied
// by the owner.
func (s *session) background(f func() func()) {
	s.running++
	go func() { s.messages <- f() }()
}

// take applies a message of what ran beside the owner.
func (s *session) take(message func()) {
	s.running--
	message()
}

// join waits for everything that runs beside the owner.
func (s *session) join() {
	for s.running > 0 {
		s.take(<-s.messages)
	}
}

// readersGone bounds how long those who only look at a run can keep its lock
// from its next owner.
const readersGone = 5 * time.Second

// acquire takes the run's lock, or ErrHeld.
func acquire(run paths.Run) (*durable.Lock, error) {
	if err := durable.MkdirAll(run.Dir()); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), readersGone)
	defer cancel()
	lock, err := durable.LockPastReaders(ctx, run.Lock())
	if errors.Is(err, durable.ErrLocked) {
		return nil, fmt.Errorf("%w %s%s: wait for it, or end its work with okstra stop", ErrHeld, run.Ref(), holder(run))
	}
	if err != nil {
		return nil, err
	}
	// The project may have been moved to where a lock excludes nobody.
	if err := durable.ProveLocks(run.Dir()); err != nil {
		lock.Close()
		return nil, err
	}
	return lock, nil
}

// noteHolder writes into the lock file who holds it, for people, once there is
// something to hold it for: what is refused writes nothing. The kernel's lock is
// what counts, and a note that cannot be written harms nobody.
func noteHolder(lock *durable.Lock) {
	f := lock.File()
	if f.Truncate(0) == nil {
		_, _ = f.WriteAt([]byte(fmt.Sprintf("pid %d on %s\n", os.Getpid(), proc.Host())), 0)
	}
}

// holder is what the holder of a run's lock has noted, in brackets.
func holder(run paths.Run) string {
	b, err := os.ReadFile(run.Lock())
	if text := lead.OneLine(string(b)); err == nil && text != "" {
		return " (" + text + ")"
	}
	return ""
}

// newSession makes a session around a held lock.
func newSession(env Env, run paths.Run, lock *durable.Lock, state *record.State, p *plan.Plan) (*session, error) {
	watch, err := sidecar.NewWatcher()
	if err != nil {
		return nil, err
	}
	return &session{
		env: env, run: run, lock: lock, state: state, plan: p, watch: watch,
		live: map[string]*flight{}, messages: make(chan func()), unclosed: map[*record.Dispatch]error{},
	}, nil
}

// close ends the session: nothing of it goes on in this process. Workers do.
func (s *session) close() {
	s.join()
	s.watch.Close()
	if s.lock != nil { // a dry run holds none
		s.lock.Close()
	}
	if s.announcer != nil {
		s.announcer.close()
	}
}

// create makes the folders, plan, manifest and first state of a new run. The
// caller holds the run lock and the sequence lock.
func create(env Env, run paths.Run, p *plan.Plan, backend, leadRuntime string) (*record.State, error) {
	home := paths.Home(run.Root)
	if err := durable.MkdirAll(home); err != nil {
		return nil, err
	}
	ignore := filepath.Join(home, ".gitignore")
	if !exists(ignore) {
		if err := durable.WriteFile(ignore, []byte("# okstra's records are not part of the project.\n*\n"), 0o600); err != nil {
			return nil, err
		}
	}
	for _, dir := range []string{run.Manifest(), run.Plan(1), run.TeamState(), run.Events(), run.FinalReport()} {
		if err := durable.MkdirAll(filepath.Dir(dir)); err != nil {
			return nil, err
		}
	}
	runtime, err := lead.ParseRuntime(leadRuntime)
	if err != nil {
		return nil, err
	}
	st := &record.State{
		SchemaVersion: record.SchemaVersion, Lineage: token(8), RunName: p.Run.Name, Run: run.Ref(), LeadRuntime: leadRuntime,
		Backend: backend, DispatchMode: string(lead.ModeOf(backend)), LeadUsage: &plan.Usage{Source: plan.UsageUnavailable},
		StartedAt: env.Now(), Allowance: 1, Rounds: []*record.Round{}, WorkerDispatches: []*record.Dispatch{},
	}
	if err := writePlan(run, st, p); err != nil {
		return nil, err
	}
	// A manifest without a state is the leftover of a creation that was cut
	// short; no state can refer to it.
	if err := os.Remove(run.Manifest()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove unused manifest: %w", err)
	}
	manifest := lead.NewManifest(run, p, relative(run.Root, run.Plan(1)), backend, runtime)
	if err := lead.WriteManifest(run, manifest); err != nil {
		return nil, err
	}
	return st, nil
}

// writePlan stores the plan that the run is driven by from here on.
func writePlan(run paths.Run, st *record.State, p *plan.Plan) error {
	b, err := plan.Indented(p)
	if err != nil {
		return fmt.Errorf("encode plan: %w", err)
	}
	st.PlanNumber++
	if err := durable.WriteFile(run.Plan(st.PlanNumber), b, 0o600); err != nil {
		return err
	}
	st.PlanPath = relative(run.Root, run.Plan(st.PlanNumber))
	st.PlanDigest = plan.DigestBytes(b)
	return nil
}

// token returns n random bytes in hex.
func token(n int) string {
	b := make([]byte, n)
	if _, err := rand.Read(b); err != nil {
		panic(err) // the kernel has no randomness: nothing can be trusted
	}
	return hex.EncodeToString(b)
}
