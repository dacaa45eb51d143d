package catalog_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/okstra/okstra/lang/catalog"
	"github.com/okstra/okstra/lang/guard"
	"github.com/okstra/okstra/lang/plan"
)

var taskTypes = []string{
	"requirements-discovery", "improvement-discovery", "error-analysis", "implementation-planning",
	"implementation", "final-verification", "release-handoff", "unknown",
}

// scope holds the names that the catalog's command lines may use.
var scope = &hcl.EvalContext{Variables: map[string]cty.Value{
	"worker": cty.ObjectVal(map[string]cty.Value{"model": cty.StringVal("M")}),
	"path":   cty.ObjectVal(map[string]cty.Value{"root": cty.StringVal("/root")}),
}}

// blocks parses the catalog and returns its blocks by kind and name.
func blocks(t *testing.T) map[string]map[string]*hclsyntax.Body {
	t.Helper()
	src, filename := catalog.Source()
	if diags := guard.Check(src, filename); diags.HasErrors() {
		t.Fatal(diags)
	}
	file, diags := hclparse.NewParser().ParseHCL(src, filename)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	out := map[string]map[string]*hclsyntax.Body{}
	for _, b := range file.Body.(*hclsyntax.Body).Blocks {
		name := b.Labels[0]
		if out[b.Type] == nil {
			out[b.Type] = map[string]*hclsyntax.Body{}
		}
		if out[b.Type][name] != nil {
			t.Errorf("%s %q is defined twice", b.Type, name)
		}
		out[b.Type][name] = b.Body
	}
	return out
}

func value(t *testing.T, b *hclsyntax.Body, name string) cty.Value {
	t.Helper()
	a := b.Attributes[name]
	if a == nil {
		return cty.NullVal(cty.DynamicPseudoType)
	}
	v, diags := a.Expr.Value(scope)
	if diags.HasErrors() {
		t.Fatalf("%s: %s", name, diags)
	}
	return v
}

// list returns an attribute that must be there and be a list of strings.
func list(t *testing.T, b *hclsyntax.Body, name string) []string {
	t.Helper()
	v := value(t, b, name)
	if v.IsNull() {
		t.Fatalf("%s is missing", name)
	}
	var out []string
	for it := v.ElementIterator(); it.Next(); {
		_, e := it.Element()
		out = append(out, e.AsString())
	}
	return out
}

func TestTaskTypes(t *testing.T) {
	all := blocks(t)
	if len(all["task_type"]) != len(taskTypes) {
		t.Errorf("got %d task types, want %d", len(all["task_type"]), len(taskTypes))
	}
	counts := map[string]int{"implementation": 13, "release-handoff": 15}
	for _, name := range taskTypes {
		t.Run(name, func(t *testing.T) {
			b := all["task_type"][name]
			if b == nil {
				t.Fatal("is missing")
			}
			for attr := range b.Attributes {
				if !slices.Contains([]string{"allowed", "forbidden", "next", "writers", "required_roles"}, attr) {
					t.Errorf("unexpected attribute %q", attr)
				}
			}
			for _, attr := range []string{"allowed", "forbidden"} {
				items := list(t, b, attr)
				if len(items) == 0 {
					t.Errorf("%s is empty", attr)
				}
				seen := map[string]bool{}
				for _, item := range items {
					if seen[strings.ToLower(item)] {
						t.Errorf("%s holds %q twice", attr, item)
					}
					seen[strings.ToLower(item)] = true
					if !strings.HasSuffix(item, ".") || strings.TrimSpace(item) != item || strings.ContainsAny(item, "\n{}") {
						t.Errorf("%s: %q is not one plain sentence", attr, item)
					}
				}
			}
			if want, ok := counts[name]; ok && len(list(t, b, "forbidden")) != want {
				t.Errorf("%d forbidden actions, want %d", len(list(t, b, "forbidden")), want)
			}
			for _, next := range list(t, b, "next") {
				if !slices.Contains(taskTypes, next) || next == name {
					t.Errorf("next %q is no other task type", next)
				}
			}
			for _, role := range list(t, b, "writers") {
				r := all["role"][role]
				if r == nil || value(t, r, "access").IsNull() || value(t, r, "access").AsString() != string(plan.AccessWrite) {
					t.Errorf("writer %q is no role with write access", role)
				}
			}
			for _, role := range list(t, b, "required_roles") {
				if all["role"][role] == nil {
					t.Errorf("required role %q is not defined", role)
				}
			}
		})
	}
}

// TestForbiddenKinds looks for the kinds of action that the two longest lists
// must name.
func TestForbiddenKinds(t *testing.T) {
	kinds := map[string][]string{
		"implementation": {"git push", "--dry-run", "Publishing", "database", "infrastructure", "API", "sub-agents", "before the plan is approved", "verifiers only read"},
		"release-handoff": {"--force.", "--force-with-lease", "-f,", "plus sign", "base branch", "--no-verify", "gh release create", "gh release edit",
			"twine upload", "npm publish", "Editing source", "did not select", "weaker", "TeamCreate", "Agent", "none of the offered"},
	}
	all := blocks(t)
	for name, wants := range kinds {
		text := strings.Join(list(t, all["task_type"][name], "forbidden"), "\n")
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not forbid %q", name, want)
			}
		}
	}
}

func TestRoles(t *testing.T) {
	all := blocks(t)
	for _, name := range []string{"lead", "analyst", "executor", "verifier", "report-writer", "critic"} {
		b := all["role"][name]
		if b == nil {
			t.Errorf("role %q is missing", name)
			continue
		}
		access := plan.AccessRead
		if v := value(t, b, "access"); !v.IsNull() {
			access = plan.Access(v.AsString())
		}
		if (access == plan.AccessWrite) != (name == "executor") {
			t.Errorf("role %q has access %q", name, access)
		}
		if value(t, b, "description").IsNull() {
			t.Errorf("role %q has no description", name)
		}
	}
}

func TestProviders(t *testing.T) {
	all := blocks(t)
	outputs := map[string]plan.OutputFormat{
		"claude": plan.OutputClaudeStream, "codex": plan.OutputCodexStream, "gemini": plan.OutputGeminiStream, "command": plan.OutputText,
	}
	if len(all["provider"]) != len(outputs) {
		t.Errorf("got %d providers, want %d", len(all["provider"]), len(outputs))
	}
	for name, output := range outputs {
		t.Run(name, func(t *testing.T) {
			b := all["provider"][name]
			if b == nil {
				t.Fatal("is missing")
			}
			if got := value(t, b, "output").AsString(); got != string(output) {
				t.Errorf("output is %q, want %q", got, output)
			}
			prompt := plan.PromptDelivery(value(t, b, "prompt").AsString())
			if !slices.Contains([]plan.PromptDelivery{plan.PromptPath, plan.PromptStdin, plan.PromptArgument}, prompt) {
				t.Errorf("prompt is %q", prompt)
			}
			access := map[string]*hclsyntax.Body{}
			for _, inner := range b.Blocks {
				if inner.Type != "access" {
					t.Errorf("unexpected block %q", inner.Type)
				}
				access[inner.Labels[0]] = inner.Body
			}
			for _, kind := range []string{"read", "write"} {
				a := access[kind]
				if a == nil {
					t.Fatalf("no access %q", kind)
				}
				result := plan.ResultSource(value(t, a, "result").AsString())
				if want := plan.ResultStdout; name != "command" && kind == "read" && result != want {
					t.Errorf("a worker that cannot write has result %q, want %q", result, want)
				}
				if result != plan.ResultFile && result != plan.ResultStdout {
					t.Errorf("access %q: result is %q", kind, result)
				}
			}
			if name == "command" {
				if !value(t, b, "command").IsNull() {
					t.Error("the command provider has a command of its own")
				}
				return
			}
			if argv := list(t, b, "command"); argv[0] != name {
				t.Errorf("command begins with %q", argv[0])
			}
			if v := list(t, b, "version_command"); len(v) != 2 || v[0] != name {
				t.Errorf("version_command is %q", v)
			}
			if args := list(t, b, "model_args"); !slices.Contains(args, "M") {
				t.Errorf("model_args %q do not pass the model", args)
			}
			if len(list(t, b, "models")) == 0 {
				t.Error("no model names")
			}
			if !slices.Contains(list(t, b, "unset_env"), "CLAUDECODE") {
				t.Error("CLAUDECODE is not removed")
			}
			if idle := value(t, b, "timeout").GetAttr("idle").AsString(); idle != "5m" {
				t.Errorf("idle limit is %q", idle)
			}
			if codes := value(t, b, "exit_codes"); !codes.IsNull() {
				for it := codes.ElementIterator(); it.Next(); {
					code, reason := it.Element()
					if n, err := strconv.Atoi(code.AsString()); err != nil || n < 1 || n > 255 {
						t.Errorf("exit code %q", code.AsString())
					}
					if s, ok := plan.StatusOf(plan.Reason(reason.AsString())); !ok || s != plan.StatusError {
						t.Errorf("exit code %s: %q is no reason of an error", code.AsString(), reason.AsString())
					}
				}
			}
		})
	}
}

// TestPromptMayFollow: the prompt is the last argument where a definition says
// so, and must not become a value of the option before it.
func TestPromptMayFollow(t *testing.T) {
	several := []string{"--add-dir", "--disallowedTools", "--allowed-tools", "--include-directories"}
	for name, p := range blocks(t)["provider"] {
		if name == "command" {
			continue
		}
		command := list(t, p, "command")
		if slices.Contains(command, "-") {
			t.Errorf("%s: the command says that the prompt comes through standard input", name)
		}
		for _, access := range p.Blocks {
			args := append(slices.Clone(command), list(t, access.Body, "args")...)
			last := ""
			for _, a := range args {
				if strings.HasPrefix(a, "--") {
					last = a
				}
			}
			if name != "codex" && slices.Contains(several, last) { // codex takes one value for each
				t.Errorf("%s, access %s: %s is the last option, and takes what follows", name, access.Labels[0], last)
			}
		}
	}
}

func TestFormatted(t *testing.T) {
	src, _ := catalog.Source()
	if got := hclwrite.Format(src); string(got) != string(src) {
		t.Error("catalog.hcl is not in the canonical format")
	}
	for i, line := range strings.Split(string(src), "\n") {
		if strings.TrimRight(line, " \t") != line {
			t.Errorf("line %d ends in white space", i+1)
		}
	}
}
