package lang

import (
	"fmt"
	"strings"
	"testing"
)

// TestSyntaxMeant: where a parser loses its way, the first diagnostic names the
// place that a person has to change, and what to write there.
func TestSyntaxMeant(t *testing.T) {
	const assign = "    assign {\n      duty = duty.d\n      to   = provider.claude\n    }\n"
	for name, c := range map[string]struct{ text, want string }{
		"duration":                {"run \"r\" {\n  timeout = { wall = 5m, idle = \"x\" }\n}\n", `okstra.hcl:2,22-24: Quotes missing; A duration is written in quotes: "5m".`},
		"duration in a list":      {"locals {\n  a = [1h30m]\n}\n", `okstra.hcl:2,8-13: Quotes missing; A duration is written in quotes: "1h30m".`},
		"duration of its own":     {"locals {\n  a = 1.5s\n}\n", `okstra.hcl:2,7-11: Quotes missing; A duration is written in quotes: "1.5s".`},
		"no duration":             {"locals {\n  a = 5min\n}\n", `okstra.hcl:2,7-11: Quotes missing; What begins with a digit and goes on with letters is a text, and is written in quotes: "5min".`},
		"percentage":              {"run \"r\" {\n  round \"a\" {\n    require = 50%\n  }\n}\n", `okstra.hcl:3,15-18: Quotes missing; A percentage is written in quotes: "50%".`},
		"brace of a round":        {"run \"r\" {\n  round \"a\" {\n" + assign + "\n  round \"b\" {\n" + assign + "  }\n}\n", `okstra.hcl:2,3-14: Closing brace missing; round "a" is not closed. By the look of the file, a } is missing before line 8.`},
		"brace of the last":       {"run \"r\" {\n  round \"a\" {\n" + assign + "}\n", `okstra.hcl:2,3-14: Closing brace missing; round "a" is not closed. By the look of the file, a } is missing before line 7.`},
		"brace of a duty":         {"duty \"d\" {\n  instructions = <<E\n}\nx\nE\n\nrun \"r\" {\n}\n", `okstra.hcl:1,1-11: Closing brace missing; duty "d" is not closed. By the look of the file, a } is missing before line 7.`},
		"brace at the end":        {"run \"r\" {\n  round \"a\" {\n" + assign + "  }\n", `okstra.hcl:1,1-10: Closing brace missing; run "r" is not closed. By the look of the file, a } is missing at the end of the file.`},
		"brace, not indented":     {"run \"r\" {\nround \"a\" {\nassign {\nduty = duty.d\n}\nround \"b\" {\n}\n}\n", `okstra.hcl:2,1-12: Closing brace missing; round "a" is not closed. By the look of the file, a } is missing before line 6.`},
		"brace after a list":      {"run \"r\" {\n  fingerprint = [\n  \"x\",\n]\n  round \"a\" {\n" + assign + "  }\n", `okstra.hcl:1,1-10: Closing brace missing; run "r" is not closed. By the look of the file, a } is missing at the end of the file.`},
		"brace of an object":      {"run \"r\" {\n  budget = {\n    dispatches = 2\n  round \"a\" {\n" + assign + "  }\n}\n", `okstra.hcl:2,3-13: Closing brace missing; budget is not closed. By the look of the file, a } is missing before line 4.`},
		"brace before an object":  {"provider \"p\" {\n  env = {\n    A = 1\n  exit_codes = {\n    B = 1\n  }\n  access \"read\" {\n  }\n}\n", `okstra.hcl:2,3-10: Closing brace missing; env is not closed. By the look of the file, a } is missing before line 4.`},
		"brace of a short object": {"run \"r\" {\n  timeout = { wall = \"5m\"\n}\n", `okstra.hcl:2,3-14: Closing brace missing; timeout is not closed. By the look of the file, a } is missing before line 3.`},
		"no brace is missing":     {"locals {\n  a = {\n    b c\n  }\n}\n", `okstra.hcl:3,7-8: Missing key/value separator; Expected an equals sign ("=") to mark the beginning of the attribute value. If you intended to given an attribute name containing periods or spaces, write the name in quotes to create a string literal.`},
		"brace before a block":    {"run \"r\" {\n  budget = { dispatches = 2, wall = \"1h\"\n  round \"a\" {\n" + assign + "  }\n}\n", `okstra.hcl:2,3-13: Closing brace missing; budget is not closed. By the look of the file, a } is missing before line 3.`},
		"brace before a key":      {"run \"r\" {\n  budget = { dispatches = 2\n  max_parallel = 1\n}\n", `okstra.hcl:2,3-13: Closing brace missing; budget is not closed. By the look of the file, a } is missing before line 3.`},
		"bracket before a block":  {"run \"r\" {\n  backend = [backend.tmux\n  round \"a\" {\n" + assign + "  }\n}\n", `okstra.hcl:2,3-14: Closing bracket missing; backend is not closed. By the look of the file, a ] is missing before line 3.`},
		"bracket after a comma":   {"run \"r\" {\n  backend = [\n    backend.tmux,\n  round \"a\" {\n" + assign + "  }\n}\n", `okstra.hcl:2,3-14: Closing bracket missing; backend is not closed. By the look of the file, a ] is missing before line 4.`},
		"bracket before a key":    {"run \"r\" {\n  backend = [backend.tmux\n  max_parallel = 1\n}\n", `okstra.hcl:2,3-14: Closing bracket missing; backend is not closed. By the look of the file, a ] is missing before line 3.`},
		"bracket at the end":      {"run \"r\" {\n  backend = [backend.tmux\n}\n", `okstra.hcl:2,3-14: Closing bracket missing; backend is not closed. By the look of the file, a ] is missing before line 3.`},
		"a comma":                 {"locals {\n  a = [\n    \"x\"\n    \"y\"\n  ]\n}\n", `okstra.hcl:4,5-6: Missing item separator; Expected a comma to mark the beginning of the next item.`},
		"a comma in a list":       {"locals {\n  a = [{\n    b = 1\n  } {\n    b = 2 } {}]\n}\n", `okstra.hcl:4,5-6: Missing item separator; Expected a comma to mark the beginning of the next item.`},
		"a brace too many":        {"run \"r\" {\n  round \"a\" {\n" + assign + "  }\n  }\n  round \"b\" {\n" + assign + "  }\n}\n", `okstra.hcl:8,3-4: Closing brace too many; By its indentation this } is one too many: it closes run "r" (okstra.hcl:1:1), and the one at okstra.hcl:15:1 has nothing left to close. Remove it.`},
		"the last brace":          {"run \"r\" {\n  round \"a\" {\n" + assign + "  }\n}\n}\n", `okstra.hcl:9,1-2: Closing brace too many; There is nothing left to close here: remove this }, or one before it.`},
		"heredoc":                 {"duty \"d\" {\n  instructions = <<-EOT\n    Look.\n  END\n}\n", `okstra.hcl:2,18-24: Text without an end; The text that begins with <<-EOT goes on to the end of the file: no line holds EOT alone. Line 4 holds "END".`},
		"heredoc with a comma":    {"locals {\n  a = [<<EOT\nLook.\nEOT,\n]\n}\n", `okstra.hcl:2,8-13: Text without an end; The text that begins with <<EOT goes on to the end of the file: no line holds EOT alone. Line 4 holds "EOT,".`},
		"heredoc without an end":  {"duty \"d\" {\n  instructions = <<EOT\nLook.\n}\n", `okstra.hcl:2,18-23: Text without an end; The text that begins with <<EOT goes on to the end of the file: no line holds EOT alone.`},
		"attribute twice":         {"run \"r\" {\n  dir = \"a\"\n  dir = \"b\"\n}\n", `okstra.hcl:3,3-6: Attribute redefined; The argument "dir" was already set at okstra.hcl:2:3. Each argument may be set only once.`},
	} {
		t.Run(name, func(t *testing.T) {
			_, diags := Load(tree(t, map[string]string{"okstra.hcl": c.text}))
			if len(diags) == 0 || diags[0].Error() != c.want {
				t.Errorf("want %s\ngot  %s", c.want, texts(diags))
			}
			_, formatted := Format([]byte(c.text), "okstra.hcl")
			if len(formatted) != len(diags) || formatted[0].Error() != c.want {
				t.Errorf("Format says something else: %s", texts(formatted))
			}
		})
	}
}

// TestHeredocEnds: every text that has its end is left alone.
func TestHeredocEnds(t *testing.T) {
	for _, text := range []string{"a = <<E\nx\nE\n", "a = <<-E\n  ${[<<F\ny\nF\n][0]}\n  E\n"} {
		if d := heredocOpen([]byte(text), "x.hcl"); d != nil {
			t.Error(d)
		}
	}
}

// FuzzBraces: whatever the bytes are, the hints for them are made without a
// crash, and lie in the file.
func FuzzBraces(f *testing.F) {
	for _, text := range []string{"a {\n b {\n}\n", "}\n", "a = {\n}}", "a = <<E\n${ {\n", "a = 5é", "x = 9m%"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 4096 {
			return
		}
		_, diags := Format(src, "x.hcl")
		for _, d := range diags {
			if d.Subject != nil && (d.Subject.End.Byte > len(src) || d.Subject.End.Byte < d.Subject.Start.Byte) {
				t.Errorf("%s lies outside of %q", d, src)
			}
			if strings.Contains(fmt.Sprint(d.Detail), "%!") {
				t.Error(d.Detail)
			}
		}
	})
}

// TestJSONTwice: JSON syntax says it in the same form.
func TestJSONTwice(t *testing.T) {
	const text = `{"duty": {"d": {"instructions": "x"}}, "run": {"r": {
  "budget": {"dispatches": 20, "dispatches": 2},
  "dir": ".",
  "dir": "..",
  "round": {"a": {"assign": {"duty": "d", "to": "provider.claude"}}}}}}`
	diags, _ := complaints(tree(t, map[string]string{"okstra.hcl.json": text}))
	want(t, texts(diags),
		`An attribute named "dispatches" was already defined at okstra.hcl.json:2:14.`,
		`The argument "dir" was already set at okstra.hcl.json:3:3.`,
		`duty is "duty.d", not "d".`)
}
