package jobs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds of a jobs file.
const (
	maxSize  = 16 << 20 // bytes
	maxDepth = 32
)

// node is a JSON value with its place in the source.
type node struct {
	offset  int
	value   any // nil, bool, string, json.Number, []*node or []member
	literal string
}

type member struct {
	key    string
	offset int // of the key
	value  *node
}

// syntaxError is a defect of the JSON itself.
type syntaxError struct {
	offset  int
	problem string
}

func (e *syntaxError) Error() string { return e.problem }

// parse reads one JSON value, strictly: no repeated keys, nothing after it,
// valid UTF-8, bounded size and depth.
func parse(src []byte) (*node, *syntaxError) {
	if len(src) > maxSize {
		return nil, &syntaxError{0, fmt.Sprintf("larger than %d bytes", maxSize)}
	}
	if !utf8.Valid(src) {
		off := 0
		for off < len(src) {
			r, n := utf8.DecodeRune(src[off:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			off += n
		}
		return nil, &syntaxError{off, "not UTF-8"}
	}
	// The decoder counts a syntax error's offset from its last token; this
	// counts it from the beginning.
	var whole json.RawMessage
	if err := json.Unmarshal(src, &whole); err != nil {
		return nil, notJSON(src, err)
	}
	p := &parser{src: src, dec: json.NewDecoder(bytes.NewReader(src))}
	p.dec.UseNumber()
	return p.value(0)
}

func notJSON(src []byte, err error) *syntaxError {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return &syntaxError{0, "not JSON: " + err.Error()}
	}
	if int(syntax.Offset) >= len(src) && strings.HasPrefix(syntax.Error(), "unexpected end") {
		return &syntaxError{len(src), "not JSON: it ends in the middle"}
	}
	return &syntaxError{max(0, int(syntax.Offset)-1), "not JSON: " + syntax.Error()}
}

type parser struct {
	src []byte
	dec *json.Decoder
}

// next is the offset at which the next token begins.
func (p *parser) next() int {
	off := int(p.dec.InputOffset())
	for off < len(p.src) && strings.IndexByte(" \t\r\n,:", p.src[off]) >= 0 {
		off++
	}
	return off
}

// fail is for tokens that the first look let through.
func (p *parser) fail(err error) *syntaxError {
	return &syntaxError{p.next(), "not JSON: " + err.Error()}
}

func (p *parser) value(depth int) (*node, *syntaxError) {
	at := p.next()
	tok, err := p.dec.Token()
	if err != nil {
		return nil, p.fail(err)
	}
	n := &node{offset: at}
	delim, ok := tok.(json.Delim)
	if !ok {
		n.value = tok
		n.literal = strings.TrimSpace(string(p.src[at:min(int(p.dec.InputOffset()), at+80)]))
		return n, nil
	}
	if depth == maxDepth {
		return nil, &syntaxError{at, fmt.Sprintf("nested deeper than %d levels", maxDepth)}
	}
	if delim == '{' {
		n.literal = "an object"
		members, err := p.members(depth)
		n.value = members
		return n, err
	}
	n.literal = "a list"
	list := []*node{}
	for p.dec.More() {
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	n.value = list
	return n, p.close()
}

func (p *parser) members(depth int) ([]member, *syntaxError) {
	members := []member{}
	seen := map[string]bool{}
	for p.dec.More() {
		at := p.next()
		tok, err := p.dec.Token()
		if err != nil {
			return nil, p.fail(err)
		}
		key, ok := tok.(string)
		if !ok {
			return nil, &syntaxError{at, "not JSON: a key is a string"}
		}
		if seen[key] {
			return nil, &syntaxError{at, fmt.Sprintf("the key %q stands there twice", key)}
		}
		seen[key] = true
		v, serr := p.value(depth + 1)
		if serr != nil {
			return nil, serr
		}
		members = append(members, member{key, at, v})
	}
	return members, p.close()
}

// close takes the closing bracket.
func (p *parser) close() *syntaxError {
	if _, err := p.dec.Token(); err != nil {
		return p.fail(err)
	}
	return nil
}

// position turns an offset into line and column, both from 1; a column counts
// characters.
func position(src []byte, offset int) (line, column int) {
	before := src[:max(0, min(offset, len(src)))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte{'\n'}) + 1, utf8.RuneCount(before[start:]) + 1
}
