package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/crash"
	"github.com/okstra/okstra/runtime/launch"
	"github.com/okstra/okstra/runtime/lead"
	"github.com/okstra/okstra/runtime/proc"
	"github.com/okstra/okstra/runtime/record"
	"github.com/okstra/okstra/runtime/sidecar"
)

// sweepEvery is how often the owner looks for what no file event tells of: a
// killed supervisor, a limit that has passed, a request to stop.
const sweepEvery = 2 * time.Second

// netSlack is what the runner's own net allows beyond wall and grace.
const netSlack = 30 * time.Second

// drive starts the planned workers of a batch and brings them to their ends,
// retries included, until done says so or nothing is left to do. It returns
// ErrInterrupted when ctx ends: workers go on.
func (s *session) drive(ctx context.Context, batch string, work batchWork, done func() bool) error {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	var pulse <-chan time.Time
	if s.heartbeat > 0 && s.beat != nil {
		ticker := time.NewTicker(s.heartbeat)
		defer ticker.Stop()
		pulse = ticker.C
	}
	for {
		now := s.env.Now()
		if err := s.startReady(batch, work); err != nil {
			return err
		}
		if s.urgent() {
			if err := s.commit(); err != nil {
				return err
			}
		}
		if s.idle(batch) || (done != nil && done()) {
			return s.commit()
		}
		wake := s.nextStart(batch, now)
		select {
		case <-ctx.Done():
			return s.detach(ctx)
		case m := <-s.messages:
			s.take(m)
		case path := <-s.watch.Changed():
			s.look(path)
		case <-wake:
		case <-s.flushTimer():
		case <-pulse:
			s.beat(len(s.live), len(s.state.InBatch(batch)))
		case <-tick.C:
			s.sweep()
		}
		s.drain()
	}
}

// drain applies what else has come meanwhile, so that one state carries it all.
func (s *session) drain() {
	for {
		select {
		case m := <-s.messages:
			s.take(m)
		case path := <-s.watch.Changed():
			s.look(path)
		default:
			return
		}
	}
}

// idle reports whether nothing of the batch runs, will run or is being closed.
func (s *session) idle(batch string) bool {
	if s.running > 0 || len(s.live) > 0 {
		return false
	}
	for _, d := range s.state.InBatch(batch) {
		if d.Status == plan.StatusPlanned {
			return s.stopping || s.exhausted
		}
		if !d.Status.Terminal() {
			return false
		}
	}
	return true
}

// nextStart fires when the next planned dispatch has waited out its backoff.
// One that had done so by now waits for a free place, which an end gives it.
func (s *session) nextStart(batch string, now time.Time) <-chan time.Time {
	var next time.Time
	for _, d := range s.state.InBatch(batch) {
		if d.Status == plan.StatusPlanned && d.RetryAfter != nil && d.RetryAfter.After(now) && (next.IsZero() || d.RetryAfter.Before(next)) {
			next = *d.RetryAfter
		}
	}
	if next.IsZero() {
		return nil
	}
	return time.After(max(0, next.Sub(s.env.Now())))
}

// detach leaves the run to its supervisors.
func (s *session) detach(ctx context.Context) error {
	live := 0
	for _, d := range s.state.WorkerDispatches {
		if d.Status == plan.StatusSpawning || d.Status == plan.StatusRunning {
			live++
		}
	}
	s.note(lead.Event{TS: s.env.Now(), Type: lead.Detached, Phase: lead.PhaseAwait, Message: "detaching from " + plan.Count(live, "worker")})
	// What is being started must get its word, or it would leave at its gate.
	for s.running > 0 {
		s.take(<-s.messages)
		if err := s.commit(); err != nil {
			return err
		}
	}
	if err := s.commit(); err != nil {
		return err
	}
	return fmt.Errorf("%w: %w", ErrInterrupted, context.Cause(ctx))
}

// look reads one attempt's sidecar and acts on its stage.
func (s *session) look(statusPath string) {
	f := s.live[statusPath]
	if f == nil || f.settling {
		return
	}
	st, err := sidecar.Read(statusPath)
	if err != nil {
		return // absent so far, or unreadable: the sweep judges
	}
	if st.Claim == f.stale {
		return // that of a supervisor before this one
	}
	switch {
	case st.Stage == sidecar.StageInit:
		s.onInit(statusPath, f, st)
	case st.Stage == sidecar.StageStart:
		s.onStart(f, st)
	case st.Stage.Terminal():
		s.settle(statusPath, f, st)
	}
}

// onInit releases a supervisor that waits at its gate, once the backend has
// said where it put it and that stands in the record.
func (s *session) onInit(statusPath string, f *flight, st *sidecar.Status) {
	d := f.d
	if !f.asked || f.going {
		return
	}
	crash.Point("runner.init-seen")
	f.going, f.seen = true, st
	if elsewhere(d, st) {
		// The backend's answer was lost, or a hook started our command twice:
		// the supervisor that holds the attempt says where it is.
		b, h, err := s.claimed(d, st)
		s.background(func() func() {
			if err == nil {
				h, err = adopt(b, h)
			}
			return func() {
				if s.live[statusPath] != f {
					return // it was given up meanwhile
				}
				if err != nil {
					s.release(d, statusPath, st.Claim, false)
					return
				}
				if old := d.Handle; old != nil && old.Pane != h.Pane {
					s.discard(*old)
				}
				placed(d, h)
				d.Detail = ""
				s.release(d, statusPath, st.Claim, true)
			}
		})
		return
	}
	s.release(d, statusPath, st.Claim, true)
}

// elsewhere tells whether a supervisor found itself in another place than the
// one that the backend returned, or the backend could not vouch for the place:
// what it could not say is then the detail.
func elsewhere(d *record.Dispatch, st *sidecar.Status) bool {
	if d.Handle == nil || d.Detail != "" {
		return true
	}
	return st.Pane != nil && st.Pane.ID != "" && st.Pane.ID != d.Handle.Pane
}

// claimed is the handle that a supervisor gives of itself, and the backend that
// can complete it. It may be another than the one in force.
func (s *session) claimed(d *record.Dispatch, st *sidecar.Status) (backends.Backend, backends.Handle, error) {
	name := lead.BackendOf(lead.Mode(d.DispatchMode))
	b, known := s.env.Backends[name]
	if !known {
		return nil, backends.Handle{}, fmt.Errorf("backend %q of %s is not here", name, d.InvocationRef)
	}
	h := backends.Handle{Backend: name, Tag: d.Tag, PID: st.Supervisor.PID, PIDStart: st.Supervisor.StartTime}
	if st.Pane != nil {
		h.Pane, h.Socket = st.Pane.ID, st.Pane.Socket
	}
	if d.Handle != nil {
		h.Workspace = d.Handle.Workspace
	}
	return b, h, nil
}

// adopt completes a handle from what a supervisor says of itself.
func adopt(b backends.Backend, h backends.Handle) (backends.Handle, error) {
	ctx, cancel := context.WithTimeout(context.Background(), backends.CallTimeout)
	defer cancel()
	return b.Adopt(ctx, h)
}

// discard closes a pane that turned out to hold nobody.
func (s *session) discard(gone backends.Handle) {
	if gone.Pane == "" {
		return
	}
	s.background(func() func() {
		closed := closeAll(s.env.Backends, []backends.Handle{gone})
		return func() {
			if closed[0].Err != nil {
				s.note(lead.Event{TS: s.env.Now(), Type: lead.Note, Message: fmt.Sprintf("pane %s is empty but could not be closed: %v", gone.Pane, closed[0].Err)})
			}
		}
	})
}

// release records the claim and then tells its holder to go, or not to.
func (s *session) release(d *record.Dispatch, statusPath, claim string, goOn bool) {
	d.Claim = claim
	s.changed()
	goPath := paths.OfStatus(statusPath).Go()
	s.then(func() {
		crash.Point("runner.claim-recorded")
		s.background(func() func() {
			err := launch.WriteGo(goPath, &launch.Go{Claim: claim, Go: goOn})
			crash.Point("runner.go-written")
			return func() {
				if err != nil {
					// Without its word the supervisor leaves at the gate.
					d.Detail = err.Error()
					s.changed()
				}
			}
		})
	})
}

// onStart records that the worker may run.
func (s *session) onStart(f *flight, st *sidecar.Status) {
	d := f.d
	f.seen = st
	f.going = true // by this runner's word or, before a crash, by another's
	if f.endBy.IsZero() {
		f.endBy = st.StartedAt.Add(d.Limits.Wall.D() + d.Limits.Grace.D() + netSlack)
	}
	if d.Status == plan.StatusRunning {
		return
	}
	d.Status, d.Claim = plan.StatusRunning, st.Claim
	s.started(d, st)
}

// sweep looks at everything that no event has told of.
func (s *session) sweep() {
	s.heedStop()
	now := s.env.Now()
	var unseen []string
	for path, f := range s.live {
		if f.settling {
			continue
		}
		lock := lockOf(path)
		if f.d.Status == plan.StatusRunning && now.Before(f.endBy) && sidecar.Held(lock) {
			continue // what its sidecar says, the watcher tells
		}
		j, err := sidecar.Judge(path, lock)
		if err != nil {
			s.unjudged(f.d, err)
			continue
		}
		switch j.Verdict {
		case sidecar.Live:
			s.sweepLive(path, f, j.Status, now)
		case sidecar.Terminal:
			s.settle(path, f, j.Status)
		case sidecar.Lost:
			s.lost(path, f, j)
		case sidecar.NeverStarted:
			switch {
			case f.seen != nil && j.Status == nil:
				// It was let go, so its worker may run: somebody has removed its files.
				f.settling = true
				s.vanished(path, f)
			case f.adopted:
				s.forget(path)
				s.replan(f.d)
			case j.Status != nil && j.Status.Claim != f.stale:
				s.giveUp(path, f, "the supervisor left at its gate, before the worker ran")
			case f.asked && now.After(f.startBy):
				s.giveUp(path, f, "no supervisor appeared within the start limit")
			case f.asked && !f.looking && f.d.Handle != nil && f.d.Handle.Backend == s.backend.Name():
				unseen = append(unseen, path)
			}
		}
	}
	s.seek(unseen)
}

// seek asks the backend, in one call, what became of supervisors that it
// started and that have said nothing yet: one that is gone need not be waited
// for.
func (s *session) seek(unseen []string) {
	if len(unseen) == 0 {
		return
	}
	handles := make([]backends.Handle, len(unseen))
	for i, path := range unseen {
		f := s.live[path]
		f.looking, handles[i] = true, *f.d.Handle
	}
	s.background(func() func() {
		ctx, cancel := context.WithTimeout(context.Background(), backends.CallTimeout)
		defer cancel()
		sights := s.backend.Look(ctx, handles)
		return func() {
			for i, path := range unseen {
				f := s.live[path]
				if f == nil || f.settling {
					continue
				}
				f.looking = false
				if f.seen != nil {
					continue // it has begun: the sweep settles it
				}
				if sights[i].Presence != backends.Gone && !sights[i].Exited {
					continue
				}
				// It may have spoken before it went.
				if j, err := sidecar.Judge(path, lockOf(path)); err == nil && j.Verdict == sidecar.NeverStarted {
					s.giveUp(path, f, "the supervisor ended before it said anything")
				}
			}
		}
	})
}

// unjudged says once why nobody can tell what became of an attempt. It stays
// on its way: the next look may tell more.
func (s *session) unjudged(d *record.Dispatch, err error) {
	if d.Detail == err.Error() {
		return
	}
	d.Detail = err.Error()
	s.note(lead.Event{TS: s.env.Now(), Type: lead.Note, Phase: lead.PhaseAwait, Round: d.Round, InvocationRef: d.InvocationRef,
		Message: fmt.Sprintf("what became of %s cannot be told: %v", d.ExecutionLabel, err)})
}

// heedStop reads the request to stop.
func (s *session) heedStop() {
	if s.stopping || !exists(s.run.Stop()) {
		return
	}
	s.stopping = true
	s.note(lead.Event{TS: s.env.Now(), Type: lead.Note, Message: "a stop was asked for: nothing more is started"})
}

// sweepLive holds a living supervisor to its limits.
func (s *session) sweepLive(path string, f *flight, st *sidecar.Status, now time.Time) {
	switch {
	case st == nil || st.Claim == f.stale:
	case st.Stage == sidecar.StageInit:
		s.onInit(path, f, st)
	case st.Stage == sidecar.StageStart:
		s.onStart(f, st)
		if now.After(f.endBy) {
			f.settling = true
			s.background(func() func() {
				err := s.kill(st)
				return func() {
					f.settling = false
					f.endBy = now.Add(netSlack)
					msg := f.d.ExecutionLabel + " did not end at its limit, or when it was asked to; it and its supervisor were ended"
					if err != nil {
						msg = fmt.Sprintf("%s did not end at its limit, or when it was asked to, and could not be ended: %v", f.d.ExecutionLabel, err)
					}
					s.note(lead.Event{TS: s.env.Now(), Type: lead.Note, Round: f.d.Round, InvocationRef: f.d.InvocationRef, Message: msg})
				}
			})
		}
	case st.Stage.Terminal():
		s.settle(path, f, st)
	}
}

// kill ends a worker and its supervisor without being asked: the runner's net.
func (s *session) kill(st *sidecar.Status) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	left, err := proc.EndClaim(ctx, st.Claim, time.Second)
	if killed := proc.Signal(st.Supervisor, killSignal); killed != nil && !errors.Is(killed, proc.ErrGone) {
		err = errors.Join(err, killed)
	}
	if len(left) > 0 {
		return errors.Join(err, fmt.Errorf("%d processes are left", len(left)))
	}
	return err
}

// lost settles an attempt whose supervisor was killed, after ending what it
// left behind.
func (s *session) lost(path string, f *flight, j sidecar.Judgement) {
	f.settling = true
	st, grace := j.Status, f.d.Limits.Grace.D()
	s.background(func() func() {
		// Without its lock it looks dead and may live: it goes first, or it would
		// write down the end of what is ended here.
		unlocked := !j.OtherBoot && proc.Signal(st.Supervisor, killSignal) == nil
		left, err := proc.EndClaim(context.Background(), st.Claim, grace) // it ends by itself, after grace and patience
		return func() {
			s.forget(path)
			f.d.Claim = st.Claim
			s.started(f.d, st)
			detail := "the supervisor was killed; whatever carried its claim was ended"
			switch {
			case j.OtherBoot:
				detail = "the machine was started anew while it ran"
			case unlocked:
				detail = "its lock file was removed while it ran; it and its supervisor were ended"
			case err != nil:
				detail = fmt.Sprintf("the supervisor was killed; what of the worker is left is not known: %v", err)
			case len(left) > 0:
				detail = fmt.Sprintf("the supervisor was killed; %d processes of the worker could not be ended", len(left))
			}
			s.fail(f.d, plan.ReasonSupervisorLost, detail)
		}
	})
}

// vanished settles an attempt whose sidecar is gone after it was let go, once
// its worker and its supervisor have been ended.
func (s *session) vanished(path string, f *flight) {
	st := f.seen
	s.background(func() func() {
		// The supervisor first: it would write down the end of what is ended here.
		err := proc.Signal(st.Supervisor, killSignal)
		if errors.Is(err, proc.ErrGone) {
			err = nil
		}
		err = errors.Join(err, s.kill(st))
		return func() {
			if j, judged := sidecar.Judge(path, lockOf(path)); judged == nil && j.Verdict == sidecar.Terminal {
				f.settling = false
				s.settle(path, f, j.Status) // it had the last word all the same
				return
			}
			s.forget(path)
			f.d.Claim = st.Claim
			s.started(f.d, st)
			detail := "its status file was removed while it ran; it and its supervisor were ended"
			if err != nil {
				detail = fmt.Sprintf("its status file was removed while it ran, and it could not be ended: %v", err)
			}
			s.fail(f.d, plan.ReasonSupervisorLost, detail)
			s.closePanes([]*record.Dispatch{f.d})
		}
	})
}

// giveUp settles an attempt that never began.
func (s *session) giveUp(path string, f *flight, why string) {
	s.forget(path)
	if f.d.Detail != "" {
		why += " (" + f.d.Detail + ")"
	}
	s.fail(f.d, plan.ReasonNotStarted, why)
	s.closePanes([]*record.Dispatch{f.d})
}
