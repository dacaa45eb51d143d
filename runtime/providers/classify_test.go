package providers

import (
	"strings"
	"testing"
	"time"

	"github.com/okstra/okstra/lang/plan"
)

func TestClassify(t *testing.T) {
	for _, tc := range []struct {
		name   string
		format plan.OutputFormat
		code   int
		stderr string
		want   plan.Reason // empty: nothing is told
		detail string      // a part of it
	}{
		{"exit 0", plan.OutputClaudeStream, 0, "API Error: 401", "", ""},
		{"plain program", plan.OutputText, 55, "folder is not trusted", "", ""},
		{"no words", plan.OutputCodexStream, 1, "", "", ""},
		{"words without a meaning", plan.OutputCodexStream, 2, "error: unexpected argument '--jsn' found", "", ""},
		{"claude as root", plan.OutputClaudeStream, 1, "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons\n", plan.ReasonCannotStart, "IS_SANDBOX"},
		{"claude nested", plan.OutputClaudeStream, 1, "Error: Claude Code cannot be launched inside another Claude Code session.\n", plan.ReasonCannotStart, "unset_env"},
		{"claude API error on stderr", plan.OutputClaudeStream, 1, "API Error: 529 Overloaded\n", plan.ReasonOverloaded, "529"},
		{"claude API error of no known kind", plan.OutputClaudeStream, 1, "API Error: something odd\n", plan.ReasonProviderError, "odd"},
		{"killed while limited", plan.OutputClaudeStream, 137, "rate limit\n", "", ""},
		{"codex folder", plan.OutputCodexStream, 1, "Not inside a trusted directory and --skip-git-repo-check was not specified.\n", plan.ReasonUntrustedFolder, "skip-git-repo-check"},
		{"codex login", plan.OutputCodexStream, 1, "ERROR: unexpected status 401 Unauthorized: Missing bearer token\n", plan.ReasonAuth, "401"},
		{"the last words count", plan.OutputCodexStream, 1, "429 Too Many Requests, retrying\nstatus 401 Unauthorized\n", plan.ReasonAuth, "401"},
		{"gemini folder", plan.OutputGeminiStream, 55, "Approval mode overridden to \"default\" because the current folder is not trusted.\n\x1b[31mGemini CLI is not running in a trusted directory. To proceed, use `--skip-trust`.\x1b[0m\n", plan.ReasonUntrustedFolder, "Gemini CLI is not running"},
		{"gemini folder without words", plan.OutputGeminiStream, 55, "", plan.ReasonUntrustedFolder, "no words"},
		{"gemini login", plan.OutputGeminiStream, 41, "Please set an Auth method in your settings.json\n", plan.ReasonAuth, "Auth method"},
		{"gemini 401", plan.OutputGeminiStream, 145, "Error when talking to Gemini API _ApiError: {\"error\":{\"code\":401,\"message\":\"The key is not valid.\"}}\n    at throwErrorIfNotOK (chunk.js:1)\n  status: 401\n", plan.ReasonAuth, "The key is not valid."},
		{"gemini 403", plan.OutputGeminiStream, 147, "_ApiError: forbidden\n", plan.ReasonAuth, "forbidden"},
		{"gemini 429", plan.OutputGeminiStream, 173, "Error: Too many requests.\nSuggested retry after 2s.\n", plan.ReasonRateLimited, "Too many"},
		{"gemini 500", plan.OutputGeminiStream, 244, "_ApiError: broken\n", plan.ReasonProviderError, "broken"},
		{"gemini 503", plan.OutputGeminiStream, 247, "_ApiError: broken\n", plan.ReasonOverloaded, "broken"},
		{"gemini 529", plan.OutputGeminiStream, 17, "_ApiError: Overloaded.\n", plan.ReasonOverloaded, "Overloaded"},
		{"gemini 145 without words", plan.OutputGeminiStream, 145, "", "", ""},
		{"gemini ended by TERM", plan.OutputGeminiStream, 143, "Error: whatever\n", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := Classify([]byte(tc.stderr), tc.code, tc.format)
			if f == nil {
				if tc.want != "" {
					t.Fatalf("nothing is told, want %s", tc.want)
				}
				return
			}
			if f.Reason != tc.want || !strings.Contains(f.Detail, tc.detail) {
				t.Errorf("got %s %q, want %q with %q", f.Reason, f.Detail, tc.want, tc.detail)
			}
			checkHarmless(t, f.Detail)
		})
	}
}

func TestClassifyRetryAfter(t *testing.T) {
	f := Classify([]byte("Error: Too many requests.\nSuggested retry after 2s.\n"), 173, plan.OutputGeminiStream)
	if f == nil || f.RetryAfter == nil || f.RetryAfter.D() != 2*time.Second {
		t.Errorf("got %+v, want a retry after 2s", f)
	}
}

func TestReasonOf(t *testing.T) {
	for _, tc := range []struct {
		status int
		words  string
		want   plan.Reason
	}{
		{0, "", plan.ReasonProviderError},
		{400, "The request is malformed.", plan.ReasonProviderError},
		{400, "prompt is too long: 250000 tokens > 200000 maximum", plan.ReasonContextTooLong},
		{400, "API key not valid. Please pass a valid API key.", plan.ReasonAuth},
		{401, "anything", plan.ReasonAuth},
		{402, "", plan.ReasonAuth},
		{403, "", plan.ReasonAuth},
		{403, "model opus-example is not found, no access", plan.ReasonModelNotFound},
		{404, "model: opus-exampel", plan.ReasonProviderError},
		{404, "not_found_error: model: opus-exampel", plan.ReasonModelNotFound},
		{404, "no such endpoint", plan.ReasonProviderError},
		{413, "", plan.ReasonContextTooLong},
		{429, "", plan.ReasonRateLimited},
		{429, "Your credit balance is too low", plan.ReasonAuth},
		{500, "Something broke inside.", plan.ReasonProviderError},
		{500, "overloaded_error", plan.ReasonOverloaded},
		{503, "", plan.ReasonOverloaded},
		{529, "", plan.ReasonOverloaded},
		{0, "HTTP 529", plan.ReasonOverloaded},
		{0, "exceeded retry limit, last status: 429 Too Many Requests", plan.ReasonRateLimited},
		{0, `{"code": 503}`, plan.ReasonOverloaded},
		{0, "it has 429 lines", plan.ReasonProviderError},
		{0, "Claude AI usage limit reached", plan.ReasonRateLimited},
		{0, "blocked by safety settings", plan.ReasonRefused},
	} {
		if got := reasonOf(tc.status, tc.words); got != tc.want {
			t.Errorf("reasonOf(%d, %q) = %s, want %s", tc.status, tc.words, got, tc.want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	for _, tc := range []struct {
		words string
		want  time.Duration // 0: none
	}{
		{"Please try again in 1.898s.", 1898 * time.Millisecond},
		{"try again in 250ms", 250 * time.Millisecond},
		{"try again in 1m12.5s", 72500 * time.Millisecond},
		{"try again in 6h3m", 6*time.Hour + 3*time.Minute},
		{"retry after 30 seconds", 30 * time.Second},
		{"Retry-After: 17", 17 * time.Second},
		{`"retryDelay": "34s"`, 34 * time.Second},
		{"reset after 2 hours", 2 * time.Hour},
		{"try again in 99999 days", 24 * time.Hour},
		{"try again in 9e9", 9 * time.Second},
		{"try again in a moment", 0},
		{"try again in 0s", 0},
		{"nothing about it, 30 seconds", 0},
	} {
		got := retryAfter(tc.words)
		switch {
		case got == nil && tc.want != 0:
			t.Errorf("retryAfter(%q) found none", tc.words)
		case got != nil && got.D() != tc.want:
			t.Errorf("retryAfter(%q) = %s, want %s", tc.words, got, tc.want)
		}
	}
}
