package lang

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/okstra/okstra/lang/plan"
)

var gitHead = plan.GitState{Head: "0123456789abcdef0123456789abcdef01234567", Branch: "main"}

// beside are the files that the valid definitions read.
var beside = map[string]string{"README.md": "Read me.\n"}

func with(files map[string]string, name, text string) map[string]string {
	out := maps.Clone(files)
	out[name] = text
	return out
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// withoutPlaces takes out of a plan what differs between two ways of writing
// the same definition.
func withoutPlaces(p *plan.Plan) *plan.Plan {
	p.Definition = ""
	p.Inputs = nil
	p.Run.Declared = plan.Position{}
	for i := range p.Overrides {
		p.Overrides[i].Declared = plan.Position{}
	}
	for i := range p.Rounds {
		p.Rounds[i].Declared = plan.Position{}
		for j := range p.Rounds[i].Workers {
			w := &p.Rounds[i].Workers[j]
			origins := map[string]plan.Position{}
			for name := range w.Origins {
				origins[name] = plan.Position{}
			}
			w.Origins = origins
		}
	}
	return p
}

// TestPairs compiles each definition of testdata/valid in both syntaxes.
func TestPairs(t *testing.T) {
	files, _ := filepath.Glob("testdata/valid/*.hcl")
	if len(files) == 0 {
		t.Fatal("no files")
	}
	for _, file := range files {
		native := tree(t, with(beside, "okstra.hcl", readFile(t, file)))
		other := tree(t, with(beside, "okstra.hcl.json", readFile(t, file+".json")))
		native.World, other.World = fakeWorld{git: gitHead}, fakeWorld{git: gitHead}
		for _, src := range []Source{native, other} {
			if diags, _ := complaints(src); diags.HasErrors() {
				t.Fatal(texts(diags))
			}
		}
		def, _ := Load(native)
		for _, run := range def.Runs() {
			a := withoutPlaces(compile(t, native, run.Name).Plan)
			b := withoutPlaces(compile(t, other, run.Name).Plan)
			if diff := cmp.Diff(a, b); diff != "" {
				t.Errorf("%s, run %s (-native +json):\n%s", file, run.Name, diff)
			}
		}
	}
}

// TestGolden compares whole plans with testdata/golden; OKSTRA_UPDATE=1 writes
// them anew. The catalog's digest is taken out: it changes with every word.
func TestGolden(t *testing.T) {
	src := tree(t, with(beside, "okstra.hcl", readFile(t, "testdata/valid/review.hcl")))
	src.World = fakeWorld{git: gitHead}
	for _, run := range []string{"review", "handoff"} {
		p := compile(t, src, run).Plan
		catalog := p.Catalog
		b, err := plan.Indented(p)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.ReplaceAll(string(b), catalog, "sha256:catalog")
		path := "testdata/golden/" + run + ".json"
		if os.Getenv("OKSTRA_UPDATE") == "1" {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(readFile(t, path), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

// TestDeterminism compiles one definition fifty times.
func TestDeterminism(t *testing.T) {
	var first []byte
	for range 50 {
		src := tree(t, with(beside, "okstra.hcl", readFile(t, "testdata/valid/review.hcl")))
		src.World = fakeWorld{git: gitHead, env: map[string]string{"OKSTRA_VAR_base": "dev", "B": "2", "A": "1"}}
		got, err := plan.Indented(compile(t, src, "").Plan)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = got
		}
		if !bytes.Equal(first, got) {
			t.Fatal(cmp.Diff(string(first), string(got)))
		}
	}
}

// TestCompileOrder compiles two runs of one loaded definition in both orders:
// what one reads is no input of the other.
func TestCompileOrder(t *testing.T) {
	files := map[string]string{
		"a.md": "A", "b.md": "B",
		"okstra.hcl": `
duty "a" { instructions = file("a.md") }
duty "b" { instructions = "${file("b.md")} ${coalesce(env("B"), "none")}" }
run "a" {
  round "x" {
    assign {
      duty = duty.a
      to   = provider.claude
    }
  }
}
run "b" {
  round "x" {
    assign {
      duty = duty.b
      to   = provider.claude
    }
  }
}
`}
	for _, order := range [][]string{{"a", "b"}, {"b", "a"}, {"a", "b", "a", "b"}} {
		def, diags := Load(tree(t, files))
		if diags.HasErrors() {
			t.Fatal(texts(diags))
		}
		for _, run := range order {
			c, diags := Compile(def, run, CompileOptions{})
			if c == nil {
				t.Fatal(texts(diags))
			}
			var got []string
			for _, in := range c.Plan.Inputs {
				got = append(got, in.Path)
			}
			want := map[string][]string{"a": {"a.md", "okstra.hcl"}, "b": {"B", "b.md", "okstra.hcl"}}[run]
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("inputs of %s in order %v (-want +got):\n%s", run, order, diff)
			}
		}
	}
}
