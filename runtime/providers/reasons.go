package providers

import (
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/okstra/okstra/lang/plan"
)

// maxRetryAfter is the longest wait that is taken from a provider's words.
const maxRetryAfter = 24 * time.Hour

// statusReasons is what an HTTP status of a model API means. 404 is missing:
// it is a model or a wrong address, which only the words tell.
var statusReasons = map[int]plan.Reason{
	401: plan.ReasonAuth,
	402: plan.ReasonAuth,
	403: plan.ReasonAuth,
	413: plan.ReasonContextTooLong,
	429: plan.ReasonRateLimited,
	502: plan.ReasonOverloaded,
	503: plan.ReasonOverloaded,
	504: plan.ReasonOverloaded,
	529: plan.ReasonOverloaded,
}

// wordReasons are the words by which providers name a failure, in lower case,
// the most telling first. The first that is found decides.
var wordReasons = []struct {
	words  string
	reason plan.Reason
}{
	{"cannot be used with root", plan.ReasonCannotStart},
	{"cannot be launched inside another", plan.ReasonCannotStart},

	{"not running in a trusted directory", plan.ReasonUntrustedFolder},
	{"not inside a trusted directory", plan.ReasonUntrustedFolder},
	{"folder is not trusted", plan.ReasonUntrustedFolder},
	{"workspace is not trusted", plan.ReasonUntrustedFolder},

	{"prompt is too long", plan.ReasonContextTooLong},
	{"context_length_exceeded", plan.ReasonContextTooLong},
	{"context window", plan.ReasonContextTooLong},
	{"context length", plan.ReasonContextTooLong},
	{"maximum number of tokens allowed", plan.ReasonContextTooLong},
	{"request_too_large", plan.ReasonContextTooLong},
	{"input is too long", plan.ReasonContextTooLong},

	// An empty account does not fill up while we wait: no rate limit.
	{"insufficient_quota", plan.ReasonAuth},
	{"credit balance is too low", plan.ReasonAuth},
	{"billing_error", plan.ReasonAuth},

	{"authentication_error", plan.ReasonAuth},
	{"authentication_failed", plan.ReasonAuth},
	{"invalid_api_key", plan.ReasonAuth},
	{"invalid api key", plan.ReasonAuth},
	{"incorrect api key", plan.ReasonAuth},
	{"api key not valid", plan.ReasonAuth},
	{"api key not found", plan.ReasonAuth},
	{"api_key_invalid", plan.ReasonAuth},
	{"please run /login", plan.ReasonAuth},
	{"not logged in", plan.ReasonAuth},
	{"please set an auth method", plan.ReasonAuth},
	{"oauth token has expired", plan.ReasonAuth},
	{"permission_error", plan.ReasonAuth},
	{"permission_denied", plan.ReasonAuth},
	{"unauthenticated", plan.ReasonAuth},
	{"unauthorized", plan.ReasonAuth},
	{"missing environment variable", plan.ReasonAuth},

	{"model_not_found", plan.ReasonModelNotFound},
	{"modelnotfound", plan.ReasonModelNotFound},
	{"issue with the selected model", plan.ReasonModelNotFound},
	{"model may not exist", plan.ReasonModelNotFound},
	{"model not found", plan.ReasonModelNotFound},
	{"is not found for api version", plan.ReasonModelNotFound},

	{"rate_limit", plan.ReasonRateLimited},
	{"rate limit", plan.ReasonRateLimited},
	{"too many requests", plan.ReasonRateLimited},
	{"resource_exhausted", plan.ReasonRateLimited},
	{"usage limit", plan.ReasonRateLimited},
	{"quota exceeded", plan.ReasonRateLimited},
	{"exceeded your current quota", plan.ReasonRateLimited},
	{"exhausted your capacity", plan.ReasonRateLimited},

	{"overloaded", plan.ReasonOverloaded},
	{"server_is_overloaded", plan.ReasonOverloaded},
	{"at capacity", plan.ReasonOverloaded},
	{"high demand", plan.ReasonOverloaded},
	{"service unavailable", plan.ReasonOverloaded},
	{"status: unavailable", plan.ReasonOverloaded},

	{"usage policy", plan.ReasonRefused},
	{"content_policy", plan.ReasonRefused},
	{"content policy", plan.ReasonRefused},
	{"content_filter", plan.ReasonRefused},
	{"prohibited_content", plan.ReasonRefused},
	{"blocked by safety", plan.ReasonRefused},
	{"stop_reason: refusal", plan.ReasonRefused},
}

// phrases are what is looked for once something went wrong, and not before.
type phrases struct{ modelMissing, status, retry, retryPart *regexp.Regexp }

var compiled = sync.OnceValue(func() phrases {
	return phrases{
		modelMissing: regexp.MustCompile(`(?i)\bmodels?\b[^.\n]{0,120}\b(not found|does not exist|not supported|not exist|unknown|no access)|(not_found_error|not found)[^\n]{0,40}\bmodels?\b`),
		status:       regexp.MustCompile(`(?i)(?:\b(?:api error|http|http error|unexpected status|status|status code|last status)\b|"?\bcode"?)[":= (]{1,4}([45]\d\d)\b`),
		retry:        regexp.MustCompile(`(?i)(?:retry[-_ ]?after|try again in|retry in|retrydelay|reset after)["':= ]{0,4}((?:\d+(?:\.\d+)?\s*(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?)?\s*)+)`),
		retryPart:    regexp.MustCompile(`(?i)(\d+(?:\.\d+)?)\s*([a-z]*)`),
	}
})

// reasonOf tells what an error of a provider is: from its HTTP status where
// there is one (0 where not) and its words. An error that neither tells is
// provider-error.
func reasonOf(status int, words string) plan.Reason {
	lower := strings.ToLower(clipBytes(words, 64<<10))
	if status == 0 {
		if m := compiled().status.FindStringSubmatch(lower); m != nil {
			status, _ = strconv.Atoi(m[1])
		}
	}
	said, ok := wordsOf(lower)
	// The status is the API's own word, but for those that APIs use for
	// several failures: there the words decide.
	if r, known := statusReasons[status]; known && !(ok && (status == 403 || status == 429 || status == 413)) {
		return r
	}
	if ok {
		return said
	}
	return plan.ReasonProviderError
}

func wordsOf(lower string) (plan.Reason, bool) {
	for _, w := range wordReasons {
		if strings.Contains(lower, w.words) {
			return w.reason, true
		}
	}
	if compiled().modelMissing.MatchString(lower) {
		return plan.ReasonModelNotFound, true
	}
	return "", false
}

// fatal makes the error record of a provider's words, which may hold the API's
// JSON answer. Status is 0 where it is not known.
func fatal(status int, words string) *Fatal {
	detail := words
	if a, ok := answerIn(words); ok {
		detail = a.words()
		if status == 0 {
			status = a.status()
		}
	}
	f := &Fatal{Reason: reasonOf(status, detail), Detail: clip(oneLine(detail), 500)}
	if f.Detail == "" && status != 0 {
		f.Detail = "HTTP status " + strconv.Itoa(status)
	}
	if f.Detail == "" {
		f.Detail = "the provider gave no words"
	}
	if f.Reason == plan.ReasonRateLimited || f.Reason == plan.ReasonOverloaded {
		f.RetryAfter = retryAfter(words)
	}
	return f
}

// answer is an API's JSON answer to a call that failed, in the members that
// the three APIs use.
type answer struct {
	Error struct {
		Code    text `json:"code"` // Gemini: the HTTP status
		Status  text `json:"status"`
		Type    text `json:"type"`
		Message text `json:"message"`
	} `json:"error"`
	Status count `json:"status"`
}

// answerIn finds the first JSON answer in words.
func answerIn(words string) (answer, bool) {
	var a answer
	i := strings.IndexByte(words, '{')
	if i < 0 {
		return a, false
	}
	err := json.NewDecoder(strings.NewReader(words[i:])).Decode(&a)
	var mistyped *json.UnmarshalTypeError
	if err != nil && !errors.As(err, &mistyped) {
		return a, false
	}
	return a, a.Error.Message != ""
}

func (a answer) status() int {
	if a.Status > 0 {
		return int(a.Status)
	}
	n, err := strconv.Atoi(string(a.Error.Code))
	if err != nil {
		return 0
	}
	return n
}

// words are the message and the API's names for the failure.
func (a answer) words() string {
	words := string(a.Error.Message)
	for _, name := range []text{a.Error.Code, a.Error.Status, a.Error.Type} {
		if _, err := strconv.Atoi(string(name)); err != nil {
			words = mention(words, string(name))
		}
	}
	return words
}

func mention(words, name string) string {
	if name == "" || strings.Contains(words, name) {
		return words
	}
	return words + " (" + name + ")"
}

// retryAfter finds how long the provider asks to wait; nil where it does not.
// A number without a unit is seconds, as in the HTTP header.
func retryAfter(words string) *plan.Duration {
	m := compiled().retry.FindStringSubmatch(clipBytes(words, 64<<10))
	if m == nil {
		return nil
	}
	var total time.Duration
	for _, part := range compiled().retryPart.FindAllStringSubmatch(m[1], -1) {
		n, err := strconv.ParseFloat(part[1], 64)
		if err != nil {
			return nil
		}
		d := n * float64(unit(part[2]))
		if d > float64(maxRetryAfter) {
			d = float64(maxRetryAfter)
		}
		total += time.Duration(d)
	}
	return wait(total)
}

// wait bounds a time to wait; nil where there is none.
func wait(d time.Duration) *plan.Duration {
	if d <= 0 {
		return nil
	}
	out := plan.Duration(min(d, maxRetryAfter))
	return &out
}

func unit(s string) time.Duration {
	s = strings.ToLower(s)
	switch {
	case strings.HasPrefix(s, "ms"), strings.HasPrefix(s, "milli"):
		return time.Millisecond
	case strings.HasPrefix(s, "m"):
		return time.Minute
	case strings.HasPrefix(s, "h"):
		return time.Hour
	case strings.HasPrefix(s, "d"):
		return 24 * time.Hour
	}
	return time.Second
}
