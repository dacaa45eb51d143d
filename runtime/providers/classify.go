package providers

import (
	"strings"

	"github.com/okstra/okstra/lang/plan"
)

// Classify tells what a failed worker's standard error and exit code mean,
// where its stream holds no fatal record. It returns nil for exit code 0, for
// plain text workers (whose exit codes are their own), for a death by a signal
// and where nothing is told: the exit code alone is the reason then. The tail
// may begin in the middle of a line or of a character.
func Classify(stderrTail []byte, exitCode int, format plan.OutputFormat) *Fatal {
	if exitCode == 0 || format == plan.OutputText {
		return nil
	}
	if len(stderrTail) > maxTail {
		stderrTail = stderrTail[len(stderrTail)-maxTail:]
	}
	words := string(stderrTail)
	if format == plan.OutputGeminiStream {
		if f := geminiExit(words, exitCode); f != nil {
			return f
		}
	}
	if exitCode > 128 {
		return nil
	}
	return fatalIn(words)
}

// maxTail is as much of standard error as is looked at, in bytes.
const maxTail = 64 << 10

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
			f := fatal(status, line)
			if f.RetryAfter == nil && f.Reason == plan.ReasonRateLimited {
				f.RetryAfter = retryAfter(words)
			}
			return f
		}
	}
	return nil
}

// fatalIn finds a failure in words; nil where they tell none. The last words
// count: what came before may have been tried again.
func fatalIn(words string) *Fatal {
	lines := strings.Split(words, "\n")
	for i := len(lines) - 1; i >= max(0, len(lines)-200); i-- {
		line := oneLine(lines[i])
		if line == "" {
			continue
		}
		f := fatal(0, line)
		switch {
		case f.Reason == plan.ReasonCannotStart:
			f.Detail += cannotStart(line)
			return f
		case f.Reason != plan.ReasonProviderError, strings.Contains(line, "API Error"):
			return f
		}
	}
	return nil
}

// cannotStart tells what a CLI wants that refuses to run as it was started.
func cannotStart(line string) string {
	if strings.Contains(line, "root") {
		return " (run okstra as another user, or put IS_SANDBOX = \"1\" into the provider's env where this machine is a sandbox)"
	}
	return " (add the variable that it found to the provider's unset_env)"
}

// telltales mark the lines of standard error that say what went wrong.
var telltales = []string{"error", "trusted", "must", "invalid", "not found", "denied"}

// errorLine is the last line of words that says what went wrong, else the last
// one that is not empty. Lines of a stack trace do not count.
func errorLine(words string) string {
	last, telling := "", ""
	for _, line := range strings.Split(words, "\n") {
		line = oneLine(line)
		if line == "" || strings.HasPrefix(line, "at ") || strings.HasPrefix(line, "[STARTUP]") {
			continue
		}
		last = line
		lower := strings.ToLower(line)
		for _, t := range telltales {
			if strings.Contains(lower, t) {
				telling = line
				break
			}
		}
	}
	if telling != "" {
		return telling
	}
	return last
}
