package guard_test

import (
	"bytes"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"

	"github.com/okstra/okstra/lang/guard"
)

// nest is a way of standing things in each other.
type nest struct {
	name        string
	open, close string
	core        string // innermost
	// each is how many levels (nesting) or steps (chain) one repetition takes.
	levels, steps int
}

// Every construct of the native syntax that a recursive parser recurses on, as
// the value of an attribute.
var nests = []nest{
	{name: "parens", open: "(", close: ")", core: "1", levels: 1},
	{name: "tuples", open: "[", close: "]", core: "1", levels: 1, steps: 1},
	{name: "objects", open: "{a=", close: "}", core: "1", levels: 1},
	{name: "object keys", open: "{(", close: ")=1}", core: `"k"`, levels: 2},
	{name: "calls", open: "f(", close: ")", core: "1", levels: 1},
	{name: "quotes", open: `"${`, close: `}"`, core: "1", levels: 2},
	{name: "quoted text", open: `"a${`, close: `}b"`, core: "1", levels: 2},
	{name: "directives", open: "%{if true}", close: "%{endif}", core: "x", levels: 1},
	{name: "for directives", open: "%{for x in y}", close: "%{endfor}", core: "x", levels: 1},
	{name: "tuple for", open: "[for x in ", close: ": x]", core: "[1]", levels: 1, steps: 1},
	{name: "object for", open: "{for k, v in ", close: ": k => v}", core: "{}", levels: 1},
	{name: "for body", open: "[for x in [1]: ", close: "]", core: "1", levels: 1, steps: 3},
	{name: "index", open: "a[", close: "]", core: "0", levels: 1, steps: 1},
	{name: "not", open: "!", core: "true", steps: 1},
	{name: "minus", open: "-", core: "1", steps: 1},
	{name: "minus minus", open: "- ", core: "1", steps: 1},
	{name: "plus", open: "1+", core: "1", steps: 1},
	{name: "and", open: "true&&", core: "true", steps: 1},
	{name: "precedence", open: "true||true&&1==1<1+1*", core: "1", steps: 6},
	{name: "conditional", open: "true?1:", core: "1", steps: 2},
	{name: "conditional in the middle", open: "true?", close: ":1", core: "1", steps: 2},
	{name: "attributes", open: "a.", core: "a", steps: 1},
	{name: "indexes", open: "", close: "[0]", core: "a", steps: 1},
	{name: "computed indexes", open: "", close: "[x]", core: "a", steps: 1},
	{name: "splats", open: "", close: "[*]", core: "a", levels: 0, steps: 1},
	{name: "attribute splats", open: "", close: ".*", core: "a", steps: 2},
	{name: "legacy indexes", open: "", close: ".0 ", core: "a", steps: 1},
	{name: "namespaces", open: "a::", core: "f()", steps: 1},
}

func (n nest) source(times int) string {
	value := strings.Repeat(n.open, times) + n.core + strings.Repeat(n.close, times)
	if strings.Contains(n.name, "directives") {
		value = `"` + value + `"`
	}
	return "x = " + value + "\n"
}

// most is how many repetitions the limits let through, quotes of directives
// included.
func (n nest) most() int {
	most := 1 << 20
	if n.levels > 0 {
		most = guard.MaxNesting / n.levels
		if strings.Contains(n.name, "directives") {
			most = guard.MaxNesting - 2 // the quote and the sequence itself
		}
	}
	if n.steps > 0 {
		most = min(most, guard.MaxChain/n.steps)
	}
	return most
}

// smallStack makes an overflow show long before a gigabyte is full.
func smallStack(t testing.TB) {
	old := debug.SetMaxStack(64 << 20)
	t.Cleanup(func() { debug.SetMaxStack(old) })
}

// survive parses and evaluates what the guard let through, all of it.
func survive(src []byte, filename string) {
	var body hcl.Body
	var file *hcl.File
	if strings.HasSuffix(filename, ".json") {
		file, _ = json.Parse(src, filename)
	} else {
		file, _ = hclsyntax.ParseConfig(src, filename, hcl.InitialPos)
	}
	if file == nil {
		return
	}
	body = file.Body
	var walk func(hcl.Body)
	walk = func(b hcl.Body) {
		attrs, _ := b.JustAttributes()
		for _, a := range attrs {
			a.Expr.Variables()
			a.Expr.Value(&hcl.EvalContext{Variables: map[string]cty.Value{"y": cty.ListValEmpty(cty.String)}})
		}
		if s, ok := b.(*hclsyntax.Body); ok {
			hclsyntax.VisitAll(s, func(hclsyntax.Node) hcl.Diagnostics { return nil })
			for _, inner := range s.Blocks {
				walk(inner.Body)
			}
		}
	}
	walk(body)
}

func TestNesting(t *testing.T) {
	smallStack(t)
	for _, n := range nests {
		t.Run(n.name, func(t *testing.T) {
			most := n.most()
			// A little below, since some constructs take a step more than one
			// repetition shows.
			within := []byte(n.source(most - most/50 - 1))
			if diags := guard.Check(within, "a.hcl"); diags.HasErrors() {
				t.Fatalf("%d repetitions are within the limits, but: %s", most, diags)
			}
			survive(within, "a.hcl")
			if diags := guard.Check([]byte(n.source(most+2)), "a.hcl"); !diags.HasErrors() {
				t.Errorf("%d repetitions are beyond the limits and were let through", most+2)
			}
			huge := n.source(10_000)
			diags := guard.Check([]byte(huge), "a.hcl")
			if len(huge) <= guard.MaxFile && !diags.HasErrors() {
				t.Error("ten thousand repetitions were let through")
			}
		})
	}
}

func TestNestedBlocks(t *testing.T) {
	smallStack(t)
	within := []byte(strings.Repeat("b {\n", guard.MaxNesting) + strings.Repeat("}\n", guard.MaxNesting))
	if diags := guard.Check(within, "a.hcl"); diags.HasErrors() {
		t.Fatal(diags)
	}
	survive(within, "a.hcl")
	beyond := []byte(strings.Repeat("b {\n", guard.MaxNesting+1))
	diags := guard.Check(beyond, "a.hcl")
	if !diags.HasErrors() || diags[0].Subject.Start.Line != guard.MaxNesting+1 {
		t.Errorf("got %v, want an error on line %d", diags, guard.MaxNesting+1)
	}
}

// TestMixtures stands every construct in every other one, to the limit of
// nesting with the longest chains on the way.
func TestMixtures(t *testing.T) {
	smallStack(t)
	for _, a := range nests {
		for _, b := range nests {
			if strings.Contains(a.name+b.name, "directives") {
				continue
			}
			for _, times := range []int{10, 45, 100, 250, 490} {
				src := []byte("x = " + strings.Repeat(a.open+b.open, times) + b.core + strings.Repeat(b.close+a.close, times) + "\n")
				if guard.Check(src, "a.hcl").HasErrors() {
					continue
				}
				survive(src, "a.hcl")
			}
		}
	}
	// Unclosed and wrongly closed constructs: the parser recovers.
	for _, a := range nests {
		for _, times := range []int{100, 199} {
			for _, tail := range []string{"", "\n", "}", ")", "]", `"`} {
				src := []byte("x = " + strings.Repeat(a.open, times) + tail + "\n" + strings.Repeat("y = "+a.open+tail+"\n", 20))
				if !guard.Check(src, "a.hcl").HasErrors() {
					survive(src, "a.hcl")
				}
			}
		}
	}
}

func TestWholeFiles(t *testing.T) {
	tests := map[string]struct {
		file, src string
		summary   string // "" for none
		line      int
	}{
		"empty":                       {"a.hcl", "", "", 0},
		"a plain file":                {"a.hcl", "run \"a\" {\n  x = 1\n}\n", "", 0},
		"a broken file":               {"a.hcl", "run \"a\" {\n  x = (1\n}\n}}})", "", 0},
		"many short expressions":      {"a.hcl", "x = [\n" + strings.Repeat("  a.b.c + 1,\n", 20_000) + "]\n", "", 0},
		"many attributes":             {"a.hcl", strings.Repeat("x = a.b + c.d\n", 20_000), "", 0},
		"many pieces in a template":   {"a.hcl", "x = \"" + strings.Repeat("${a.b}, ", 20_000) + "\"\n", "", 0},
		"many directives in a row":    {"a.hcl", "x = \"" + strings.Repeat("%{if a}b%{endif}", 5_000) + "\"\n", "", 0},
		"mistakes do not add up":      {"a.hcl", strings.Repeat("x = \"${(}\"\n", 1000), "", 0},
		"number with large exponent":  {"a.hcl", "\nx = 1e20000000\n", "Number too large", 2},
		"number with small exponent":  {"a.hcl", "\nx = 1e-20000000\n", "Number too large", 2},
		"quoted, large exponent":      {"a.hcl", "\nx = \"1e20000000\" + 0\n", "Number too large", 2},
		"quoted, small exponent":      {"a.hcl", "\nx = \"-1.5E-99999\"\n", "Number too large", 2},
		"quoted, a commit":            {"a.hcl", "x = [\"12e4567\", \"7e123456\", \"1e\", \"e5\", \"1e-9 apples\", \"v1e-99999\"]\n", "", 0},
		"quoted, part of a text":      {"a.hcl", "x = \"1e20000000${a}\"\n", "", 0},
		"json: quoted exponent":       {"a.hcl.json", "{\"a\":\n \"1e20000000\"}", "Number too large", 2},
		"long number":                 {"a.hcl", "x = 1" + strings.Repeat("0", 200), "Number too long", 1},
		"large but sane":              {"a.hcl", "x = [1e300, 1E+0000010, 123456789012345678901234567890]\n", "", 0},
		"nul":                         {"a.hcl", "a = 1\nx = \"a\x00\"\n", "NUL character", 2},
		"escaped nul":                 {"a.hcl", `x = "a\u0000b"`, "NUL character", 1},
		"long escaped nul":            {"a.hcl", `x = "a\U00000000b"`, "NUL character", 1},
		"a backslash and then u0000":  {"a.hcl", `x = "a\\u0000b"`, "", 0},
		"too large":                   {"a.hcl", strings.Repeat("#", guard.MaxFile+1), "File too large", 1},
		"just not too large":          {"a.hcl", strings.Repeat("#", guard.MaxFile), "", 0},
		"json: plain":                 {"a.hcl.json", `{"run": {"a": {"x": [1, 2.5e3, "${var.a}"]}}}`, "", 0},
		"json: not json":              {"a.hcl.json", `}}}]]]"`, "", 0},
		"json: exponent":              {"a.hcl.json", "{\"a\":\n 1e20000000}", "Number too large", 2},
		"json: long number":           {"a.hcl.json", "{\"a\": " + strings.Repeat("9", 101) + "}", "Number too long", 1},
		"json: nested":                {"a.hcl.json", "\n" + strings.Repeat(`{"a":`, 201), "Nested too deeply", 2},
		"json: nested arrays":         {"a.hcl.json", strings.Repeat("[", 100_000), "Nested too deeply", 1},
		"json: brackets in a string":  {"a.hcl.json", `{"a": "` + strings.Repeat("[{(", 1000) + `"}`, "", 0},
		"json: template in a string":  {"a.hcl.json", "{\n\"a\": \"${" + strings.Repeat("(", 1000) + "\"}", "Nested too deeply", 2},
		"json: escaped template":      {"a.hcl.json", `{"a": "\u0024\u007b` + strings.Repeat("(", 1000) + `"}`, "Nested too deeply", 1},
		"json: number in a template":  {"a.hcl.json", `{"a": "${1e99999}"}`, "Number too large", 1},
		"json: escaped nul":           {"a.hcl.json", `{"a": "\u0000"}`, "NUL character", 1},
		"json: nul in a key":          {"a.hcl.json", `{"a\u0000": 1}`, "NUL character", 1},
		"json: escaped quote":         {"a.hcl.json", `{"a": "\"[[[", "b": "\\"}`, "", 0},
		"json: large":                 {"a.hcl.json", strings.Repeat(" ", guard.MaxFile+1), "File too large", 1},
		"numbers are all reported":    {"a.hcl", "a = 1e999\nb = 1e999\n", "Number too large", 1},
		"vars file":                   {"okstra.vars.hcl", "a = 1e999", "Number too large", 1},
		"an identifier with a number": {"a.hcl", "a = b1e99999\n", "", 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			diags := guard.Check([]byte(tt.src), tt.file)
			switch {
			case tt.summary == "" && len(diags) > 0:
				t.Fatalf("unexpected: %s", diags)
			case tt.summary == "":
				survive([]byte(tt.src), tt.file)
			case len(diags) == 0:
				t.Fatalf("no diagnostic, want %q", tt.summary)
			case diags[0].Summary != tt.summary || diags[0].Subject == nil || diags[0].Subject.Start.Line != tt.line:
				t.Fatalf("got %q at %v, want %q on line %d", diags[0].Summary, diags[0].Subject, tt.summary, tt.line)
			}
		})
	}
}

func TestAllNumbersOfAFile(t *testing.T) {
	if diags := guard.Check([]byte("a = 1e999\nb = [1e999, 1e999]\n"), "a.hcl"); len(diags) != 3 {
		t.Errorf("got %d diagnostics, want 3: %s", len(diags), diags)
	}
	if diags := guard.Check([]byte(strings.Repeat("a = 1e999\n", 1000)), "a.hcl"); len(diags) > 20 {
		t.Errorf("%d diagnostics for one file", len(diags))
	}
}

// TestWorstShapes looks at what costs a scanner most. It must come to an end;
// BenchmarkWorstShapes shows how soon.
func TestWorstShapes(t *testing.T) {
	for _, piece := range shapes {
		for _, file := range []string{"a.hcl", "a.hcl.json"} {
			guard.Check(bytes.Repeat([]byte(piece), 1<<15/len(piece)), file)
		}
	}
}

var shapes = []string{"(", "[", "{", `"`, "${", `"${`, "%{if x}", "<<A\n", "!", "1,", "a.", "}", "\\", "\n", "#", "/*", "é", "\xff", "<<A\nA\n", `{"a":"${`}

func BenchmarkWorstShapes(b *testing.B) {
	for _, piece := range shapes {
		// Twice the size should take twice the time.
		for _, size := range []int{guard.MaxFile / 4, guard.MaxFile / 2} {
			b.Run(fmt.Sprintf("%q/%d", piece, size), func(b *testing.B) {
				src := bytes.Repeat([]byte(piece), size/len(piece))
				b.SetBytes(int64(size))
				for b.Loop() {
					guard.Check(src, "a.hcl")
				}
			})
		}
	}
}

func TestHuge(t *testing.T) {
	if diags := guard.Check(make([]byte, 100<<20), "a.hcl"); !diags.HasErrors() {
		t.Error("100 MB were let through")
	}
}

func TestTemplate(t *testing.T) {
	if diags := guard.Template([]byte("Hello ${name}, ${1e9999}"), "a.md"); len(diags) != 1 {
		t.Errorf("got %s", diags)
	}
	if diags := guard.Template([]byte(strings.Repeat("${", 500)), "a.md"); !diags.HasErrors() {
		t.Error("deep template was let through")
	}
	if diags := guard.Template([]byte("it's (a) [text] with \"quotes\" and {braces}"), "a.md"); diags.HasErrors() {
		t.Error(diags)
	}
}

func FuzzCheck(f *testing.F) {
	for _, n := range nests {
		f.Add([]byte(n.source(3)), false)
		f.Add([]byte(fmt.Sprintf(`{"a": %q}`, n.source(3))), true)
	}
	f.Add([]byte("x = <<-EOT\n  %{ for a in b ~}\n  ${a}\n  %{ endfor }\n  EOT\n"), false)
	f.Fuzz(func(t *testing.T, src []byte, asJSON bool) {
		smallStack(t)
		name := "a.hcl"
		if asJSON {
			name = "a.hcl.json"
		}
		diags := guard.Check(src, name)
		for _, d := range diags {
			if d.Subject == nil || d.Subject.Start.Byte > len(src) || d.Subject.End.Byte > len(src) {
				t.Errorf("range %v outside a file of %d bytes", d.Subject, len(src))
			}
		}
		if !diags.HasErrors() {
			survive(src, name)
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	src := []byte(strings.Repeat("run \"a\" {\n  x = [a.b, \"c ${d}\", 1 + 2]\n}\n", 1000))
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		guard.Check(src, "a.hcl")
	}
}
