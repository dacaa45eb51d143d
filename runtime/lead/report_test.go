package lead

import (
	"strings"
	"testing"
	"time"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime/converge"
	"github.com/okstra/okstra/runtime/record"
)

func usd(v float64) *float64 { return &v }

func fullReport() Report {
	return Report{
		Run:       runOf("/srv/shop"),
		Narrative: "# Report\n\nVerdict: blocked\n",
		Convergence: &converge.State{
			Ended: converge.MaxRounds, Why: "max_rounds (2) is reached", Rounds: make([]converge.RoundOutcome, 2),
			Findings: []converge.FindingState{
				{Finding: "a/F1", Title: "rejected one", Severity: converge.Critical, Outcome: converge.Rejected, Why: "no"},
				{Finding: "a/F2", Title: "minor | one", Severity: converge.Minor, Location: "a.go:3", Outcome: converge.Confirmed, Why: "yes"},
				{Finding: "b/F1", Title: "critical one", Severity: converge.Critical, Outcome: converge.Confirmed, Why: "yes\nyes"},
				{Finding: "b/F2", Title: "open", Severity: converge.Info, Outcome: converge.Contested, Why: "both"},
			},
		},
		Verdicts: []ReportVerdict{{"check.verify.bert", &converge.WorkVerdict{
			Verdict: converge.Blocked, Blockers: []converge.Blocker{{Title: "tests fail", Detail: "two of them"}}, Routing: "implementation",
		}}},
		Workers: []ReportWorker{
			{Key: "write.do.ada", Role: "executor", Provider: "claude", Model: "opus", Status: plan.StatusCompleted, Attempts: 2, Duration: 90 * time.Second,
				Usage: []*plan.Usage{{Source: "claude-result", InputTokens: 10, OutputTokens: 5, USD: usd(0.5)}, {Source: "claude-result", InputTokens: 1, OutputTokens: 1, ReasoningTokens: 1, USD: usd(0.25)}}},
			{Key: "check.verify.bert", Role: "verifier", Provider: "codex", Status: plan.StatusTimeout, Reason: plan.ReasonWallLimit, Attempts: 1, Usage: []*plan.Usage{nil}},
			{Key: "check.verify.cleo", Role: "verifier", Provider: "gemini", Status: plan.StatusNotRun, Reason: plan.ReasonNotNeeded},
		},
		LeadUsage: &plan.Usage{Source: plan.UsageUnavailable},
	}
}

func TestReport(t *testing.T) {
	text, problems := RenderReport(fullReport())
	if len(problems) > 0 {
		t.Error(problems)
	}
	golden(t, "report.md", text)
}

func TestReportMarkers(t *testing.T) {
	r := fullReport()
	r.Narrative = "# R\n\n" + MarkUsage + "\n\nthen\n\n" + MarkFindings + "\n"
	text, _ := RenderReport(r)
	for _, mark := range []string{MarkUsage, MarkFindings} {
		if strings.Contains(text, mark) {
			t.Errorf("%s is left", mark)
		}
	}
	if strings.Contains(text, "## Usage") || !strings.Contains(text, "## Verdict") {
		t.Errorf("parts are in the wrong place:\n%s", text)
	}
	r = Report{Narrative: "x " + MarkFindings}
	if text, _ := RenderReport(r); !strings.Contains(text, "x (none)") {
		t.Errorf("a marker without its part:\n%s", text)
	}
}

func TestReportVerdicts(t *testing.T) {
	verdict := func(token converge.Token, blockers ...converge.Blocker) ReportVerdict {
		return ReportVerdict{"v", &converge.WorkVerdict{Verdict: token, Blockers: blockers}}
	}
	critical := &converge.State{Findings: []converge.FindingState{{Finding: "a/F1", Title: "hole", Severity: converge.Critical, Outcome: converge.Confirmed}}}
	blocker := converge.Blocker{Title: "t", Detail: "d"}
	tests := []struct {
		name   string
		report Report
		want   string // the token in the report
		wrong  string // part of the problem; empty: none
	}{
		{"nobody gave one", Report{Narrative: "# R"}, "", ""},
		{"accepted", Report{Verdicts: []ReportVerdict{verdict(converge.Accepted)}}, "accepted", ""},
		{"the worst counts", Report{Verdicts: []ReportVerdict{verdict(converge.Accepted), verdict(converge.Blocked, blocker)}}, "blocked", ""},
		{"accepted with a confirmed critical finding", Report{Verdicts: []ReportVerdict{verdict(converge.Accepted)}, Convergence: critical}, "accepted", "zero confirmed blockers; there are 1: hole (a/F1)"},
		{"conditional with it", Report{Verdicts: []ReportVerdict{verdict(converge.ConditionalAccept, blocker)}, Convergence: critical}, "conditional-accept", ""},
		{"the narrative is better than the verifiers", Report{Narrative: "**Verdict**: `accepted`", Verdicts: []ReportVerdict{verdict(converge.Blocked, blocker)}}, "blocked", "says accepted where the verifiers say blocked"},
		{"the narrative is worse", Report{Narrative: "- Verdict: blocked", Verdicts: []ReportVerdict{verdict(converge.Accepted)}}, "accepted", ""},
		{"the narrative alone", Report{Narrative: "Verdict: conditional-accept"}, "conditional-accept", ""},
		{"the narrative alone, with a blocker", Report{Narrative: "Verdict: accepted", Convergence: critical}, "accepted", "zero confirmed blockers"},
		{"no token", Report{Narrative: "> Verdict: excellent"}, "", `"excellent", which is none of`},
		{"two verdicts", Report{Narrative: "Verdict: conditional-accept\n\nVerdict: accepted"}, "conditional-accept", "the narrative gives 2 verdicts: accepted, conditional-accept"},
		{"two verdicts, the worse last", Report{Narrative: "Verdict: conditional-accept\n\nVerdict: blocked"}, "blocked", "gives 2 verdicts"},
		{"the same twice", Report{Narrative: "Verdict: blocked\n\n**Verdict: blocked**"}, "blocked", ""},
		{"in a code block", Report{Narrative: "```\nVerdict: excellent\n``` x\n````\n\nVerdict: blocked\n~~~text\nVerdict: accepted\n"}, "blocked", ""},
		{"a verdict in a sentence", Report{Narrative: "The verdict was hard to reach."}, "", ""},
		{"an unknown token of a verifier", Report{Verdicts: []ReportVerdict{verdict("fine")}}, "", `gave the verdict "fine"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, problems := RenderReport(tt.report)
			if tt.want != "" && !strings.Contains(text, "## Verdict\n\n**"+tt.want+"**") {
				t.Errorf("lacks the token %q:\n%s", tt.want, text)
			}
			if tt.want == "" && strings.Contains(text, "\n**") {
				t.Errorf("has a token:\n%s", text)
			}
			if all := strings.Join(problems, "\n"); (tt.wrong == "") != (all == "") || !strings.Contains(all, tt.wrong) {
				t.Errorf("problems %q, want %q", all, tt.wrong)
			}
		})
	}
}

func TestReportOf(t *testing.T) {
	p := reviewPlan("/srv/shop")
	p.Rounds[1].Workers[0].Emits = plan.EmitsVerdict
	key := p.Rounds[1].Workers[0].Key
	start, end := when, when.Add(3*time.Second)
	st := &record.State{WorkerDispatches: []*record.Dispatch{
		{WorkerKey: key, Status: plan.StatusError, Reason: plan.ReasonAuth, StartedAt: &start, FinishedAt: &end, Usage: &plan.Usage{InputTokens: 1}},
		{WorkerKey: key, Status: plan.StatusCompleted, StartedAt: &start, FinishedAt: &end, Usage: &plan.Usage{InputTokens: 2}},
	}}
	emitted := func(worker string) ([]byte, bool, error) {
		return []byte(`{"format":"okstra.verdict/1","verdict":"accepted","blockers":[]}`), worker == key, nil
	}
	r, err := ReportOf(runOf("/srv/shop"), p, st, "n", nil, emitted)
	if err != nil {
		t.Fatal(err)
	}
	w := r.Workers[1]
	if w.Attempts != 2 || w.Duration != 6*time.Second || w.Status != plan.StatusCompleted || len(w.Usage) != 2 {
		t.Errorf("%+v", w)
	}
	if len(r.Verdicts) != 1 || r.Verdicts[0].Doc.Verdict != converge.Accepted || len(r.Workers) != 5 {
		t.Errorf("%+v", r)
	}
}
