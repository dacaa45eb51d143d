package lang

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"

	"github.com/okstra/okstra/lang/catalog"
	"github.com/okstra/okstra/lang/plan"
)

// workersOf compiles the only run of a definition and returns its workers.
func workersOf(t *testing.T, text string) []plan.Worker {
	t.Helper()
	var out []plan.Worker
	for _, rd := range compile(t, tree(t, map[string]string{"okstra.hcl": text}), "").Plan.Rounds {
		out = append(out, rd.Workers...)
	}
	return out
}

func TestAssignmentDigest(t *testing.T) {
	base := `
provider "p" {
  command = ["p", "--root", path.root]
  env     = { A = "1" }
}
duty "d" {
  instructions = "Do it in ${path.root}."
  output "o" {}
}
run "r" {
  round "a" {
    assign {
      duty = duty.d
      to   = provider.p
    }
  }
}
`
	digest := func(text string) string { return workersOf(t, text)[0].Digests.Assignment }
	first := digest(base)
	for name, c := range map[string]struct {
		old, new string
		changed  bool
	}{
		"instructions": {"Do it", "Do that", true},
		"command":      {`"--root"`, `"-r"`, true},
		"environment":  {`A = "1"`, `A = "2"`, true},
		"prompt":       {`command =`, "prompt = \"stdin\"\n  command =", true},
		"output":       {`output "o" {}`, "", true},
		"emits":        {`output "o" {}`, `emits = "findings"`, true},
		"model":        {`command =`, "model = \"m\"\n  command =", true},
		"limits":       {`command =`, "timeout = { wall = \"1m\" }\n  command =", false},
		"retries":      {`command =`, "retry = { attempts = 9 }\n  command =", false},
		"panes":        {`round "a" {`, "panes {\n keep = \"never\"\n }\n  round \"a\" {", false},
		"backend":      {`round "a" {`, "backend = [backend.tmux]\n  round \"a\" {", false},
		"round name":   {`round "a"`, `round "b"`, false},
		"exit codes":   {`command =`, "exit_codes = { \"7\" = \"auth\" }\n  command =", false},
	} {
		if got := digest(strings.Replace(base, c.old, c.new, 1)) != first; got != c.changed {
			t.Errorf("%s: changed = %t", name, got)
		}
	}
	// A project that was moved is the same project.
	moved := tree(t, map[string]string{"/q/.git/HEAD": "", "/q/okstra.hcl": base})
	moved.Dir = "/q"
	if got := compile(t, moved, "").Plan.Rounds[0].Workers[0].Digests.Assignment; got != first {
		t.Error("the digest holds the place of the project")
	}
	for _, tmpl := range []plan.Template{{}, plan.Text("a <b> & \u2028 \xff é"), {{Text: "x"}, {Ref: plan.RefResultPath}}} {
		if digestTemplate(tmpl) != plan.Digest(tmpl) {
			t.Errorf("digestTemplate(%v) is not plan.Digest", tmpl)
		}
	}
}

func TestLabels(t *testing.T) {
	workers := workersOf(t, `
role "analyst-2" {}
duty "d" { instructions = "Do." }
duty "e" {
  instructions = "Do."
  role         = role.analyst-2
}
duty "f" {
  instructions = "Do."
  role         = role.verifier
}
run "r" {
  round "a" {
    assign {
      duty     = duty.d
      to       = provider.claude
      for_each = ["x", "y"]
    }
    assign {
      duty = duty.e
      to   = provider.claude
    }
    assign {
      duty = duty.f
      to   = provider.claude
    }
  }
}
`)
	var got []string
	for _, w := range workers {
		got = append(got, w.Label)
	}
	want := []string{"claude-analyst-1", "claude-analyst-3", "claude-analyst-2", "claude-verifier"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNearestWins(t *testing.T) {
	w := workersOf(t, `
okstra {
  timeout = { wall = "1m", idle = "1m", start = "1m", grace = "1m" }
}
provider "p" {
  command    = ["p", null, "a"]
  args       = ["b"]
  model_args = ["-m", worker.model]
  models     = { small = "s-1" }
  timeout    = { start = "3m", grace = "3m" }
  env        = { A = "provider", B = "provider", C = "provider" }
  result     = "stdout"
  access "read" {
    args = ["c"]
    env  = { B = "access" }
  }
}
participant "x" {
  provider = provider.p
  model    = "small"
  args     = ["d"]
  timeout  = { grace = "4m" }
  env      = { C = null, D = "participant" }
}
duty "d" {
  instructions = "Do."
  retry        = { attempts = 5 }
}
run "r" {
  timeout = { idle = "2m", start = "2m", grace = "2m" }
  dir     = "run"
  round "a" {
    dir = "round"
    assign {
      duty  = duty.d
      to    = participant.x
      retry = { backoff = "1s" }
      dir   = "assign/${worker.participant}"
    }
  }
}
`)[0]
	if diff := cmp.Diff("1m0s 2m0s 3m0s 4m0s", fmt.Sprint(w.Limits.Wall, w.Limits.Idle, w.Limits.Start, w.Limits.Grace)); diff != "" {
		t.Error(diff)
	}
	if w.Retry.Attempts != 5 || w.Retry.Backoff.String() != "1s" || len(w.Retry.On) != 5 {
		t.Errorf("retry = %+v", w.Retry)
	}
	var argv, env []string
	for _, a := range w.Argv {
		argv = append(argv, a.String())
	}
	for _, e := range w.Env {
		env = append(env, e.Name+"="+e.Value.String())
	}
	if diff := cmp.Diff([]string{"p", "a", "c", "b", "-m", "s-1", "d"}, argv); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"A=provider", "B=access", "D=participant"}, env); diff != "" {
		t.Error(diff)
	}
	if w.Dir != "assign/x" || w.Origins["dir"].Line != 38 || w.Origins["timeout.grace"].Line != 22 {
		t.Errorf("dir = %s, origins = %v", w.Dir, w.Origins)
	}
}

func TestFanOut(t *testing.T) {
	text := `
duty "d" {
  instructions = "Do ${each.key}."
}
run "r" {
  round "a" {
    assign {
      duty     = duty.d
      to       = provider.claude
      for_each = %s
    }
  }
}
`
	for name, c := range map[string]struct {
		expr string
		keys []string
	}{
		"list":   {`["b", "a/ü \n\"", "a"]`, []string{"a", "a/ü \n\"", "b"}},
		"set":    {`toset(["b", "a", "b"])`, []string{"a", "b"}},
		"map":    {`{ z = 1, y = [2] }`, []string{"y", "z"}},
		"chosen": {`true ? ["x"] : []`, []string{"x"}},
	} {
		var got []string
		for _, w := range workersOf(t, fmt.Sprintf(text, c.expr)) {
			got = append(got, *w.EachKey)
			if w.Instructions.String() != "Do "+*w.EachKey+"." {
				t.Errorf("instructions = %s", w.Instructions)
			}
		}
		if diff := cmp.Diff(c.keys, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	p := compile(t, tree(t, map[string]string{"okstra.hcl": fmt.Sprintf(text, "[]")}), "").Plan
	if p.Rounds[0].Empty == "" || len(p.Rounds[0].Workers) != 0 {
		t.Errorf("round = %+v", p.Rounds[0])
	}
	wantDiags(t, tree(t, map[string]string{"okstra.hcl": fmt.Sprintf(text, "[for i in range(1000) : \"a\"]")}), SummaryForEach)
	many := `flatten([for i in range(105) : [for j in range(100) : "${i}-${j}"]])`
	wantDiags(t, tree(t, map[string]string{"okstra.hcl": fmt.Sprintf(text, many)}), SummaryTooLarge)
	wantDiags(t, tree(t, map[string]string{"okstra.hcl": strings.Replace(fmt.Sprintf(text, `flatten([for i in range(60) : [for j in range(100) : "${i}-${j}"]])`), "provider.claude", "[provider.claude, provider.codex]", 1)}), SummaryTooMany)
}

func TestLongNames(t *testing.T) {
	long := strings.Repeat("n", 64)
	wantDiags(t, tree(t, map[string]string{"okstra.hcl": strings.NewReplacer(`"d"`, `"`+long+`"`, "duty.d", "duty."+long, "provider.claude", "participant."+long).Replace(body) +
		"participant \"" + long + "\" {\n  provider = provider.claude\n}\n"}), SummaryTooLong)
}

func TestPrograms(t *testing.T) {
	text := strings.Replace(body, "provider.claude", "provider.p", 1) + "\nprovider \"p\" {\n  command = [\"./bin/missing\"]\n}\n"
	for _, required := range []bool{false, true} {
		def, _ := Load(tree(t, map[string]string{"okstra.hcl": text}))
		c, diags := Compile(def, "", CompileOptions{ProgramsRequired: required})
		if (c == nil) != required || len(diags) != 1 || diags[0].Summary != SummaryProgram || diags.HasErrors() != required {
			t.Errorf("required %t: %s", required, texts(diags))
		}
		if !required && c.Plan.Rounds[0].Workers[0].Program.Problem == "" {
			t.Error("the plan does not say that the program is missing")
		}
	}
}

func TestRuns(t *testing.T) {
	two := body + strings.Replace(body[strings.Index(body, "run"):], `run "r" {`, "run \"s\" {\n  description = \"Second.\"", 1)
	def, diags := Load(tree(t, map[string]string{"okstra.hcl": two}))
	if diags.HasErrors() {
		t.Fatal(texts(diags))
	}
	if _, ok := def.DefaultRun(); ok {
		t.Error("there is no default among two")
	}
	if c, diags := Compile(def, "", CompileOptions{}); c != nil || !strings.Contains(texts(diags), "r, s") {
		t.Error(texts(diags))
	}
	if c, diags := Compile(def, "rr", CompileOptions{}); c != nil || !strings.Contains(texts(diags), "Did you mean r?") {
		t.Error(texts(diags))
	}
	def, _ = Load(tree(t, map[string]string{"okstra.hcl": two + "okstra {\n  default_run = run.s\n}\n"}))
	runs := def.Runs()
	if len(runs) != 2 || runs[0].Default || !runs[1].Default || runs[1].Description != "Second." || runs[1].Task.ID != "s" {
		t.Errorf("runs = %+v", runs)
	}
	if !slices.ContainsFunc(def.Providers(), func(p ProviderInfo) bool { return p.Name == "codex" && p.Catalog && len(p.VersionCommand) > 0 }) {
		t.Errorf("providers = %+v", def.Providers())
	}
}

// TestLeadAlone is a run without rounds: the lead alone acts.
func TestLeadAlone(t *testing.T) {
	p := compile(t, tree(t, map[string]string{"okstra.hcl": `
run "handoff" {
  task_type = task_type.release-handoff
  lead {
    instructions = "Hand over. Never:\n{{PHASE_FORBIDDEN_ACTIONS}}"
  }
}
`}), "").Plan
	if n := strings.Count(p.Run.Lead.Instructions, "\n- "); n != len(p.Run.Forbidden) || n == 0 {
		t.Errorf("%d of %d forbidden actions in %q", n, len(p.Run.Forbidden), p.Run.Lead.Instructions)
	}
}

// TestCatalog loads the catalog alone: it is whole, and every task type and
// provider can be used.
func TestCatalog(t *testing.T) {
	src, _ := catalog.Source()
	if out, diags := Format(src, "catalog.hcl"); diags.HasErrors() || string(out) != string(src) {
		t.Errorf("the catalog is not in canonical form: %s", texts(diags))
	}
	def, diags := Load(tree(t, map[string]string{"okstra.hcl": body}))
	if diags.HasErrors() {
		t.Fatal(texts(diags))
	}
	for _, info := range def.TaskTypes() {
		if _, diags := def.taskType(info.Name); diags.HasErrors() {
			t.Error(texts(diags))
		}
	}
	for _, p := range def.Providers() {
		if p.Name == "command" {
			continue
		}
		for _, duty := range []string{"d", "w"} {
			text := strings.NewReplacer("provider.claude", "provider."+p.Name, "duty.d", "duty."+duty).Replace(body) +
				"duty \"w\" {\n  instructions = \"Write.\"\n  role = role.executor\n}\n"
			if diags, _ := complaints(tree(t, map[string]string{"okstra.hcl": text})); diags.HasErrors() {
				t.Errorf("%s, %s: %s", p.Name, duty, texts(diags))
			}
		}
	}
}

func TestFormat(t *testing.T) {
	got, diags := Format([]byte("a=1\nbcd = 2\nx \"y\"{\n}\n"), "f.hcl")
	if want := "a   = 1\nbcd = 2\nx \"y\" {\n}\n"; string(got) != want || diags.HasErrors() {
		t.Errorf("got %q\n%s", got, texts(diags))
	}
	got, _ = Format([]byte(`{"a":[1,"<"]}`), "f.hcl.json")
	if want := "{\n  \"a\": [\n    1,\n    \"<\"\n  ]\n}\n"; string(got) != want {
		t.Errorf("got %q", got)
	}
	for _, name := range []string{"f.hcl", "f.hcl.json"} {
		if got, diags := Format([]byte("{ broken"), name); got != nil || !diags.HasErrors() {
			t.Errorf("%s: a broken file was formatted: %q", name, got)
		}
	}
}

// TestReference holds the table of the language to itself and to the scopes.
func TestReference(t *testing.T) {
	seen := map[string]bool{}
	for _, b := range Reference() {
		if seen[b.Path] || b.Description == "" {
			t.Errorf("%s: twice, or without a description", b.Path)
		}
		seen[b.Path] = true
		for _, a := range b.Attributes {
			if a.Description == "" || a.Type == "" || a.Required && a.Default != "" || (a.Type == "object") != (len(a.Keys) > 0) {
				t.Errorf("%s.%s: %+v", b.Path, a.Name, a)
			}
		}
	}
	for _, b := range Reference() {
		for _, inner := range b.Blocks {
			if !seen[inner] {
				t.Errorf("%s: no block %q", b.Path, inner)
			}
		}
	}
	for _, kind := range overridable {
		if !seen[kind] {
			t.Errorf("no block %q to override", kind)
		}
	}
	d := tidy(hcl.Diagnostics{fault(hcl.Range{Filename: "b"}, "x", "y"), fault(hcl.Range{Filename: "a"}, "x", "y"), caution(hcl.Range{Filename: "c"}, "x", "y"), fault(hcl.Range{Filename: "a"}, "x", "y")})
	if len(d) != 3 || d[0].Severity != hcl.DiagWarning || d[1].Subject.Filename != "a" {
		t.Errorf("tidy = %v", d)
	}
}
