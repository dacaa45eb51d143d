package clis

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime/proc"
	"github.com/okstra/okstra/runtime/sidecar"
)

// eachCLI runs a story for every CLI.
func eachCLI(t *testing.T, story func(t *testing.T, cli string)) {
	for _, cli := range clis {
		t.Run(cli, func(t *testing.T) {
			t.Parallel()
			story(t, cli)
		})
	}
}

// TestWrite: a worker writes its result through its own tool call, in a tmux
// pane and as a process, and its usage is recorded.
func TestWrite(t *testing.T) {
	// Two calls of the model, as each API counts them.
	usd := 0.0117
	usage := map[string]*plan.Usage{
		"claude": {Source: "claude-result", InputTokens: 2400, CachedTokens: 400, OutputTokens: 60, USD: &usd},
		"codex":  {Source: "codex-turn", InputTokens: 2400, CachedTokens: 400, OutputTokens: 60, ReasoningTokens: 20},
		"gemini": {Source: "gemini-result", InputTokens: 2400, CachedTokens: 400, OutputTokens: 60, ReasoningTokens: 20},
	}
	for _, backend := range []string{"process", "tmux"} {
		t.Run(backend, func(t *testing.T) {
			eachCLI(t, func(t *testing.T, cli string) {
				p := newProject(t)
				w, code := p.apply("write", backend, vars(cli, "story-write")...)
				check(t, w, plan.StatusCompleted, plan.ReasonNone)
				if code != 0 {
					t.Errorf("apply ended with %d", code)
				}
				if got := p.result(w); got != "The work is done.\n" {
					t.Errorf("result is %q", got)
				}
				if diff := cmp.Diff(usage[cli], w.Usage); diff != "" {
					t.Errorf("usage (-want +got):\n%s", diff)
				}
				if (w.PaneID != "") != (backend == "tmux") {
					t.Errorf("pane %q on backend %s", w.PaneID, backend)
				}
				p.untouched()
			})
		})
	}
}

// TestRead: a worker with read access, in the project's root and in a folder
// below it, reads its inputs with its own tool, and its final text becomes the
// result.
func TestRead(t *testing.T) {
	for _, dir := range []string{".", "docs"} {
		t.Run(dir, func(t *testing.T) {
			// Not beside each other: the requests since tell what was read.
			before := len(server.Requests())
			t.Run("clis", func(t *testing.T) {
				eachCLI(t, func(t *testing.T, cli string) {
					p := newProject(t)
					w, _ := p.apply("read", "process", vars(cli, "story-read", "dir="+dir)...)
					check(t, w, plan.StatusCompleted, plan.ReasonNone)
					if got := strings.TrimSpace(p.result(w)); got != "I read it." {
						t.Errorf("result is %q", got)
					}
					read := "nothing"
					for _, r := range server.Requests()[before:] {
						if r.Model == "story-read" && r.Step == 1 && kindOf(r.Path) == pathOf(cli) {
							read = r.Result
						}
					}
					if !strings.Contains(read, "okstra.inputs/1") {
						t.Errorf("the tool did not read the inputs index, it gave: %s", read)
					}
				})
			})
		})
	}
}

// pathOf and kindOf tell whose request it was.
func pathOf(cli string) string {
	return map[string]string{"claude": "messages", "codex": "responses", "gemini": "v1beta"}[cli]
}

func kindOf(path string) string {
	for _, cli := range clis {
		if strings.Contains(path, pathOf(cli)) {
			return pathOf(cli)
		}
	}
	return path
}

// TestReadOnly: a worker with read access that tries to write does not.
func TestReadOnly(t *testing.T) {
	eachCLI(t, func(t *testing.T, cli string) {
		p := newProject(t)
		w, _ := p.apply("read", "process", vars(cli, "story-meddle")...)
		check(t, w, plan.StatusCompleted, plan.ReasonNone)
		p.untouched()
	})
}

// TestFailures: each failure ends with its reason, whatever the exit code.
func TestFailures(t *testing.T) {
	same := func(r plan.Reason) map[string]plan.Reason {
		return map[string]plan.Reason{"claude": r, "codex": r, "gemini": r}
	}
	for _, tc := range []struct {
		model string
		want  map[string]plan.Reason
	}{
		{"story-400", same(plan.ReasonProviderError)},
		{"story-401", same(plan.ReasonAuth)},
		{"story-403", same(plan.ReasonAuth)},
		{"story-404", same(plan.ReasonModelNotFound)},
		{"story-429", same(plan.ReasonRateLimited)},
		// codex reports an inner error of the service as high demand.
		{"story-500", map[string]plan.Reason{"claude": plan.ReasonProviderError, "codex": plan.ReasonOverloaded, "gemini": plan.ReasonProviderError}},
		{"story-529", same(plan.ReasonOverloaded)},
		{"story-context", same(plan.ReasonContextTooLong)},
		{"story-cut", same(plan.ReasonProviderError)},
		// gemini says nothing of a refusal that comes with words.
		{"story-refuse", map[string]plan.Reason{"claude": plan.ReasonRefused, "codex": plan.ReasonRefused}},
		// gemini takes an empty answer for an error; the others have no result.
		{"story-empty", map[string]plan.Reason{"claude": plan.ReasonNoResult, "codex": plan.ReasonNoResult, "gemini": plan.ReasonProviderError}},
	} {
		t.Run(tc.model, func(t *testing.T) {
			eachCLI(t, func(t *testing.T, cli string) {
				want, ok := tc.want[cli]
				if !ok {
					return
				}
				p := newProject(t)
				w, code := p.apply("read", "process", vars(cli, tc.model)...)
				check(t, w, plan.StatusError, want)
				if code != 3 {
					t.Errorf("apply ended with %d", code)
				}
				if w.Detail == "" {
					t.Error("nothing is said beside the reason")
				}
			})
		})
	}
}

// TestSilence: a service that never answers ends at the idle limit.
func TestSilence(t *testing.T) {
	eachCLI(t, func(t *testing.T, cli string) {
		p := newProject(t)
		w, _ := p.apply("read", "process", vars(cli, "story-silence", "idle=8s")...)
		check(t, w, plan.StatusTimeout, plan.ReasonIdleLimit)
	})
}

// TestNotSignedIn: no key, no login.
func TestNotSignedIn(t *testing.T) {
	eachCLI(t, func(t *testing.T, cli string) {
		p := newProject(t)
		for _, name := range []string{"ANTHROPIC_API_KEY", "STORY_KEY", "GEMINI_API_KEY"} {
			p.set(name, "")
		}
		w, _ := p.apply("read", "process", vars(cli, "story-text")...)
		check(t, w, plan.StatusError, plan.ReasonAuth)
	})
}

// TestUntrustedFolder: a team that took the flag away is told what to do.
func TestUntrustedFolder(t *testing.T) {
	p := newProject(t)
	p.write(filepath.Join(p.dir, "okstra.hcl"), readFile(t, "testdata/okstra.hcl")+`
override provider "gemini" {
  command = ["gemini", "--output-format", "stream-json"]
}
`)
	w, _ := p.apply("read", "process", vars("gemini", "story-text")...)
	check(t, w, plan.StatusError, plan.ReasonUntrustedFolder)
	out, _ := p.okstra("why", "read", w.WorkerKey)
	if !strings.Contains(out, "--skip-trust") {
		t.Errorf("why does not say what to do:\n%s", out)
	}
}

// TestClaudeAsRoot: claude refuses to write as root outside a sandbox, and as
// root only.
func TestClaudeAsRoot(t *testing.T) {
	p := newProject(t)
	p.set("IS_SANDBOX", "")
	w, _ := p.apply("write", "process", vars("claude", "story-write")...)
	if os.Getuid() != 0 {
		check(t, w, plan.StatusCompleted, plan.ReasonNone)
		return
	}
	check(t, w, plan.StatusError, plan.ReasonCannotStart)
	if !strings.Contains(w.Detail, "IS_SANDBOX") {
		t.Errorf("detail does not say what to do: %s", w.Detail)
	}
}

// TestRetry: a rate limit that passes costs one attempt, and no more.
func TestRetry(t *testing.T) {
	// One after another: the server counts the requests of a model.
	p := newProject(t)
	w, code := p.apply("write", "process", vars("claude", "story-passing-429", "attempts=3")...)
	check(t, w, plan.StatusCompleted, plan.ReasonNone)
	if code != 0 || w.Attempt != 2 {
		t.Errorf("apply ended with %d after attempt %d, want 0 after 2", code, w.Attempt)
	}
}

// TestKilled: a worker that is killed in the middle is redone.
func TestKilled(t *testing.T) {
	eachCLI(t, func(t *testing.T, cli string) {
		p := newProject(t)
		args := append([]string{"apply", "write", "--backend", "process"}, vars(cli, "story-slow")...)
		first := p.command(args...)
		if err := first.Start(); err != nil {
			t.Fatal(err)
		}
		// The slow step leaves a file when it runs.
		begun := filepath.Join(p.dir, "begun")
		p.await("the worker's tool call", func() bool {
			_, err := os.Stat(begun)
			return err == nil
		})
		st := p.sidecar()
		if st.Worker == nil {
			t.Fatalf("no worker in the sidecar at stage %s", st.Stage)
		}
		if err := proc.Signal(st.Worker.Identity, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if err := first.Wait(); first.ProcessState.ExitCode() != 3 {
			t.Errorf("apply of a killed worker: %v, want exit 3", err)
		}
		check(t, p.status("write").Workers[0], plan.StatusError, plan.ReasonSignal)

		w, code := p.apply("write", "process", vars(cli, "story-slow")...)
		check(t, w, plan.StatusCompleted, plan.ReasonNone)
		if code != 0 || w.Attempt != 2 {
			t.Errorf("the second apply ended with %d at attempt %d", code, w.Attempt)
		}
	})
}

// sidecar reads the one status sidecar of the project.
func (p *project) sidecar() *sidecar.Status {
	p.t.Helper()
	found, err := filepath.Glob(filepath.Join(p.dir, ".okstra/tasks/*/*/*/runs/*/prompts/*/*.status.json"))
	if err != nil || len(found) != 1 {
		p.t.Fatalf("status sidecars: %v, %v", found, err)
	}
	st, err := sidecar.Read(found[0])
	if err != nil {
		p.t.Fatal(err)
	}
	return st
}

// TestCrossCheck: CLIs find, and judge what the others found; two of them are
// enough.
func TestCrossCheck(t *testing.T) {
	for _, tc := range []struct {
		backend string
		team    []string
	}{
		{"process", clis},
		{"tmux", clis},
		{"process", []string{"claude", "codex"}},
		{"tmux", []string{"codex", "gemini"}},
		{"process", []string{"gemini", "claude"}},
	} {
		t.Run(tc.backend+"/"+strings.Join(tc.team, "+"), func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			team, err := json.Marshal(tc.team)
			if err != nil {
				t.Fatal(err)
			}
			_, code := p.okstra(append([]string{"apply", "cross-check", "--backend", tc.backend}, vars("claude", "story-text", "team="+string(team))...)...)
			if code != 0 {
				t.Errorf("apply ended with %d", code)
			}
			s := p.status("cross-check")
			if len(s.Workers) != 2*len(tc.team) || s.Ended != "completed" {
				t.Errorf("%d workers, ended %q", len(s.Workers), s.Ended)
			}
			for _, w := range s.Workers {
				check(t, w, plan.StatusCompleted, plan.ReasonNone)
			}
			states, err := filepath.Glob(filepath.Join(p.dir, ".okstra/tasks/*/*/*/runs/*/state/convergence-*.json"))
			if err != nil || len(states) != 1 {
				t.Fatalf("convergence states: %v, %v", states, err)
			}
			if n := strings.Count(readFile(t, states[0]), `"outcome": "confirmed"`); n != len(tc.team) {
				t.Errorf("%d of %d findings are confirmed", n, len(tc.team))
			}
			p.untouched()
		})
	}
}

// TestDoctor: the CLIs are found, with how they would sign in; a probe proves
// that they work, and why they do not.
func TestDoctor(t *testing.T) {
	t.Run("signed in", func(t *testing.T) {
		t.Parallel()
		p := newProject(t)
		p.write(filepath.Join(p.dir, "okstra.hcl"), `
override provider "claude" {
  command = ["claude", "-p", "--output-format", "stream-json", "--verbose", "--model", "story-text"]
}
override provider "codex" {
  command = ["codex", "exec", "--json", "--skip-git-repo-check", "--model", "story-text"]
}
override provider "gemini" {
  command = ["gemini", "--output-format", "stream-json", "--skip-trust", "--model", "story-text"]
}
`)
		out, code := p.okstra("doctor", "--probe", "--json")
		if code != 0 {
			t.Errorf("doctor ended with %d", code)
		}
		for cli, f := range findings(t, out) {
			if f.State != "ok" || f.Probe.Status != plan.StatusCompleted {
				t.Errorf("%s: %+v", cli, f)
			}
			if !strings.Contains(f.Found, map[string]string{"claude": "ANTHROPIC_API_KEY", "codex": "STORY_KEY", "gemini": "GEMINI_API_KEY"}[cli]+" is set") {
				t.Errorf("%s does not say how it signs in: %s", cli, f.Found)
			}
		}
		p.untouchedBut("okstra.hcl")
	})
	t.Run("not signed in", func(t *testing.T) {
		t.Parallel()
		p := newProject(t)
		for _, name := range []string{"ANTHROPIC_API_KEY", "STORY_KEY", "GEMINI_API_KEY"} {
			p.set(name, "")
		}
		out, code := p.okstra("doctor", "--probe", "--json")
		if code != 3 {
			t.Errorf("doctor ended with %d", code)
		}
		for cli, f := range findings(t, out) {
			if f.State != "attention" || f.Do == "" || f.Probe.Reason != plan.ReasonAuth {
				t.Errorf("%s: %+v", cli, f)
			}
		}
	})
}

// finding is what doctor says of a CLI.
type finding struct {
	Area, Name, State, Found, Do string

	Probe struct {
		Status plan.Status
		Reason plan.Reason
	}
}

// findings are those of the CLIs, by name; each must be among them.
func findings(t *testing.T, out string) map[string]finding {
	t.Helper()
	var doc struct{ Findings []finding }
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	found := map[string]finding{}
	for _, f := range doc.Findings {
		if slices.Contains(clis, f.Name) { // whether a run uses it or not
			found[f.Name] = f
		}
	}
	for _, cli := range clis {
		if _, ok := found[cli]; !ok {
			t.Errorf("nothing is said of %s", cli)
		}
	}
	return found
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
