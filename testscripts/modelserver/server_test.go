package modelserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

func start(t *testing.T, scripts map[string]Script) *Server {
	t.Helper()
	s, err := Start(scripts, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// ask is one call of each API, with n tool results in it.
func ask(api, model string, n int) (path string, body any) {
	repeat := func(v any) []any {
		var out []any
		for range n {
			out = append(out, v)
		}
		return out
	}
	switch api {
	case "anthropic":
		content := append([]any{object{"type": "text", "text": "hello"}}, repeat(object{"type": "tool_result", "tool_use_id": "x", "content": "done"})...)
		return "/v1/messages?beta=true", object{"model": model, "stream": true, "messages": []any{object{"role": "user", "content": content}}, "tools": []any{object{"name": "Bash"}}}
	case "openai":
		input := append([]any{object{"type": "message", "role": "user", "content": []any{object{"type": "input_text", "text": "hello"}}}}, repeat(object{"type": "function_call_output", "output": "done"})...)
		return "/v1/responses", object{"model": model, "stream": true, "input": input, "tools": []any{object{"type": "function", "name": "exec_command"}}}
	default:
		parts := append([]any{object{"text": "hello"}}, repeat(object{"functionResponse": object{"name": "run_shell_command"}})...)
		return "/v1beta/models/" + model + ":streamGenerateContent?alt=sse", object{"contents": []any{object{"role": "user", "parts": parts}}, "tools": []any{object{"functionDeclarations": []any{object{"name": "run_shell_command"}}}}}
	}
}

func post(t *testing.T, s *Server, api, model string, n int) (*http.Response, string, error) {
	t.Helper()
	path, body := ask(api, model, n)
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(s.URL+path, "application/json", bytes.NewReader(b))
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return resp, string(answer), err
}

var apis = []string{"anthropic", "openai", "gemini"}

// TestSteps: the number of tool results chooses the step, in every API.
func TestSteps(t *testing.T) {
	s := start(t, Scripts())
	for _, api := range apis {
		for n, want := range []string{"OKSTRA_RESULT", "The result is written."} {
			resp, answer, err := post(t, s, api, "story-write", n)
			if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(answer, want) {
				t.Errorf("%s, step %d: %v %s", api, n, err, answer)
			}
			lines := bufio.NewScanner(strings.NewReader(answer))
			for lines.Scan() {
				if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && !json.Valid([]byte(data)) {
					t.Errorf("%s: an event is not JSON: %s", api, data)
				}
			}
		}
	}
	requests := s.Requests()
	if len(requests) != 6 {
		t.Fatalf("%d requests are recorded", len(requests))
	}
	if r := requests[1]; r.Model != "story-write" || r.Step != 1 || len(r.Tools) != 1 || !strings.Contains(r.Result, "done") {
		t.Errorf("recorded %+v", r)
	}
}

func TestErrors(t *testing.T) {
	s := start(t, Scripts())
	for _, api := range apis {
		for model, status := range map[string]int{"story-400": 400, "story-401": 401, "story-404": 404, "story-429": 429, "story-500": 500, "story-529": 529, "story-context": 400} {
			resp, answer, err := post(t, s, api, model, 0)
			if err != nil || resp.StatusCode != status {
				t.Errorf("%s, %s: %v", api, model, err)
				continue
			}
			var e struct {
				Error struct {
					Message string `json:"message"`
				} `json:"error"`
			}
			if err := json.Unmarshal([]byte(answer), &e); err != nil || e.Error.Message == "" {
				t.Errorf("%s, %s: %v %s", api, model, err, answer)
			}
			if got := resp.Header.Get("Retry-After"); (got == "2") != (status == 429) {
				t.Errorf("%s, %s: Retry-After %q", api, model, got)
			}
		}
	}
}

// TestPassing: an error that passes after its first request.
func TestPassing(t *testing.T) {
	s := start(t, Scripts())
	for i, want := range []int{429, 200, 200} {
		resp, _, err := post(t, s, "anthropic", "story-passing-429", 0)
		if err != nil || resp.StatusCode != want {
			t.Errorf("request %d: %v, want %d", i, resp, want)
		}
	}
}

func TestCut(t *testing.T) {
	s := start(t, Scripts())
	for _, api := range []string{"anthropic", "openai"} {
		if _, answer, err := post(t, s, api, "story-cut", 0); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: the answer ended with %v: %s", api, err, answer)
		}
	}
}

// TestSilence: nothing comes until the client goes.
func TestSilence(t *testing.T) {
	s := start(t, Scripts())
	path, body := ask("anthropic", "story-silence", 0)
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Timeout: 200 * time.Millisecond}
	resp, err := client.Post(s.URL+path, "application/json", bytes.NewReader(b))
	var timeout net.Error
	if !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("got %v, %v", resp, err)
	}
}

// TestAnalyst: the same model finds, and judges what its prompt holds.
func TestAnalyst(t *testing.T) {
	if got := analyse("Find defects."); !strings.Contains(got, "okstra.findings/1") {
		t.Errorf("without findings: %s", got)
	}
	got := analyse("text\n### `analysis.find.ada/F1`\n> quoted\n### `analysis.find.bert/F1`\n### `no id here`\n")
	if strings.Count(got, `"verdict"`) != 2 || !strings.Contains(got, `"analysis.find.bert/F1"`) {
		t.Errorf("with findings: %s", got)
	}
}

func TestUnknown(t *testing.T) {
	s := start(t, Scripts())
	resp, err := http.Get(s.URL + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown endpoint answered %d", resp.StatusCode)
	}
	if _, answer, err := post(t, s, "openai", "some-small-model", 0); err != nil || !strings.Contains(answer, `"ok"`) {
		t.Errorf("a model without a script: %v %s", err, answer)
	}
	host, _, err := net.SplitHostPort(strings.TrimPrefix(s.URL, "http://"))
	if err != nil || !net.ParseIP(host).IsLoopback() {
		t.Errorf("it listens on %s", s.URL)
	}
}

func TestMainProgram(t *testing.T) {
	var out, errs bytes.Buffer
	if code := Main([]string{"--port", "0"}, strings.NewReader(""), &out, &errs); code != 0 || !strings.HasPrefix(out.String(), "http://127.0.0.1:") {
		t.Errorf("code %d, %s%s", code, &out, &errs)
	}
	if code := Main([]string{"--nonsense"}, strings.NewReader(""), &out, &errs); code != 64 {
		t.Errorf("wrong usage ended with %d", code)
	}
}
