package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/spf13/pflag"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/cmd/okstra/view"
	"github.com/okstra/okstra/lang"
	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime"
)

// testEnv is an environment without a terminal and without backends.
func testEnv(t *testing.T, dir string) (Env, *bytes.Buffer, *bytes.Buffer) {
	t.Helper()
	var out, errOut bytes.Buffer
	return Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errOut, Dir: dir,
		Environ: []string{"PATH=" + filepath.Join(dir, "bin"), "HOME=" + dir},
		Now:     func() time.Time { return time.Unix(1_700_000_000, 0).UTC() },
		Exit:    func(code int) { panic(fmt.Sprint("exit ", code)) },
		Backends: func(Env, string) map[string]backends.Backend {
			return map[string]backends.Backend{}
		},
	}, &out, &errOut
}

func TestExitCodes(t *testing.T) {
	interruptedContext := func(sig syscall.Signal) context.Context {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(interrupted{sig})
		return ctx
	}
	tests := []struct {
		name string
		ctx  context.Context
		err  error
		want int
	}{
		{"none", t.Context(), nil, 0},
		{"any error", t.Context(), errors.New("x"), 1},
		{"definition", t.Context(), &definitionError{diags: hcl.Diagnostics{{Severity: hcl.DiagError, Summary: "x"}}}, 1},
		{"not found", t.Context(), fmt.Errorf("run x: %w", runtime.ErrNotFound), 1},
		{"work", t.Context(), exit(ExitWork), 2},
		{"unmet", t.Context(), exit(ExitUnmet), 3},
		{"waiting", t.Context(), exit(ExitWaiting), 4},
		{"refused", t.Context(), fmt.Errorf("apply: %w", &runtime.Refusal{What: "stale"}), 5},
		{"held", t.Context(), fmt.Errorf("apply: %w", runtime.ErrHeld), 6},
		{"await", t.Context(), exit(ExitTimeout), 7},
		{"usage", t.Context(), fmt.Errorf("plan: %w", usage(nil, "x")), 64},
		{"hup", interruptedContext(syscall.SIGHUP), runtime.ErrInterrupted, 129},
		{"int", interruptedContext(syscall.SIGINT), fmt.Errorf("git: %w", context.Canceled), 130},
		{"term, as the cause", t.Context(), context.Cause(interruptedContext(syscall.SIGTERM)), 143},
		{"another error while interrupted", interruptedContext(syscall.SIGINT), errors.New("disk full"), 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := exitCode(tt.ctx, tt.err); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

// TestTable holds what every verb promises: help with an example, flags whose
// help says what they do, and no name twice.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range commands() {
		if seen[c.name] {
			t.Errorf("%s stands in the table twice", c.name)
		}
		seen[c.name] = true
		if c.short == "" || c.long == "" || c.example == "" || c.bind == nil {
			t.Errorf("%s lacks a description, an example or a function", c.name)
		}
		if !slices.Contains(groups, c.group) {
			t.Errorf("%s is in no group", c.name)
		}
		for l := range strings.SplitSeq(c.example, "\n") {
			if !strings.Contains(l, "okstra "+c.name) {
				t.Errorf("%s: example %q does not use it", c.name, l)
			}
		}
		fs := newFlagSet(c.name)
		(&globals{}).bind(fs)
		c.bind(fs)
		fs.VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s --%s says nothing", c.name, f.Name)
			}
			if name, _ := pflag.UnquoteUsage(f); f.Value.Type() != "bool" && strings.ToUpper(name) != name {
				t.Errorf("%s --%s: its value has no name in capitals: %q", c.name, f.Name, name)
			}
		})
		for i, o := range c.operands {
			if o.kind == 0 {
				t.Errorf("%s: operand %s has no kind", c.name, o.name)
			}
			if o.repeat && i != len(c.operands)-1 {
				t.Errorf("%s: only the last operand can repeat", c.name)
			}
		}
		for _, l := range c.help(widestHelp) {
			if len([]rune(l)) > 100 {
				t.Errorf("%s: help line is too long: %q", c.name, l)
			}
		}
	}
}

func TestExamplesParse(t *testing.T) {
	for _, c := range commands() {
		for l := range strings.SplitSeq(c.example, "\n") {
			_, l, _ = strings.Cut(l, "okstra "+c.name)
			l, _, _ = strings.Cut(l, "|")
			l, _, _ = strings.Cut(l, "<")
			l = strings.TrimSuffix(strings.TrimSpace(l), ")")
			fs := newFlagSet(c.name)
			(&globals{}).bind(fs)
			c.bind(fs)
			if err := fs.Parse(strings.Fields(strings.ReplaceAll(l, `"`, ""))); err != nil {
				t.Errorf("%s %s: %v", c.name, l, err)
			}
		}
	}
}

func TestCommandDocs(t *testing.T) {
	const path = "../../../docs/commands.md"
	want := commandDocs()
	if os.Getenv("OKSTRA_UPDATE") == "1" {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/commands.md is stale; OKSTRA_UPDATE=1 go test ./cmd/okstra/cli writes it anew:\n%s", diff)
	}
}

func TestMainUsage(t *testing.T) {
	tests := []struct {
		args   string
		want   int
		stdout string
		stderr string
	}{
		{"", 0, "okstra runs teams", ""},
		{"statsu", 64, "", `did you mean "status"?`},
		{"zzzzzzzzzz", 64, "", `unknown verb "zzzzzzzzzz"` + "\n"},
		{"status --watc", 64, "", "did you mean --watch?"},
		{"status -w", 64, "", "unknown flag -w\n"},
		{"logs --tail", 64, "", "okstra help logs"},
		{"logs a --tail x", 64, "", "invalid"},
		{"logs a --tail -1", 64, "", "number of lines"},
		{"teardown review --all", 64, "", "takes no RUN"},
		{"approve review report --deny --choice x", 64, "", "do not go together"},
		{"approve", 64, "", "approve needs [RUN] ROUND"},
		{"approve review", 1, "", "error: no such recorded run"},
		{"apply review@x", 64, "", "run number such as 002"},
		{"apply review@0", 64, "", "run number such as 002"},
		{"apply review@2 --new", 64, "", "no NUMBER yet"},
		{"plan review@2x", 64, "", "run number such as 002"},
		{"plan --backend screen", 64, "", `there is no backend "screen"; there are cmux, tmux, process`},
		{"apply --backend screen", 64, "", "there are cmux, tmux, process"},
		{"render-bundle --backend screen", 64, "", "there are cmux, tmux, process"},
		{"graph --format svg", 64, "", "dot or mermaid"},
		{"plan --out a --explain b", 64, "", "do not go together"},
		{"apply ./x.json --new", 64, "", "a saved plan is executed as it is"},
		{"apply ./x.json", 1, "", "x.json"},
		{"status --project-root nowhere", 1, "", "nowhere"},
		{"team", 64, "", "followed by one of: dispatch, await, teardown"},
		{"team --json", 64, "", "followed by one of"},
		{"team dispath", 64, "", `did you mean "dispatch"?`},
		{"completion tcsh", 64, "", "not in"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			env, out, errOut := testEnv(t, t.TempDir())
			if got := Main(strings.Fields(tt.args), env); got != tt.want {
				t.Errorf("exit code %d, want %d", got, tt.want)
			}
			if !strings.Contains(out.String(), tt.stdout) || tt.stdout == "" && out.Len() > 0 {
				t.Errorf("stdout: %s", out)
			}
			if !strings.Contains(errOut.String(), tt.stderr) || tt.stderr == "" && errOut.Len() > 0 {
				t.Errorf("stderr: %s", errOut)
			}
		})
	}
}

// brokenWriter is a pipe whose reader went away.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func TestBrokenOutput(t *testing.T) {
	env, _, _ := testEnv(t, t.TempDir())
	env.Stdout = brokenWriter{}
	if got := Main([]string{"help"}, env); got != ExitError {
		t.Errorf("exit code %d, want %d", got, ExitError)
	}
}

func TestSignals(t *testing.T) {
	signals := make(chan os.Signal)
	exited := make(chan int)
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := watchSignals(Env{
		Signals: func() (<-chan os.Signal, func()) { return signals, func() {} },
		Exit:    func(code int) { exited <- code },
	}, cancel)
	defer stop()
	signals <- syscall.SIGTERM
	<-ctx.Done()
	if got := exitCode(ctx, context.Cause(ctx)); got != 143 {
		t.Errorf("after the first signal: %d, want 143", got)
	}
	signals <- syscall.SIGINT
	if got := <-exited; got != 130 {
		t.Errorf("after the second signal: %d, want 130", got)
	}
}

// TestRelease: required_version is compared with a semantic version.
func TestRelease(t *testing.T) {
	if _, err := semver.StrictNewVersion(release); err != nil {
		t.Errorf("release %q: %v", release, err)
	}
	if got := buildVersion().Version; got != release {
		t.Errorf("okstra version says %q, and the release is %q", got, release)
	}
	defer func(old string) { revision = old }(revision)
	for given, want := range map[string]view.Version{
		"39a434e":       {Revision: "39a434e"},
		"39a434e-dirty": {Revision: "39a434e", Modified: true},
	} {
		revision = given
		got := buildVersion()
		if got.Version != release || got.Revision != want.Revision || got.Modified != want.Modified {
			t.Errorf("revision %q: %+v", given, got)
		}
	}
}

func TestPlanFileOperand(t *testing.T) {
	for operand, want := range map[string]bool{
		"": false, "review": false, "Re_view-2": false, "review@005": false, "review@x": false, "a@b.json": true,
		"./review": true, "review.json": true, "/a/b": true, "a/b": true, "-": true, "2nd": true,
	} {
		if got := isPlanFile(operand); got != want {
			t.Errorf("isPlanFile(%q) = %v", operand, got)
		}
		if operand != "" && !isPlanFile(runOrFile(operand)) {
			t.Errorf("runOrFile(%q) = %q, which is not taken for a file", operand, runOrFile(operand))
		}
	}
}

func TestSavedVariables(t *testing.T) {
	p := &plan.Plan{
		ProjectRoot: "/project",
		Variables: []plan.Variable{
			{Name: "a", Source: "default", Value: "1"},
			{Name: "b", Source: "--var", Value: "text ${x}"},
			{Name: "c", Source: "--var", Value: []any{"${y}", 1.0}},
			{Name: "d", Source: "OKSTRA_VAR_d", Value: "e"},
			{Name: "e", Source: "--var", Sensitive: true},
			{Name: "f", Source: "x.hcl", Value: true},
		},
		// All values of the second file may have been overridden.
		VariableFiles: []string{"x.hcl", "/elsewhere/y.hcl"},
	}
	want := []lang.VarArg{
		{File: "/project/x.hcl"},
		{File: "/elsewhere/y.hcl"},
		{Var: "b=text ${x}"},
		{Var: `c=["$${y}",1]`},
	}
	if diff := cmp.Diff(want, savedVariables(p)); diff != "" {
		t.Error(diff)
	}
}

// TestAgain: what goes on with a run names where it is and what was given, and
// nothing secret.
func TestAgain(t *testing.T) {
	g := globals{dir: "/project"}
	fs := newFlagSet("apply")
	g.bind(fs)
	var d definitionFlags
	d.bind(fs)
	if err := fs.Parse(strings.Fields("-C sub -f x.hcl --project-root .. --var a=1 --var-file v.hcl --var key=secret --var a=2")); err != nil {
		t.Fatal(err)
	}
	s := &session{env: Env{Dir: "/project"}, globals: &g}
	p := &plan.Plan{Variables: []plan.Variable{{Name: "a"}, {Name: "key", Sensitive: true}}}
	want := strings.Fields("review -C /project/sub -f /project/sub/x.hcl --project-root /project --var a=1 --var-file /project/sub/v.hcl --var a=2")
	if diff := cmp.Diff(want, s.again("review", p, d.vars)); diff != "" {
		t.Error(diff)
	}
	s.globals = &globals{dir: "/project"}
	if diff := cmp.Diff([]string{"/project/p.json"}, s.again("/project/p.json", p, nil)); diff != "" {
		t.Error(diff)
	}
}

func TestReadAnswer(t *testing.T) {
	tests := []struct {
		reply   string
		choices []string
		want    runtime.Answer
		ok      bool
	}{
		{"yes", nil, runtime.Answer{Approved: true}, true},
		{"Y", nil, runtime.Answer{Approved: true}, true},
		{"no", nil, runtime.Answer{}, true},
		{"maybe", nil, runtime.Answer{}, false},
		{"staged", []string{"staged", "full"}, runtime.Answer{Approved: true, Choice: "staged"}, true},
		{"yes", []string{"staged", "full"}, runtime.Answer{}, false},
		{"no", []string{"staged", "full"}, runtime.Answer{}, true},
		{"no", []string{"no", "full"}, runtime.Answer{Approved: true, Choice: "no"}, true},
	}
	for _, tt := range tests {
		got, ok := readAnswer(tt.reply, tt.choices)
		if got != tt.want || ok != tt.ok {
			t.Errorf("readAnswer(%q, %v) = %+v, %v", tt.reply, tt.choices, got, ok)
		}
	}
}

func TestPoll(t *testing.T) {
	calls := 0
	if err := poll(t.Context(), time.Microsecond, func() (bool, error) { calls++; return calls == 3, nil }); err != nil || calls != 3 {
		t.Errorf("%d calls, %v", calls, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	err := poll(ctx, time.Hour, func() (bool, error) { cancel(interrupted{syscall.SIGINT}); return false, nil })
	if got := exitCode(ctx, err); got != 130 {
		t.Errorf("an interrupted poll ends with %d", got)
	}
}

func TestStill(t *testing.T) {
	live := []runtime.WorkerStatus{{Live: true}}
	for _, tt := range []struct {
		st   runtime.RunStatus
		want bool
	}{
		{runtime.RunStatus{}, true},
		{runtime.RunStatus{Driven: true}, false},
		{runtime.RunStatus{Workers: live}, false},
		{runtime.RunStatus{Ended: "completed", Driven: true}, true},
	} {
		if got := still(&tt.st); got != tt.want {
			t.Errorf("still(%+v) = %v", tt.st, got)
		}
	}
}
