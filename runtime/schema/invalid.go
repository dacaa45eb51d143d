package schema

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
)

// Invalid is what is wrong with a document. It holds at most maxPlaces places.
type Invalid struct {
	Name   string // of the schema
	Places []Place
	More   int // how many places were left out
}

// Place is one place of a document and what is wrong there.
type Place struct {
	Pointer string // JSON pointer; empty for the document as a whole
	Problem string // one line, free of control characters
}

const (
	maxPlaces  = 20
	maxProblem = 300 // bytes
)

func (e *Invalid) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "not a valid %s document", e.Name)
	for i, p := range e.Places {
		sep := "; "
		if i == 0 {
			sep = ": "
		}
		b.WriteString(sep + p.String())
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "; and %d more", e.More)
	}
	return b.String()
}

func (p Place) String() string {
	if p.Pointer == "" {
		return p.Problem
	}
	return p.Pointer + ": " + p.Problem
}

// invalid sorts what was found and bounds it.
func invalid(name string, found []fault) *Invalid {
	places := make([]Place, 0, len(found))
	for _, f := range found {
		places = append(places, Place{Pointer: harmless(f.Pointer), Problem: harmless(f.Problem)})
	}
	slices.SortFunc(places, func(a, b Place) int {
		return cmp.Or(strings.Compare(a.Pointer, b.Pointer), strings.Compare(a.Problem, b.Problem))
	})
	out := &Invalid{Name: name, Places: slices.Compact(places)}
	if n := len(out.Places); n > maxPlaces {
		out.Places, out.More = out.Places[:maxPlaces], n-maxPlaces
	}
	return out
}

// harmless makes text from a document fit for a terminal and a record: one
// line, bounded, without control characters.
func harmless(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
	if len(s) <= maxProblem {
		return s
	}
	cut := maxProblem
	for cut > 0 && s[cut]&0xC0 == 0x80 {
		cut--
	}
	return s[:cut] + "…"
}

func notJSON(doc []byte, err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		line, column := position(doc, int(syntax.Offset)-1)
		return fmt.Errorf("not JSON: %s at line %d, column %d", harmless(err.Error()), line, column)
	case errors.Is(err, io.EOF):
		return errors.New("not JSON: it is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("not JSON: it ends in the middle of a value")
	}
	return fmt.Errorf("not JSON: %s", harmless(err.Error()))
}

// position turns an offset into line and column (in bytes), both from 1.
func position(doc []byte, offset int) (line, column int) {
	offset = max(0, min(offset, len(doc)))
	before := string(doc[:offset])
	return strings.Count(before, "\n") + 1, offset - strings.LastIndexByte(before, '\n')
}
