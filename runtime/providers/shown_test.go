package providers

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/okstra/okstra/lang/plan"
)

func texts(shown []Shown) []string {
	out := []string{}
	for _, s := range shown {
		out = append(out, s.Text)
	}
	return out
}

// TestPartsAreFolded: what is for a file is not for the screen, and is whole in
// the final text.
func TestPartsAreFolded(t *testing.T) {
	const final = "One defect.\n\n=== okstra:emit ===\n{\"format\": \"x\",\n \"findings\": []}\n=== okstra:audit ===\nI read it."
	quoted, err := json.Marshal(final)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"One defect.", "[emit: kept for its file]", "[audit: kept for its file]"}
	var pieces []string // as gemini sends them, across line ends
	for _, p := range strings.SplitAfter(final, "o") {
		q, _ := json.Marshal(p)
		pieces = append(pieces, fmt.Sprintf(`{"type":"message","role":"assistant","content":%s,"delta":true}`, q))
	}
	for format, output := range map[plan.OutputFormat]string{
		plan.OutputText:         final,
		plan.OutputClaudeStream: fmt.Sprintf(`{"type":"assistant","message":{"content":[{"type":"text","text":%s}]}}`+"\n"+`{"type":"result","result":%s}`, quoted, quoted),
		plan.OutputCodexStream:  fmt.Sprintf(`{"type":"item.completed","item":{"type":"agent_message","text":%s}}`+"\n"+`{"type":"turn.completed"}`, quoted),
		plan.OutputGeminiStream: strings.Join(pieces, "\n") + "\n" + `{"type":"result","status":"success"}`,
	} {
		t.Run(string(format), func(t *testing.T) {
			s := newStream(t, format)
			var got []string
			for _, text := range texts(feed(s, []byte(output))) {
				if text != "" {
					got = append(got, text)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("shown (-want +got):\n%s", diff)
			}
			if got := strings.TrimSpace(s.End().FinalText); got != final {
				t.Errorf("the final text is %q", got)
			}
		})
	}
}

func TestGist(t *testing.T) {
	for in, want := range map[string]string{
		"":                                "done",
		"\n \n":                           "done",
		"hi\n":                            "hi",
		"     1\tpackage shop":            "package shop",
		"  12→package shop":               "package shop",
		"12 monkeys":                      "12 monkeys",
		"{\n  \"a\": 1\n}\n":              "3 lines",
		"     1\t{\n     2\t}\n":          "2 lines",
		strings.Repeat("x\n", 4000):       "4000 lines",
		"\x1b[2Jhome\x07":                 "home\uFFFD",
		"\n\nonly this\n\n":               "only this",
		strings.Repeat("word ", 2) + "\n": "word word",
	} {
		if got := gist(in); got != want {
			t.Errorf("gist(%q) is %q, want %q", in, got, want)
		}
	}
}

// TestTokensOnce: the last message's tokens are shown with the sum, and not
// before it too.
func TestTokensOnce(t *testing.T) {
	s := newStream(t, plan.OutputClaudeStream)
	got := texts(feed(s, []byte(strings.Join([]string{
		`{"type":"assistant","message":{"id":"a","content":[{"type":"tool_use","id":"1","name":"Bash"}],"usage":{"input_tokens":5,"output_tokens":1}}}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"1","content":"ok"}]}}`,
		`{"type":"assistant","message":{"id":"b","content":[{"type":"text","text":"on"}],"usage":{"input_tokens":5,"output_tokens":1}}}`,
		`{"type":"assistant","message":{"id":"c","content":[{"type":"text","text":"end"}],"usage":{"input_tokens":5,"output_tokens":1}}}`,
		`{"type":"result","result":"end","usage":{"input_tokens":15,"output_tokens":3},"total_cost_usd":0.5}`,
	}, "\n"))))
	want := []string{"> Bash", "tokens: 5 in, 1 out", "< Bash: ok", "on", "tokens: 10 in, 2 out", "end", "tokens: 15 in, 3 out, 0.5000 USD"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
}

// TestChatter: what a CLI says at every start is one line.
func TestChatter(t *testing.T) {
	const folded = "[the CLI warns of its own set-up: okstra logs --stderr]"
	lines := []string{
		"Warning: True color (24-bit) support not detected.", "YOLO mode is enabled. All tool calls will be automatically approved.",
		"[STARTUP] Phase 'cleanup_ops' was started but never ended.", "Attempt 1 failed: Too many requests.\x1b[2J", "Ripgrep is not available. Falling back to GrepTool.",
	}
	for format, want := range map[plan.OutputFormat][]string{
		plan.OutputGeminiStream: {folded, "Attempt 1 failed: Too many requests."},
		plan.OutputCodexStream:  {lines[0], lines[1], lines[2], "Attempt 1 failed: Too many requests.", lines[4]},
		plan.OutputText:         {lines[0], lines[1], lines[2], "Attempt 1 failed: Too many requests.", lines[4]},
	} {
		e := NewErrors(format)
		var got []string
		if format == plan.OutputCodexStream {
			got = texts(e.Line([]byte("Reading prompt from stdin...")))
		}
		for _, line := range lines {
			got = append(got, texts(e.Line([]byte(line)))...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", format, diff)
		}
	}
}
