package converge

import (
	"strings"
	"testing"

	"github.com/okstra/okstra/lang/plan"
)

// A critic's candidates are judged after other rounds, but nobody has judged
// them: the prompt must not say so.
func TestPromptOfCandidatesKnowsThatNobodyJudgedThem(t *testing.T) {
	p := policy(1)
	p.Critic = true
	s := Start(three(p))
	s = s.Judge(s.Next(), []Answer{says("ada", bert1+"=agree"), says("bert", ada1+"=agree", ada2+"=agree"), says("cleo", ada1+"=agree", ada2+"=agree", bert1+"=agree")})
	critics := s.Next()
	s = s.Judge(critics, []Answer{{Worker: critics.Judges[0].Worker, Doc: &Verdicts{Format: VerdictsFormat, Candidates: []Finding{finding("C1", Major)}}}})
	next := s.Next()
	if next == nil || next.Critic || next.Number != 3 {
		t.Fatalf("no round for the candidates: %+v", next)
	}
	text := Prompt(next, "cross.check.bert")
	if !strings.Contains(text, "/C1") || strings.Contains(text, "contested") && strings.Contains(text, "earlier round") {
		t.Errorf("prompt:\n%s", text)
	}
}

func TestPromptTellsWhatWasNotSaid(t *testing.T) {
	s := Start(three(policy(2)))
	s = s.Judge(s.Next(), []Answer{says("bert", ada1+"=agree"), silent("cleo"), silent("ada")})
	text := Prompt(s.Next(), "cross.check.bert")
	if !strings.Contains(text, "In round 1 cross.check.cleo gave no verdict.") || strings.Contains(text, "**missing**") {
		t.Errorf("prompt:\n%s", text)
	}
	if !strings.Contains(text, "contested there") {
		t.Errorf("nothing of the round before:\n%s", text)
	}
}

func TestWhyFitsTheNumberOfJudges(t *testing.T) {
	in := three(policy(1))
	in.Judges = in.Judges[2:]
	s := Start(in)
	s = s.Judge(s.Next(), []Answer{says("cleo", ada1+"=supplement", bert1+"=agree")})
	for id, want := range map[string]string{
		ada1: "the one judge neither agreed nor disagreed in round 1 (1 supplement)",
		ada2: "no judge gave a verdict in round 1 (1 missing)",
	} {
		if got := s.finding(id).Why; !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
}

func TestRoundPlanOfALeadIsReadStrictly(t *testing.T) {
	tests := []struct{ name, doc, want string }{
		{"empty", " \n", "empty"},
		{"cut off", "{\"format\": \"okstra.round-plan/1\",\n \"number\"", "line 2, column 10"},
		{"not JSON", "{\n  judges: 1}", "line 2, column 3"},
		{"another kind", `{"format":"okstra.round-plan/1","number":"one"}`, "line 1, column"},
		{"a key beside", `{"format":"okstra.round-plan/1","number":1,"judge":[],"judges":[]}`, "/judge: is unknown; there are format"},
		{"a key of a judge", `{"format":"okstra.round-plan/1","number":1,"judges":[{"worker":"w","finding":["f"]}]}`, "/judges/0/finding: is unknown; there are worker, findings"},
		{"something after", `{"format":"okstra.round-plan/1","number":1} x`, "follows"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := ParseRoundPlan([]byte(tt.doc)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v lacks %q", err, tt.want)
			}
		})
	}
}

func TestResult(t *testing.T) {
	type row struct {
		status plan.Status
		reason plan.Reason
	}
	done, going := &State{Stage: StageDone}, &State{Stage: StageJudging}
	disabled := row{plan.StatusNotRun, plan.ReasonConvergenceDisabled}
	tests := []struct {
		name             string
		state            *State
		require          plan.Require
		rows             map[string]row
		met              bool
		completed, asked int
	}{
		{"no state", nil, plan.Require{All: true}, nil, false, 0, 0},
		{"goes on", going, plan.Require{All: true}, map[string]row{"a": {plan.StatusCompleted, ""}}, false, 1, 1},
		{"all", done, plan.Require{All: true}, map[string]row{"a": {plan.StatusCompleted, ""}, "b": {plan.StatusError, plan.ReasonSignal}}, false, 1, 2},
		{"one is enough", done, plan.Require{Count: 1}, map[string]row{"a": {plan.StatusCompleted, ""}, "b": {plan.StatusError, plan.ReasonSignal}}, true, 1, 2},
		{"disabled, though one is required", done, plan.Require{Count: 1}, map[string]row{"a": disabled, "b": disabled}, true, 0, 0},
		{"not asked", done, plan.Require{All: true}, map[string]row{"a": {plan.StatusCompleted, ""}}, true, 1, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &plan.Round{Require: tt.require, Workers: []plan.Worker{{Key: "a"}, {Key: "b"}}}
			met, completed, asked := Result(r, tt.state, func(key string) (plan.Status, plan.Reason, bool) {
				one, ok := tt.rows[key]
				return one.status, one.reason, ok
			})
			if met != tt.met || completed != tt.completed || asked != tt.asked {
				t.Errorf("%t %d/%d", met, completed, asked)
			}
		})
	}
}
