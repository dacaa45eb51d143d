package runtime

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime/converge"
	"github.com/okstra/okstra/runtime/durable"
	"github.com/okstra/okstra/runtime/lead"
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
	narrative, err := s.artifact(d, "result", attemptFiles(s.run, w, d.Batch, d.Attempt).Result())
	if err != nil {
		return err
	}
	conv, err := s.convergenceState()
	if err != nil {
		return err
	}
	in, err := lead.ReportOf(s.run, s.plan, s.state, string(narrative), conv, s.emitted(""))
	if err != nil {
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
		s.end(d, plan.StatusError, plan.ReasonInvalidResult, strings.Join(problems, "; "), nil)
	}
	return nil
}

// weighVerdicts notes that a verifier of this round blocks the work, which ends
// the run: only the report is still written.
func (s *session) weighVerdicts(r *plan.Round) error {
	for i := range r.Workers {
		w := &r.Workers[i]
		if w.Emits != plan.EmitsVerdict || s.rejected != "" {
			continue
		}
		doc, ok, err := s.emitted("")(w.Key)
		if err != nil {
			return fmt.Errorf("verdict of %s: %w", w.Key, err)
		}
		if !ok {
			continue
		}
		v, err := converge.ParseWorkVerdict(doc)
		if err != nil {
			return fmt.Errorf("verdict of %s: %w", w.Key, err)
		}
		if v.Verdict != converge.Blocked {
			continue
		}
		var titles []string
		for _, b := range v.Blockers {
			titles = append(titles, b.Title)
		}
		s.rejected = fmt.Sprintf("%s blocks the work: %s", w.Label, strings.Join(titles, "; "))
	}
	return nil
}
