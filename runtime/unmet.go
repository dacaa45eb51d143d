package runtime

import (
	"fmt"
	"strings"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime/jobs"
	"github.com/okstra/okstra/runtime/record"
)

// What stands in the way of a lead's next batch, and the commands that clear it.

// waitsForRoundPlan is the outcome where the lead has to write a round plan.
func (s *session) waitsForRoundPlan(r *plan.Round, n int) *Outcome {
	out := s.outcome(4, fmt.Sprintf("Round %s waits for the lead's plan of convergence round %d.", r.Name, n), "okstra schema round-plan", s.next().apply())
	out.Waiting = s.run.RoundPlan(n)
	return out
}

// withoutRoundPlan refuses to begin a reverify round that is not planned.
func (s *session) withoutRoundPlan(r *plan.Round) error {
	if r.Convergence.Source == "lead" {
		return &Refusal{What: fmt.Sprintf("round %s has no round plan yet", r.Name),
			Remedy: fmt.Sprintf("the lead writes it, to %s; then %s takes it", s.run.RoundPlan(1), teamCommand("await", s.run))}
	}
	return &Refusal{What: fmt.Sprintf("round %s has no round plan yet", r.Name), Remedy: teamCommand("await", s.run) + " writes it"}
}

// cannotBegin refuses a round and says what stands in its way.
func (s *session) cannotBegin(r *plan.Round, why plan.Reason) error {
	what := fmt.Sprintf("round %s cannot begin: %s", r.Name, why)
	switch why {
	case plan.ReasonNotNeeded:
		return &Refusal{What: what + ": " + s.rejected, Remedy: "what is left is the report, if there is one: " + teamCommand("await", s.run) + " says how; the way forward is a new run"}
	case plan.ReasonUpstreamFailed:
		if commands := s.retries(); len(commands) > 0 {
			return &Refusal{What: what + ": " + s.failed(), Remedy: commands[0]}
		}
	}
	return &Refusal{What: what, Remedy: "finish the rounds before it: " + teamCommand("await", s.run)}
}

// retryOfWhom refuses a retry of nobody.
func (s *session) retryOfWhom() error {
	r := &Refusal{What: "a retry names its workers", Remedy: "give --workers with those that failed"}
	if commands := s.retries(); len(commands) > 0 {
		r.Remedy = commands[0]
	}
	return r
}

// goOn are the commands that go on with an unfinished run in which nothing
// waits.
func (s *session) goOn() []string {
	if s.manifest == nil {
		return []string{s.next().apply()}
	}
	return s.retries()
}

// retries are the commands that try the workers again without which a round
// cannot meet its require, a round each. Of a re-verification only the newest
// batch can be repaired.
func (s *session) retries() []string {
	var out []string
	for i := range s.plan.Rounds {
		r := &s.plan.Rounds[i]
		if !s.short(r) {
			continue
		}
		var keys []string
		for _, w := range r.Workers {
			if d := s.state.Latest(w.Key); ended(d) && (r.Kind != plan.RoundReverify || d.Batch == s.openReverify(r)) {
				keys = append(keys, w.Key)
			}
		}
		if len(keys) > 0 {
			out = append(out, teamCommand("dispatch", s.run, "--dispatch-kind", string(jobs.KindRetry), "--workers", strings.Join(keys, ",")))
		}
	}
	return out
}

// short tells whether a round cannot meet its require, or what waits for it
// cannot begin, unless a worker of it is tried again.
func (s *session) short(r *plan.Round) bool {
	lost, asked := 0, 0
	for _, w := range r.Workers {
		d := s.state.Latest(w.Key)
		if d == nil && r.Kind == plan.RoundReverify || d != nil && d.Reason == plan.ReasonConvergenceDisabled {
			continue
		}
		asked++
		if ended(d) {
			lost++
		}
	}
	return lost > 0 && (asked-lost < r.Require.Needed(asked) || jobs.Wanted(s.plan, r.Name, s.state.WorkerDispatches))
}

// ended tells whether an attempt ran and came to something else than completion.
func ended(d *record.Dispatch) bool {
	return d != nil && d.Status.Terminal() && d.Status != plan.StatusCompleted && d.Status != plan.StatusNotRun
}
