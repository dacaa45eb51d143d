package lead

import (
	"fmt"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/converge"
	"github.com/okstra/okstra/runtime/record"
)

// ReportOf gathers the final report's facts from the record. emitted gives the
// emit document of a completed worker; conv is nil without a reverify round.
func ReportOf(run paths.Run, p *plan.Plan, st *record.State, narrative string, conv *converge.State, emitted converge.Emitted) (Report, error) {
	r := Report{Run: run, Narrative: narrative, Convergence: conv, LeadUsage: st.LeadUsage}
	for _, round := range p.Rounds {
		for _, w := range round.Workers {
			one := reportWorker(&w, st)
			if round.Kind == plan.RoundReverify && one.Status == plan.StatusPlanned {
				// It is over, and nobody asked it.
				one.Status, one.Reason = plan.StatusNotRun, plan.ReasonNotNeeded
			}
			r.Workers = append(r.Workers, one)
			if w.Emits != plan.EmitsVerdict {
				continue
			}
			doc, ok, err := emitted(w.Key)
			if err != nil {
				return r, fmt.Errorf("verdict of %s: %w", w.Key, err)
			}
			if !ok {
				continue
			}
			verdict, err := converge.ParseWorkVerdict(doc)
			if err != nil {
				return r, fmt.Errorf("verdict of %s: %w", w.Key, err)
			}
			r.Verdicts = append(r.Verdicts, ReportVerdict{Worker: w.Key, Doc: verdict})
		}
	}
	return r, nil
}

// reportWorker sums up every invocation of a worker, superseded ones included:
// they were paid for.
func reportWorker(w *plan.Worker, st *record.State) ReportWorker {
	out := ReportWorker{Key: w.Key, Role: w.Role, Provider: w.Provider, Model: w.Model, Status: plan.StatusPlanned}
	for _, d := range st.WorkerDispatches {
		if d.WorkerKey != w.Key {
			continue
		}
		if d.Superseded == "" {
			out.Status, out.Reason = d.Status, d.Reason
		}
		if d.StartedAt == nil {
			continue // it never ran
		}
		out.Attempts++
		out.Usage = append(out.Usage, d.Usage)
		if d.FinishedAt != nil {
			out.Duration += d.FinishedAt.Sub(*d.StartedAt)
		}
	}
	return out
}
