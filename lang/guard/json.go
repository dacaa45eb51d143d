package guard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// checkJSON scans the JSON form byte by byte. What is not JSON at all is left
// for the parser to say.
func checkJSON(src []byte, filename string) hcl.Diagnostics {
	var diags hcl.Diagnostics
	at := newPlaces(src, filename)
	depth := 0
	for i := 0; i < len(src) && len(diags) < maxReports; {
		switch c := src[i]; {
		case c == '{' || c == '[':
			depth++
			if depth > MaxNesting {
				return append(diags, tooDeep(at.between(i, i+1)))
			}
			i++
		case c == '}' || c == ']':
			depth = max(0, depth-1)
			i++
		case c == '"':
			end := stringEnd(src, i)
			if diag := jsonString(src[i:end], at, i, end); diag != nil {
				diags = append(diags, diag)
			}
			i = end
		case c == '-' || c >= '0' && c <= '9':
			end := i + 1
			for end < len(src) && strings.IndexByte("0123456789.eE+-", src[end]) >= 0 {
				end++
			}
			if diag := number(src[i:end], at.between(i, end)); diag != nil {
				diags = append(diags, diag)
			}
			i = end
		default:
			i++
		}
	}
	return diags
}

// stringEnd returns the offset after the string that begins at i.
func stringEnd(src []byte, i int) int {
	for i++; i < len(src); i++ {
		switch src[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		case '\n':
			return i
		}
	}
	return len(src)
}

// jsonString checks a string literal: a string value is a template to HCL.
func jsonString(literal []byte, at *places, start, end int) *hcl.Diagnostic {
	if escapesNUL(literal) {
		d := nul(at.between(start, end))
		return d
	}
	if d := quotedNumber(bytes.Trim(literal, `"`), at.between(start, end)); d != nil {
		return d
	}
	if !bytes.Contains(literal, []byte("{")) && !bytes.Contains(literal, []byte(`\u`)) {
		return nil
	}
	var text string
	if json.Unmarshal(literal, &text) != nil || !strings.Contains(text, "{") {
		return nil
	}
	tokens, _ := hclsyntax.LexTemplate([]byte(text), at.filename, hcl.InitialPos)
	inner := checkTokens(tokens)
	if len(inner) == 0 {
		return nil
	}
	// Offsets inside the text are not offsets in the file where it holds
	// escapes, so the whole string is shown.
	d := *inner[0]
	d.Detail = fmt.Sprintf("In the template in this string: %s", d.Detail)
	d.Subject = at.between(start, end).Ptr()
	return &d
}

// places turns byte offsets, asked for in rising order, into positions.
type places struct {
	src      []byte
	filename string
	last     hcl.Pos
}

func newPlaces(src []byte, filename string) *places {
	return &places{src: src, filename: filename, last: hcl.InitialPos}
}

func (p *places) between(start, end int) hcl.Range {
	from := p.pos(start)
	return hcl.Range{Filename: p.filename, Start: from, End: p.pos(end)}
}

func (p *places) pos(offset int) hcl.Pos {
	if offset < p.last.Byte {
		p.last = hcl.InitialPos
	}
	for _, c := range p.src[p.last.Byte:offset] {
		switch {
		case c == '\n':
			p.last.Line++
			p.last.Column = 1
		case c&0xC0 != 0x80: // count code points, not bytes
			p.last.Column++
		}
	}
	p.last.Byte = offset
	return p.last
}
