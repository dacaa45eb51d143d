package providers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/okstra/okstra/lang/plan"
)

// TestUsageForms: a usage in a form that is not known is no usage of nothing,
// which a budget would count as free.
func TestUsageForms(t *testing.T) {
	const (
		claude = plan.OutputClaudeStream
		codex  = plan.OutputCodexStream
		gemini = plan.OutputGeminiStream
	)
	usd := func(f float64) *float64 { return &f }
	for name, tc := range map[string]struct {
		format plan.OutputFormat
		record string
		want   *plan.Usage
	}{
		"codex, as it is":           {codex, `{"type":"turn.completed","usage":{"input_tokens":5,"output_tokens":3,"reasoning_output_tokens":1}}`, &plan.Usage{Source: sourceCodexTurn, InputTokens: 5, OutputTokens: 2, ReasoningTokens: 1}},
		"codex, other names":        {codex, `{"type":"turn.completed","usage":{"tokens":{"in":5}}}`, nil},
		"codex, no object":          {codex, `{"type":"turn.completed","usage":7}`, nil},
		"codex, negative":           {codex, `{"type":"turn.completed","usage":{"input_tokens":-5,"output_tokens":3}}`, nil},
		"codex, no output":          {codex, `{"type":"turn.completed","usage":{"input_tokens":5}}`, nil},
		"codex, odd cache":          {codex, `{"type":"turn.completed","usage":{"input_tokens":5,"output_tokens":3,"cached_input_tokens":"2"}}`, nil},
		"codex, too much":           {codex, `{"type":"turn.completed","usage":{"input_tokens":1e300,"output_tokens":3}}`, nil},
		"codex, nothing":            {codex, `{"type":"turn.completed","usage":null}`, nil},
		"gemini, as it is":          {gemini, `{"type":"result","status":"success","stats":{"total_tokens":9,"input_tokens":5,"output_tokens":3,"cached":1}}`, &plan.Usage{Source: sourceGeminiResult, InputTokens: 5, CachedTokens: 1, OutputTokens: 3, ReasoningTokens: 1}},
		"gemini, words":             {gemini, `{"type":"result","status":"success","stats":{"tokens":"many"}}`, nil},
		"gemini, a fraction":        {gemini, `{"type":"result","status":"success","stats":{"input_tokens":5.5,"output_tokens":3}}`, nil},
		"claude, as it is":          {claude, `{"type":"result","result":"x","usage":{"input_tokens":5,"output_tokens":3,"cache_read_input_tokens":2},"total_cost_usd":0.25}`, &plan.Usage{Source: sourceClaudeResult, InputTokens: 7, CachedTokens: 2, OutputTokens: 3, USD: usd(0.25)}},
		"claude, models":            {claude, `{"type":"result","result":"x","usage":{"input_tokens":5,"output_tokens":3},"modelUsage":{"a":{"inputTokens":50,"outputTokens":30},"b":{"inputTokens":1,"outputTokens":1}}}`, &plan.Usage{Source: sourceClaudeResult, InputTokens: 51, OutputTokens: 31}},
		"claude, words":             {claude, `{"type":"result","result":"x","usage":{"input_tokens":"5","output_tokens":"3"},"total_cost_usd":"0.25"}`, nil},
		"claude, odd models":        {claude, `{"type":"result","result":"x","usage":{"input_tokens":5,"output_tokens":3},"modelUsage":{"a":{"inputTokens":"50"}}}`, nil},
		"claude, a list of models":  {claude, `{"type":"result","result":"x","usage":{"input_tokens":5,"output_tokens":3},"modelUsage":[1]}`, nil},
		"claude, a cost alone":      {claude, `{"type":"result","result":"x","total_cost_usd":0.25}`, nil},
		"claude, cost in words":     {claude, `{"type":"result","result":"x","usage":{"input_tokens":5,"output_tokens":3},"total_cost_usd":"0.25"}`, &plan.Usage{Source: sourceClaudeResult, InputTokens: 5, OutputTokens: 3}},
		"claude, infinite cost":     {claude, `{"type":"result","result":"x","usage":{"input_tokens":5,"output_tokens":3},"total_cost_usd":1e400}`, &plan.Usage{Source: sourceClaudeResult, InputTokens: 5, OutputTokens: 3}},
		"claude, insane cost":       {claude, `{"type":"result","result":"x","usage":{"input_tokens":5,"output_tokens":3},"total_cost_usd":1e308}`, &plan.Usage{Source: sourceClaudeResult, InputTokens: 5, OutputTokens: 3}},
		"claude, negative cost":     {claude, `{"type":"result","result":"x","usage":{"input_tokens":5,"output_tokens":3},"total_cost_usd":-1}`, &plan.Usage{Source: sourceClaudeResult, InputTokens: 5, OutputTokens: 3}},
		"claude, messages":          {claude, `{"type":"assistant","message":{"id":"m","usage":{"input_tokens":5,"output_tokens":3}}}`, &plan.Usage{Source: sourceClaudeMessages, InputTokens: 5, OutputTokens: 3}},
		"claude, messages in words": {claude, `{"type":"assistant","message":{"id":"m","usage":{"input_tokens":5,"output_tokens":3}}}` + "\n" + `{"type":"assistant","message":{"id":"n","usage":{"input_tokens":"5","output_tokens":3}}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStream(t, tc.format)
			feed(s, []byte(tc.record))
			if diff := cmp.Diff(tc.want, s.End().Usage); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRetrying: what a CLI was trying again when its stream ended is why it
// came no further, unless it had gone on.
func TestRetrying(t *testing.T) {
	retry := func(status int, name string) string {
		return fmt.Sprintf(`{"type":"system","subtype":"api_retry","attempt":3,"max_retries":10,"retry_delay_ms":2000,"error_status":%d,"error":%q}`, status, name)
	}
	const (
		began   = `{"type":"system","subtype":"init","session_id":"s"}`
		spoke   = `{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"hello"}]}}`
		thread  = `{"type":"thread.started","thread_id":"t"}`
		connect = `{"type":"error","message":"Reconnecting... 1/5 (exceeded retry limit, last status: 429 Too Many Requests)"}`
		command = `{"type":"item.started","item":{"id":"1","type":"command_execution","command":"make"}}`
	)
	for name, tc := range map[string]struct {
		format plan.OutputFormat
		lines  []string
		want   plan.Reason // none: nothing fatal
		wait   string
	}{
		"claude, 401":               {plan.OutputClaudeStream, []string{began, retry(401, "authentication_failed")}, plan.ReasonAuth, ""},
		"claude, 429":               {plan.OutputClaudeStream, []string{began, spoke, retry(429, "rate_limit")}, plan.ReasonRateLimited, "2s"},
		"claude, 529":               {plan.OutputClaudeStream, []string{began, retry(529, "overloaded")}, plan.ReasonOverloaded, "2s"},
		"claude, a retry that took": {plan.OutputClaudeStream, []string{began, retry(429, "rate_limit"), spoke}, "", ""},
		"codex, 429":                {plan.OutputCodexStream, []string{thread, connect}, plan.ReasonRateLimited, ""},
		"codex, a retry that took":  {plan.OutputCodexStream, []string{thread, connect, command}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStream(t, tc.format)
			feed(s, []byte(strings.Join(tc.lines, "\n")))
			f := s.End().Fatal
			switch {
			case f == nil:
				if tc.want != "" {
					t.Errorf("nothing is fatal, want %s", tc.want)
				}
			case f.Reason != tc.want:
				t.Errorf("%s (%s), want %q", f.Reason, f.Detail, tc.want)
			case tc.wait != "" && (f.RetryAfter == nil || f.RetryAfter.String() != tc.wait):
				t.Errorf("retry after %v, want %s", f.RetryAfter, tc.wait)
			}
		})
	}
}

// TestErrorWords: a model may begin its answer as the CLI begins an error.
func TestErrorWords(t *testing.T) {
	const text = "API Error: the page lists five of them."
	message := func(model, more string) string {
		return fmt.Sprintf(`{"type":"assistant","message":{"id":"m","model":%q,"content":[{"type":"text","text":%q}]}%s}`, model, text, more)
	}
	result := fmt.Sprintf(`{"type":"result","subtype":"success","is_error":false,"result":%q}`, text)
	for name, tc := range map[string]struct {
		before string
		fatal  bool
	}{
		"the model's own":     {message("opus-example", ""), false},
		"the CLI's":           {message("<synthetic>", ""), true},
		"marked as an error":  {message("opus-example", `,"error":"server_error"`), true},
		"nobody said it":      {`{"type":"system","subtype":"init"}`, true},
		"then the CLI's own":  {message("opus-example", "") + "\n" + message("<synthetic>", ""), true},
		"then a tool's words": {message("opus-example", "") + "\n" + `{"type":"user","message":{"content":[]}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStream(t, plan.OutputClaudeStream)
			feed(s, []byte(tc.before+"\n"+result))
			out := s.End()
			if (out.Fatal != nil) != tc.fatal {
				t.Errorf("fatal is %+v", out.Fatal)
			}
			if !tc.fatal && out.FinalText != text {
				t.Errorf("the final text is %q", out.FinalText)
			}
		})
	}
}
