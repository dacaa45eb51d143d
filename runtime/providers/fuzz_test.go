package providers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/okstra/okstra/lang/plan"
)

// fuzzStream feeds any bytes, whole and in pieces, and requires that nothing
// panics, that what is shown is harmless and bounded, and that reasons are of
// the closed list.
func fuzzStream(f *testing.F, format plan.OutputFormat) {
	files, err := filepath.Glob(filepath.Join("testdata", string(format), "*"))
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".golden") {
			continue
		}
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, 7)
	}
	f.Fuzz(func(t *testing.T, output []byte, n int) {
		whole := newStream(t, format)
		shown := feed(whole, output)
		whole.Busy()
		checkStream(t, shown, whole.End(), len(output))

		pieces := newStream(t, format)
		shown = nil
		n = 1 + max(0, n)%64
		for line := range strings.SplitSeq(string(output), "\n") {
			shown = append(shown, inPieces(pieces, []byte(line), n)...)
		}
		checkStream(t, shown, pieces.End(), len(output))
	})
}

func checkStream(t *testing.T, shown []Shown, out Outcome, size int) {
	t.Helper()
	for _, s := range shown {
		checkHarmless(t, s.Text)
		if utf8.RuneCountInString(s.Text) > 2*maxShown {
			t.Errorf("a line of %d runes is shown", utf8.RuneCountInString(s.Text))
		}
		switch s.Kind {
		case ShownText, ShownTool, ShownUsage, ShownError, ShownInfo:
		default:
			t.Errorf("kind %q", s.Kind)
		}
	}
	if f := out.Fatal; f != nil {
		checkHarmless(t, f.Detail)
		if status, ok := plan.StatusOf(f.Reason); !ok || status != plan.StatusError || f.Detail == "" {
			t.Errorf("fatal %+v", f)
		}
		if f.RetryAfter != nil && (f.RetryAfter.D() <= 0 || f.RetryAfter.D() > maxRetryAfter) {
			t.Errorf("retry after %s", f.RetryAfter)
		}
		if out.HasFinal {
			t.Error("a final text beside a fatal error")
		}
	}
	for _, n := range out.Notes {
		checkHarmless(t, n)
	}
	if u := out.Usage; u != nil && (u.Source == "" || u.InputTokens < 0 || u.OutputTokens < 0 || u.CachedTokens < 0 || u.ReasoningTokens < 0) {
		t.Errorf("usage %+v", *u)
	}
	// Invalid bytes in JSON become U+FFFD, which is three times as long.
	if len(out.FinalText) > 4*size+1 || len(out.FinalText) > MaxFinal || out.FinalText != "" && !out.HasFinal {
		t.Errorf("final text of %d bytes, %v", len(out.FinalText), out.HasFinal)
	}
}

func FuzzText(f *testing.F)   { fuzzStream(f, plan.OutputText) }
func FuzzClaude(f *testing.F) { fuzzStream(f, plan.OutputClaudeStream) }
func FuzzCodex(f *testing.F)  { fuzzStream(f, plan.OutputCodexStream) }
func FuzzGemini(f *testing.F) { fuzzStream(f, plan.OutputGeminiStream) }

func FuzzClassify(f *testing.F) {
	f.Add([]byte("API Error: 529\n"), 1, 1)
	f.Add([]byte("_ApiError: {\"error\":{\"message\":\"x\",\"code\":401}}\n"), 145, 3)
	f.Fuzz(func(t *testing.T, stderr []byte, code, format int) {
		if fatal := Classify(stderr, code, formats[max(0, format)%len(formats)]); fatal != nil {
			checkStream(t, nil, Outcome{Fatal: fatal}, 0)
		}
	})
}
