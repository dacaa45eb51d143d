package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/durable"
	"github.com/okstra/okstra/runtime/lead"
	"github.com/okstra/okstra/runtime/record"
)

// stopWait bounds how long a stop waits for a runner to let go of its run.
const stopWait = 2 * time.Minute

// errHeldOn ends the wait for a runner that does not let go.
var errHeldOn = errors.New("another okstra goes on holding the run")

// Stop ends a run's workers. It does not need the run's lock to do so: it
// leaves a request that every runner reads before each start, ends the
// supervisors, then takes the lock and settles.
func Stop(ctx context.Context, env Env, sel Selector, progress Progress) (*Outcome, error) {
	run, st, err := find(sel)
	if err != nil {
		return nil, err
	}
	if st.Ended != "" {
		return &Outcome{Run: run, RunName: st.RunName, State: st, Nothing: true, Summary: fmt.Sprintf("Run %s is finished (%s); there is nothing to stop.", run.Ref(), st.Ended)}, nil
	}
	if err := durable.WriteFile(run.Stop(), []byte(env.Now().UTC().Format(time.RFC3339Nano)+"\n"), 0o600); err != nil {
		return nil, err
	}
	wait, cancel := context.WithTimeoutCause(ctx, stopWait, errHeldOn)
	defer cancel()
	lock, err := stopAndLock(wait, run)
	if err != nil {
		return nil, err
	}
	s, err := takeRun(env, run, lock, progress)
	if err != nil {
		return nil, err
	}
	defer s.close()
	s.stopping = true
	if err := s.reconcile(); err != nil {
		return nil, err
	}
	if err := s.terminate(ctx, func(*record.Dispatch) bool { return true }); err != nil {
		return nil, err
	}
	for i := range s.plan.Rounds {
		switch r := &s.plan.Rounds[i]; {
		case s.roundMet(r):
		case s.ranWhole(r):
			if err := s.finishRound(r); err != nil {
				return nil, err
			}
		default:
			s.skip(r, plan.ReasonStopped)
		}
	}
	s.note(lead.Event{TS: env.Now(), Type: lead.RunStopped, Phase: lead.PhaseClose, Message: "the run was stopped"})
	if err := s.commit(); err != nil {
		return nil, err
	}
	return s.outcome(0, fmt.Sprintf("Run %s is stopped; okstra apply goes on with it.", run.Ref()), s.next().apply()), nil
}

func (s *session) roundMet(r *plan.Round) bool {
	rec := s.state.FindRound(r.Name)
	return rec != nil && rec.Result == "met"
}

// ranWhole reports whether every worker of a round has completed, so that
// nothing of it is left to be stopped. What a re-verification came to is for
// its own rule to say.
func (s *session) ranWhole(r *plan.Round) bool {
	for _, w := range r.Workers {
		if d := s.state.Latest(w.Key); d == nil || d.Status != plan.StatusCompleted {
			return false
		}
	}
	return len(r.Workers) > 0 && r.Kind != plan.RoundReverify
}

// stopAndLock asks every supervisor of the run to end, again and again while a
// runner may still be starting some, until the lock is free.
func stopAndLock(ctx context.Context, run paths.Run) (*durable.Lock, error) {
	const every = 200 * time.Millisecond
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		st, err := record.Load(run.TeamState())
		if err != nil {
			return nil, err
		}
		var unasked []error // whoever cannot be asked keeps none of the others running
		for _, d := range st.WorkerDispatches {
			if d.Status == plan.StatusSpawning || d.Status == plan.StatusRunning {
				unasked = append(unasked, askToEnd(absolute(run.Root, d.StatusPath)))
			}
		}
		if err := errors.Join(unasked...); err != nil {
			return nil, err
		}
		lock, err := acquire(run)
		if err == nil {
			return lock, nil
		}
		if !errors.Is(err, ErrHeld) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			if ctx.Err() != nil && errors.Is(context.Cause(ctx), errHeldOn) {
				return nil, fmt.Errorf("%w %s%s: its workers were asked to end and no more is started, but it has not let go for %s; end that process and stop again", ErrHeld, run.Ref(), holder(run), stopWait)
			}
			return nil, fmt.Errorf("%w: %w", err, context.Cause(ctx))
		case <-ticker.C:
		}
	}
}

// takeRun makes a session for a recorded run as it stands, by its own plan.
// The lock is the session's from here on, and released on an error.
func takeRun(env Env, run paths.Run, lock *durable.Lock, progress Progress) (_ *session, err error) {
	defer func() {
		if err != nil && lock != nil {
			lock.Close()
		}
	}()
	st, err := record.Load(run.TeamState())
	if err != nil {
		return nil, err
	}
	p, err := loadPlan(run, st)
	if err != nil {
		return nil, err
	}
	b, known := env.Backends[st.Backend]
	if !known {
		if st.Backend == "" {
			return nil, &Refusal{What: fmt.Sprintf("run %s was prepared where no backend could dispatch", run.Ref()), Remedy: "start one and run okstra apply " + st.RunName}
		}
		return nil, fmt.Errorf("run %s uses backend %q, which this okstra does not have", run.Ref(), st.Backend)
	}
	s, err := newSession(env, run, lock, st, p)
	if err != nil {
		return nil, err
	}
	s.backend, s.progress = b, progress
	return s, nil
}
