package supervise

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/okstra/okstra/runtime/providers"
)

// secretName matches environment variables whose values are nobody's business.
var secretName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(key|token|secret|passw|credential|auth|cookie|private)`)
})

// secretText matches what looks like a credential wherever it stands. Words
// look like one too (sk-learn, pk_name): a credential has digits.
var secretText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i:bearer\s+|\b(?:sk|pk|ghp|gho|ghs|github_pat|xox[abps])[-_]|(?-i:\b(?:AIza|AKIA)))[A-Za-z0-9._~+/=-]{8,}`)
})

// shortest is the least length of a value that is taken for a secret: shorter
// ones ("1", "true") stand everywhere.
const shortest = 6

// redact makes a worker's words fit for records and screens: no secrets, no
// control characters. secret names the variables that the definition calls
// sensitive; others are known by their names.
func redact(text string, env, secret []string) string {
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		if value != "" && slices.Contains(secret, name) || len(value) >= shortest && secretName().MatchString(name) {
			text = strings.ReplaceAll(text, value, "[redacted]")
		}
	}
	text = secretText().ReplaceAllStringFunc(text, func(found string) string {
		if strings.ContainsAny(found, "0123456789") {
			return "[redacted]"
		}
		return found
	})
	return providers.Clean(text)
}
