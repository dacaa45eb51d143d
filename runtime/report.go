package runtime

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime/converge"
	"github.com/okstra/okstra/runtime/durable"
	"github.com/okstra/okstra/runtime/lead"
	"github.com/okstra/okstra/runtime/record"
)

// report makes the final report from what the report-writer authored and from
// the facts that it must not write itself. A verdict that the facts do not
// allow makes the writer's result invalid.
func (s *session) report(r *plan.Round) error {
	if len(r.Workers) != 1 {
		return nil // the language has refused it
	}
	w := &r.Workers[0]
	d := s.state.Latest(w.Key)
	if d == nil || d.Status != plan.StatusCompleted {
		return nil
	}
	narrative, err := os.ReadFile(attemptFiles(s.run, w, d.Batch, d.Attempt).Result())
	if err != nil {
		return fmt.Errorf("read narrative: %w", err)
	}
	in := lead.Report{Run: s.run, Narrative: string(narrative), Workers: s.reportWorkers(), LeadUsage: s.state.LeadUsage}
	if in.Convergence, err = s.convergenceState(); err != nil {
		return err
	}
	if in.Verdicts, err = s.reportVerdicts(); err != nil {
		return err
	}
	text, problems := lead.RenderReport(in)
	if err := durable.MkdirAll(filepath.Dir(s.run.FinalReport())); err != nil {
		return err
	}
	if err := durable.WriteFile(s.run.FinalReport(), []byte(text), 0o600); err != nil {
		return err
	}
	if len(problems) > 0 {
		d.Status, d.Reason, d.Detail = plan.StatusError, plan.ReasonInvalidResult, strings.Join(problems, "; ")
		s.state.Round(r.Name).Result = "unmet"
		s.note(lead.Event{TS: s.env.Now(), Type: lead.Note, Phase: lead.PhaseReport, Round: r.Name, InvocationRef: d.InvocationRef,
			Message: "the report is not valid: " + strings.Join(problems, "; ")})
	}
	return nil
}

func (s *session) reportWorkers() []lead.ReportWorker {
	var out []lead.ReportWorker
	for _, r := range s.plan.Rounds {
		for _, w := range r.Workers {
			row := lead.ReportWorker{Key: w.Key, Role: w.Role, Provider: w.Provider, Model: w.Model, Status: plan.StatusPlanned}
			for _, d := range s.state.WorkerDispatches {
				if d.WorkerKey != w.Key {
					continue
				}
				if d.Superseded == "" {
					row.Status, row.Reason = d.Status, d.Reason
				}
				if d.StartedAt == nil {
					continue
				}
				row.Attempts++
				row.Usage = append(row.Usage, d.Usage)
				if d.FinishedAt != nil {
					row.Duration += d.FinishedAt.Sub(*d.StartedAt)
				}
			}
			out = append(out, row)
		}
	}
	return out
}

func (s *session) reportVerdicts() ([]lead.ReportVerdict, error) {
	var out []lead.ReportVerdict
	err := s.eachVerdict(func(_ *plan.Round, d *record.Dispatch, v *converge.WorkVerdict) {
		out = append(out, lead.ReportVerdict{Worker: d.WorkerKey, Doc: v})
	})
	return out, err
}

// eachVerdict reads the verdict of every completed worker that emits one.
func (s *session) eachVerdict(f func(*plan.Round, *record.Dispatch, *converge.WorkVerdict)) error {
	for i := range s.plan.Rounds {
		r := &s.plan.Rounds[i]
		for j := range r.Workers {
			w := &r.Workers[j]
			d := s.state.Latest(w.Key)
			if w.Emits != plan.EmitsVerdict || d == nil || d.Status != plan.StatusCompleted {
				continue
			}
			path := attemptFiles(s.run, w, d.Batch, d.Attempt).Emit()
			b, err := os.ReadFile(path)
			if err != nil {
				return fmt.Errorf("read verdict: %w", err)
			}
			v, err := converge.ParseWorkVerdict(b)
			if err != nil {
				return fmt.Errorf("verdict %s: %w", path, err)
			}
			f(r, d, v)
		}
	}
	return nil
}

// weighVerdicts notes that a verifier of this round blocks the work, which ends
// the run: only the report is still written.
func (s *session) weighVerdicts(round *plan.Round) error {
	return s.eachVerdict(func(r *plan.Round, d *record.Dispatch, v *converge.WorkVerdict) {
		if r != round || v.Verdict != converge.Blocked || s.rejected != "" {
			return
		}
		var titles []string
		for _, b := range v.Blockers {
			titles = append(titles, b.Title)
		}
		s.rejected = fmt.Sprintf("%s blocks the work: %s", d.ExecutionLabel, strings.Join(titles, "; "))
	})
}
