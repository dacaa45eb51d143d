package runtime

import (
	"context"
	"fmt"
	"time"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime/lead"
)

// announceEvery is the shortest time between two announcements of a session.
const announceEvery = time.Second

// announceLast is how long the end of a session waits for its last word to be
// shown.
const announceLast = 3 * time.Second

// announcer shows where a run stands outside its panes. It works beside the
// session: only the newest word counts, what cannot be shown is dropped, and
// nothing waits for it but, for a moment, the end of the session.
type announcer struct {
	backend backends.Announcer
	newest  chan backends.Notice // holds one
	ending  chan struct{}        // closed when nothing more is said
	ended   chan struct{}        // closed when everything was shown
	cancel  context.CancelFunc
	said    backends.Notice
}

func newAnnouncer(b backends.Announcer) *announcer {
	ctx, cancel := context.WithCancel(context.Background())
	a := &announcer{backend: b, newest: make(chan backends.Notice, 1), ending: make(chan struct{}), ended: make(chan struct{}), cancel: cancel}
	go a.show(ctx)
	return a
}

// say replaces what was not shown yet. It is called by the owner of the session
// alone, and never waits.
func (a *announcer) say(n backends.Notice) {
	if n == a.said && !n.Alert {
		return
	}
	a.said = n
	select {
	case old := <-a.newest:
		// Nobody has heard of it so far.
		n.Alert = n.Alert || old.Alert
	default:
	}
	a.newest <- n
}

func (a *announcer) show(ctx context.Context) {
	defer close(a.ended)
	for n := range a.newest {
		call, cancel := context.WithTimeout(ctx, backends.CallTimeout)
		// A courtesy: the run does not depend on it, and its log says the same.
		_ = a.backend.Announce(call, n)
		cancel()
		select {
		case <-time.After(announceEvery):
		case <-a.ending:
		}
	}
}

// close lets the last word be shown, or gives it up.
func (a *announcer) close() {
	close(a.newest)
	close(a.ending)
	select {
	case <-a.ended:
	case <-time.After(announceLast):
	}
	a.cancel()
}

// announce shows what committed events change, where the backend can.
func (s *session) announce(events []lead.Event) {
	b, can := s.backend.(backends.Announcer)
	if !can {
		return
	}
	n, worth := s.notice(events)
	if !worth {
		return
	}
	if s.announcer == nil {
		s.announcer = newAnnouncer(b)
	}
	s.announcer.say(n)
}

// retract takes the run's entry away: its panes are closed.
func (s *session) retract() {
	s.announce([]lead.Event{{Type: lead.RunStopped, Message: "the panes of the run are closed"}})
}

// notice is where the run stands after these events. A person is wanted when a
// gate waits, when a round did not meet its require or the budget is exhausted,
// since the run goes no further then, and when the run is finished.
func (s *session) notice(events []lead.Event) (n backends.Notice, worth bool) {
	n = backends.Notice{Run: s.entry(), Level: "info"}
	failed, running := s.count(&n)
	n.Text = fmt.Sprintf("%d of %d completed", n.Done-failed, n.Total)
	if failed > 0 {
		n.Level = "warning"
		n.Text += fmt.Sprintf(", %d failed", failed)
	}
	if running > 0 {
		n.Text += fmt.Sprintf(", %d running", running)
	}
	for _, e := range events {
		switch e.Type {
		case lead.RoundBegun, lead.WorkerStarted, lead.WorkerSettled:
			worth = true
			continue
		case lead.RoundEnded:
			if e.Data[lead.DataResult] != "unmet" {
				continue
			}
			n.Level, n.Alert = "error", true
		case lead.BudgetExhausted, lead.GateWaiting:
			n.Level, n.Alert = "warning", true
		case lead.RunEnded:
			n.Level, n.Alert, n.Ended = "success", true, true
			if s.state.Ended != "completed" {
				n.Level = "error"
			}
		case lead.RunStopped:
			n.Ended = true
		case lead.Detached:
		default:
			continue
		}
		worth = true
		n.Text = e.Message
	}
	return n, worth
}

// entry names the run as people write it.
func (s *session) entry() string { return fmt.Sprintf("%s@%03d", s.state.RunName, s.run.Seq) }

// count fills in how many workers of the plan ended and how many there are, and
// returns how many failed and how many run.
func (s *session) count(n *backends.Notice) (failed, running int) {
	for _, r := range s.plan.Rounds {
		for _, w := range r.Workers {
			n.Total++
			d := s.state.Latest(w.Key)
			switch {
			case d == nil:
			case d.Status == plan.StatusRunning:
				running++
			case d.Status.Terminal():
				n.Done++
				if d.Status != plan.StatusCompleted {
					failed++
				}
			}
		}
	}
	return failed, running
}
