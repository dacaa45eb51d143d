package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/lead"
	"github.com/okstra/okstra/runtime/proc"
	"github.com/okstra/okstra/runtime/record"
	"github.com/okstra/okstra/runtime/sidecar"
)

// reconcile brings the record up to what is on disk: what finished is settled,
// what still runs is taken up, what never ran is planned again, and what a
// killed supervisor left behind is ended. Nothing is started.
func (s *session) reconcile() error {
	for _, d := range s.state.WorkerDispatches {
		if d.Status != plan.StatusSpawning && d.Status != plan.StatusRunning {
			continue
		}
		if err := s.takeUp(d); err != nil {
			return err
		}
	}
	if err := s.settleAll(context.Background(), nil); err != nil {
		return err
	}
	if err := restoreEvents(s.env, s.run, s.state, s.plan); err != nil {
		return err
	}
	return s.takeViolations()
}

// takeUp judges one dispatch that an earlier runner left on its way.
func (s *session) takeUp(d *record.Dispatch) error {
	statusPath := absolute(s.run.Root, d.StatusPath)
	j, err := sidecar.Judge(statusPath, lockOf(statusPath))
	if err != nil {
		return err
	}
	round, worker := s.plan.Worker(d.WorkerKey)
	if round == nil {
		round, worker = &plan.Round{Name: d.Round, Kind: plan.RoundWork}, &plan.Worker{Key: d.WorkerKey}
	}
	f := &flight{d: d, round: round, worker: worker, asked: true, adopted: true, startBy: s.env.Now().Add(d.Limits.Start.D() + startSlack)}
	switch j.Verdict {
	case sidecar.Live:
		s.live[statusPath] = f
		s.watch.Add(statusPath)
		if !s.looking { // a dispatch that is refused writes nothing
			s.note(lead.Event{TS: s.env.Now(), Type: lead.Note, Phase: lead.PhaseAwait, Round: d.Round, InvocationRef: d.InvocationRef,
				Message: d.ExecutionLabel + " still runs and is taken up"})
		}
	case sidecar.Terminal:
		s.live[statusPath] = f
		s.settle(statusPath, f, j.Status)
		if r := j.Status.Reason; r == plan.ReasonPaneLost || r == plan.ReasonNotStarted {
			d.Uncounted = true
		}
	case sidecar.Lost:
		d.Uncounted = true
		s.live[statusPath] = f
		s.lost(statusPath, f, j)
	case sidecar.NeverStarted:
		s.replan(d)
	case sidecar.Foreign:
		return fmt.Errorf("%w: %s was started on host %s, where only that host can tell what became of it", ErrHeld, d.InvocationRef, j.Status.Host)
	default:
		panic("unknown judgement " + string(j.Verdict))
	}
	return nil
}

// replan makes an attempt that never ran startable again: the same attempt, in
// a fresh pane, once the old one is seen to be gone. Where it is not, the next
// attempt takes its place, uncounted, and the old pane stays on record.
func (s *session) replan(d *record.Dispatch) {
	again := func() {
		d.Status, d.Handle, d.PaneID, d.Closed, d.Claim, d.Detail = plan.StatusPlanned, nil, "", false, "", ""
		s.changed()
	}
	if !onScreen(d) {
		again()
		return
	}
	old := *d.Handle
	s.background(func() func() {
		closed := closeAll(s.env.Backends, []backends.Handle{old})
		return func() {
			if closed[0].Err == nil {
				again()
				return
			}
			d.Uncounted = true
			s.fail(d, plan.ReasonNotStarted, "it never ran, and its pane could not be closed: "+closed[0].Err.Error())
		}
	})
}

// settleAll waits until what is being settled is in the record: all of it, or
// all that wanted names. When ctx ends it leaves what is not settled yet to the
// next runner.
func (s *session) settleAll(ctx context.Context, wanted func(*record.Dispatch) bool) error {
	for s.running > 0 || s.anyLive(wanted) {
		select {
		case <-ctx.Done():
			return errors.Join(s.commit(), interruptible(ctx))
		case m := <-s.messages:
			s.take(m)
		case path := <-s.watch.Changed():
			s.look(path)
		case <-time.After(sweepEvery):
			s.sweep()
		}
		s.drain()
		if err := s.commit(); err != nil {
			return err
		}
	}
	return s.commit()
}

func (s *session) anyLive(wanted func(*record.Dispatch) bool) bool {
	if wanted == nil {
		return false
	}
	for _, f := range s.live {
		if wanted(f.d) {
			return true
		}
	}
	return false
}

// terminate ends the workers that wanted names and waits for their sidecars.
func (s *session) terminate(ctx context.Context, wanted func(*record.Dispatch) bool) error {
	for path, f := range s.live {
		if !wanted(f.d) {
			continue
		}
		if err := askToEnd(path); err != nil {
			return err
		}
		// A supervisor ends its worker within grace and its patience after KILL.
		// One that does not, whatever holds it, is ended with its worker.
		f.endBy = s.env.Now().Add(f.d.Limits.Grace.D() + 2*proc.Patience)
	}
	return s.settleAll(ctx, wanted)
}

// askToEnd asks the supervisor of an attempt to end it: by TERM, which it
// answers with a terminal sidecar, or by leaving at its gate.
func askToEnd(statusPath string) error {
	j, err := sidecar.Judge(statusPath, lockOf(statusPath))
	if err != nil || j.Verdict != sidecar.Live || j.Status == nil || j.Status.Stage.Terminal() {
		return err
	}
	// A stopped process takes no TERM until it goes on.
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGCONT} {
		if err := proc.Signal(j.Status.Supervisor, sig); err != nil && !errors.Is(err, proc.ErrGone) {
			return err
		}
	}
	return nil
}

func lockOf(statusPath string) string { return paths.OfStatus(statusPath).Lock() }

// restoreEvents appends the events that a crash between a state and its events
// kept back.
func restoreEvents(env Env, run paths.Run, st *record.State, p *plan.Plan) error {
	have, err := lead.Read(run.Events())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	missing := lead.Missing(have, lead.Expected(st, p))
	for i := range missing {
		missing[i].TS, missing[i].Serial = env.Now(), st.Serial
	}
	return lead.Append(run, missing...)
}

// interruptible returns ErrInterrupted where ctx has ended.
func interruptible(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrInterrupted, context.Cause(ctx))
}
