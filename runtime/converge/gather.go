package converge

import (
	"fmt"

	"github.com/okstra/okstra/lang/plan"
)

// Emitted gives the emit document of a completed worker, and false where it did
// not complete.
type Emitted func(workerKey string) ([]byte, bool, error)

// RoleCritic is the role of a worker that takes the critic's pass.
const RoleCritic = "critic"

// InputOf builds the input of a reverify round: the analysts are the workers of
// the rounds in its after whose duty emits findings.
func InputOf(run string, p *plan.Plan, r *plan.Round, emitted Emitted) (Input, error) {
	in := Input{Run: run, Round: r.Name}
	if r.Convergence != nil {
		in.Policy = *r.Convergence
	}
	analysts := map[string]bool{}
	for _, name := range r.After {
		before := p.Round(name)
		if before == nil {
			continue
		}
		for _, w := range before.Workers {
			if w.Emits != plan.EmitsFindings {
				continue
			}
			analysts[w.ParticipantRef] = true
			doc, ok, err := emitted(w.Key)
			if err != nil {
				return in, fmt.Errorf("findings of %s: %w", w.Key, err)
			}
			if !ok {
				continue
			}
			findings, err := ParseFindings(doc)
			if err != nil {
				return in, fmt.Errorf("findings of %s: %w", w.Key, err)
			}
			in.Sources = append(in.Sources, Source{Worker: w.Key, Participant: w.ParticipantRef, Doc: findings})
		}
	}
	in.Analysts = len(analysts)
	for _, w := range r.Workers {
		in.Judges = append(in.Judges, JudgeRef{Worker: w.Key, Participant: w.ParticipantRef, Critic: w.Role == RoleCritic})
	}
	return in, nil
}

// Result tells whether a reverify round met its require, and of how many judges
// that were asked how many completed: convergence has ended, and enough of them
// completed, each in the last round that asked it. A round in which nobody could
// be asked is met: its findings are kept as unverified. latest is false for a
// worker of which nothing is recorded; st is nil without a state artifact.
func Result(r *plan.Round, st *State, latest func(workerKey string) (plan.Status, plan.Reason, bool)) (met bool, completed, asked int) {
	for _, w := range r.Workers {
		status, reason, recorded := latest(w.Key)
		if !recorded || reason == plan.ReasonConvergenceDisabled {
			continue
		}
		asked++
		if status == plan.StatusCompleted {
			completed++
		}
	}
	met = st != nil && st.Stage == StageDone && (asked == 0 || completed >= r.Require.Needed(asked))
	return met, completed, asked
}

// AnswersTo reads the answers to a round plan. emitted is asked about that
// round's batch.
func AnswersTo(p *RoundPlan, emitted Emitted) ([]Answer, error) {
	var out []Answer
	for _, worker := range p.Workers() {
		doc, ok, err := emitted(worker)
		if err != nil {
			return nil, fmt.Errorf("verdicts of %s: %w", worker, err)
		}
		if !ok {
			out = append(out, Answer{Worker: worker})
			continue
		}
		verdicts, err := ParseVerdicts(doc)
		if err != nil {
			return nil, fmt.Errorf("verdicts of %s: %w", worker, err)
		}
		out = append(out, Answer{Worker: worker, Doc: verdicts})
	}
	return out, nil
}
