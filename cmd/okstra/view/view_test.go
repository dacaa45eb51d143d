package view

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"

	"github.com/okstra/okstra/lang"
	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime"
	"github.com/okstra/okstra/runtime/record"
	"github.com/okstra/okstra/runtime/sidecar"
)

// golden compares with testdata/NAME; OKSTRA_UPDATE=1 writes it anew.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("OKSTRA_UPDATE") == "1" {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs; OKSTRA_UPDATE=1 takes what is seen:\n%s", path, diff)
	}
}

// face is one way to look at a result.
type face struct {
	name  string
	json  bool
	color ColorMode
}

var faces = []face{{"txt", false, ColorNever}, {"color.txt", false, ColorAlways}, {"json", true, ColorNever}}

// each shows a result in every face and compares stdout, then stderr.
func each(t *testing.T, name string, show func(v *View) error) {
	t.Helper()
	for _, f := range faces {
		var out, errOut bytes.Buffer
		v := newView(&out, &errOut, f)
		if err := show(v); err != nil {
			t.Fatal(err)
		}
		if f.json {
			if errOut.Len() > 0 {
				t.Errorf("%s: with JSON, standard error says %q", name, errOut.String())
			}
			for dec := json.NewDecoder(bytes.NewReader(out.Bytes())); dec.More(); {
				var doc any
				if err := dec.Decode(&doc); err != nil {
					t.Fatalf("%s: not JSON: %v", name, err)
				}
			}
		} else if f.color == ColorNever && strings.ContainsRune(out.String()+errOut.String(), 0x1b) {
			t.Errorf("%s: an escape without colour", name)
		}
		golden(t, name+"."+f.name, append(out.Bytes(), errOut.Bytes()...))
	}
}

func newView(out, errOut *bytes.Buffer, f face) *View {
	getenv := func(name string) string { return map[string]string{"COLUMNS": "100"}[name] }
	return &View{Out: NewStream(out, f.color, getenv), Err: NewStream(errOut, f.color, getenv), JSON: f.json, Dir: "/project"}
}

func ptr[T any](v T) *T { return &v }

var at = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestMain(m *testing.M) {
	// Times are shown in local time.
	time.Local = time.UTC
	os.Exit(m.Run())
}

func testWorker(round, duty, who, label string) plan.Worker {
	return plan.Worker{
		Key: paths.WorkerKey(round, duty, who, nil), AssignmentRef: paths.AssignmentRef(round, duty, who, nil),
		ParticipantRef: who, RoleExecutionRef: "analyst/" + who, Label: label, Duty: duty, Role: "analyst", Access: plan.AccessRead,
		Provider: "claude", Model: "opus",
		Instructions: plan.Template{{Text: "Read "}, {Ref: plan.RefInputsIndex}, {Text: ".\nThen\x1b[31m say."}},
		Program:      plan.Program{Path: "/usr/bin/claude", Size: 1, ModTime: "2026-01-01T00:00:00Z"},
		Argv:         []plan.Template{plan.Text("claude"), plan.Text("-p"), plan.Text("it's $HOME"), {{Ref: plan.RefPromptPath}}},
		Dir:          ".", Env: []plan.EnvVar{{Name: "API_KEY", Value: plan.Template{{Ref: plan.RefSecret("key")}}}},
		UnsetEnv: []string{"CLAUDECODE"}, Prompt: plan.PromptStdin, Result: plan.ResultStdout, Output: plan.OutputClaudeStream,
		Emits: plan.EmitsFindings, Outputs: []plan.Output{{Name: "patch", Required: true}, {Name: "notes"}}, Inputs: []string{"docs/a.md"},
		Limits: plan.DefaultLimits(), Retry: plan.DefaultRetry(),
		Origins: map[string]plan.Position{"timeout.wall": {File: "okstra.hcl", Line: 7, Column: 3}, "instructions": {File: "duties.hcl", Line: 2, Column: 3}},
	}
}

func testPlan() *plan.Plan {
	ada, bert := testWorker("analysis", "find", "ada", "claude-analyst"), testWorker("analysis", "find", "bert", "codex-analyst")
	judge := testWorker("cross-check", "check", "ada", "claude-verifier")
	report := testWorker("report", "write", "ada", "claude-report-writer")
	return &plan.Plan{
		Format: plan.Format, ProjectRoot: "/project", Definition: "okstra.hcl",
		Run: plan.Run{
			Name: "review", Description: "Two look, 一人 writes.", Task: plan.Task{Project: "shop", Group: "auth", ID: "A-1"},
			TaskType: "final-verification", Backend: []string{"cmux", "tmux"}, Parallelism: 4, Panes: plan.DefaultPanes(),
			Budget: &plan.Budget{Dispatches: ptr(9), Wall: ptr(plan.Duration(2 * time.Hour)), USD: ptr(3.5)},
		},
		Rounds: []plan.Round{
			{Name: "analysis", Kind: plan.RoundWork, Require: plan.Require{Percent: ptr(50)}, Parallelism: 1, Workers: []plan.Worker{ada, bert}},
			{Name: "cross-check", Kind: plan.RoundReverify, Index: 1, After: []string{"analysis"}, Require: plan.Require{All: true},
				Convergence: &plan.Convergence{Enabled: true, MaxRounds: 2, Mode: "lightweight", Critic: true, Source: "lead"}, Workers: []plan.Worker{judge}},
			{Name: "files", Kind: plan.RoundWork, Index: 2, Require: plan.Require{All: true}, Empty: "for_each is empty"},
			{Name: "report", Kind: plan.RoundReportWriter, Index: 3, After: []string{"cross-check"}, Require: plan.Require{All: true},
				Gate: &plan.Gate{Reason: "Read first.", Choices: []string{"short", "long"}}, Workers: []plan.Worker{report}},
		},
		Overrides: []plan.Override{{Kind: "provider", Name: "claude", Attributes: []string{"args", "model"}, Declared: plan.Position{File: "okstra.hcl", Line: 3}}},
		Variables: []plan.Variable{{Name: "base", Source: "--var", Value: "main"}, {Name: "key", Source: "OKSTRA_VAR_key", Sensitive: true}},
		Inputs:    []plan.InputFile{},
		Observed: plan.Observed{
			Git: plan.GitState{Head: "0123456789abcdef", Branch: "work"},
			Backends: []plan.BackendProbe{
				{Name: "cmux", Found: "not a terminal of cmux", Hint: "start the lead in cmux"},
				{Name: "tmux", Available: true, Found: "tmux 3.4; not in tmux, and this goes on"},
			},
			Backend: "tmux", Placement: []string{"window 1: 2 panes of 60x24"}, Notes: []string{"docs/a.md changed since analysis was dispatched"},
		},
		State: plan.StateRef{Lineage: "x", Serial: 12, Seq: 2},
		Difference: plan.Difference{
			Summary: "1 done, 1 retry, 1 to dispatch, 1 blocked.",
			Rounds:  []plan.RoundAction{{Round: "report", Wait: "gate: Read first."}},
			Workers: []plan.WorkerAction{
				{Key: ada.Key, Round: "analysis", Action: plan.ActionDone, Status: plan.StatusCompleted},
				{Key: bert.Key, Round: "analysis", Action: plan.ActionRetry, Attempt: 2, Why: "rate-limited"},
				{Key: judge.Key, Round: "cross-check", Action: plan.ActionBlocked, Why: "analysis"},
				{Key: report.Key, Round: "report", Action: plan.ActionDispatch},
				{Key: "old.find.carl", Round: "old", Action: plan.ActionDropped},
			},
		},
		WorstCase: plan.WorstCase{Starts: 5, Wall: plan.Duration(150 * time.Minute), Tokens: ptr(int64(1234567))},
	}
}

func TestPlan(t *testing.T) {
	each(t, "plan", func(v *View) error { return v.Plan(testPlan()) })
	each(t, "explain", func(v *View) error {
		p := testPlan()
		r, w := p.Worker("analysis.find.bert")
		return v.Explain(Explanation{Worker: w, Round: r.Name, Action: &p.Difference.Workers[1], Prompt: w.Instructions.String()})
	})
}

func TestGraph(t *testing.T) {
	p := testPlan()
	p.Run.Name = `a "b"`
	p.Rounds[3].Gate.Reason = "\"quoted\" <b>\nand\x1b more"
	for _, f := range []GraphFormat{GraphDOT, GraphMermaid} {
		var out, errOut bytes.Buffer
		if err := newView(&out, &errOut, faces[0]).Graph(p, f); err != nil {
			t.Fatal(err)
		}
		golden(t, "graph."+string(f), out.Bytes())
	}
	each(t, "graph", func(v *View) error { return v.Graph(p, GraphDOT) })
}

func testStatus() *runtime.RunStatus {
	started := at
	ended := at.Add(90 * time.Second)
	return &runtime.RunStatus{
		Run: paths.Run{Root: "/project", Task: plan.Task{Project: "shop", Group: "auth", ID: "A-1"}, TaskType: "final-verification", Seq: 2},
		Ref: "shop:auth:A-1/final-verification@002", RunName: "review", TaskType: "final-verification", Seq: 2, Backend: "tmux",
		StartedAt: at, Driven: true, Waiting: "approval of round report: Read first.",
		Rounds: []runtime.RoundStatus{
			{Name: "analysis", Kind: "work", State: "met", Completed: 1, Total: 2, Approval: "approved"},
			{Name: "report", Kind: "report-writer", State: "waiting", Total: 1},
			{Name: "publish", Kind: "work", State: "waiting", Approval: "void"},
		},
		Workers: []runtime.WorkerStatus{
			{WorkerKey: "analysis.find.ada", Label: "claude-analyst", Round: "analysis", InvocationRef: "analysis/find/ada@analysis#1", Attempt: 1,
				Status: plan.StatusCompleted, StartedAt: &started, FinishedAt: &ended, DurationMS: 90_000, ExitCode: ptr(0), ResultPath: "/project/.okstra/r.md"},
			{WorkerKey: "analysis.find.名前-12345678", Label: "codex-analyst", Round: "analysis", InvocationRef: "analysis/find/bert@analysis#2", Attempt: 2,
				Status: plan.StatusError, Reason: plan.ReasonNoResult, Detail: "/project/.okstra/x is empty\x1b[2J and this goes on for much longer than any table can be wide on a screen", DurationMS: 1234},
			{WorkerKey: "report.write.ada", Label: "claude-report-writer", Round: "report", InvocationRef: "report/write/ada@report-writer#1", Attempt: 1,
				Status: plan.StatusRunning, Live: true, PaneID: "%3", StartedAt: &started},
			{WorkerKey: "publish.push.ada", Label: "claude-executor", Round: "publish", Status: plan.StatusPlanned},
		},
		Usage: plan.Usage{Source: "claude-result", InputTokens: 12345, OutputTokens: 678, CachedTokens: 9, USD: ptr(0.25)},
	}
}

// testRecord holds the files of one worker of testStatus.
func testRecord() *record.State {
	return &record.State{WorkerDispatches: []*record.Dispatch{{
		InvocationRef: "analysis/find/ada@analysis#1",
		Artifacts: []sidecar.Artifact{
			{Name: "result", Path: "/project/.okstra/r.md"}, {Name: "audit", Path: "/project/.okstra/a.md"}, {Name: "out:patch", Path: "/project/.okstra/out-patch"},
		},
	}}}
}

func TestRun(t *testing.T) {
	now := at.Add(2 * time.Minute)
	each(t, "status", func(v *View) error {
		return v.Status(testStatus(), []string{"okstra approve review report --choice short", "okstra approve review report --deny"}, now)
	})
	each(t, "runs", func(v *View) error {
		ended := *testStatus()
		ended.Ended, ended.Driven, ended.Leftovers = "completed", false, []string{"pane %7 on /tmp/s"}
		return v.Runs([]runtime.RunStatus{*testStatus(), ended})
	})
	each(t, "runs_none", func(v *View) error { return v.Runs(nil) })
	each(t, "outcome", func(v *View) error {
		return v.Outcome(&runtime.Outcome{
			Run:     paths.Run{Root: "/project", Task: plan.Task{Project: "shop", Group: "auth", ID: "A-1"}, TaskType: "final-verification", Seq: 2},
			RunName: "review", Exit: 4, Summary: "2 of 3 workers completed.", Waiting: "approval of round report", State: testRecord(),
			Next: []string{"okstra approve review report", "okstra apply review"}, Attach: "tmux -S /tmp/s attach", Cleanup: "okstra teardown review",
		}, testStatus(), now)
	})
	each(t, "outcome_lead", func(v *View) error {
		return v.Outcome(&runtime.Outcome{
			RunName: "review", Exit: 4, Summary: "Round cross-check waits for the lead's plan.", Waiting: "/project/.okstra/state/round-plan-r1.json",
		}, nil, now)
	})
	each(t, "status_answered", func(v *View) error {
		s := testStatus()
		s.Driven, s.Waiting = false, "okstra apply, which takes the answer to the gate of round report"
		s.Rounds[0].Choice, s.Rounds[0].Note = "full", "fine"
		s.Rounds[1].Answered, s.Rounds[1].Approval, s.Rounds[1].Choice, s.Rounds[1].Note = true, "approved", "short", "after \x1blunch"
		s.Rounds[2].Answered, s.Rounds[2].Approval = true, "denied"
		return v.Status(s, nil, now)
	})
	each(t, "gate", func(v *View) error {
		if v.JSON {
			return nil // nobody is asked then
		}
		s := testStatus()
		v.Gate("report", plan.Gate{Reason: "Read \x1bfirst."}, s, testRecord())
		v.Gate("report", plan.Gate{}, nil, nil)
		return nil
	})
	each(t, "outcome_finished", func(v *View) error {
		status := testStatus()
		status.Driven, status.Waiting, status.Ended, status.Leftovers = false, "", "completed", []string{"pane %3 of claude-report-writer"}
		status.Rounds[1].State, status.Rounds[1].Completed = "met", 1
		return v.Outcome(&runtime.Outcome{
			Run:     paths.Run{Root: "/project", Task: plan.Task{Project: "shop", Group: "auth", ID: "A-1"}, TaskType: "final-verification", Seq: 2},
			RunName: "review", Summary: "Run 002 is finished.", Cleanup: "okstra teardown review",
		}, status, now)
	})
	each(t, "outcome_nothing", func(v *View) error {
		return v.Outcome(&runtime.Outcome{RunName: "review", Nothing: true, Summary: "Nothing to do."}, nil, now)
	})
	each(t, "why", func(v *View) error {
		w := testStatus().Workers[1]
		return v.Why(&runtime.Explanation{
			Worker: w, Rule: "A worker without its result file is error/no-result.", Evidence: []string{"sidecar: finish, exit 0", "result: not there"},
			Hint: "Look at the log.", Attempts: []runtime.WorkerStatus{testStatus().Workers[0], w}, LogTail: []string{"last \x1b]0;title\x07line"},
		})
	})
	each(t, "teardown", func(v *View) error {
		return v.Teardown(&runtime.TeardownReport{Closed: []string{"pane %3"}, Left: []string{"pane %4: unknown"}, Kept: []string{"p:g:t/unknown@001"}})
	})
	each(t, "teardown_nothing", func(v *View) error { return v.Teardown(&runtime.TeardownReport{}) })
}

func TestProgress(t *testing.T) {
	each(t, "progress", func(v *View) error {
		p := v.Progress()
		p.Event(runtime.Event{Time: at, Type: "round-started", Round: "analysis", Message: "round analysis: 2 workers"})
		p.Event(runtime.Event{Time: at, Type: "gate", Round: "report", Message: "waits"})
		p.Event(runtime.Event{Time: at, Type: "worker-status", Round: "analysis", InvocationRef: "analysis/find/ada@analysis#1", Label: "claude-analyst", Status: plan.StatusRunning, Message: "claude-analyst is running"})
		p.Event(runtime.Event{Time: at, Type: "worker-dispatched", Round: "analysis", InvocationRef: "analysis/find/ada@analysis#1", WorkerKey: "analysis.find.ada", Attempt: 1,
			Label: "claude-analyst", Status: plan.StatusSpawning, Message: "dispatching claude-analyst"})
		p.Event(runtime.Event{Time: at, Type: "worker-status", Round: "analysis", InvocationRef: "analysis/find/ada@analysis#1", Label: "claude-analyst", Status: plan.StatusTimeout, Reason: plan.ReasonIdleLimit, Message: "silent for 15m"})
		p.Event(runtime.Event{Time: at, Type: "worker-settled", Round: "cross-check", InvocationRef: "cross-check/check/ada@reverify-r2#3", WorkerKey: "cross-check.check.ada",
			Attempt: 3, Label: "claude-verifier", Status: plan.StatusError, Reason: plan.ReasonExitNonzero, Detail: "exit code 3: cannot find config", Message: "claude-verifier ended as error (exit-nonzero)"})
		p.Event(runtime.Event{Time: at, Type: "worker-settled", Round: "report", InvocationRef: "report/write/ada@report-writer#1", WorkerKey: "report.write.ada",
			Attempt: 1, Label: "claude-report-writer", Status: plan.StatusCompleted, Message: "claude-report-writer completed"})
		p.Event(runtime.Event{Time: at, Type: "run-ended"})
		return p.Err
	})
}

// TestWatch: without a terminal there is a line for each change and none where
// nothing changed.
func TestWatch(t *testing.T) {
	each(t, "watch", func(v *View) error {
		w := v.Watch()
		s := testStatus()
		for range 3 {
			if err := w.Show(s, nil, at); err != nil {
				return err
			}
		}
		s.Workers[2].Status, s.Ended, s.Rounds[1].State = plan.StatusCompleted, "completed", "met"
		return w.Show(s, nil, at)
	})
}

func TestSmallViews(t *testing.T) {
	each(t, "list", func(v *View) error {
		return v.List([]lang.RunInfo{
			{Name: "review", Description: "看看", TaskType: "unknown", Default: true, Rounds: []string{"a", "b"}, Declared: plan.Position{File: "/project/okstra.hcl", Line: 3}},
			{Name: "x", TaskType: "release-handoff"},
		})
	})
	each(t, "doctor", func(v *View) error {
		return v.Doctor([]Finding{
			{Area: "backend", Name: "tmux", State: StateOK, Found: "tmux 3.4"},
			{Area: "backend", Name: "cmux", State: StateAbsent, Found: "not in cmux", Do: "install it"},
			{Area: "worker", Name: "claude", State: StateOK, Found: "2.1 at /bin/claude", Probe: &Probe{
				Status: plan.StatusCompleted, DurationMS: 3449, Usage: &plan.Usage{Source: "claude-result", InputTokens: 1200, OutputTokens: 30},
			}},
			{Area: "worker", Name: "codex", State: StateAttention, Found: "0.1 at /bin/codex", Do: "run codex login", Probe: &Probe{
				Status: plan.StatusError, Reason: plan.ReasonAuth, Detail: "401 \x1b[1mno key", DurationMS: 900,
			}},
			{Area: "files", Name: "locks", State: StateProblem, Found: "they do not exclude", Do: "use a local disk"},
		}, "1 to mend.")
	})
	each(t, "problem", func(v *View) error {
		return v.Problem(Problem{Error: "the plan is stale\nsecond \x1b[1mline", Exit: 5, Moved: []string{"okstra.hcl changed"}, Remedy: "Plan again."})
	})
	each(t, "formatted", func(v *View) error {
		return v.Formatted([]Formatted{{"/project/a.hcl", true, ""}, {"/project/b.hcl", false, ""}, {"/c.hcl", true, "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n"}})
	})
	each(t, "command", func(v *View) error { return v.Command([]string{"tmux", "-S", "/tmp/it's", "a b", ""}) })
	each(t, "names", func(v *View) error { return v.Names("schemas", []string{"a", "b"}) })
	each(t, "version", func(v *View) error {
		return v.Version(Version{Version: "1.2.3", Revision: "0123456789abcdef", Modified: true, Go: "go1.26", Platform: "linux/amd64"})
	})
	each(t, "written", func(v *View) error { return v.Written("okstra.hcl", []string{"claude"}, "okstra plan review") })
}

const faulty = "run \"a\" {\n\tround \"b\" {\n    nmae = \"漢字\" # \x1b[31m red\n  }\n}\n"

func testDiagnostics(t *testing.T) (hcl.Diagnostics, map[string]*hcl.File) {
	t.Helper()
	p := hclparse.NewParser()
	f, diags := p.ParseHCL([]byte(faulty), "/project/okstra.hcl")
	if f == nil {
		t.Fatal(diags)
	}
	place := func(line, column, from, to int) *hcl.Range {
		return &hcl.Range{Filename: "/project/okstra.hcl", Start: hcl.Pos{Line: line, Column: column, Byte: from}, End: hcl.Pos{Line: line, Column: column + to - from, Byte: to}}
	}
	name := strings.Index(faulty, "nmae")
	value := strings.Index(faulty, "\"漢字")
	comment := strings.Index(faulty, "red")
	return hcl.Diagnostics{
		{Severity: hcl.DiagWarning, Summary: "Odd comment", Subject: place(3, 20, comment, comment+3)},
		{Severity: hcl.DiagError, Summary: "Wide value", Detail: "The caret stands below two wide characters.", Subject: place(3, 12, value, value+len(`"漢字"`))},
		{Severity: hcl.DiagError, Summary: "Unknown attribute", Detail: "A round has no attribute \"nmae\"; did you mean \"name\"? " + strings.Repeat("It goes on. ", 10) + "\nSecond paragraph \x1b[0m.", Subject: place(3, 5, name, name+4)},
		{Severity: hcl.DiagError, Summary: "Nowhere"},
		{Severity: hcl.DiagError, Summary: "Beyond the end", Subject: place(9, 1, 9000, 9001)},
		{Severity: hcl.DiagError, Summary: "At the end", Subject: place(6, 1, len(faulty), len(faulty))},
		{Severity: hcl.DiagError, Summary: "Whole block", Subject: place(1, 1, 0, len(faulty)-1)},
	}, map[string]*hcl.File{"/project/okstra.hcl": f}
}

func TestDiagnostics(t *testing.T) {
	diags, files := testDiagnostics(t)
	each(t, "diagnostics", func(v *View) error { return v.Diagnostics(diags, files) })
}

func TestLongSourceLine(t *testing.T) {
	src := []byte(strings.Repeat("x", 5000) + "HERE" + strings.Repeat("y", 5000))
	r := hcl.Range{Start: hcl.Pos{Line: 1, Column: 5001, Byte: 5000}, End: hcl.Pos{Line: 1, Column: 5005, Byte: 5004}}
	s := newSnippet(src, r)
	if len(s.Code) > longestSnippet || s.Code[s.Start:s.End] != "HERE" {
		t.Errorf("%d bytes, about %q", len(s.Code), s.Code[s.Start:s.End])
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain 漢字 é":         "plain 漢字 é",
		"\x1b[31m":           "␛[31m",
		"a\tb\nc\r":          "a b␊c␍",
		"\x7f":               "␡",
		"\u009b31m":          `\u009b31m`,
		"\u202eabc\u2066":    `\u202eabc\u2066`,
		"\xff\xfe":           `\xff\xfe`,
		"real \ufffd stays":  "real \ufffd stays",
		"\u2028":             `\u2028`,
		"👩‍💻":                "👩‍💻",
		"\ufeffbom\u200bzws": `\ufeffbom\u200bzws`,
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}

// FuzzClean: nothing that Clean returns can control a terminal, and cleaning
// is done once.
func FuzzClean(f *testing.F) {
	for _, s := range []string{"", "a", "\x1b]0;x\x07", "\xc2\x9b", "\xe2\x80\xae", "\xff", "漢"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Clean(s)
		for _, r := range got {
			if r != 0xfffd && dangerous(r) {
				t.Fatalf("Clean(%q) holds %U", s, r)
			}
		}
		if again := Clean(got); again != got {
			t.Fatalf("Clean(%q) is %q, then %q", s, got, again)
		}
	})
}

func TestColor(t *testing.T) {
	tests := []struct {
		mode     ColorMode
		terminal bool
		env      map[string]string
		want     bool
	}{
		{ColorAuto, false, nil, false},
		{ColorAuto, true, nil, true},
		{ColorAuto, true, map[string]string{"TERM": "dumb"}, false},
		{ColorAuto, true, map[string]string{"NO_COLOR": "no"}, false},
		{ColorAuto, true, map[string]string{"NO_COLOR": ""}, true},
		{ColorAuto, false, map[string]string{"CLICOLOR_FORCE": "1"}, true},
		{ColorAuto, false, map[string]string{"CLICOLOR_FORCE": "0"}, false},
		{ColorAuto, true, map[string]string{"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, false},
		{ColorAlways, false, map[string]string{"NO_COLOR": "1", "TERM": "dumb"}, true},
		{ColorNever, true, map[string]string{"CLICOLOR_FORCE": "1"}, false},
	}
	for _, tt := range tests {
		if got := colored(tt.mode, tt.terminal, func(n string) string { return tt.env[n] }); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
	if _, err := ParseColorMode("sometimes"); err == nil {
		t.Error("a wrong mode is taken")
	}
}

func TestWidth(t *testing.T) {
	for columns, want := range map[string]int{"": defaultWidth, "120": 120, "5": 20, "x": defaultWidth, "-1": defaultWidth} {
		if got := NewStream(&bytes.Buffer{}, ColorAuto, func(string) string { return columns }).Width(); got != want {
			t.Errorf("COLUMNS=%q gives %d, want %d", columns, got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 1500 * time.Microsecond: "2ms", 12340 * time.Millisecond: "12.3s", time.Minute: "1m",
		90 * time.Minute: "1h30m", time.Hour: "1h", time.Hour + time.Second: "1h0m1s",
	} {
		if got := duration(d); got != want {
			t.Errorf("%v is shown as %s, want %s", d, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567"} {
		if got := thousands(n); got != want {
			t.Errorf("%d is shown as %s, want %s", n, got, want)
		}
	}
}

func TestCatalogJSON(t *testing.T) {
	var out, errOut bytes.Buffer
	src := "role \"a\" {\n access = \"read\"\n}\nprovider \"p\" {\n command = [\"x\", worker.model]\n access \"read\" {\n args = [\"-r\"]\n }\n}\n"
	if err := newView(&out, &errOut, faces[2]).Catalog([]byte(src), "c.hcl"); err != nil {
		t.Fatal(err)
	}
	golden(t, "catalog.json", out.Bytes())
}

// TestWrapped: what is wider than the screen and has no spaces stays whole, so
// that it can be copied.
func TestWrapped(t *testing.T) {
	path := "/a-very/long-path/that-goes-on/beyond-the-width"
	var got []string
	for _, l := range wrapped("漢字 run chmod +x "+path+" once\n\nand 漢字漢字漢字漢字 more", "  ", 24, plain) {
		got = append(got, l.render(false))
	}
	want := []string{"  漢字 run chmod +x", "  " + path, "  once", "", "  and 漢字漢字漢字漢字", "  more"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
