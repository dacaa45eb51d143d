package lang

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
)

// TestToldOnce: one mistake is one diagnostic, and says what there is.
func TestToldOnce(t *testing.T) {
	const duty = "duty \"d\" {\n  instructions = \"x\"\n}\n"
	round := func(to string) string {
		return "run \"r\" {\n  round \"a\" {\n    assign {\n      duty = duty.d\n      to = " + to + "\n    }\n  }\n}\n"
	}
	for name, tc := range map[string]struct{ text, want string }{
		"extends no provider":        {"provider \"x\" {\n  extends = provider.comand\n  command = [\"a\"]\n}\n" + duty + round("provider.x"), `There is no provider "comand". Did you mean command?`},
		"extends no run":             {duty + round("provider.claude") + "run \"s\" {\n  extends = run.nine\n  task = { id = \"s\" }\n}\n", `There is no run "nine"`},
		"extends no run, in quotes":  {duty + round("provider.claude") + "run \"s\" {\n  extends = \"nine\"\n  task = { id = \"s\" }\n}\n", `There is no run "nine"`},
		"default run":                {"okstra {\n  default_run = run.nine\n}\n" + duty + round("provider.claude"), `There is no run "nine"`},
		"nobody is defined":          {duty + round("participant.ada"), `There is no participant "ada". No participant is defined.`},
		"no folder to look into":     {duty + strings.Replace(round("provider.claude"), "duty = duty.d", "duty = duty.d\n      for_each = fileset(\"docs\", \"*.md\")", 1), `looking into docs: there is no such file or folder`},
		"a reference in quotes":      {duty + strings.Replace(round("provider.claude"), "duty.d", `"duty.d"`, 1), `duty is a reference: write duty.d, without quotes.`},
		"a name in quotes":           {duty + strings.Replace(round("provider.claude"), "duty.d", `"d"`, 1), `duty is a reference: write duty.d, without quotes.`},
		"a participant without name": {"participant {\n  provider = provider.claude\n}\n" + duty + round("participant.ada"), `Write participant "NAME" { … }.`},
		"a program that is not here": {"provider \"x\" {\n  command = [\"missing\"]\n}\n" + duty + round("provider.x"), `missing is not there. Install it.`},
	} {
		t.Run(name, func(t *testing.T) {
			diags, _ := complaints(tree(t, map[string]string{"okstra.hcl": tc.text}))
			if len(diags) != 1 || !strings.Contains(diags[0].Detail, tc.want) {
				t.Errorf("want one diagnostic with %q, got:\n%s", tc.want, texts(diags))
			}
		})
	}
}

// TestSyntaxErrors: of many syntax errors the first are told, and how many more
// there are.
func TestSyntaxErrors(t *testing.T) {
	for _, faults := range []int{1, 3, 4, 5, 40} {
		var text strings.Builder
		for i := range faults {
			fmt.Fprintf(&text, "x%d = \"\\q\"\n", i)
		}
		text.WriteString("x = 1\n")
		_, diags := Load(tree(t, map[string]string{"okstra.hcl": text.String()}))
		_, formatted := Format([]byte(text.String()), "okstra.hcl")
		all := 0
		for _, d := range diags {
			n := 1
			if f, ok := hcl.DiagnosticExtra[Following](d); ok {
				n = int(f)
				if want := fmt.Sprintf("%d more syntax errors", n); !strings.HasPrefix(d.Detail, want) {
					t.Errorf("%q does not say %q", d.Detail, want)
				}
			}
			all += n
		}
		if all != faults || len(diags) > maxSyntax+1 {
			t.Errorf("%d faults: %d in %d diagnostics:\n%s", faults, all, len(diags), texts(diags))
		}
		if len(formatted) != len(diags) {
			t.Errorf("%d faults: Format tells %d, Load %d", faults, len(formatted), len(diags))
		}
	}
}

// TestOwnVersion: a version that cannot be compared is no excuse.
func TestOwnVersion(t *testing.T) {
	for version, want := range map[string]int{"0.1.0": 0, "0.1.0-rc.1": 0, "39a434e": 1, "devel": 1} {
		src := tree(t, map[string]string{"okstra.hcl": "okstra {\n  required_version = \">= 0.1\"\n}\n" + smallest})
		src.Version = version
		diags, _ := complaints(src)
		if len(diags) != want || want == 1 && (diags[0].Summary != SummaryVersion || !strings.Contains(diags[0].Detail, version)) {
			t.Errorf("okstra %q: %s", version, texts(diags))
		}
	}
}

// TestDefinitionAbove: who stands in a subfolder is told where the definition is.
func TestDefinitionAbove(t *testing.T) {
	src := tree(t, map[string]string{"okstra.hcl": smallest, "a/b/x.txt": ""})
	src.Dir = "/p/a/b"
	_, diags := Load(src)
	if len(diags) != 1 || diags[0].Summary != SummaryNotFound || !strings.Contains(diags[0].Detail, "give -C /p to work there") {
		t.Error(texts(diags))
	}
}

// TestNoDefinitionAbove: a folder that is only called like one is no definition.
func TestNoDefinitionAbove(t *testing.T) {
	src := tree(t, map[string]string{"okstra/main.go": "", "a/b/x.txt": ""})
	src.Dir = "/p/a/b"
	_, diags := Load(src)
	if len(diags) != 1 || strings.Contains(diags[0].Detail, "above") || !strings.Contains(diags[0].Detail, "okstra init") {
		t.Error(texts(diags))
	}
	if found := Conventional(src.Fs, "/p"); found != nil {
		t.Error(found)
	}
}

// TestNearest: a hint names a word that could be meant, and not any short one.
func TestNearest(t *testing.T) {
	known := []string{"git", "var", "run", "role", "duty", "to", "one", "log", "l"}
	for given, want := range map[string]string{"fix": "", "fay": "", "dan": "", "vra": "var", "rnu": "run", "rol": "role", "dutty": "duty", "": "", "data": "", "nope": "", "x": "", "y": "", "fo": "", "ll": "l", "ru": "run", "dtuy": "duty"} {
		if got := nearest(given, known); got != want {
			t.Errorf("nearest to %q is %q, want %q", given, got, want)
		}
	}
}
