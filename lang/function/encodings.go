package function

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	ctyyaml "github.com/zclconf/go-cty-yaml"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

func encodingFunctions() []entry {
	return []entry{
		{"base64decode(text)", "The UTF-8 text that base64 text stands for.", withoutNUL(bounded(convertText("text", decodeBase64), nil))},
		{"base64encode(text)", "The text in base64.", bounded(convertText("text", func(s string) (string, error) {
			return base64.StdEncoding.EncodeToString([]byte(s)), nil
		}), nil)},
		{"csvdecode(text)", "A list of objects from CSV text whose first line holds the names.", withoutNUL(bounded(stdlib.CSVDecodeFunc, checkCSV))},
		{"formatdate(spec, timestamp)", "A given RFC 3339 timestamp in another form, such as \"DD MMM YYYY\".", bounded(stdlib.FormatDateFunc, nil)},
		{"jsondecode(text)", "The value that JSON text stands for.", withoutNUL(bounded(stdlib.JSONDecodeFunc, checkJSON))},
		{"jsonencode(value)", "The value as JSON text.", bounded(stdlib.JSONEncodeFunc, nil)},
		{"sha256(text)", "The SHA-256 of the text in hexadecimal digits.", bounded(convertText("text", func(s string) (string, error) {
			sum := sha256.Sum256([]byte(s))
			return hex.EncodeToString(sum[:]), nil
		}), nil)},
		{"timeadd(timestamp, duration)", "A given RFC 3339 timestamp moved by a duration such as \"1h30m\".", bounded(stdlib.TimeAddFunc, nil)},
		{"urlencode(text)", "The text in the form that a URL's query needs.", bounded(convertText("text", func(s string) (string, error) {
			return url.QueryEscape(s), nil
		}), nil)},
		{"yamldecode(text)", "The value that YAML text stands for.", withoutNUL(bounded(ctyyaml.YAMLDecodeFunc, checkYAML))},
		{"yamlencode(value)", "The value as YAML text.", bounded(ctyyaml.YAMLEncodeFunc, nil)},
	}
}

// convertText makes a function of one text, called param in its diagnostics.
func convertText(param string, f func(string) (string, error)) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: param, Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			out, err := f(args[0].AsString())
			if err != nil {
				return cty.NilVal, function.NewArgError(0, err)
			}
			return cty.StringVal(out), nil
		},
	})
}

func decodeBase64(s string) (string, error) {
	raw, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return "", errors.New("this is not base64")
	}
	if !utf8.Valid(raw) {
		return "", errors.New("what it stands for is not UTF-8 text")
	}
	return string(raw), nil
}

func checkCSV(args []cty.Value) error {
	text := args[0].AsString()
	if strings.Count(text, "\n")+strings.Count(text, ",") > MaxElements {
		return tooMany()
	}
	return nil
}

// checkJSON refuses what the recursive decoder would not survive.
func checkJSON(args []cty.Value) error {
	text := args[0].AsString()
	depth := 0
	inString := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '[' || c == '{':
			if depth++; depth > MaxNesting {
				return tooDeep()
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return nil
}

func tooDeep() error {
	return function.NewArgErrorf(0, "is nested more than %d levels deep", MaxNesting)
}

// maxAliased bounds what the aliases of a YAML document can stand for.
const maxAliased = 1_000_000

var yamlAnchor = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[&*][A-Za-z0-9_-]+`)
})

// checkYAML refuses what the decoder would not survive: deep nesting, on which
// it recurses, and aliases of aliases, which it follows. It looks at the text
// only, so it may count what stands in a quoted text too, but it never counts
// too little.
func checkYAML(args []cty.Value) error {
	text := args[0].AsString()
	if len(text) > 1<<20 {
		return function.NewArgErrorf(0, "YAML may have at most 1 MiB")
	}
	depth := 0
	for _, line := range strings.Split(text, "\n") {
		// Block collections nest by indentation, or by indicators in a row.
		rest := strings.TrimLeft(line, " ")
		indicators := 0
		for len(rest) > 1 && strings.IndexByte("-?:", rest[0]) >= 0 && (rest[1] == ' ' || rest[1] == '\t') {
			indicators++
			rest = strings.TrimLeft(rest[1:], " \t")
		}
		if indicators > MaxNesting || len(line)-len(strings.TrimLeft(line, " \t")) > 4*MaxNesting && strings.TrimSpace(line) != "" {
			return tooDeep()
		}
		for _, c := range line {
			switch c {
			case '[', '{':
				if depth++; depth > MaxNesting {
					return tooDeep()
				}
			case ']', '}':
				depth = max(0, depth-1)
			}
		}
	}
	return checkAliases(text)
}

// checkAliases multiplies, over all anchors, the number of their uses: no
// nesting of aliases in anchored values can stand for more.
func checkAliases(text string) error {
	uses := map[string]int{} // since the last definition of the name
	defined := map[string]bool{}
	bound := float64(strings.Count(text, "\n") + strings.Count(text, ",") + strings.Count(text, ":") + 1)
	found := false
	for _, m := range yamlAnchor().FindAllString(text, -1) {
		name := m[1:]
		switch {
		case m[0] == '*' && defined[name]:
			uses[name]++
			found = true
		case m[0] == '&':
			bound *= float64(1 + uses[name])
			uses[name], defined[name] = 0, true
		}
	}
	for _, n := range uses {
		bound *= float64(1 + n)
	}
	if found && bound > maxAliased {
		return function.NewArgErrorf(0, "its aliases could stand for more than %d values; write the values out, or build them with merge and for", maxAliased)
	}
	return nil
}
