package lang

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// opener is an opening brace that waits for its closing one.
type opener struct {
	header hcl.Range // from the first word of its line
	title  string    // the block or the attribute as it is written, or ""
	block  bool      // what the title names
	doc    *BlockDoc // nil where the block is not known, or not a block
	indent int       // column of the first word of its line
	lines  int       // lines seen in it
	flat   bool      // what is in it is not indented
	short  bool      // an object whose keys begin on its own line
}

// unclosed is a block that lacks its closing brace, as far as indentation and
// the blocks that may stand in each other can tell.
type unclosed struct {
	opener
	before int // the line that should have come after it; 0 for the end of the file
}

// early is a closing brace that is one too many, by its indentation.
type early struct {
	at     hcl.Range
	closes opener
}

// braces looks for what a parser cannot know: which brace a person forgot, and
// which is too many. Either is nil where nothing tells.
func braces(src []byte, name string) (*unclosed, *early) {
	tokens, _ := hclsyntax.LexConfig(src, name, hcl.InitialPos)
	var (
		stack   []opener
		missing *unclosed
		extra   *early
		first   = -1 // the first token of the line, or -1 before it
		depth   int  // of brackets, parentheses and templates, where lines mean nothing
	)
	for i, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenNewline, hclsyntax.TokenComment:
			if t.Type == hclsyntax.TokenNewline || strings.HasSuffix(string(t.Bytes), "\n") {
				first = -1
			}
			continue
		}
		begins := first < 0 && t.Type != hclsyntax.TokenEOF
		if first < 0 {
			first = i
		}
		column := t.Range.Start.Column
		if top := last(stack); begins && top != nil && depth == 0 {
			top.lines++
			closing := t.Type == hclsyntax.TokenCBrace
			switch {
			case !closing && !top.short && top.lines == 1 && column <= top.indent:
				top.flat = true
			case missing == nil && !top.flat && (column < top.indent || column == top.indent && !closing):
				missing = &unclosed{*top, t.Range.Start.Line}
			}
		}
		switch t.Type {
		case hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenOHeredoc, hclsyntax.TokenOQuote, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			depth++
		case hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenCHeredoc, hclsyntax.TokenCQuote, hclsyntax.TokenTemplateSeqEnd:
			depth = max(0, depth-1)
		case hclsyntax.TokenOBrace:
			o := newOpener(tokens[first:i+1], last(stack), len(stack) == 0)
			if parent := last(stack); missing == nil && parent != nil && parent.doc != nil && o.block && o.doc == nil && blockNamed(o.title) {
				missing = &unclosed{*parent, o.header.Start.Line}
			}
			o.short = !o.block && i+1 < len(tokens) && tokens[i+1].Range.Start.Line == t.Range.Start.Line &&
				tokens[i+1].Type != hclsyntax.TokenNewline && tokens[i+1].Type != hclsyntax.TokenComment
			stack = append(stack, o)
		case hclsyntax.TokenCBrace:
			top := last(stack)
			if top == nil {
				continue
			}
			if extra == nil && begins && !top.flat && column > top.indent {
				extra = &early{t.Range, *top}
			}
			stack = stack[:len(stack)-1]
		}
	}
	if top := last(stack); missing == nil && top != nil {
		missing = &unclosed{opener: *top}
	}
	return missing, extra
}

func last(stack []opener) *opener {
	if len(stack) == 0 {
		return nil
	}
	return &stack[len(stack)-1]
}

// newOpener reads the tokens of a line up to an opening brace.
func newOpener(line hclsyntax.Tokens, parent *opener, top bool) opener {
	o := opener{header: hcl.RangeBetween(line[0].Range, line[len(line)-1].Range), indent: line[0].Range.Start.Column}
	if len(line) > 2 && line[0].Type == hclsyntax.TokenIdent && line[1].Type == hclsyntax.TokenEqual {
		o.title = string(line[0].Bytes)
		return o
	}
	var words []string
	for _, t := range line[:len(line)-1] {
		switch t.Type {
		case hclsyntax.TokenIdent, hclsyntax.TokenQuotedLit:
			words = append(words, string(t.Bytes))
		case hclsyntax.TokenOQuote, hclsyntax.TokenCQuote:
		default:
			return o // no block that could be named
		}
	}
	if len(words) == 0 {
		return o
	}
	o.title, o.block = words[0], true
	for _, label := range words[1:] {
		o.title += fmt.Sprintf(" %q", label)
	}
	switch {
	case top:
		o.doc = rootDoc.inner(words[0])
	case parent.doc != nil:
		o.doc = parent.doc.inner(words[0])
	}
	return o
}

// inner returns the block of a type that may stand in this one, or nil.
func (b *BlockDoc) inner(typeName string) *BlockDoc {
	for _, path := range b.Blocks {
		if d := blockDocs[path]; d.typeName() == typeName {
			return d
		}
	}
	return nil
}

// blockNamed reports whether a title begins with the name of any block.
func blockNamed(title string) bool {
	word, _, _ := strings.Cut(title, " ")
	for i := range blocks {
		if blocks[i].typeName() == word {
			return true
		}
	}
	return false
}

// braceMissing is what to say of a file that ends within a block, or, with the
// line of an error in it, of an object that should have ended before; nil
// where nothing tells.
func braceMissing(src []byte, name string, line int) *hcl.Diagnostic {
	missing, _ := braces(src, name)
	if missing == nil || line > 0 && (missing.block || missing.before == 0 || missing.before > line) {
		return nil
	}
	what := missing.title
	if what == "" {
		what = "This"
	}
	where := "at the end of the file"
	if missing.before > 0 {
		where = fmt.Sprintf("before line %d", missing.before)
	}
	return fault(missing.header, SummaryBraceMissing, "%s is not closed. By the look of the file, a } is missing %s.", what, where)
}

// braceTooMany is what to say of a closing brace that has nothing to close.
func braceTooMany(src []byte, name string, at hcl.Range) *hcl.Diagnostic {
	_, extra := braces(src, name)
	if extra == nil {
		return fault(at, SummaryBraceTooMany, "There is nothing left to close here: remove this }, or one before it.")
	}
	what := extra.closes.title
	if what == "" {
		what = "what begins"
	}
	return fault(extra.at, SummaryBraceTooMany, "By its indentation this } is one too many: it closes %s (%s), and the one at %s has nothing left to close. Remove it.", what, extra.closes.header, at)
}
