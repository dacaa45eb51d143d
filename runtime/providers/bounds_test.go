package providers

import (
	"bytes"
	"encoding/json"
	goruntime "runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/okstra/okstra/lang/plan"
)

func TestNewUnknownFormat(t *testing.T) {
	s, err := New("yaml")
	if err == nil || s != nil || !strings.Contains(err.Error(), `"yaml"`) {
		t.Errorf("New of an unknown format = %v, %v", s, err)
	}
}

// inPieces gives one line in pieces of n bytes.
func inPieces(s Stream, line []byte, n int) []Shown {
	var shown []Shown
	for len(line) > n {
		shown = append(shown, s.Line(line[:n], true)...)
		line = line[n:]
	}
	return append(shown, s.Line(line, false)...)
}

// TestPieces: a record is read the same in one piece and in many.
func TestPieces(t *testing.T) {
	long := strings.Repeat("größer ", 400_000) // 3.2 MB
	for format, record := range map[plan.OutputFormat]any{
		plan.OutputClaudeStream: map[string]any{"type": "result", "subtype": "success", "result": long},
		plan.OutputCodexStream:  map[string]any{"type": "item.completed", "item": map[string]any{"type": "agent_message", "text": long}},
		plan.OutputGeminiStream: map[string]any{"type": "message", "role": "assistant", "content": long},
	} {
		line, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		s := newStream(t, format)
		shown := inPieces(s, line, MaxLine)
		switch format {
		case plan.OutputCodexStream:
			s.Line([]byte(`{"type":"turn.completed"}`), false)
		case plan.OutputGeminiStream:
			s.Line([]byte(`{"type":"result","status":"success"}`), false)
		}
		out := s.End()
		if out.FinalText != long || out.Truncated {
			t.Errorf("%s: a final text of %d bytes came as %d, truncated %v", format, len(long), len(out.FinalText), out.Truncated)
		}
		for _, line := range shown {
			if n := utf8.RuneCountInString(line.Text); n > 2*maxShown {
				t.Errorf("%s: a line of %d runes was shown", format, n)
			}
		}
	}
}

// TestPlainLineInPieces: only the beginning of a long line is shown, once.
func TestPlainLineInPieces(t *testing.T) {
	for _, format := range formats {
		s := newStream(t, format)
		shown := inPieces(s, bytes.Repeat([]byte("x"), 10_000), 1000)
		if len(shown) != 1 || !strings.HasSuffix(shown[0].Text, "the rest is in the log]") {
			t.Errorf("%s: %v", format, shown)
		}
		shown = s.Line([]byte("next"), false)
		if len(shown) != 1 || shown[0].Text != "next" {
			t.Errorf("%s: the line after a long one: %v", format, shown)
		}
	}
}

// TestBoundedMemory gives each format a line of 1 GB, once as a record and
// once as text, and looks at what stays in memory.
func TestBoundedMemory(t *testing.T) {
	piece := bytes.Repeat([]byte("y"), MaxLine)
	for _, format := range formats {
		for _, start := range []string{`{"type":"result","result":"`, "text"} {
			s := newStream(t, format)
			var shown []Shown
			shown = append(shown, s.Line([]byte(start), true)...)
			for range 1024 {
				shown = append(shown, s.Line(piece, true)...)
			}
			shown = append(shown, s.Line(nil, false)...)
			if len(shown) != 1 {
				t.Errorf("%s: %d lines were shown of one line", format, len(shown))
			}
			var m goruntime.MemStats
			goruntime.GC()
			goruntime.ReadMemStats(&m)
			if limit := uint64(MaxFinal * 3); m.HeapAlloc > limit {
				t.Errorf("%s: %d bytes are held after a line of 1 GB, more than %d", format, m.HeapAlloc, limit)
			}
			out := s.End()
			if len(out.FinalText) > MaxFinal {
				t.Errorf("%s: a final text of %d bytes", format, len(out.FinalText))
			}
			if format == plan.OutputText && !out.Truncated {
				t.Error("a cut final text is not marked as truncated")
			}
			if format != plan.OutputText && start[0] == '{' && len(out.Notes) == 0 {
				t.Errorf("%s: nothing is said about a record that was not read", format)
			}
			goruntime.KeepAlive(s)
		}
	}
}

// TestManyRecords: a stream of many records holds no more than a short one.
func TestManyRecords(t *testing.T) {
	for format, lines := range map[plan.OutputFormat][]string{
		plan.OutputClaudeStream: {
			`{"type":"assistant","message":{"id":"m%","content":[{"type":"tool_use","id":"t%","name":"Bash"}],"usage":{"input_tokens":1}}}`,
			`{"type":"system","subtype":"api_retry","error":"e%"}`,
		},
		plan.OutputCodexStream: {
			`{"type":"item.started","item":{"id":"%","type":"command_execution","command":"x"}}`,
			`{"type":"item.completed","item":{"id":"%","type":"error","message":"warning %"}}`,
		},
		plan.OutputGeminiStream: {
			`{"type":"tool_use","tool_id":"%","tool_name":"x"}`,
			`{"type":"error","severity":"warning","message":"warning %"}`,
		},
	} {
		s := newStream(t, format)
		for i := range 3_000 {
			for _, line := range lines {
				s.Line([]byte(strings.ReplaceAll(line, "%", strings.Repeat("9", i%40))), false)
				s.Line([]byte(strings.ReplaceAll(line, "%", itoa(i))), false)
			}
		}
		r := s.(*recordStream).records
		var open int
		switch r := r.(type) {
		case *claude:
			open = len(r.calls)
		case *codex:
			open = len(r.calls)
		case *gemini:
			open = len(r.calls)
		}
		if open > maxOpen {
			t.Errorf("%s: %d tool calls are held", format, open)
		}
		if n := len(s.End().Notes); n > maxNotes+2 {
			t.Errorf("%s: %d notes", format, n)
		}
	}
}

func itoa(i int) string {
	b, err := json.Marshal(i)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// TestBusy follows a tool call through each format.
func TestBusy(t *testing.T) {
	for format, steps := range map[plan.OutputFormat][]struct {
		line string
		busy bool
	}{
		plan.OutputText: {{"anything", false}},
		plan.OutputClaudeStream: {
			{`{"type":"assistant","message":{"id":"1","content":[{"type":"text","text":"hm"}]}}`, false},
			{`{"type":"assistant","message":{"id":"1","content":[{"type":"tool_use","id":"a","name":"Bash"},{"type":"tool_use","id":"b","name":"Read"}]}}`, true},
			{`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}}`, true},
			{`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"x"}]}]}}`, false},
			{`{"type":"assistant","message":{"id":"2","content":[{"type":"tool_use","id":"c","name":"Bash"}]}}`, true},
			{`{"type":"result","subtype":"success","result":"x"}`, false},
		},
		plan.OutputCodexStream: {
			{`{"type":"item.started","item":{"id":"0","type":"todo_list"}}`, false},
			{`{"type":"item.started","item":{"id":"1","type":"command_execution","command":"x"}}`, true},
			{`{"type":"item.updated","item":{"id":"1","type":"command_execution","command":"x"}}`, true},
			{`{"type":"item.completed","item":{"id":"1","type":"command_execution","command":"x","exit_code":0}}`, false},
			{`{"type":"item.started","item":{"id":"2","type":"mcp_tool_call","server":"s","tool":"t"}}`, true},
			{`{"type":"turn.completed"}`, false},
		},
		plan.OutputGeminiStream: {
			{`{"type":"tool_use","tool_id":"1","tool_name":"x"}`, true},
			{`{"type":"message","role":"assistant","content":"still here","delta":true}`, true},
			{`{"type":"tool_result","tool_id":"1","status":"success"}`, false},
			{`{"type":"tool_use","tool_id":"2","tool_name":"x"}`, true},
			{`{"type":"result","status":"success"}`, false},
		},
	} {
		s := newStream(t, format)
		for _, step := range steps {
			s.Line([]byte(step.line), false)
			if s.Busy() != step.busy {
				t.Errorf("%s: after %s busy is %v", format, step.line, !step.busy)
			}
		}
	}
}
