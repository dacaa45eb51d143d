package runtime_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/backends/cmux/cmuxtest"
	"github.com/okstra/okstra/backends/process"
	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime"
	"github.com/okstra/okstra/runtime/supervise"
)

// TestMain lets the test binary play okstra's supervisor.
func TestMain(m *testing.M) {
	cmuxtest.Main()
	switch {
	case len(os.Args) == 3 && os.Args[1] == "supervise":
		enableCrash()
		os.Exit(supervise.Run(os.Args[2]))
	case len(os.Args) > 2 && os.Args[1] == "role:apply":
		os.Exit(applyRole(os.Args[2:]))
	}
	// Most of these tests wait for other processes.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// rig is a project with an engine on the process backend.
type rig struct {
	t    testing.TB
	root string
	env  runtime.Env
	log  []string
}

func newRig(t testing.TB) *rig {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &rig{t: t, root: root, env: runtime.Env{
		Okstra: self, Version: "test", Environ: os.Environ(), Now: time.Now,
		Backends: map[string]backends.Backend{"process": process.New(process.Options{Environ: os.Environ()})},
	}}
}

// Event keeps what happened, for messages of failed tests.
func (r *rig) Event(e runtime.Event) { r.log = append(r.log, fmt.Sprintf("%s %s", e.Type, e.Message)) }

// plan makes a plan of the given rounds.
func (r *rig) plan(rounds ...plan.Round) *plan.Plan {
	p := &plan.Plan{
		Format: plan.Format, Okstra: "test", ProjectRoot: r.root, Definition: "okstra.hcl", Inputs: []plan.InputFile{},
		Run: plan.Run{
			Name: "test", Task: plan.Task{Project: "p", Group: "g", ID: "t"}, TaskType: "unknown", Allowed: []string{"read"}, Forbidden: []string{"push"},
			Backend: []string{"process"}, Parallelism: 4, Panes: plan.DefaultPanes(), Fingerprint: []string{},
		},
	}
	for i, round := range rounds {
		round.Index = i
		if round.Kind == "" {
			round.Kind = plan.RoundWork
		}
		if round.Require == (plan.Require{}) {
			round.Require.All = true
		}
		for _, before := range rounds[:i] {
			round.After = append(round.After, before.Name)
		}
		p.Rounds = append(p.Rounds, round)
	}
	return p
}

// worker makes a worker that runs a shell script.
func (r *rig) worker(round, name, script string) plan.Worker {
	w := plan.Worker{
		Key: paths.WorkerKey(round, "do", name, nil), AssignmentRef: paths.AssignmentRef(round, "do", name, nil), ParticipantRef: name,
		RoleExecutionRef: "executor/" + name, Label: "sh-" + name, Duty: "do", Role: "executor", Access: plan.AccessWrite, Provider: "sh",
		Instructions: plan.Text("Do it."), Program: plan.Program{Path: "/bin/sh"}, Argv: []plan.Template{plan.Text("sh"), plan.Text("-c"), plan.Text(script)},
		Dir: ".", Env: []plan.EnvVar{}, UnsetEnv: []string{}, Prompt: plan.PromptPath, Result: plan.ResultFile, Output: plan.OutputText,
		Outputs: []plan.Output{}, Inputs: []string{}, Limits: plan.DefaultLimits(), Retry: plan.DefaultRetry(), ExitCodes: map[string]plan.Reason{},
		Title: "sh-" + name, Origins: map[string]plan.Position{},
	}
	w.Retry.Backoff = plan.Duration(10 * time.Millisecond)
	w.Digests = plan.Digests{Catalog: "c", Duty: "d", Instruction: "i", Assignment: plan.Digest(w.Argv)}
	return w
}

func (r *rig) apply(ctx context.Context, p *plan.Plan) *runtime.Outcome {
	r.t.Helper()
	out, err := runtime.Apply(ctx, r.env, runtime.ApplyOptions{Plan: p, Progress: r})
	if err != nil {
		r.t.Fatalf("apply: %v\n%s", err, strings.Join(r.log, "\n"))
	}
	return out
}

const writeResult = `printf 'done by %s\n' "$OKSTRA_INVOCATION" > "$OKSTRA_RESULT"`

func TestApplyCompletes(t *testing.T) {
	r := newRig(t)
	p := func() *plan.Plan {
		return r.plan(
			plan.Round{Name: "one", Workers: []plan.Worker{r.worker("one", "ada", writeResult), r.worker("one", "bert", writeResult)}},
			plan.Round{Name: "two", Workers: []plan.Worker{r.worker("two", "ada", `grep -c worker-one "$OKSTRA_INPUTS" >/dev/null; `+writeResult)}},
		)
	}
	out := r.apply(t.Context(), p())
	if out.Exit != 0 || out.State.Ended != "completed" {
		t.Fatalf("exit %d, ended %q: %s\n%s", out.Exit, out.State.Ended, out.Summary, strings.Join(r.log, "\n"))
	}
	for _, d := range out.State.WorkerDispatches {
		if d.Status != plan.StatusCompleted {
			t.Errorf("%s is %s/%s: %s", d.InvocationRef, d.Status, d.Reason, d.Detail)
		}
	}
	if again := r.apply(t.Context(), p()); !again.Nothing || again.Exit != 0 {
		t.Errorf("a second apply found something to do: %s", again.Summary)
	}
}

func TestApplyFailsAndGoesOn(t *testing.T) {
	r := newRig(t)
	flag := filepath.Join(r.root, "works")
	script := `test -e '` + flag + `' || exit 3; ` + writeResult
	p := func() *plan.Plan {
		return r.plan(
			plan.Round{Name: "one", Workers: []plan.Worker{r.worker("one", "ada", writeResult), r.worker("one", "bert", script)}},
			plan.Round{Name: "two", Workers: []plan.Worker{r.worker("two", "ada", writeResult)}},
		)
	}
	out := r.apply(t.Context(), p())
	if out.Exit != 3 {
		t.Fatalf("exit %d: %s", out.Exit, out.Summary)
	}
	if d := out.State.Latest("two.do.ada"); d == nil || d.Reason != plan.ReasonUpstreamFailed {
		t.Errorf("the second round's worker is %+v", d)
	}
	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	out = r.apply(t.Context(), p())
	if out.Exit != 0 || out.State.Ended != "completed" {
		t.Fatalf("exit %d: %s\n%s", out.Exit, out.Summary, strings.Join(r.log, "\n"))
	}
	starts := 0
	for _, d := range out.State.WorkerDispatches {
		if d.WorkerKey == "one.do.ada" {
			starts++
		}
	}
	if starts != 1 {
		t.Errorf("the worker that had completed was started %d times", starts)
	}
}
