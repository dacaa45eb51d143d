package providers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/okstra/okstra/lang/plan"
)

var formats = []plan.OutputFormat{plan.OutputText, plan.OutputClaudeStream, plan.OutputCodexStream, plan.OutputGeminiStream}

func newStream(t testing.TB, format plan.OutputFormat) Stream {
	t.Helper()
	s, err := New(format)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// feed gives a whole output to a stream and returns what was shown.
func feed(s Stream, output []byte) []Shown {
	var shown []Shown
	output = bytes.TrimSuffix(output, []byte("\n"))
	if len(output) == 0 {
		return nil
	}
	for _, line := range bytes.Split(output, []byte("\n")) {
		shown = append(shown, s.Line(line, false)...)
	}
	return shown
}

// readable is the golden form: what a person saw, then what the stream held.
func readable(shown []Shown, busy bool, out Outcome) string {
	var b strings.Builder
	for _, s := range shown {
		fmt.Fprintf(&b, "%-5s | %s\n", s.Kind, s.Text)
	}
	fmt.Fprintf(&b, "--\nbusy: %v\nfinal: %v %q\n", busy, out.HasFinal, out.FinalText)
	if out.Usage != nil {
		usage, err := json.Marshal(out.Usage)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(&b, "usage: %s\n", usage)
	}
	if out.Fatal != nil {
		fmt.Fprintf(&b, "fatal: %s, %s", out.Fatal.Reason, out.Fatal.Detail)
		if out.Fatal.RetryAfter != nil {
			fmt.Fprintf(&b, ", retry after %s", *out.Fatal.RetryAfter)
		}
		b.WriteString("\n")
	}
	for _, n := range out.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	return b.String()
}

// TestRecorded reads every recorded stream and compares with its golden file.
// With OKSTRA_UPDATE=1 in the environment the golden files are written instead.
func TestRecorded(t *testing.T) {
	for _, format := range formats {
		files, err := filepath.Glob(filepath.Join("testdata", string(format), "*"))
		if err != nil {
			t.Fatal(err)
		}
		ran := 0
		for _, file := range files {
			if strings.HasSuffix(file, ".golden") {
				continue
			}
			ran++
			t.Run(file, func(t *testing.T) {
				output, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				s := newStream(t, format)
				shown := feed(s, output)
				busy := s.Busy()
				got := readable(shown, busy, s.End())
				golden := strings.TrimSuffix(file, filepath.Ext(file)) + ".golden"
				if os.Getenv("OKSTRA_UPDATE") == "1" {
					if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
					return
				}
				want, err := os.ReadFile(golden)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), got); diff != "" {
					t.Errorf("readable form differs (-want +got):\n%s", diff)
				}
				for _, line := range shown {
					checkHarmless(t, line.Text)
				}
			})
		}
		if ran == 0 {
			t.Errorf("no recorded streams of %s", format)
		}
	}
}

// TestFinal: the last word is told at once, and taken back where work goes on.
func TestFinal(t *testing.T) {
	for format, lines := range map[plan.OutputFormat][]struct {
		line  string
		final bool
	}{
		plan.OutputClaudeStream: {
			{`{"type":"system","subtype":"init"}`, false},
			{`{"type":"assistant","message":{"content":"words"}}`, false},
			{`{"type":"result","subtype":"success","result":"words"}`, true},
			{`{"type":"system","subtype":"hook"}`, true},
			{`no record`, true},
			{`{"type":"assistant","message":{"content":"a task came back"}}`, false},
			{`{"type":"result","is_error":true}`, true},
		},
		plan.OutputCodexStream: {
			{`{"type":"thread.started"}`, false},
			{`{"type":"error","message":"reconnecting"}`, false},
			{`{"type":"item.completed","item":{"type":"agent_message","text":"words"}}`, false},
			{`{"type":"turn.completed"}`, true},
			{`{"type":"turn.started"}`, false},
			{`{"type":"turn.failed","error":{"message":"no"}}`, true},
		},
		plan.OutputGeminiStream: {
			{`{"type":"init"}`, false},
			{`{"type":"message","role":"assistant","content":"words"}`, false},
			{`{"type":"result","status":"success"}`, true},
			{`{"type":"tool_use","tool_name":"shell"}`, false},
		},
	} {
		t.Run(string(format), func(t *testing.T) {
			s := newStream(t, format).(interface{ Final() bool })
			for _, l := range lines {
				s.(Stream).Line([]byte(l.line), false)
				if got := s.Final(); got != l.final {
					t.Errorf("after %s: final is %v", l.line, got)
				}
			}
		})
	}
}
