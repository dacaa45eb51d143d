package view

import (
	"strings"
	"testing"
	"time"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime"
	"github.com/okstra/okstra/runtime/lead"
)

// TestRetryLine: how an attempt ended is told once, and when the next begins.
func TestRetryLine(t *testing.T) {
	e := runtime.Event{Time: time.Unix(0, 0), InvocationRef: "a/b/c@a#1", Label: "codex-analyst", Status: plan.StatusError, Reason: plan.ReasonRateLimited}
	text := func(kind lead.EventType, message string) string {
		e.Type, e.Message = string(kind), message
		var b strings.Builder
		for _, s := range eventLine(e) {
			b.WriteString(s.text)
		}
		_, rest, _ := strings.Cut(b.String(), "  ")
		return strings.TrimSpace(rest)
	}
	if got, want := text(lead.WorkerSettled, "codex-analyst ended"), "a/b/c@a#1  codex-analyst  error/rate-limited"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := text(lead.WorkerRetrying, "codex-analyst is tried again in 2m (attempt 2)"), "a/b/c@a#1  codex-analyst  is tried again in 2m (attempt 2)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
