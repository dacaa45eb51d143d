package providers

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/okstra/okstra/lang/plan"
)

func TestSum(t *testing.T) {
	usd := func(f float64) *float64 { return &f }
	claude := &plan.Usage{Source: sourceClaudeResult, InputTokens: 100, OutputTokens: 10, CachedTokens: 40, USD: usd(0.25)}
	codex := &plan.Usage{Source: sourceCodexTurn, InputTokens: 200, OutputTokens: 20, ReasoningTokens: 5}
	for _, tc := range []struct {
		name string
		in   []*plan.Usage
		want plan.Usage
	}{
		{"nothing", nil, plan.Usage{Source: plan.UsageUnavailable}},
		{"unknown ones", []*plan.Usage{nil, {Source: plan.UsageUnavailable}}, plan.Usage{Source: plan.UsageUnavailable}},
		{"one", []*plan.Usage{claude}, *claude},
		{"twice the same source", []*plan.Usage{claude, claude}, plan.Usage{Source: sourceClaudeResult, InputTokens: 200, OutputTokens: 20, CachedTokens: 80, USD: usd(0.5)}},
		{"with and without cost", []*plan.Usage{codex, claude}, plan.Usage{Source: "claude-result+codex-turn", InputTokens: 300, OutputTokens: 30, CachedTokens: 40, ReasoningTokens: 5, USD: usd(0.25)}},
		{"one is missing", []*plan.Usage{codex, nil}, plan.Usage{Source: "codex-turn+unavailable", InputTokens: 200, OutputTokens: 20, ReasoningTokens: 5}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Sum(tc.in...)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if *claude.USD != 0.25 {
		t.Error("Sum changed its argument")
	}
	// A sum of sums names each source once.
	a, b := Sum(claude, codex), Sum(codex, nil)
	if got := Sum(&a, &b).Source; got != "claude-result+codex-turn+unavailable" {
		t.Errorf("source of a sum of sums is %q", got)
	}
}

// TestHint: every reason of the closed list has its one sentence.
func TestHint(t *testing.T) {
	for status, reasons := range plan.StatusReasons {
		for _, r := range reasons {
			for _, provider := range []string{"claude", "codex", "gemini", "house-cli", ""} {
				h := HintFor(Ended{Reason: r, Provider: provider})
				if !strings.HasSuffix(h, ".") || strings.Count(h, ". ") > 0 {
					t.Errorf("%s/%s, %q: hint %q is not one sentence", status, r, provider, h)
				}
			}
		}
	}
	if got := HintFor(Ended{Reason: "no-such-reason", Provider: "claude"}); got != "" {
		t.Errorf("hint of an unknown reason: %q", got)
	}
	if claude, codex := HintFor(Ended{Reason: plan.ReasonAuth, Provider: "claude"}), HintFor(Ended{Reason: plan.ReasonAuth, Provider: "codex"}); claude == codex {
		t.Error("the hint for auth does not depend on the provider")
	}
}

// TestHintFits: a hint is one that this worker can follow.
func TestHintFits(t *testing.T) {
	for name, tc := range map[string]struct {
		e       Ended
		with    string
		without string
	}{
		"claude's errors are in its stream":   {Ended{Reason: plan.ReasonProviderError, Provider: "claude"}, "with okstra logs, and", "--stderr"},
		"also under another name":             {Ended{Reason: plan.ReasonExitNonzero, Provider: "house", Output: plan.OutputClaudeStream}, "with okstra logs, and", "--stderr"},
		"gemini's are on both":                {Ended{Reason: plan.ReasonProviderError, Provider: "gemini"}, "--stderr", ""},
		"a program's are on standard error":   {Ended{Reason: plan.ReasonExitNonzero, Provider: "check", Output: plan.OutputText}, "okstra logs --stderr", ""},
		"another name signs in as its CLI":    {Ended{Reason: plan.ReasonAuth, Provider: "house", Output: plan.OutputCodexStream}, "codex login", ""},
		"a final text that is missing":        {Ended{Reason: plan.ReasonNoResult, Result: plan.ResultStdout, Detail: "the output held no final text"}, "final message", "OKSTRA_RESULT"},
		"a result file that is missing":       {Ended{Reason: plan.ReasonNoResult, Result: plan.ResultFile, Detail: "result was not written: /x"}, "OKSTRA_RESULT", ""},
		"a part that is missing":              {Ended{Reason: plan.ReasonNoResult, Result: plan.ResultStdout, Detail: "emit was not written: /x"}, "=== okstra:emit ===", "OKSTRA_EMIT"},
		"a declared part that is missing":     {Ended{Reason: plan.ReasonNoResult, Result: plan.ResultStdout, Detail: "out:patch was not written: /x"}, "=== okstra:patch ===", "OKSTRA"},
		"nobody knows how it delivers":        {Ended{Reason: plan.ReasonNoResult, Detail: "result was not written: /x"}, "prompt", "OKSTRA_RESULT"},
		"inside another session":              {Ended{Reason: plan.ReasonCannotStart, Detail: "it cannot be launched inside another" + cannotStart("session")}, "unset_env", "program"},
		"as root":                             {Ended{Reason: plan.ReasonCannotStart, Detail: "cannot be used with root" + cannotStart("root")}, "IS_SANDBOX", "program"},
		"a program that is missing":           {Ended{Reason: plan.ReasonCannotStart, Detail: "the program x does not exist"}, "program", "unset_env"},
		"a surface of cmux that is not shown": {Ended{Reason: plan.ReasonNotStarted, Backend: "cmux"}, "Click", ""},
		"a pane of tmux":                      {Ended{Reason: plan.ReasonNotStarted, Backend: "tmux"}, "timeout.start", "Click"},
	} {
		t.Run(name, func(t *testing.T) {
			h := HintFor(tc.e)
			if !strings.Contains(h, tc.with) || tc.without != "" && strings.Contains(h, tc.without) {
				t.Errorf("hint %q, want %q and not %q", h, tc.with, tc.without)
			}
			if !strings.HasSuffix(h, ".") || strings.Count(h, ". ") > 0 {
				t.Errorf("hint %q is not one sentence", h)
			}
		})
	}
}
