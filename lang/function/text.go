package function

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

func textFunctions() []entry {
	return []entry{
		{"chomp(text)", "The text without newlines at its end.", bounded(stdlib.ChompFunc, nil)},
		{"endswith(text, suffix)", "Whether the text ends with suffix.", testText("suffix", strings.HasSuffix)},
		{"format(spec, values...)", "Text from a format such as \"%s-%03d\" and values.", bounded(stdlib.FormatFunc, checkFormat)},
		{"formatlist(spec, values...)", "One formatted text for each element of the lists among the values.", bounded(stdlib.FormatListFunc, checkFormatList)},
		{"indent(spaces, text)", "The text with all lines but the first indented.", bounded(stdlib.IndentFunc, checkIndent)},
		{"join(separator, lists...)", "The elements of lists as one text, separator between them.", bounded(stdlib.JoinFunc, checkJoin)},
		{"lower(text)", "The text in lower case.", bounded(stdlib.LowerFunc, nil)},
		{"regex(pattern, text)", "What the pattern's first match captured: a string, a list, or an object for named groups. An error where nothing matches.", bounded(stdlib.RegexFunc, nil)},
		{"regexall(pattern, text)", "What every match of the pattern captured, as a list.", bounded(stdlib.RegexAllFunc, checkRegexAll)},
		{"replace(text, search, replacement)", "The text with every search replaced; a search between slashes, \"/x+/\", is a pattern, whose groups the replacement may use as $1.", bounded(replace, checkReplace)},
		{"split(separator, text)", "The pieces of the text between separators, as a list.", bounded(stdlib.SplitFunc, checkSplit)},
		{"startswith(text, prefix)", "Whether the text begins with prefix.", testText("prefix", strings.HasPrefix)},
		{"strcontains(text, part)", "Whether the text contains part.", testText("part", strings.Contains)},
		{"strrev(text)", "The characters of the text in reverse order.", bounded(stdlib.ReverseFunc, nil)},
		{"substr(text, offset, length)", "The part of the text from offset, length characters long; a length of -1 is the rest.", bounded(stdlib.SubstrFunc, nil)},
		{"title(text)", "The text with the first letter of each word in upper case.", bounded(stdlib.TitleFunc, nil)},
		{"trim(text, characters)", "The text without these characters at both ends.", bounded(stdlib.TrimFunc, nil)},
		{"trimprefix(text, prefix)", "The text without prefix, where it begins with it.", bounded(stdlib.TrimPrefixFunc, nil)},
		{"trimspace(text)", "The text without white space at both ends.", bounded(stdlib.TrimSpaceFunc, nil)},
		{"trimsuffix(text, suffix)", "The text without suffix, where it ends with it.", bounded(stdlib.TrimSuffixFunc, nil)},
		{"upper(text)", "The text in upper case.", bounded(stdlib.UpperFunc, nil)},
	}
}

func testText(second string, test func(text, part string) bool) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "text", Type: cty.String}, {Name: second, Type: cty.String}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return cty.BoolVal(test(args[0].AsString(), args[1].AsString())), nil
		},
	})
}

// pattern returns the expression between the slashes of a search.
func pattern(search string) (string, bool) {
	if len(search) > 2 && strings.HasPrefix(search, "/") && strings.HasSuffix(search, "/") {
		return search[1 : len(search)-1], true
	}
	return "", false
}

var replace = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "text", Type: cty.String}, {Name: "search", Type: cty.String}, {Name: "replacement", Type: cty.String}},
	Type:   function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		text, search, replacement := args[0].AsString(), args[1].AsString(), args[2].AsString()
		expr, ok := pattern(search)
		if !ok {
			return cty.StringVal(strings.ReplaceAll(text, search, replacement)), nil
		}
		re, err := regexp.Compile(expr)
		if err != nil {
			return cty.NilVal, function.NewArgError(1, err)
		}
		return cty.StringVal(re.ReplaceAllString(text, replacement)), nil
	},
})

func checkReplace(args []cty.Value) error {
	text, search, replacement := args[0].AsString(), args[1].AsString(), args[2].AsString()
	expr, ok := pattern(search)
	if !ok {
		return fits(int64(len(text)) + int64(strings.Count(text, search))*int64(len(replacement)))
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return function.NewArgError(1, err)
	}
	// Every group that a replacement names brings in at most its match, and
	// matches do not overlap.
	named := int64(strings.Count(replacement, "$"))
	bound := int64(len(text)) * (1 + named)
	if len(replacement) > 0 {
		most := MaxString/len(replacement) + 1
		bound += int64(len(re.FindAllStringIndex(text, most+1))) * int64(len(replacement))
	}
	return fits(bound)
}

func checkIndent(args []cty.Value) error {
	spaces := count(args[0])
	if spaces < 0 || spaces > MaxPadding {
		return function.NewArgErrorf(0, "must be from 0 to %d", MaxPadding)
	}
	text := args[1].AsString()
	return fits(int64(len(text)) + int64(spaces)*int64(strings.Count(text, "\n")))
}

func checkJoin(args []cty.Value) error {
	separator := int64(len(args[0].AsString()))
	var total int64
	for _, list := range args[1:] {
		if list.IsNull() {
			continue
		}
		for it := list.ElementIterator(); it.Next(); {
			total += separator
			if _, e := it.Element(); !e.IsNull() {
				total += int64(len(e.AsString()))
			}
		}
	}
	return fits(total - separator)
}

func checkSplit(args []cty.Value) error {
	if strings.Count(args[1].AsString(), args[0].AsString()) >= MaxElements {
		return tooMany()
	}
	return nil
}

func checkRegexAll(args []cty.Value) error {
	re, err := regexp.Compile(args[0].AsString())
	if err != nil {
		return function.NewArgError(0, err)
	}
	if len(re.FindAllStringIndex(args[1].AsString(), MaxElements+1)) > MaxElements {
		return tooMany()
	}
	return nil
}

// count returns a number as an int, and -1 for what is none.
func count(v cty.Value) int {
	if v.IsNull() || v.Type() != cty.Number {
		return -1
	}
	n, _ := v.AsBigFloat().Int64()
	if n > 1<<31 {
		return 1 << 31
	}
	return int(n)
}

func checkFormat(args []cty.Value) error {
	return checkFormatted(args[0], args[1:], args[1:], 1)
}

func checkFormatList(args []cty.Value) error {
	rows := 1
	values := make([]cty.Value, len(args)-1)
	for i, v := range args[1:] {
		values[i] = v
		if t := v.Type(); v.IsNull() || !(t.IsListType() || t.IsSetType() || t.IsTupleType()) {
			continue
		}
		rows = max(rows, v.LengthInt())
		// The longest element stands for all.
		longest := cty.StringVal("")
		for it := v.ElementIterator(); it.Next(); {
			if _, e := it.Element(); shown(e) > shown(longest) {
				longest = e
			}
		}
		values[i] = longest
	}
	if rows > MaxElements {
		return tooMany()
	}
	return checkFormatted(args[0], values, args[1:], rows)
}

// verb matches one verb of a format: flags, width, precision, argument.
var verb = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`%([-+# 0]*)(\d*)(?:\.(\d*))?(?:\[(\d+)\])?(.)?`)
})

// checkFormatted bounds what a format makes of its values, rows times. given are
// the values before the longest element was put in the place of a list.
func checkFormatted(spec cty.Value, values, given []cty.Value, rows int) error {
	if spec.IsNull() || spec.Type() != cty.String {
		return nil // the function says it better
	}
	text := spec.AsString()
	total := int64(len(text))
	next := 0
	for _, m := range verb().FindAllStringSubmatch(text, MaxElements+1) {
		if m[5] == "%" && m[2]+m[3]+m[4] == "" {
			continue
		}
		padding := 0
		for _, digits := range m[2:4] {
			n, ok := small(digits)
			if !ok || n > MaxPadding {
				return function.NewArgErrorf(0, "the width or precision %.20s is larger than %d", digits, MaxPadding)
			}
			padding += n
		}
		if n, ok := small(m[4]); ok && n > 0 {
			next = n - 1
		}
		total += int64(padding)
		if next < len(values) {
			total += shown(values[next])
			if strings.Contains("bdoxXeEfgG", m[5]) {
				if why := textFault(given[next]); why != "" {
					return function.NewArgErrorf(1+next, "it %s", why)
				}
			}
		}
		next++
		if total > MaxTotal {
			break
		}
	}
	if total*int64(rows) > MaxTotal {
		return errors.New("the result would be longer than 4 MiB")
	}
	return nil
}

// textFault is what is wrong with the number that is made of a text, or of one
// of a list, or "".
func textFault(v cty.Value) string {
	switch t := v.Type(); {
	case v.IsNull():
		return ""
	case t == cty.String:
		if n, err := cty.ParseNumberVal(v.AsString()); err == nil {
			return numberFault(n)
		}
	case t.IsListType(), t.IsSetType(), t.IsTupleType():
		for it := v.ElementIterator(); it.Next(); {
			if _, e := it.Element(); e.Type() == cty.String {
				if why := textFault(e); why != "" {
					return why
				}
			}
		}
	}
	return ""
}

// small reads a few digits; none are 0.
func small(digits string) (int, bool) {
	if len(digits) > 6 {
		return 0, false
	}
	n := 0
	for _, c := range digits {
		n = n*10 + int(c-'0')
	}
	return n, true
}

// shown is about how long a value is as text, in bytes.
func shown(v cty.Value) int64 {
	switch {
	case v.IsNull():
		return 4
	case v.Type() == cty.String:
		return int64(2*len(v.AsString()) + 2) // quoted, at worst
	case v.Type() == cty.Number:
		e := v.AsBigFloat().MantExp(nil)
		return int64(max(e, -e))/3 + 200
	case v.CanIterateElements():
		// %v writes JSON.
		total := int64(2)
		for it := v.ElementIterator(); it.Next(); {
			k, e := it.Element()
			total += shown(k) + shown(e) + 2
		}
		return total
	}
	return 8
}

// asText converts the result of a template.
func asText(v cty.Value) (cty.Value, error) {
	text, err := convert.Convert(v, cty.String)
	if err != nil {
		return cty.NilVal, fmt.Errorf("the template gives %s, not text", v.Type().FriendlyName())
	}
	return text, nil
}

// utf8Text returns what was read as text.
func utf8Text(path string, src []byte) (string, error) {
	if len(src) > MaxString {
		return "", fmt.Errorf("%s has %d bytes, and a string may have at most %d (4 MiB)", path, len(src), MaxString)
	}
	if !utf8.Valid(src) {
		return "", fmt.Errorf("%s is not UTF-8 text", path)
	}
	if err := noNUL(path, string(src)); err != nil {
		return "", err
	}
	return string(src), nil
}
