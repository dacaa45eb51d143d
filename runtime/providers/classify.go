package providers

import (
	"strings"

	"github.com/okstra/okstra/lang/plan"
)

// Classify tells what a failed worker's standard error and exit code mean,
// where its stream holds no fatal record. It returns nil for exit code 0, for
// plain text workers (whose exit codes are their own), for a death by signal
// and where neither says anything: the exit code alone is the reason then.
// The tail may begin in the middle of a line or of a character.
func Classify(stderrTail []byte, exitCode int, format plan.OutputFormat) *Fatal {
	if exitCode == 0 || format == plan.OutputText {
		return nil
	}
	if len(stderrTail) > 64<<10 {
		stderrTail = stderrTail[len(stderrTail)-64<<10:]
	}
	words := string(stderrTail)
	if format == plan.OutputGeminiStream {
		if f := geminiExit(words, exitCode); f != nil {
			return f
		}
	}
	f := fatalIn(words)
	if f == nil {
		return nil
	}
	return f
}

// geminiExits are gemini's own exit codes with a meaning of the closed list.
var geminiExits = map[int]plan.Reason{
	41: plan.ReasonAuth,
	55: plan.ReasonUntrustedFolder,
}

// geminiExit reads gemini's exit codes. For an API error it is the HTTP status
// modulo 256, which death by a signal shares: 401 is 145, 403 is 147, 404 is
// 148, 413 is 157, 429 is 173, 500 is 244, 503 is 247. The words must
// therefore agree.
func geminiExit(words string, exitCode int) *Fatal {
	if r, ok := geminiExits[exitCode]; ok {
		f := fatal(0, errorLine(words))
		f.Reason, f.RetryAfter = r, nil
		return f
	}
	for _, status := range []int{400, 401, 403, 404, 413, 429, 500, 502, 503, 504, 529} {
		if status%256 != exitCode {
			continue
		}
		if line := errorLine(words); line != "" {
			f := fatal(status, words)
			f.Detail = clip(line, 500)
			return f
		}
	}
	return nil
}

// fatalIn finds a failure in words; nil where they tell none.
func fatalIn(words string) *Fatal {
	lines := strings.Split(words, "\n")
	// The last words count: what came before may have been retried.
	for i := len(lines) - 1; i >= 0; i-- {
		if len(lines)-i > 200 {
			break
		}
		line := oneLine(lines[i])
		if line == "" {
			continue
		}
		if r := reasonOf(0, line); r != plan.ReasonProviderError || strings.Contains(line, "API Error") {
			f := fatal(0, line)
			f.Reason = r
			return f
		}
	}
	return nil
}

// errorLine is the line of words that tells most: the first that speaks of an
// error, else the last one that is not empty.
func errorLine(words string) string {
	last := ""
	for _, line := range strings.Split(words, "\n") {
		line = oneLine(line)
		if line == "" || strings.HasPrefix(line, "at ") {
			continue
		}
		last = line
		lower := strings.ToLower(line)
		if strings.Contains(lower, "error") || strings.Contains(lower, "trusted") {
			return line
		}
	}
	return last
}
