package lang

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	hcljson "github.com/hashicorp/hcl/v2/json"
)

// Following is the Extra of a diagnostic that stands for so many further syntax
// errors of its file.
type Following int

// maxSyntax is how many syntax errors of one file are told one by one. After a
// missing quote the parser misreads everything, and only the first few help.
const maxSyntax = 3

// parseFile parses a file in the syntax that its name says. The file is nil, or
// a part, where there are errors.
func parseFile(src []byte, name string) (*hcl.File, hcl.Diagnostics) {
	if isJSON(name) {
		f, diags := hcljson.Parse(src, name)
		return f, firstErrors(diags)
	}
	f, diags := hclsyntax.ParseConfig(src, name, hcl.InitialPos)
	diags = firstErrors(diags)
	for i, d := range diags {
		diags[i] = plainer(d, src)
	}
	return f, tidy(diags)
}

// firstErrors keeps the first errors in the order of the file and lets one
// diagnostic stand for the rest.
func firstErrors(diags hcl.Diagnostics) hcl.Diagnostics {
	diags = tidy(diags)
	if len(diags) <= maxSyntax+1 {
		return diags
	}
	rest := diags[maxSyntax:]
	more := &hcl.Diagnostic{
		Severity: hcl.DiagError, Summary: SummarySyntax, Subject: rest[0].Subject, Extra: Following(len(rest)),
		Detail: fmt.Sprintf("%d more syntax errors of this file follow from these. Mend the first, and look again.", len(rest)),
	}
	return append(diags[:maxSyntax:maxSyntax], more)
}

// plainer says a syntax error of native syntax in the terms of what was
// probably meant, where that can be told; else it returns d.
func plainer(d *hcl.Diagnostic, src []byte) *hcl.Diagnostic {
	if _, following := d.Extra.(Following); following || d.Subject == nil || d.Subject.Start.Byte > len(src) {
		return d
	}
	at := *d.Subject
	rest := src[at.Start.Byte:]
	var said *hcl.Diagnostic
	switch {
	case d.Summary == "Unclosed configuration block":
		said = braceMissing(src, at.Filename, 0)
	case d.Summary == "Argument or block definition required" && bytes.HasPrefix(rest, []byte("}")):
		said = braceTooMany(src, at.Filename, at)
	case d.Summary == "Missing item separator":
		if said = quotesMissing(src, at); said == nil {
			said = bracketMissing(src, d)
		}
	case d.Summary == "Unterminated template string":
		said = heredocOpen(src, at.Filename)
	default:
		if said = quotesMissing(src, at); said == nil && objectFault(d) {
			said = braceMissing(src, at.Filename, at.Start.Line)
		}
	}
	if said == nil {
		return d
	}
	return said
}

// bracketForms are the lines that cannot go on with a list: what stands before
// the place where the parser stumbles, the whole line, and an attribute.
type bracketForms struct{ before, line, attribute *regexp.Regexp }

var bracketForm = sync.OnceValue(func() bracketForms {
	return bracketForms{
		before:    regexp.MustCompile(`^\s*(?:[A-Za-z_][\w-]*\s*)?$`),
		line:      regexp.MustCompile(`^\s*(?:\}|[A-Za-z_][\w-]*\s*=(?:[^=>]|$)|[A-Za-z_][\w-]*(?:\s+"[^"]*")*\s*\{)`),
		attribute: regexp.MustCompile(`^\s*([A-Za-z_][\w-]*)\s*=`),
	}
})

// bracketMissing is what to say of a list that should have ended before the
// line on which the parser misses a comma; nil where that line may belong to it.
func bracketMissing(src []byte, d *hcl.Diagnostic) *hcl.Diagnostic {
	at, open := d.Subject.Start, d.Context
	if open == nil || open.Start.Line >= at.Line || open.Start.Byte >= len(src) {
		return nil
	}
	form := bracketForm()
	begin := bytes.LastIndexByte(src[:at.Byte], '\n') + 1
	line, _, _ := bytes.Cut(src[begin:], []byte("\n"))
	if !form.before.Match(src[begin:at.Byte]) || !form.line.Match(line) {
		return nil
	}
	begin = bytes.LastIndexByte(src[:open.Start.Byte], '\n') + 1
	header := src[begin : open.Start.Byte+1]
	what := "This list"
	if m := form.attribute.FindSubmatch(header); m != nil {
		what = string(m[1])
	}
	begin += len(header) - len(bytes.TrimLeft(header, " \t"))
	return fault(rangeIn(src, d.Subject.Filename, begin, open.Start.Byte+1), SummaryBracketMissing,
		"%s is not closed. By the look of the file, a ] is missing before line %d.", what, at.Line)
}

// objectFault reports whether the parser stumbled between the keys of an object.
func objectFault(d *hcl.Diagnostic) bool {
	switch d.Summary {
	case "Missing key/value separator", "Missing attribute separator", "Missing attribute value", "Unterminated object constructor expression":
		return true
	}
	return false
}

// unquoted are the pieces of a text that begins with a digit and was written
// without quotes: before and after the place where the parser stumbles.
type unquoted struct{ number, percent, rest *regexp.Regexp }

var unquotedForm = sync.OnceValue(func() unquoted {
	return unquoted{
		number:  regexp.MustCompile(`(?:^|[\s=,\[({])([0-9]+(?:\.[0-9]+)?)$`),
		percent: regexp.MustCompile(`(?:^|[\s=,\[({])([0-9]+)%\s*$`),
		rest:    regexp.MustCompile(`^[A-Za-zµ][0-9A-Za-zµ.]*`),
	}
})

// quotesMissing finds wall = 5m and require = 50%; nil where it is neither.
func quotesMissing(src []byte, at hcl.Range) *hcl.Diagnostic {
	before, after := src[:at.Start.Byte], src[at.Start.Byte:]
	before = before[max(0, len(before)-64):]
	if m := unquotedForm().number.FindSubmatch(before); m != nil {
		unit := unquotedForm().rest.Find(after)
		if unit == nil {
			return nil
		}
		whole := hcl.Range{Filename: at.Filename, Start: at.Start, End: at.Start}
		whole.Start.Byte -= len(m[1])
		whole.Start.Column -= len(m[1])
		whole.End.Byte += len(unit)
		whole.End.Column += len([]rune(string(unit)))
		text := string(m[1]) + string(unit)
		if _, err := time.ParseDuration(text); err == nil {
			return fault(whole, SummaryQuotes, "A duration is written in quotes: %q.", text)
		}
		return fault(whole, SummaryQuotes, "What begins with a digit and goes on with letters is a text, and is written in quotes: %q.", text)
	}
	if m := unquotedForm().percent.FindSubmatch(before); m != nil {
		end := len(bytes.TrimRight(src[:at.Start.Byte], " \t\r\n"))
		whole := rangeIn(src, at.Filename, end-len(m[1])-1, end)
		return fault(whole, SummaryQuotes, "A percentage is written in quotes: \"%s%%\".", m[1])
	}
	return nil
}

// rangeIn makes a range of byte offsets within one line.
func rangeIn(src []byte, name string, from, to int) hcl.Range {
	line := 1 + bytes.Count(src[:from], []byte("\n"))
	begin := bytes.LastIndexByte(src[:from], '\n') + 1
	column := func(at int) int { return 1 + len([]rune(string(src[begin:at]))) }
	return hcl.Range{
		Filename: name,
		Start:    hcl.Pos{Line: line, Column: column(from), Byte: from},
		End:      hcl.Pos{Line: line, Column: column(to), Byte: to},
	}
}

// heredocOpen finds the heredoc that runs to the end of a file; nil where none
// does.
func heredocOpen(src []byte, name string) *hcl.Diagnostic {
	tokens, _ := hclsyntax.LexConfig(src, name, hcl.InitialPos)
	var open []hclsyntax.Token
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenOHeredoc:
			open = append(open, t)
		case hclsyntax.TokenCHeredoc:
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
		}
	}
	if len(open) == 0 {
		return nil
	}
	t := open[len(open)-1]
	sign := strings.TrimRight(string(t.Bytes), "\r\n")
	word := strings.TrimSpace(strings.TrimLeft(sign, "<-"))
	at := rangeIn(src, name, t.Range.Start.Byte, t.Range.Start.Byte+len(sign))
	meant := ""
	for i, line := range strings.Split(string(src[t.Range.End.Byte:]), "\n") {
		line = strings.TrimSpace(line)
		rest, begins := strings.CutPrefix(line, word)
		if begins && strings.Trim(rest, ",;)]}\"") == "" || strings.EqualFold(line, word) || otherMarker().MatchString(line) {
			meant = fmt.Sprintf(" Line %d holds %q.", t.Range.Start.Line+1+i, line)
			break
		}
	}
	return fault(at, SummaryHeredoc, "The text that begins with %s goes on to the end of the file: no line holds %s alone.%s", sign, word, meant)
}

// otherMarker is what the end of a heredoc mostly looks like.
var otherMarker = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Z]{2,16}$`) })
