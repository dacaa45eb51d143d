package lang

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/afero"
)

// TestLinks reads through real links: inside is followed, outside refused.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	write("p/.okstra/x", "")
	write("p/real.md", "Real.")
	write("p/sub/deep.md", "Deep.")
	write("outside/secret.md", "Secret.")
	link("real.md", "p/inside.md")
	link("../outside/secret.md", "p/outside.md")
	link("../outside", "p/out")
	link("loop", "p/loop")
	link("p", "by-link")
	for name, c := range map[string]struct {
		expr  string
		root  string
		words []string
		text  string
	}{
		"inside":       {expr: `file("inside.md")`, text: "Real."},
		"by a link":    {expr: `file("real.md")`, root: "by-link", text: "Real."},
		"outside":      {expr: `file("outside.md")`, words: []string{"link that leaves"}},
		"a folder out": {expr: `file("out/secret.md")`, words: []string{"link that leaves"}},
		"climbing":     {expr: `file("../outside/secret.md")`, words: []string{"outside the project root"}},
		"absolute":     {expr: `file("/etc/hostname")`, words: []string{"outside the project root"}},
		"loop":         {expr: `file("loop")`, words: []string{"too many links"}},
		"folder":       {expr: `file("sub")`, words: []string{"not a regular file"}},
		"exists":       {expr: `"${fileexists("real.md")} ${fileexists("none.md")}"`, text: "true false"},
		"pattern":      {expr: `join(" ", fileset(".", "**/*.md"))`, text: "inside.md real.md sub/deep.md"},
		"pattern out":  {expr: `join(" ", fileset(".", "../**"))`, words: []string{"leaves"}},
	} {
		t.Run(name, func(t *testing.T) {
			root := c.root
			if root == "" {
				root = "p"
			}
			write("p/okstra.hcl", strings.Replace(body, `"Do it."`, c.expr, 1))
			src := Source{Fs: afero.NewReadOnlyFs(afero.NewOsFs()), Dir: filepath.Join(dir, root), World: fakeWorld{}, Version: "0.1.0"}
			if len(c.words) > 0 {
				wantDiags(t, src, c.words...)
				return
			}
			if got := compile(t, src, "").Plan.Rounds[0].Workers[0].Instructions.String(); got != c.text {
				t.Errorf("got %q", got)
			}
		})
	}
}

// TestDefinitionLinks follows a definition through links inside, and neither
// reads nor shows what they lead to outside.
func TestDefinitionLinks(t *testing.T) {
	for name, c := range map[string]struct {
		links map[string]string // name → target
		file  string
		words []string
	}{
		"inside":         {links: map[string]string{"p/okstra.hcl": "real/team.hcl"}},
		"named, inside":  {links: map[string]string{"p/my.hcl": "real/team.hcl"}, file: "my.hcl"},
		"folder, inside": {links: map[string]string{"p/okstra": "real"}},
		"outside":        {links: map[string]string{"p/okstra.hcl": "../outside/secret"}, words: []string{SummaryLeavesRoot, "okstra.hcl is a link to", "-f"}},
		"named, outside": {links: map[string]string{"p/my.hcl": "../outside/secret"}, file: "my.hcl", words: []string{SummaryLeavesRoot, "my.hcl is a link to"}},
		"folder outside": {links: map[string]string{"p/okstra": "../outside"}, words: []string{SummaryLeavesRoot, "okstra is a link to"}},
		"a member":       {links: map[string]string{"p/real/c.hcl": "../../outside/secret"}, file: "real", words: []string{SummaryLeavesRoot, "real/c.hcl is a link to"}},
		"values":         {links: map[string]string{"p/real/okstra.vars.hcl": "../../outside/secret"}, file: "real", words: []string{SummaryLeavesRoot, "okstra.vars.hcl is a link to"}},
		"an import":      {links: map[string]string{"p/house.hcl": "../outside/secret"}, file: "real/imports.txt", words: []string{SummaryLeavesRoot, "house.hcl is a link to"}},
		"a ring":         {links: map[string]string{"p/my.hcl": "my.hcl"}, file: "my.hcl", words: []string{SummaryNotFound}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{
				"p/.okstra/x": "", "p/real/team.hcl": body, "p/real/imports.txt": "import { source = \"../house.hcl\" }\n" + body,
				"outside/secret": "root:secret word:0", "outside/x.hcl": body,
			} {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for name, target := range c.links {
				if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			src := Source{Fs: afero.NewReadOnlyFs(afero.NewOsFs()), Dir: filepath.Join(dir, "p"), File: c.file, World: fakeWorld{}, Version: "0.1.0"}
			if len(c.words) == 0 {
				compile(t, src, "")
				return
			}
			diags, def := complaints(src)
			want(t, texts(diags), c.words...)
			for name, f := range def.Files() {
				if strings.Contains(string(f.Bytes), "secret word") {
					t.Errorf("%s can be shown: %s", name, f.Bytes)
				}
			}
		})
	}
}

// TestByteOrderMark: both syntaxes pass over it, and places stay right.
func TestByteOrderMark(t *testing.T) {
	const mark = "\uFEFF"
	for file, text := range map[string]string{
		"okstra.hcl":      mark + body,
		"okstra.hcl.json": mark + `{"duty": {"d": {"instructions": "x"}}, "run": {"r": {"round": {"a": {"assign": {"duty": "duty.d", "to": "provider.claude"}}}}}}`,
	} {
		compile(t, tree(t, map[string]string{file: text}), "")
	}
	src := tree(t, map[string]string{"okstra.hcl.json": mark + `{"duty": {"d": {"instructions": "x", "rol": 1}}}`})
	diags, def := complaints(src)
	found := false
	for _, d := range diags {
		if d.Summary == SummaryUnknownAttribute {
			at := d.Subject.SliceBytes(def.Files()["okstra.hcl.json"].Bytes)
			found = string(at) == `"rol"`
		}
	}
	if !found {
		t.Error(texts(diags))
	}
}

// TestLongNumbers: a number that would take long to write out is refused
// wherever it comes from. Those here would only take a second.
func TestLongNumbers(t *testing.T) {
	const long = "1e900000"
	definition := func(local string) string {
		return "locals {\n  a = 1e400\n  x = " + local + "\n}\n" + body
	}
	variable := func(attributes string) string {
		return "variable \"n\" {\n  " + attributes + "\n}\n" + strings.Replace(body, "Do it.", "Do it ${var.n}.", 1)
	}
	for name, src := range map[string]Source{
		"--var":             {Vars: []VarArg{{Var: "n=" + long}}, File: variable("type = number")},
		"environment":       {World: fakeWorld{env: map[string]string{"OKSTRA_VAR_n": long}}, File: variable("type = number")},
		"default":           {File: variable("type = number\n  default = \"" + long + "\"")},
		"optional":          {File: strings.Replace(variable("type = object({ a = optional(number, \""+long+"\") })\n  default = {}"), "var.n}", "var.n.a}", 1)},
		"product":           {File: definition("tostring(local.a * local.a)")},
		"quotient":          {File: definition("\"${1 / local.a / local.a}\"")},
		"text plus nothing": {File: definition("tostring(\"1e${900000}\" + 0)")},
		"sign":              {File: definition("\"${-\"1e${900000}\"}\"")},
		"format":            {File: definition("format(\"%d\", \"1e${900000}\")")},
		"parameter":         {File: strings.NewReplacer("instructions =", "parameter \"n\" {\n    type = number\n  }\n  instructions =", "Do it.", "Do it ${param.n}.", "duty.d\n", "duty.d\n      with = { n = \""+long+"\" }\n").Replace(body)},
		"JSON":              {File: `{"locals": {"a": "${tostring(1e400 * 1e400)}"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			file := "okstra.hcl"
			if name == "JSON" {
				file += ".json"
			}
			whole := tree(t, map[string]string{file: src.File})
			whole.Vars = src.Vars
			if src.World != nil {
				whole.World = src.World
			}
			summary := SummaryTooLarge
			if name == "quotient" {
				summary = SummaryOutOfRange // it is too small
			}
			wantDiags(t, whole, summary)
		})
	}
}

// TestNoNumber: what is infinite or no number is refused wherever it comes
// from, and without the stack of the program.
func TestNoNumber(t *testing.T) {
	const infinite, undefined, zero = "infinite", "the result is not a number", "divided by zero"
	for expr, want := range map[string]string{
		"pow(-8, 0.333)":           undefined,
		"log(-1, 10)":              undefined,
		"log(1, 1)":                undefined,
		"log(0, 0)":                undefined,
		"sum([\"Inf\", \"-Inf\"])": undefined,
		"sum([1/0])":               zero,
		"1\n y = 1 / 0\n z = alltrue([local.y > 0])": zero, // and nothing of what is not known then
		"(1/0) % 2":               zero,
		"1 / 0":                   zero,
		"1 % 0":                   zero,
		"1 / \"0\"":               zero,
		"pow(10, 400)":            infinite,
		"log(0, 10)":              infinite,
		"tonumber(\"Inf\")":       infinite,
		"-\"Inf\"":                infinite,
		"\"Inf\" % 2":             infinite,
		"format(\"%d\", \"Inf\")": infinite,
		"yamldecode(\".inf\")":    infinite,
		"1e-300 * 1e-300":         "after the point",
	} {
		diags, _ := complaints(tree(t, map[string]string{"okstra.hcl": "locals {\n  x = " + expr + "\n}\n" + strings.Replace(body, "Do it.", "Do ${local.x}.", 1)}))
		all := texts(diags)
		if len(diags) != 1 || !strings.Contains(all, want) || strings.Contains(all, "goroutine") || strings.Contains(all, "panic") || strings.Contains(all, SummaryTooLarge) {
			t.Errorf("%s: want one diagnostic with %q:\n%s", expr, want, all)
		}
	}
	for _, given := range []string{"inf", "-Inf", "+inf"} {
		src := tree(t, map[string]string{"okstra.hcl": "variable \"n\" {\n  type = number\n}\n" + body})
		src.Vars = []VarArg{{Var: "n=" + given}}
		if diags, _ := complaints(src); len(diags) != 1 || !strings.Contains(diags[0].Detail, infinite) {
			t.Errorf("%s: %s", given, texts(diags))
		}
	}
}

func TestHostileFiles(t *testing.T) {
	nested := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	for name, files := range map[string]map[string]string{
		"brackets":    {"okstra.hcl": "locals {\n  a = " + nested + "\n}\n"},
		"json":        {"okstra.hcl.json": `{"locals": {"a": ` + nested + `}}`},
		"number":      {"okstra.hcl": "locals {\n  a = 1e20000000\n}\n"},
		"large":       {"okstra.hcl": strings.Repeat("# a comment\n", 200_000)},
		"template":    {"okstra.hcl": strings.Replace(body, `"Do it."`, `templatefile("t", {})`, 1), "t": strings.Repeat("${[", 50_000)},
		"values file": {"okstra.hcl": body, "okstra.vars.hcl": "a = " + nested},
	} {
		t.Run(name, func(t *testing.T) {
			diags, _ := complaints(tree(t, files))
			if !diags.HasErrors() {
				t.Error("no errors")
			}
			if n := len(texts(diags)); n > 10_000 {
				t.Errorf("%d bytes of diagnostics", n)
			}
		})
	}
	src := tree(t, map[string]string{"okstra.hcl": body})
	src.Vars = []VarArg{{Var: "n=" + nested}}
	src.File = "v.hcl"
	src = tree(t, map[string]string{"okstra.hcl": "variable \"n\" {\n  type = list(any)\n}\n" + body})
	src.Vars = []VarArg{{Var: "n=" + nested}}
	wantDiags(t, src, "<value for var.n>")
}
