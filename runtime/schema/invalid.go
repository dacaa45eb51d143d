package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"unicode"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
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

// invalid flattens the library's tree of causes to its leaves, which are the
// places that an author can change.
func invalid(name string, root *jsonschema.ValidationError) *Invalid {
	printer := message.NewPrinter(language.English)
	seen := map[Place]bool{}
	var places []Place
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(e.Causes) == 0 {
			p := Place{Pointer: harmless(pointer(e.InstanceLocation)), Problem: harmless(e.ErrorKind.LocalizedString(printer))}
			if !seen[p] {
				seen[p] = true
				places = append(places, p)
			}
			return
		}
		for _, c := range e.Causes {
			walk(c)
		}
	}
	walk(root)
	sort.Slice(places, func(i, j int) bool {
		if places[i].Pointer != places[j].Pointer {
			return places[i].Pointer < places[j].Pointer
		}
		return places[i].Problem < places[j].Problem
	})
	out := &Invalid{Name: name, Places: places}
	if len(places) > maxPlaces {
		out.Places, out.More = places[:maxPlaces], len(places)-maxPlaces
	}
	return out
}

func pointer(tokens []string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(t))
	}
	return b.String()
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
