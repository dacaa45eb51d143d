package guard

import (
	"bytes"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// maxReports bounds the diagnostics of one file.
const maxReports = 20

// level is one open bracket, quote, template sequence or directive.
type level struct {
	closes hclsyntax.TokenType // 0 for a directive, which endif or endfor closes
	chain  int                 // operators of the expressions around it
	body   bool                // newlines separate expressions here
}

// depth follows the tokens of a file and knows how deep a recursive parser
// would stand. It may think deeper than the parser where brackets do not
// match, never less deep.
type depth struct {
	open  []level
	chain int // operators since the last separator, those around included
}

// checkTokens holds the tokens of a file, in native syntax or a template, to
// the limits.
func checkTokens(tokens hclsyntax.Tokens) hcl.Diagnostics {
	var diags hcl.Diagnostics
	d := depth{}
	for i, t := range tokens {
		if len(diags) >= maxReports {
			return diags
		}
		switch t.Type {
		case hclsyntax.TokenNumberLit:
			if diag := number(t.Bytes, t.Range); diag != nil {
				diags = append(diags, diag)
			}
		case hclsyntax.TokenQuotedLit:
			if escapesNUL(t.Bytes) {
				diags = append(diags, nul(t.Range))
			}
			whole := i > 0 && tokens[i-1].Type == hclsyntax.TokenOQuote && i+1 < len(tokens) && tokens[i+1].Type == hclsyntax.TokenCQuote
			if diag := quotedNumber(t.Bytes, t.Range); whole && diag != nil {
				diags = append(diags, diag)
			}
		}
		d.take(t, tokens[i+1:])
		if len(d.open) > MaxNesting {
			return append(diags, tooDeep(t.Range))
		}
		if d.chain > MaxChain {
			return append(diags, tooLong(t.Range))
		}
	}
	return diags
}

func (d *depth) take(t hclsyntax.Token, rest hclsyntax.Tokens) {
	switch t.Type {
	case hclsyntax.TokenOBrace:
		d.push(hclsyntax.TokenCBrace, true)
	case hclsyntax.TokenOBrack:
		// An index is a step of the expression that it stands in as well.
		d.chain++
		d.push(hclsyntax.TokenCBrack, false)
	case hclsyntax.TokenOParen:
		d.push(hclsyntax.TokenCParen, false)
	case hclsyntax.TokenOQuote:
		d.push(hclsyntax.TokenCQuote, false)
	case hclsyntax.TokenOHeredoc:
		d.push(hclsyntax.TokenCHeredoc, false)
	case hclsyntax.TokenTemplateInterp:
		d.push(hclsyntax.TokenTemplateSeqEnd, false)
	case hclsyntax.TokenTemplateControl:
		switch directive(rest) {
		case "if", "for":
			// The directive's part of the template nests, and the sequence
			// itself stands in it until its end.
			d.push(0, false)
		case "endif", "endfor":
			d.closeDirective()
		}
		d.push(hclsyntax.TokenTemplateSeqEnd, false)
	case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen:
		d.pop(t.Type)
	case hclsyntax.TokenTemplateSeqEnd, hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc:
		d.unwind(t.Type)
	case hclsyntax.TokenComma:
		d.separate()
	case hclsyntax.TokenNewline:
		if n := len(d.open); n == 0 || d.open[n-1].body {
			d.separate()
		}
	case hclsyntax.TokenPlus, hclsyntax.TokenMinus, hclsyntax.TokenStar, hclsyntax.TokenSlash, hclsyntax.TokenPercent,
		hclsyntax.TokenEqualOp, hclsyntax.TokenNotEqual, hclsyntax.TokenLessThan, hclsyntax.TokenLessThanEq,
		hclsyntax.TokenGreaterThan, hclsyntax.TokenGreaterThanEq, hclsyntax.TokenAnd, hclsyntax.TokenOr, hclsyntax.TokenBang,
		hclsyntax.TokenQuestion, hclsyntax.TokenColon, hclsyntax.TokenDot, hclsyntax.TokenDoubleColon, hclsyntax.TokenEllipsis:
		d.chain++
	}
}

func (d *depth) push(closes hclsyntax.TokenType, body bool) {
	d.open = append(d.open, level{closes: closes, chain: d.chain, body: body})
}

// pop closes the innermost level where t is what closes it. A bracket that
// closes nothing is left for the parser.
func (d *depth) pop(t hclsyntax.TokenType) {
	if n := len(d.open); n > 0 && d.open[n-1].closes == t {
		d.chain = d.open[n-1].chain
		d.open = d.open[:n-1]
	}
}

// closeDirective closes the innermost directive of the present template.
func (d *depth) closeDirective() {
	if n := len(d.open); n > 0 && d.open[n-1].closes == 0 {
		d.chain = d.open[n-1].chain
		d.open = d.open[:n-1]
	}
}

// unwind closes the innermost level that t closes with everything that was
// left open in it. It is for the tokens that the lexer emits in pairs; a parser
// gives up what stands open between such a pair.
func (d *depth) unwind(t hclsyntax.TokenType) {
	for n := len(d.open) - 1; n >= 0; n-- {
		if d.open[n].closes == t {
			d.chain = d.open[n].chain
			d.open = d.open[:n]
			return
		}
	}
}

// separate begins a new expression inside the present level.
func (d *depth) separate() {
	d.chain = 0
	if n := len(d.open); n > 0 {
		d.chain = d.open[n-1].chain
	}
}

// directive returns the keyword of a template directive, given the tokens
// after its opening.
func directive(rest hclsyntax.Tokens) string {
	for _, t := range rest {
		switch t.Type {
		case hclsyntax.TokenIdent:
			return string(t.Bytes)
		case hclsyntax.TokenNewline, hclsyntax.TokenComment:
			continue
		}
		return ""
	}
	return ""
}

// escapesNUL reports whether the text of a quoted literal holds a NUL written
// as an escape.
func escapesNUL(text []byte) bool {
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 || i+1 >= len(text) {
			return false
		}
		if bytes.HasPrefix(text[i+1:], []byte("u0000")) || bytes.HasPrefix(text[i+1:], []byte("U00000000")) {
			return true
		}
		text = text[i+2:]
	}
}
