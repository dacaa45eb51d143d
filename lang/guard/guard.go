// Package guard looks at the bytes of a definition file before any parser
// does, and refuses what a parser would not survive: too large, nested too
// deep, or with numbers that cannot be written out. It knows nothing of what a
// definition means.
package guard

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Check holds the source of one file, native or JSON by the suffix of its
// name, to the limits of this package. It takes time in proportion to the
// size, whatever the bytes are. A file with errors must not be parsed; one
// without them can be.
func Check(src []byte, filename string) hcl.Diagnostics {
	if len(src) > MaxFile {
		return hcl.Diagnostics{{
			Severity: hcl.DiagError,
			Summary:  "File too large",
			Detail:   "A definition file may have at most 1 MiB, and this one is longer. Split it over several files, or keep long texts in files of their own and read them with file(…).",
			Subject:  &hcl.Range{Filename: filename, Start: hcl.InitialPos, End: hcl.InitialPos},
		}}
	}
	if i := bytes.IndexByte(src, 0); i >= 0 {
		return hcl.Diagnostics{nul(newPlaces(src, filename).between(i, i+1))}
	}
	if strings.HasSuffix(filename, ".json") {
		return checkJSON(src, filename)
	}
	// The lexer is a state machine without recursion. What it finds wrong is
	// left for the parser to say, which says it better.
	tokens, _ := hclsyntax.LexConfig(src, filename, hcl.InitialPos)
	return checkTokens(tokens)
}

// Template does for a template that did not stand in a definition file what
// Check does for a file.
func Template(src []byte, filename string) hcl.Diagnostics {
	if len(src) > MaxFile {
		return hcl.Diagnostics{{
			Severity: hcl.DiagError,
			Summary:  "File too large",
			Detail:   fmt.Sprintf("A template may have at most 1 MiB; this one has %d bytes.", len(src)),
			Subject:  &hcl.Range{Filename: filename, Start: hcl.InitialPos, End: hcl.InitialPos},
		}}
	}
	tokens, _ := hclsyntax.LexTemplate(src, filename, hcl.InitialPos)
	return checkTokens(tokens)
}

func nul(at hcl.Range) *hcl.Diagnostic {
	return &hcl.Diagnostic{
		Severity: hcl.DiagError,
		Summary:  "NUL character",
		Detail:   "No name, argument or environment value can hold a NUL character. Remove it; if the file looks fine in an editor, it may be saved as UTF-16: save it as UTF-8.",
		Subject:  &at,
	}
}

func tooDeep(at hcl.Range) *hcl.Diagnostic {
	return &hcl.Diagnostic{
		Severity: hcl.DiagError,
		Summary:  "Nested too deeply",
		Detail:   fmt.Sprintf("Brackets, blocks, quotes and templates may stand at most %d levels deep in each other. Give the inner parts names in a locals block.", MaxNesting),
		Subject:  &at,
	}
}

func tooLong(at hcl.Range) *hcl.Diagnostic {
	return &hcl.Diagnostic{
		Severity: hcl.DiagError,
		Summary:  "Expression too long",
		Detail:   fmt.Sprintf("One expression may hold at most %d operators, conditionals, attribute and index steps. Split it over several locals, or put the operands into a list.", MaxChain),
		Subject:  &at,
	}
}

// number returns what is wrong with a number, or nil.
func number(text []byte, at hcl.Range) *hcl.Diagnostic {
	if len(text) > MaxNumber {
		return &hcl.Diagnostic{
			Severity: hcl.DiagError,
			Summary:  "Number too long",
			Detail:   fmt.Sprintf("A number may have at most %d characters; this one has %d.", MaxNumber, len(text)),
			Subject:  &at,
		}
	}
	if ExponentTooLarge(string(text)) {
		return &hcl.Diagnostic{
			Severity: hcl.DiagError,
			Summary:  "Number too large",
			Detail:   fmt.Sprintf("The exponent of a number may be at most %d, of either sign.", MaxExponent),
			Subject:  &at,
		}
	}
	return nil
}

// quotedNumber returns what is wrong with a whole quoted text, or nil: where a
// number is needed HCL makes one of it. Most text is never made a number, and
// an abbreviated commit may look like one, so an exponent without a sign may
// be as large as can still be written out in a moment.
func quotedNumber(text []byte, at hcl.Range) *hcl.Diagnostic {
	mantissa, exponent, ok := bytes.Cut(bytes.ToLower(text), []byte("e"))
	mantissa = bytes.TrimLeft(mantissa, "+-")
	digits := bytes.TrimLeft(exponent, "+-")
	if !ok || len(mantissa) == 0 || len(digits) == 0 || len(bytes.Trim(mantissa, "0123456789.")) > 0 || len(bytes.Trim(digits, "0123456789")) > 0 {
		return nil
	}
	const writable = 6 // digits
	if len(digits) == len(exponent) && len(bytes.TrimLeft(digits, "0")) <= writable {
		return nil
	}
	return number(text, at)
}

// ExponentTooLarge reports whether text, a number in HCL's or JSON's form, has
// an exponent beyond MaxExponent.
func ExponentTooLarge(text string) bool {
	i := strings.IndexAny(text, "eE")
	if i < 0 {
		return false
	}
	digits := strings.TrimLeft(strings.TrimLeft(text[i+1:], "+-"), "0")
	if len(digits) > 3 {
		return true
	}
	n := 0
	for _, c := range digits {
		n = n*10 + int(c-'0')
	}
	return n > MaxExponent
}
