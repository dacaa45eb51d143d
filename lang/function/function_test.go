package function_test

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/okstra/okstra/lang/function"
)

// memory is a tree of files under /project.
type memory struct {
	files map[string]string
	reads map[string]int
}

func (m *memory) at(base, p string) string {
	if !filepath.IsAbs(p) {
		p = filepath.Join(base, p)
	}
	return filepath.Clean(p)
}

func (m *memory) ReadFile(base, p string) ([]byte, error) {
	p = m.at(base, p)
	if !strings.HasPrefix(p, "/project/") {
		return nil, fmt.Errorf("%s is outside the project", p)
	}
	if m.reads != nil {
		m.reads[p]++
	}
	src, ok := m.files[p]
	if !ok {
		return nil, fmt.Errorf("open %s: %w", p, fs.ErrNotExist)
	}
	return []byte(src), nil
}

func (m *memory) Exists(base, p string) (bool, error) {
	_, err := m.ReadFile(base, p)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (m *memory) Glob(base, pattern string) ([]string, error) {
	var out []string
	for name := range m.files {
		rel, err := filepath.Rel(base, name)
		if err != nil || strings.HasPrefix(rel, "..") {
			continue
		}
		if ok, _ := path.Match(pattern, rel); ok {
			out = append(out, rel)
		}
	}
	return out, nil
}

func project() *memory {
	return &memory{reads: map[string]int{}, files: map[string]string{
		"/project/a.txt":         "hello\n",
		"/project/b.txt":         "world",
		"/project/nul.txt":       "a\x00b",
		"/project/binary":        "\xff\xfe",
		"/project/large.txt":     strings.Repeat("x", function.MaxString+1),
		"/project/p/greet.md":    "Hello ${name}!%{ for x in list }\n- ${upper(x)}%{ endfor }",
		"/project/p/self.md":     "${templatefile(\"self.md\", {})}",
		"/project/p/near.md":     "${file(\"near.txt\")}${file(\"../b.txt\")}",
		"/project/p/near.txt":    "near ",
		"/project/p/broken.md":   "one\n${name",
		"/project/p/deep.md":     strings.Repeat("${(", 300),
		"/project/p/object.md":   "${{ a = 1 }}",
		"/project/p/number.md":   "${1 + 1}",
		"/project/p/many.md":     "%{ for a in range(250) }%{ for b in range(250) }" + strings.Repeat("x", 100) + "%{ endfor }%{ endfor }",
		"/project/p/exponent.md": "${1e99999}",
	}}
}

func evaluate(files function.Files, source string) (cty.Value, error) {
	function.BoundOperators()
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"HOME": "/home/ada", "EMPTY": ""}[name]
		return v, ok
	}
	expr, diags := hclsyntax.ParseExpression([]byte(source), "test.hcl", hcl.InitialPos)
	if diags.HasErrors() {
		return cty.NilVal, diags
	}
	v, diags := expr.Value(&hcl.EvalContext{
		Functions: function.Table("/project", files, env),
		Variables: map[string]cty.Value{
			"long":   cty.StringVal(strings.Repeat("x", 1<<20)),
			"longer": cty.StringVal(strings.Repeat("x", 3<<20)),
		},
	})
	if diags.HasErrors() {
		return cty.NilVal, diags
	}
	return v, nil
}

func TestValues(t *testing.T) {
	tests := []struct{ expr, want string }{ // both are expressions
		{`abs(-3)`, `3`},
		{`alltrue([true, true])`, `true`},
		{`alltrue([true, false])`, `false`},
		{`alltrue([])`, `true`},
		{`anytrue([false, true])`, `true`},
		{`anytrue([])`, `false`},
		{`base64decode("aMOpbGxv")`, `"héllo"`},
		{`base64encode("héllo")`, `"aMOpbGxv"`},
		{`basename("a/b.txt")`, `"b.txt"`},
		{`can(1 + 1)`, `true`},
		{`can(nothing.there)`, `false`},
		{`ceil(1.2)`, `2`},
		{`chomp("a\n\n")`, `"a"`},
		{`chunklist([1, 2, 3], 2)`, `[[1, 2], [3]]`},
		{`coalesce(null, "", "a")`, `"a"`},
		{`coalesce(null, 0, 1)`, `0`},
		{`coalescelist([], [1])`, `[1]`},
		{`compact(["a", "", null, "b"])`, `["a", "b"]`},
		{`concat([1], [2, 3])`, `[1, 2, 3]`},
		{`contains(["a", "b"], "b")`, `true`},
		{`csvdecode("a,b\n1,2\n")`, `[{ a = "1", b = "2" }]`},
		{`dirname("a/b.txt")`, `"a"`},
		{`distinct(["b", "a", "b"])`, `["b", "a"]`},
		{`distinct([])`, `[]`},
		{`element(["a", "b"], 3)`, `"b"`},
		{`endswith("abc", "bc")`, `true`},
		{`env("HOME")`, `"/home/ada"`},
		{`env("EMPTY")`, `""`},
		{`env("NOWHERE")`, `null`},
		{`file("a.txt")`, `"hello\n"`},
		{`fileexists("a.txt")`, `true`},
		{`fileexists("c.txt")`, `false`},
		{`tolist(fileset(".", "*.txt"))`, `["a.txt", "b.txt", "large.txt", "nul.txt"]`},
		{`tolist(fileset("p", "near.*"))`, `["near.md", "near.txt"]`},
		{`length(fileset("q", "*"))`, `0`},
		{`filesha256("a.txt")`, `"5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"`},
		{`flatten([[1], [2, [3]]])`, `[1, 2, 3]`},
		{`floor(1.8)`, `1`},
		{`format("%s-%03d %%", "a", 7)`, `"a-007 %"`},
		{`format("%[2]s %[1]s", "a", "b")`, `"b a"`},
		{`format("%v", ["a"])`, `"[\"a\"]"`},
		{`formatdate("YYYY-MM-DD", "2030-01-02T03:04:05Z")`, `"2030-01-02"`},
		{`formatlist("%s.md", ["a", "b"])`, `["a.md", "b.md"]`},
		{`indent(2, "a\nb")`, `"a\n  b"`},
		{`index(["a", "b"], "b")`, `1`},
		{`index([1, "b"], "b")`, `1`},
		{`join(", ", ["a", "b"], ["c"])`, `"a, b, c"`},
		{`jsondecode("{\"a\": [1, null]}")`, `{ a = [1, null] }`},
		{`jsonencode({ a = [1] })`, `"{\"a\":[1]}"`},
		{`keys({ b = 1, a = 2 })`, `["a", "b"]`},
		{`length("héé")`, `3`},
		{`length([1, 2])`, `2`},
		{`length({ a = 1 })`, `1`},
		{`log(8, 2)`, `3`},
		{`lookup({ a = 1 }, "a")`, `1`},
		{`lookup({ a = 1 }, "b", 2)`, `2`},
		{`lookup(tomap({ a = 1 }), "a", 2)`, `1`},
		{`lower("ÀB")`, `"àb"`},
		{`matchkeys(["a", "b", "c"], [1, 2, 1], [1])`, `["a", "c"]`},
		{`matchkeys(["a"], [1], [2])`, `[]`},
		{`max(1, 3, 2)`, `3`},
		{`merge({ a = 1 }, { a = 2, b = 3 })`, `{ a = 2, b = 3 }`},
		{`min(2, 1)`, `1`},
		{`one([])`, `null`},
		{`one(["a"])`, `"a"`},
		{`one(toset(["a"]))`, `"a"`},
		{`parseint("ff", 16)`, `255`},
		{`pow(2, 10)`, `1024`},
		{`range(3)`, `[0, 1, 2]`},
		{`range(2, 8, 3)`, `[2, 5]`},
		{`regex("a(.)", "xab")`, `["b"]`},
		{`regexall("[a-z]", "a1b")`, `["a", "b"]`},
		{`replace("a.b.c", ".", "-")`, `"a-b-c"`},
		{`replace("a12b", "/([0-9]+)/", "<$1>")`, `"a<12>b"`},
		{`replace("a/b", "/", "")`, `"ab"`},
		{`reverse([1, 2])`, `[2, 1]`},
		{`setintersection(["a", "b"], ["b"])`, `toset(["b"])`},
		{`setproduct(["a"], ["b", "c"])`, `[["a", "b"], ["a", "c"]]`},
		{`setsubtract(["a", "b"], ["b"])`, `toset(["a"])`},
		{`setunion(["a"], ["b"])`, `toset(["a", "b"])`},
		{`sha256("hello\n")`, `"5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"`},
		{`signum(-7)`, `-1`},
		{`slice([1, 2, 3], 1, 2)`, `[2]`},
		{`sort(["b", "a"])`, `["a", "b"]`},
		{`split(",", "a,b")`, `["a", "b"]`},
		{`startswith("abc", "ab")`, `true`},
		{`strcontains("abc", "b")`, `true`},
		{`strrev("abc")`, `"cba"`},
		{`substr("abcd", 1, 2)`, `"bc"`},
		{`sum([1, 2, "3"])`, `6`},
		{`templatefile("p/greet.md", { name = "Ada", list = ["x", "y"] })`, `"Hello Ada!\n- X\n- Y"`},
		{`templatefile("p/near.md", {})`, `"near world"`},
		{`templatefile("p/number.md", {})`, `"2"`},
		{`timeadd("2030-01-02T03:04:05Z", "1h")`, `"2030-01-02T04:04:05Z"`},
		{`title("ab cd")`, `"Ab Cd"`},
		{`tobool("true")`, `true`},
		{`tolist(["a"])`, `["a"]`},
		{`tolist(["a", 1])`, `["a", "1"]`},
		{`tolist(["a", null])`, `["a", null]`},
		{`tolist([])`, `[]`},
		{`toset([1, 1, 2])`, `[1, 2]`},
		{`tolist([{ a = 1 }, { a = 2 }])`, `[{ a = 1 }, { a = 2 }]`},
		{`tomap({ a = 1 })["a"]`, `1`},
		{`tonumber("1.5")`, `1.5`},
		{`length(toset(["a", "a"]))`, `1`},
		{`tostring(1)`, `"1"`},
		{`transpose({ a = ["x", "y"], b = ["x"] })`, `{ x = ["a", "b"], y = ["a"] }`},
		{`trim("--a--", "-")`, `"a"`},
		{`trimprefix("abc", "a")`, `"bc"`},
		{`trimspace(" a ")`, `"a"`},
		{`trimsuffix("abc", "c")`, `"ab"`},
		{`try(nothing.there, "b")`, `"b"`},
		{`upper("a")`, `"A"`},
		{`urlencode("a b&c")`, `"a+b%26c"`},
		{`values({ b = 1, a = 2 })`, `[2, 1]`},
		{`yamldecode("a: [1, two]\nb: &x\n  c: 1\nd: *x\n")`, `{ a = [1, "two"], b = { c = 1 }, d = { c = 1 } }`},
		{`yamldecode(yamlencode({ a = [1] }))`, `{ a = [1] }`},
		{`zipmap(["a"], [1])`, `{ a = 1 }`},
	}
	tested := map[string]bool{}
	names := regexp.MustCompile(`[a-z0-9]+\(`)
	for _, tt := range tests {
		for _, m := range names.FindAllString(tt.expr, -1) {
			tested[strings.TrimSuffix(m, "(")] = true
		}
		t.Run(tt.expr, func(t *testing.T) {
			got, err := evaluate(project(), tt.expr)
			if err != nil {
				t.Fatal(err)
			}
			want, err := evaluate(project(), tt.want)
			if err != nil {
				t.Fatal(err)
			}
			if a, b := plain(got), plain(want); a != b {
				t.Errorf("got %s, want %s", a, b)
			}
		})
	}
	for _, d := range function.Docs() {
		if !tested[d.Name] {
			t.Errorf("no test for %s", d.Name)
		}
	}
}

// plain shows a value without telling lists from tuples and maps from objects.
func plain(v cty.Value) string {
	switch {
	case v.IsNull():
		return "null"
	case v.Type() == cty.String:
		return fmt.Sprintf("%q", v.AsString())
	case v.Type() == cty.Number:
		return v.AsBigFloat().Text('g', 20)
	case v.Type() == cty.Bool:
		return fmt.Sprint(v.True())
	}
	keyed := v.Type().IsMapType() || v.Type().IsObjectType()
	var parts []string
	for it := v.ElementIterator(); it.Next(); {
		k, e := it.Element()
		if keyed {
			parts = append(parts, k.AsString()+"="+plain(e))
			continue
		}
		parts = append(parts, plain(e))
	}
	return "[" + strings.Join(parts, " ") + "]"
}

func TestErrors(t *testing.T) {
	tests := []struct{ expr, want string }{
		{`file("c.txt")`, "file does not exist"},
		{`file("../etc/passwd")`, "outside the project"},
		{`file("nul.txt")`, "NUL character at byte 1"},
		{`file("binary")`, "not UTF-8"},
		{`file("large.txt")`, "4 MiB"},
		{`base64decode("!")`, "not base64"},
		{`base64decode("//8=")`, "not UTF-8"},
		{`base64decode("AGE=")`, "NUL"},
		{`jsondecode("\"a\\u0000\"")`, "NUL"},
		{`jsondecode("{\"a\\u0000\": 1}")`, "NUL"},
		{`yamldecode("\"\\0\"")`, "NUL"},
		{`one([1, 2])`, "2 elements"},
		{`one("a")`, "list, set or tuple"},
		{`sum([])`, "no sum"},
		{`pow(-8, 0.333)`, `failed: the result is not a number.`},
		{`1 % 0`, "divided by zero"},
		{`tonumber("Inf")`, "infinite"},
		{`max("Inf")`, ": it is infinite"},
		{`sum(["a"])`, "number is needed"},
		{`index(["a"], "b")`, "does not hold"},
		{`lookup({}, "a")`, "no key \"a\""},
		{`lookup({}, "a", 1, 2)`, "only one default"},
		{`lookup("a", "a", 1)`, "map or object"},
		{`length(1)`, "collection or a string"},
		{`coalesce(null, "")`, "every argument"},
		{`matchkeys(["a"], [], [1])`, "0 elements"},
		{`replace("a", "/(/", "")`, "missing closing"},
		{`try(nothing.there, other.thing)`, "no expression could be evaluated"},
		{`try()`, "at least one"},
		{`templatefile("p/self.md", {})`, "cannot fill other templates"},
		{`templatefile("p/greet.md", { name = "Ada" })`, `no "list"`},
		{`templatefile("p/greet.md", "x")`, "map or an object"},
		{`templatefile("p/greet.md", { "a b" = 1 })`, "name of a variable"},
		{`templatefile("p/broken.md", {})`, "p/broken.md:"},
		{`templatefile("p/deep.md", {})`, "Nested too deeply"},
		{`templatefile("p/exponent.md", {})`, "Number too large"},
		{`templatefile("p/object.md", {})`, "not text"},
		{`templatefile("p/none.md", {})`, "file does not exist"},
	}
	for _, tt := range tests {
		t.Run(tt.expr, func(t *testing.T) {
			_, err := evaluate(project(), tt.expr)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

// TestBounds tries to make much of little. Each call must fail without
// taking memory for what it would have made.
func TestBounds(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\\n"
	for i := 'b'; i < 'j'; i++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", i-1), 9), ","))
	}
	same := "a: &a [x,x]\\n"
	for range 40 {
		same += "b: &b [*a,*a]\\na: &a [*b,*b]\\n"
	}
	tests := []string{
		`format("%0999999999d", 1)`,
		`format("%.99999f", 1)`,
		`format(join("", [for i in range(1000): "%09999d"]), [for i in range(1000): i]...)`,
		`format(join("", [for i in range(1000): "%[1]s"]), long)`,
		`format(join("", [for i in range(100): "%[1]v"]), [long])`,
		`formatlist("%[1]s%[1]s", [for i in range(100): long])`,
		`formatlist("%09999d", range(1024), setproduct(range(10), range(10)), range(1024))`,
		`join(long, range(1000))`,
		`replace(longer, "x", "xxxxxxxx")`,
		`replace(longer, "/x/", "xxxxxxxx")`,
		`replace(longer, "/(x+)/", "$1$1$1$1")`,
		`replace(longer, "", "xx")`,
		`indent(99999, "a\nb")`,
		`indent(-1, "a\nb")`,
		`indent(9999, join("\n", range(1000)))`,
		`setproduct(range(1000), range(1000))`,
		`setproduct(range(100), range(100), range(100), range(100), range(100))`,
		`range(100000)`,
		`split("", long)`,
		`split("x", long)`,
		`regexall("x", long)`,
		`regexall("", longer)`,
		`tonumber("1e20000000")`,
		`-"1e20000000"`,
		`"1e20000000" + 0`,
		`1e400 * 1e400`,
		`1e-300 / 1e300`,
		`format("%d", "1e20000000")`,
		`format("%s %[1]f", "1e-20000000")`,
		`formatlist("%x", ["1", "1e20000000"])`,
		`range("1e20000000")`,
		`max("1e20000000", 1)`,
		`jsondecode("1e20000000")`,
		`jsondecode("[{\"a\": 1e-20000000}]")`,
		`yamldecode("a: 1e20000000")`,
		`parseint(longer, 36)`,
		`sum([tonumber("1e400"), "1e9999"])`,
		`jsondecode(format("%s1%s", join("", [for i in range(1000): "["]), ""))`,
		`yamldecode(join("", [for i in range(1000): "["]))`,
		`yamldecode(join("", [for i in range(1000): "- "]))`,
		`yamldecode(join("", [for i in range(1000): "? "]))`,
		`yamldecode(join("\n", [for i in range(1000): "${substr(format("%1000s- ", ""), 1000 - i, -1)}"]))`,
		`yamldecode("` + bomb + `")`,
		`yamldecode("` + same + `")`,
		`yamldecode(longer)`,
		`csvdecode(replace(long, "x", ",\n"))`,
		`concat([for i in range(200): range(1000)]...)`,
		`flatten([for i in range(200): range(1000)])`,
		`templatefile("p/many.md", {})`,
		`chunklist([for i in range(200): range(1000)], 1)`,
		`concat([for i in range(10): longer])`,
		`urlencode(replace(longer, "x", "é"))`,
	}
	var before, after runtime.MemStats
	for _, expr := range tests {
		t.Run(fmt.Sprintf("%.60s", expr), func(t *testing.T) {
			runtime.ReadMemStats(&before)
			v, err := evaluate(project(), expr)
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Errorf("it was allowed, and gave %s", v.Type().FriendlyName())
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 1<<30 {
				t.Errorf("it allocated %d MB", used>>20)
			}
		})
	}
}

func TestGenerous(t *testing.T) {
	for _, expr := range []string{
		`replace(long, "x", "yyy")`,
		`join("", [for i in range(4): long])`,
		`join(",", range(1024))`,
		`format("%s %s %s", long, long, "x")`,
		`indent(2, replace(long, "xxxxxxxxxx", "xxxxxxxxx\n"))`,
		`setproduct(range(100), range(100))`,
		`jsondecode(jsonencode(long))`,
		`tolist(toset([for i in range(1000): "file ${i}"]))`,
		`split(" ", long)`,
		`format("%0100d", 1)`,
		`tonumber("1e300") * 10`,
		`format("%s-%d", "1e2000000", 7)`, // the beginning of a commit's name may look like a number
		`"1e2000000" == "x"`,
		`1e300 * 1e-300 + 1e100 - 7 % 2 / 3`,
		`yamldecode("d: &d {a: 1}\ns: [{<<: *d}, {<<: *d}, {<<: *d}, {<<: *d}]\ntext: |\n  **bold** & *more*\n")`,
	} {
		if _, err := evaluate(project(), expr); err != nil {
			t.Errorf("%s: %s", expr, err)
		}
	}
}

// TestTryOnce holds nested tries to linear work: with the usual two
// evaluations a level, forty levels would never end.
func TestTryOnce(t *testing.T) {
	expr := strings.Repeat("try(", 40) + "can(" + "nothing" + ")" + strings.Repeat(")", 40)
	if v, err := evaluate(project(), expr); err != nil || !v.False() {
		t.Errorf("got %v, %v", v, err)
	}
}

func TestTemplateReadOnce(t *testing.T) {
	files := project()
	v, err := evaluate(files, `[for i in range(50): templatefile("p/greet.md", { name = i, list = [] })]`)
	if err != nil {
		t.Fatal(err)
	}
	if got := v.AsValueSlice()[7].AsString(); got != "Hello 7!" {
		t.Errorf("got %q", got)
	}
	if n := files.reads["/project/p/greet.md"]; n != 1 {
		t.Errorf("the template was read %d times", n)
	}
}

func TestMarksStay(t *testing.T) {
	table := function.Table("/project", project(), func(string) (string, bool) { return "", false })
	in := cty.StringVal("ab").Mark("secret")
	out, err := table["upper"].Call([]cty.Value{in})
	if err != nil || !out.HasMark("secret") {
		t.Errorf("got %#v, %v", out, err)
	}
	out, err = table["join"].Call([]cty.Value{cty.StringVal("-"), cty.ListVal([]cty.Value{in})})
	if err != nil || !out.HasMark("secret") {
		t.Errorf("got %#v, %v", out, err)
	}
}

func TestDocs(t *testing.T) {
	table := function.Table("/", project(), nil)
	docs := function.Docs()
	if !slices.IsSortedFunc(docs, func(a, b function.Doc) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("not sorted")
	}
	if len(docs) != len(table) {
		t.Errorf("%d descriptions for %d functions", len(docs), len(table))
	}
	for _, d := range docs {
		f, ok := table[d.Name]
		if !ok {
			t.Errorf("%s is described and does not exist", d.Name)
			continue
		}
		if strings.TrimSpace(d.Description) == "" || strings.Contains(d.Description, "\n") || !strings.HasSuffix(d.Description, ".") {
			t.Errorf("%s: description %q is not one sentence line", d.Name, d.Description)
		}
		inner := strings.TrimSuffix(strings.TrimPrefix(d.Signature, d.Name+"("), ")")
		said := strings.Split(inner, ", ")
		want := len(f.Params())
		if f.VarParam() != nil {
			want++
			if !strings.HasSuffix(inner, "...") {
				t.Errorf("%s takes more arguments than its signature says", d.Signature)
			}
		} else if strings.HasSuffix(inner, "...") {
			t.Errorf("%s does not take a variable number of arguments", d.Signature)
		}
		// A variable number of arguments may stand for the first one too.
		if len(said) != want && !(f.VarParam() != nil && len(said) >= want) {
			t.Errorf("%s has %d parameters", d.Signature, want)
		}
	}
}

func FuzzExpressions(f *testing.F) {
	for _, d := range function.Docs() {
		f.Add(d.Name, "a,b\n1,2", "[1, \"x\"]", int64(3))
	}
	table := function.Table("/project", project(), func(string) (string, bool) { return "", false })
	f.Fuzz(func(t *testing.T, name, text, other string, n int64) {
		fn, ok := table[name]
		if !ok || name == "try" || name == "can" {
			return
		}
		args := []cty.Value{
			cty.StringVal(text), cty.StringVal(other), cty.NumberIntVal(n), cty.NullVal(cty.String),
			cty.ListVal([]cty.Value{cty.StringVal(text), cty.StringVal(other)}), cty.EmptyObjectVal,
			cty.ObjectVal(map[string]cty.Value{"a": cty.StringVal(text)}), cty.ListValEmpty(cty.String),
		}
		for i := range args {
			for j := range args {
				fn.Call([]cty.Value{args[i]})
				fn.Call([]cty.Value{args[i], args[j]})
				fn.Call([]cty.Value{args[i], args[j], args[(i+j)%len(args)]})
			}
		}
	})
}
