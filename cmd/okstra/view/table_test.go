package view

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/okstra/okstra/lang"
	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime"
)

const longKey = "look.find-defects-everywhere.ann-with-a-rather-long-name-0123abcd"

// longViews are the results with tables, full of what is long.
func longViews() map[string]func(v *View) error {
	status := func() *runtime.RunStatus {
		s := testStatus()
		s.Driven = false
		s.Workers[0].WorkerKey = longKey
		s.Workers[0].Detail = "a detail that is longer than the room which is left for it in any table on a screen of 80 columns"
		s.Leftovers = []string{"pane %7 of a server that has gone away and left everything behind that it held before"}
		return s
	}
	return map[string]func(v *View) error{
		"status": func(v *View) error { return v.Status(status(), nil, at) },
		"runs":   func(v *View) error { return v.Runs([]runtime.RunStatus{*status(), *status()}) },
		"outcome": func(v *View) error {
			return v.Outcome(&runtime.Outcome{Summary: "It did not complete: " + longKey + " error/no-result, and that is all there is to say of it."}, status(), at)
		},
		"plan": func(v *View) error {
			p := testPlan()
			p.Rounds[0].Workers[1].Key, p.Difference.Workers[1].Key = longKey, longKey
			p.Difference.Workers[2].Why = "waits for the gate of round analysis, which nobody has answered until now"
			p.Observed.Backends[1].Found = "tmux 3.4 at /usr/bin/tmux and much more that was found of it in this place"
			p.Difference.Summary = "Run 002 is unfinished; apply goes on with it, and this is a long sentence for one line."
			return v.Plan(p)
		},
		"explain": func(v *View) error {
			w := testWorker("analysis", "find-defects-everywhere", "ann-with-a-rather-long-name", "claude-analyst")
			w.Program.Path = "/a/very/long/path/that/goes/on/beyond/any/width/of/a/column/claude"
			return v.Explain(Explanation{Worker: &w, Round: "analysis", Action: &plan.WorkerAction{Action: plan.ActionRedo, Why: "the instructions and the model have changed since"}})
		},
		"usage": func(v *View) error {
			row := runtime.UsageRow{Name: longKey, Attempt: 1, Usage: &plan.Usage{Source: "claude-result", InputTokens: 1234567, OutputTokens: 2345678, USD: ptr(12.5)}, Unknown: 2}
			return v.Usage(&runtime.UsageReport{Workers: []runtime.UsageRow{row}, Total: row})
		},
		"dispatched": func(v *View) error {
			return v.Dispatched(&runtime.DispatchReport{Workers: []runtime.Dispatched{{WorkerKey: longKey, Label: "claude-analyst", InvocationRef: longKey + "@look#1", Status: plan.StatusRunning, PaneID: "%3"}}})
		},
		"list": func(v *View) error {
			return v.List([]lang.RunInfo{{Name: "implementation", Description: strings.Repeat("It says what it does. ", 6), TaskType: "implementation-planning", Rounds: []string{"look", "cross-check", "report", "publish"}}})
		},
		"doctor": func(v *View) error {
			return v.Doctor([]Finding{{Area: "not used", Name: "house-claude", State: StateAttention, Found: "house 4.2 at /opt/a/long/place/for/programs/bin/house; it is not signed in", Do: "sign in by hand, once, and try it again"}}, "okstra works here.")
		},
		"problem": func(v *View) error { return v.Problem(Problem{Error: strings.Repeat("it went wrong ", 12)}) },
		"progress": func(v *View) error {
			p := v.Progress()
			p.Event(runtime.Event{Time: at, Type: "gate", Round: "report", Message: strings.Repeat("waits for a person ", 8)})
			return p.Err
		},
	}
}

// TestFits: on a terminal, and where COLUMNS tells the width, no line of a
// result is wider; elsewhere nothing is cut.
func TestFits(t *testing.T) {
	for name, show := range longViews() {
		for _, width := range []int{60, 80, 200} {
			t.Run(fmt.Sprintf("%s/%d", name, width), func(t *testing.T) {
				var b bytes.Buffer
				columnsSet := func(name string) string {
					return map[string]string{"COLUMNS": fmt.Sprint(width)}[name]
				}
				v := &View{Out: NewStream(&b, ColorNever, columnsSet), Err: NewStream(&b, ColorNever, columnsSet), Dir: "/project"}
				if err := show(v); err != nil {
					t.Fatal(err)
				}
				for l := range strings.SplitSeq(b.String(), "\n") {
					// A single word stays whole where it stands in prose.
					if n := columns(l); n > width && strings.Contains(strings.TrimSpace(l), " ") {
						t.Errorf("%d columns: %s", n, l)
					}
				}
			})
		}
		t.Run(name+"/pipe", func(t *testing.T) {
			var b bytes.Buffer
			none := func(string) string { return "" }
			if err := show(&View{Out: NewStream(&b, ColorNever, none), Err: NewStream(&b, ColorNever, none), Dir: "/project"}); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(b.String(), "…") {
				t.Errorf("cut without a screen:\n%s", b.String())
			}
		})
	}
}

// TestTable: columns give way in their order, and keys last.
func TestTable(t *testing.T) {
	rows := [][]span{
		heads("KEY", "LABEL", "STATUS", "NOTE"),
		{{plain, "round.duty.one-0001"}, {plain, "codex"}, {plain, "error"}, {plain, ""}},
		{{plain, "round.duty.two"}, {plain, "claude"}, {plain, "a longer status"}, {plain, ""}},
	}
	steps := []give{leaveOut(1), breakLines(2, 8), cutKey(0, 12)}
	for width, want := range map[int][]string{
		0:  {"KEY                  LABEL   STATUS           NOTE", "round.duty.one-0001  codex   error", "round.duty.two       claude  a longer status"},
		46: {"KEY                  LABEL   STATUS", "round.duty.one-0001  codex   error", "round.duty.two       claude  a longer status"},
		38: {"KEY                  STATUS", "round.duty.one-0001  error", "round.duty.two       a longer status"},
		30: {"KEY                  STATUS", "round.duty.one-0001  error", "round.duty.two       a longer", "                     status"},
		24: {"KEY             STATUS", "round.d…e-0001  error", "round.duty.two  a longer", "                status"},
	} {
		var got []string
		for _, l := range (screen{width, width > 0}).table(rows, "", steps...) {
			got = append(got, l.render(false))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d columns:\n%s", width, diff)
		}
	}
}

// TestFolded: styles and gaps survive, and a word that spans styles stays one.
func TestFolded(t *testing.T) {
	l := line{{plain, "  round look  "}, {good, "met"}, {faint, "  2 of 2 completed, gate "}, {plain, "app"}, {bad, "roved"}}
	var got []string
	for _, l := range (screen{30, true}).folds(l) {
		got = append(got, l.render(true))
	}
	want := []string{"  round look  \x1b[32mmet\x1b[m  \x1b[2m2 of 2\x1b[m", "    \x1b[2mcompleted, gate\x1b[m app\x1b[1;31mroved\x1b[m"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := (screen{30, false}).folds(l); len(got) != 1 {
		t.Errorf("folded without a screen: %v", got)
	}
}

// TestNoChoices: a plan lists the choices of a gate only while it waits for it.
func TestNoChoices(t *testing.T) {
	text := func(wait string) string {
		var b bytes.Buffer
		p := testPlan()
		p.Difference.Rounds[0].Wait = wait
		if err := newView(&b, &b, faces[0]).Plan(p); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for wait, want := range map[string]bool{"gate: Read first.": true, "": false, "the lead's round plan": false} {
		if got := strings.Contains(text(wait), "choices: short, long"); got != want {
			t.Errorf("waits for %q: choices are listed: %v", wait, got)
		}
	}
}

// TestBeginning: every round begins with the same words.
func TestBeginning(t *testing.T) {
	for _, tt := range []struct{ round, message, want string }{
		{"look", "beginning round look", "beginning round look"},
		{"report", "beginning report-writer", "beginning round report"},
		{"check", "beginning reverify-r2", "beginning round check, reverify-r2"},
	} {
		l := eventLine(runtime.Event{Time: time.Unix(0, 0), Type: "round-begun", Round: tt.round, Message: tt.message})
		if got := l[1:].render(false); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// TestWaitingRound: the gate is found by what the run says that it waits for.
func TestWaitingRound(t *testing.T) {
	p := testPlan()
	for waiting, want := range map[string]string{
		"approval of round report": "report", "approval of round report: Read: first.": "report",
		"approval of round analysis": "", "/project/round-plan.json": "", "": "",
	} {
		got := ""
		if r := WaitingRound(p, waiting); r != nil {
			got = r.Name
		}
		if got != want {
			t.Errorf("%q: round %q, want %q", waiting, got, want)
		}
	}
}
