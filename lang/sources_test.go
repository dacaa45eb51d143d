package lang

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/okstra/okstra/lang/plan"
)

// body is a run that uses provider.claude, for definitions about other things.
const body = `
duty "d" {
  instructions = "Do it."
}
run "r" {
  round "a" {
    assign {
      duty = duty.d
      to   = provider.claude
    }
  }
}
`

// want fails unless some diagnostic has the summary and all the words.
func want(t *testing.T, all string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(all, w) {
			t.Errorf("the diagnostics do not hold %q:\n%s", w, all)
		}
	}
}

func wantDiags(t *testing.T, src Source, words ...string) {
	t.Helper()
	diags, _ := complaints(src)
	all := texts(diags)
	if !diags.HasErrors() {
		t.Errorf("no errors:\n%s", all)
	}
	want(t, all, words...)
}

func TestFinding(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		file  string
		path  string
		words []string
	}{
		"none":        {files: map[string]string{"x": ""}, words: []string{SummaryNotFound, "okstra init"}},
		"two":         {files: map[string]string{"okstra.hcl": "", "okstra.hcl.json": "{}"}, words: []string{SummaryAmbiguous, "-f"}},
		"native":      {files: map[string]string{"okstra.hcl": body}, path: "/p/okstra.hcl"},
		"folder":      {files: map[string]string{"okstra/a.hcl": body, "okstra/x.vars.hcl": "what is this", "okstra/README.md": "x"}, path: "/p/okstra"},
		"named":       {files: map[string]string{"okstra.hcl": "broken {", "sub/my.hcl": body}, file: "sub/my.hcl", path: "/p/sub/my.hcl"},
		"not there":   {files: map[string]string{"okstra.hcl": body}, file: "other.hcl", words: []string{SummaryNotFound, "other.hcl", "no such file"}},
		"empty":       {files: map[string]string{"okstra/x.txt": ""}, words: []string{SummaryNotFound, "The folder okstra/ holds no *.hcl", "okstra init"}},
		"empty named": {files: map[string]string{"okstra/x.txt": ""}, file: "okstra", words: []string{SummaryUnreadable, "*.hcl"}},
		"beside code": {files: map[string]string{"okstra/x.go": "", "okstra/x.vars.hcl": "", "okstra.hcl": body}, path: "/p/okstra.hcl"},
		"folder json": {files: map[string]string{"okstra/a.hcl.json": `{"duty":{"d":{"instructions":"x"}}}`, "okstra/b.hcl": strings.Replace(body, `duty "d" {`, `duty "e" {`, 1)}, path: "/p/okstra"},
	} {
		t.Run(name, func(t *testing.T) {
			src := tree(t, c.files)
			src.File = c.file
			def, diags := Load(src)
			if len(c.words) > 0 {
				want(t, texts(diags), c.words...)
				return
			}
			if diags.HasErrors() || def.Path != c.path || def.ProjectRoot != "/p" {
				t.Errorf("path %s, root %s\n%s", def.Path, def.ProjectRoot, texts(diags))
			}
		})
	}
}

func TestProjectRoot(t *testing.T) {
	for name, c := range map[string]struct {
		files      map[string]string
		definition string
		want       string
	}{
		"nothing":          {map[string]string{"/a/b/okstra.hcl": ""}, "/a/b/okstra.hcl", "/a/b"},
		"nothing, folder":  {map[string]string{"/a/b/okstra/x.hcl": ""}, "/a/b/okstra", "/a/b"},
		"git above":        {map[string]string{"/a/.git/HEAD": "", "/a/b/okstra.hcl": ""}, "/a/b/okstra.hcl", "/a"},
		"okstra is nearer": {map[string]string{"/a/.git/HEAD": "", "/a/b/.okstra/x": "", "/a/b/c/okstra.hcl": ""}, "/a/b/c/okstra.hcl", "/a/b"},
		"linked worktree": {map[string]string{
			"/main/.git/HEAD": "", "/main/.git/worktrees/w/commondir": "../..\n",
			"/w/.git": "gitdir: /main/.git/worktrees/w\n", "/w/okstra.hcl": "",
		}, "/w/okstra.hcl", "/main"},
		"submodule": {map[string]string{
			"/main/.git/modules/s/HEAD": "", "/main/s/.git": "gitdir: ../.git/modules/s\n", "/main/s/okstra.hcl": "",
		}, "/main/s/okstra.hcl", "/main/s"},
		"broken pointer": {map[string]string{"/w/.git": "nonsense", "/w/x/okstra.hcl": ""}, "/w/x/okstra.hcl", "/w"},
	} {
		t.Run(name, func(t *testing.T) {
			fs := afero.NewMemMapFs()
			for path, text := range c.files {
				if err := afero.WriteFile(fs, path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if got := ProjectRoot(fs, c.definition); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestImports(t *testing.T) {
	house := map[string]string{
		"/house/house.hcl": `
okstra { timeout = { wall = "5m", idle = "1m" } }
import { source = "more" }
provider "tool" { command = ["./tool"] }
duty "shared" { instructions = file("shared.md") }
override "provider" "claude" { model = "sonnet" }
run "not-ours" {
  round "x" {
    assign {
      duty = duty.shared
      to = provider.tool
    }
  }
}
`,
		"/house/shared.md":       "Shared words.",
		"/house/more/role.hcl":   `role "watcher" { description = "Looks." }`,
		"/house/more/x.vars.hcl": "nonsense {",
	}
	text := `
import { source = "../house/house.hcl" }
import { source = "../house/more" }
import { source = "../house/more/role.hcl" }
import { source = "../house" }
okstra { timeout = { wall = "9m" } }
override "provider" "tool" {
  args = ["-v"]
}
override "provider" "claude" {
  model = "opus"
}
override "task_type" "unknown" {
  forbidden = ["Singing."]
}
override "role" "watcher" {
  access = "read"
}
run "r" {
  round "a" {
    assign {
      duty = duty.shared
      to   = [provider.tool, provider.claude]
    }
  }
}
`
	src := tree(t, with(house, "okstra.hcl", text))
	def, diags := Load(src)
	if diags.HasErrors() {
		t.Fatal(texts(diags))
	}
	if runs := def.Runs(); len(runs) != 1 || runs[0].Name != "r" {
		t.Errorf("runs = %v", runs)
	}
	p := compile(t, src, "r").Plan
	tool, claude := p.Rounds[0].Workers[0], p.Rounds[0].Workers[1]
	if tool.Program.Path != "/house/tool" || tool.Argv[0].String() != "./tool" || tool.Argv[1].String() != "-v" {
		t.Errorf("tool: %v from %s", tool.Argv, tool.Program.Path)
	}
	if claude.Model != "opus" {
		t.Errorf("model = %s", claude.Model)
	}
	if tool.Instructions.String() != "Shared words." {
		t.Errorf("instructions = %s", tool.Instructions)
	}
	// The whole object of the nearest okstra block wins over the library's.
	if got := tool.Limits.Wall.String(); got != "9m0s" {
		t.Errorf("wall = %s", got)
	}
	last := p.Run.Forbidden[len(p.Run.Forbidden)-1]
	if last != "Singing." || len(p.Run.Forbidden) < 2 {
		t.Errorf("forbidden = %q", p.Run.Forbidden)
	}
	var overrides []string
	for _, o := range p.Overrides {
		overrides = append(overrides, o.Kind+" "+o.Name+" "+strings.Join(o.Attributes, ","))
	}
	if diff := cmp.Diff([]string{
		"provider claude model", "provider tool args", "provider claude model", "task_type unknown forbidden", "role watcher access",
	}, overrides); diff != "" {
		t.Error(diff)
	}
	var inputs []string
	for _, in := range p.Inputs {
		inputs = append(inputs, in.Path)
	}
	if diff := cmp.Diff([]string{"/house/house.hcl", "/house/more/role.hcl", "/house/shared.md", "okstra.hcl"}, inputs); diff != "" {
		t.Error(diff)
	}
}

func TestImportFaults(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		words []string
	}{
		"ring": {map[string]string{
			"okstra.hcl": `import { source = "b.hcl" }`, "b.hcl": `import { source = "c.hcl" }`, "c.hcl": `import { source = "b.hcl" }`,
		}, []string{SummaryImportCycle, "b.hcl → c.hcl → b.hcl"}},
		"itself":        {map[string]string{"okstra.hcl": `import { source = "okstra.hcl" }`}, []string{SummaryImportCycle}},
		"nowhere":       {map[string]string{"okstra.hcl": `import { source = "nowhere" }`}, []string{SummaryImport, "no such file", "relative to the importing file"}},
		"evaluated":     {map[string]string{"okstra.hcl": `import { source = local.x }`}, []string{SummaryWrongType, "plain string"}},
		"no source":     {map[string]string{"okstra.hcl": "import {\n}\n" + body}, []string{SummaryMissingAttribute}},
		"syntax inside": {map[string]string{"okstra.hcl": `import { source = "b.hcl" }`, "b.hcl": "role {{"}, []string{"b.hcl:1"}},
		"twice defined": {map[string]string{"okstra.hcl": `import { source = "b.hcl" }` + body, "b.hcl": `duty "d" { instructions = "x" }`},
			[]string{SummaryDuplicate, `override "duty" "d"`, "b.hcl:1"}},
		"newer library": {map[string]string{"okstra.hcl": `import { source = "b.hcl" }` + body, "b.hcl": "okstra { required_version = \">= 9\" }\nfuture {}"},
			[]string{SummaryVersion}},
		"wrong run in a library": {map[string]string{"okstra.hcl": `import { source = "b.hcl" }` + body, "b.hcl": `run "x" { nothing = 1 }`}, []string{SummaryUnknownAttribute}},
	} {
		t.Run(name, func(t *testing.T) { wantDiags(t, tree(t, c.files), c.words...) })
	}
}

func TestVariableSources(t *testing.T) {
	text := `
variable "a" { default = "default" }
variable "n" {
  type    = list(number)
  default = []
}
variable "s" {
  sensitive = true
  type      = string
}
provider "p" {
  command = ["p", var.a, join("+", [for n in var.n : "${n}"])]
  env     = { S = "<${var.s}>" }
}
duty "d" { instructions = "Do." }
run "r" {
  round "x" {
    assign {
      duty = duty.d
      to   = provider.p
    }
  }
}
`
	files := map[string]string{"okstra.hcl": text, "okstra.vars.hcl": `a = "auto"`, "more.hcl": `a = "file"`, "j.json": `{"a": "json", "s": "from json"}`}
	s := VarArg{Var: "s=se=cret"}
	for name, c := range map[string]struct {
		env      map[string]string
		vars     []VarArg
		argument string
		source   string
	}{
		"automatic file over environment": {map[string]string{"OKSTRA_VAR_a": "env"}, []VarArg{s}, "auto", "okstra.vars.hcl"},
		"file over automatic":             {nil, []VarArg{s, {File: "more.hcl"}}, "file", "more.hcl"},
		"the last wins":                   {nil, []VarArg{s, {Var: "a=arg"}, {File: "more.hcl"}}, "file", "more.hcl"},
		"argument":                        {nil, []VarArg{s, {File: "more.hcl"}, {Var: "a=x=y"}}, "x=y", "--var"},
		"json":                            {nil, []VarArg{{File: "j.json"}}, "json", "j.json"},
	} {
		t.Run(name, func(t *testing.T) {
			src := tree(t, files)
			src.World, src.Vars = fakeWorld{env: c.env}, append(c.vars, VarArg{Var: "n=[1, 2]"})
			got := compile(t, src, "")
			w := got.Plan.Rounds[0].Workers[0]
			if w.Argv[1].String() != c.argument || w.Argv[2].String() != "1+2" {
				t.Errorf("argv = %v", w.Argv)
			}
			if v := got.Plan.Variables[0]; v.Source != c.source || v.Value != c.argument {
				t.Errorf("variable = %+v", v)
			}
			if v := got.Plan.Variables[2]; v.Value != nil || !v.Sensitive {
				t.Errorf("sensitive variable = %+v", v)
			}
			if diff := cmp.Diff(plan.Template{{Text: "<"}, {Ref: plan.RefSecret("s")}, {Text: ">"}}, w.Env[0].Value); diff != "" {
				t.Error(diff)
			}
			if secret, ok := got.Secrets("s"); !ok || secret != "se=cret" && secret != "from json" {
				t.Errorf("secret = %q", secret)
			}
			if _, ok := got.Secrets("a"); ok {
				t.Error("a plain variable is no secret")
			}
			b, err := plan.Indented(got.Plan)
			if err != nil || strings.Contains(string(b), "cret") && strings.Contains(string(b), "se=") {
				t.Errorf("the plan holds the secret (%v)", err)
			}
		})
	}
	for name, c := range map[string]struct {
		vars  []VarArg
		files map[string]string
		words []string
	}{
		"no value":             {nil, nil, []string{SummaryVariableMissing, "--var s=", "OKSTRA_VAR_s"}},
		"undeclared":           {[]VarArg{s, {Var: "aa=1"}}, nil, []string{SummaryVariableUndeclared, "Did you mean a?"}},
		"no equals sign":       {[]VarArg{s, {Var: "a"}}, nil, []string{SummaryVariableInvalid}},
		"not a list":           {[]VarArg{s, {Var: "n=x y"}}, nil, []string{"<value for var.n>"}},
		"wrong elements":       {[]VarArg{s, {Var: `n=["x"]`}}, nil, []string{SummaryVariableInvalid, "--var"}},
		"variable block":       {[]VarArg{s, {File: "v.hcl"}}, map[string]string{"v.hcl": `variable "a" {}`}, []string{SummaryVariableInvalid, "a = …"}},
		"a block":              {[]VarArg{s, {File: "v.hcl"}}, map[string]string{"v.hcl": "n {\n}\n"}, []string{"v.hcl:1,1-2: " + SummaryVariableInvalid, "write n = …"}},
		"no quotes, sensitive": {[]VarArg{{File: "v.hcl"}}, map[string]string{"v.hcl": `s = abc`}, []string{SummaryVariableInvalid, `a text stands in quotes: s = "…"`}},
		"too large":            {[]VarArg{{File: "v.hcl"}}, map[string]string{"v.hcl": `s = 1e9999`}, []string{"Number too large", "exponent"}},
		"no such file":         {[]VarArg{s, {File: "v.hcl"}}, nil, []string{SummaryUnreadable, "v.hcl"}},
		"no quotes":            {[]VarArg{s, {File: "v.hcl"}}, map[string]string{"v.hcl": `a = abc`}, []string{"v.hcl:1,5-8: " + SummaryNotInScope, `put it in quotes: "abc"`}},
		"no quotes there":      {[]VarArg{s, {Var: "n=[x]"}}, nil, []string{"<value for var.n>:1,2-3", `put it in quotes: "x"`}},
		"not a plain one":      {[]VarArg{s, {File: "v.hcl"}}, map[string]string{"v.hcl": `a = local.x`}, []string{"v.hcl:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			all := files
			for n, text := range c.files {
				all = with(all, n, text)
			}
			src := tree(t, all)
			src.Vars = c.vars
			wantDiags(t, src, c.words...)
		})
	}
}

// TestValuesShown: of a values file the snippets show the names, and the values
// of what is known to be no secret.
func TestValuesShown(t *testing.T) {
	text := "variable \"topic\" {\n  type = string\n}\nvariable \"key\" {\n  sensitive = true\n}\n" + body
	for name, c := range map[string]struct{ file, values, want string }{
		"native": {"v.hcl", "# seen by nobody\ntopic = abc # nor this\nkey   = \"hunter2\"\ntopc  = \"hunter2\"\n",
			"                \ntopic = abc           \nkey   =          \ntopc  =          \n"},
		"block":  {"v.hcl", "key {\n  hunter2 = 1\n}\ntopic \"hunter2\" {\n}\n", "key  \n             \n \ntopic            \n \n"},
		"json":   {"v.json", `{"topic": "abc", "key": "hunter2"}`, ` "topic": "abc"  "key":           `},
		"broken": {"v.hcl", "topic = \"abc\nkey = \"hunter2\"\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			src := tree(t, map[string]string{"okstra.hcl": text, c.file: c.values})
			src.Vars = []VarArg{{File: c.file}}
			def, _ := Load(src)
			f := def.Files()[c.file]
			if c.want == "" {
				if f != nil {
					t.Errorf("shown is %q", f.Bytes)
				}
				return
			}
			if f == nil || string(f.Bytes) != c.want {
				t.Errorf("want %q, got %q", c.want, f.Bytes)
			}
		})
	}
}

// TestSecretsStaySecret gives a sensitive value in every wrong way and looks
// for it in what is said.
func TestSecretsStaySecret(t *testing.T) {
	const secret = "hunter2hunter2"
	text := `
variable "s" {
  sensitive = true
  type      = number
  validation {
    condition     = tonumber(var.s) > 5 && regex("x", var.s) == "x"
    error_message = "It is ${var.s}."
  }
}
variable "t" {
  sensitive = true
  validation {
    condition     = tonumber(var.t) > 5
    error_message = "It is ${var.t}."
  }
}
variable "u" {
  sensitive = true
  validation {
    condition     = length(var.u) > 100
    error_message = "It is ${var.u}."
  }
}
` + body
	src := tree(t, map[string]string{"okstra.hcl": text, "v.hcl": "s = [\"" + secret + "\"]\nu = " + secret})
	for _, vars := range [][]VarArg{
		{{Var: "s=" + secret}, {Var: "t=" + secret}, {Var: "u=" + secret}},
		{{File: "v.hcl"}, {Var: "t=" + secret}},
	} {
		src.Vars = vars
		diags, def := complaints(src)
		if !diags.HasErrors() || strings.Contains(texts(diags), secret) {
			t.Error(texts(diags))
		}
		for name, f := range def.Files() {
			if strings.Contains(string(f.Bytes), secret) {
				t.Errorf("%s holds the secret", name)
			}
		}
		for _, d := range diags {
			if d.EvalContext != nil {
				t.Errorf("%s carries values", d)
			}
			if d.Subject != nil && d.Subject.Filename == "v.hcl" {
				t.Errorf("%s points at the secret", d)
			}
		}
	}
}

// TestPiecesStaySecret: what cannot be read of a values file, and what functions
// say of a sensitive value, holds no piece of one.
func TestPiecesStaySecret(t *testing.T) {
	const text = "variable \"s\" {\n  sensitive = true\n  validation {\n    condition = regexall(\"x\", \"x\") == [] || CONDITION\n    error_message = \"No.\"\n  }\n}\n" + body
	for name, c := range map[string]struct{ file, values, condition, want string }{
		"number":      {"v.hcl", "s = 5hunter2\n", "true", "a text stands in quotes"},
		"percentage":  {"v.hcl", "s = 4711%\n", "true", "a text stands in quotes"},
		"heredoc":     {"v.hcl", "s = <<HUNTER\nx\nHUNTER, 2\n", "true", "a text stands in quotes"},
		"directive":   {"v.hcl", "s = \"%{hunter2}\"\n", "true", "a text stands in quotes"},
		"keys":        {"v.hcl", "s = { hunter2 = 1, hunter2 = 2 }\n", "true", "does not have the declared type"},
		"JSON":        {"v.json", `{"s": hunter2}`, "true", "a text stands in quotes"},
		"conversion":  {"v.hcl", `s = "hunter2"`, `tonumber(substr(var.s, 0, 6)) > 0`, "cannot be worked out with the value of var.s"},
		"pattern":     {"v.hcl", `s = "hunter2("`, `regex("${substr(var.s, 5, -1)}", "") == ""`, "cannot be worked out with the value of var.s"},
		"as written":  {"v.hcl", `s = "hunter2"`, `tonumber("word") > 0`, `cannot convert "word" to number`},
		"as written2": {"v.hcl", `s = "hunter2"`, `pow(-8, 0.5) > 0`, `the result is not a number`},
	} {
		t.Run(name, func(t *testing.T) {
			src := tree(t, map[string]string{"okstra.hcl": strings.Replace(text, "CONDITION", c.condition, 1), c.file: c.values})
			src.Vars = []VarArg{{File: c.file}}
			diags, _ := complaints(src)
			all := texts(diags)
			want(t, all, c.want)
			for _, piece := range []string{"hunt", "er2", "HUNTER", "4711"} {
				if strings.Contains(all, piece) {
					t.Errorf("the diagnostics hold %q:\n%s", piece, all)
				}
			}
		})
	}
}
