package view

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/hashicorp/hcl/v2"

	"github.com/okstra/okstra/lang"
	"github.com/okstra/okstra/lang/plan"
)

// Diagnostic is one finding about a definition: the same facts for people and
// for programs.
type Diagnostic struct {
	Severity string   `json:"severity"` // error or warning
	Summary  string   `json:"summary"`
	Detail   string   `json:"detail,omitempty"`
	Range    *Range   `json:"range,omitempty"`
	Snippet  *Snippet `json:"snippet,omitempty"`
	// Following is how many further errors of its file it stands for; 0 where
	// it stands for itself.
	Following int `json:"following,omitempty"`
}

// Range is a place in a file. Lines and columns count from 1, columns in
// characters as a person counts them, bytes from 0.
type Range struct {
	Filename string `json:"filename"`
	Start    Place  `json:"start"`
	End      Place  `json:"end"`
}

// Place is one end of a Range.
type Place struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Byte   int `json:"byte"`
}

// Snippet is the first line of the range. Start and End are byte offsets in
// Code of what the diagnostic is about.
type Snippet struct {
	Code  string `json:"code"`
	Line  int    `json:"line"`
	Start int    `json:"start"`
	End   int    `json:"end"`
}

// Diagnostics is the JSON document of diagnostics.
type Diagnostics struct {
	Valid       bool         `json:"valid"`
	Errors      int          `json:"errors"`
	Warnings    int          `json:"warnings"`
	Diagnostics []Diagnostic `json:"diagnostics"`
}

// NewDiagnostics sorts diagnostics by file and place and takes their snippets
// from files. File names below dir become relative to it.
func NewDiagnostics(diags hcl.Diagnostics, files map[string]*hcl.File, dir string) Diagnostics {
	out := Diagnostics{Valid: !diags.HasErrors(), Diagnostics: []Diagnostic{}}
	for _, d := range diags {
		n := Diagnostic{Severity: "error", Summary: d.Summary, Detail: d.Detail}
		if d.Severity == hcl.DiagWarning {
			n.Severity = "warning"
			out.Warnings++
		} else {
			out.Errors++
		}
		if more, ok := hcl.DiagnosticExtra[lang.Following](d); ok {
			n.Following = int(more)
			out.Errors += n.Following - 1
		}
		if d.Subject != nil {
			n.Range = newRange(*d.Subject, dir)
			if f := files[d.Subject.Filename]; f != nil {
				n.Snippet = newSnippet(f.Bytes, *d.Subject)
			}
		}
		out.Diagnostics = append(out.Diagnostics, n)
	}
	slices.SortStableFunc(out.Diagnostics, func(a, b Diagnostic) int { return a.Range.compare(b.Range) })
	return out
}

// compare orders places; what has no place comes first.
func (r *Range) compare(other *Range) int {
	switch {
	case r == nil && other == nil:
		return 0
	case r == nil:
		return -1
	case other == nil:
		return 1
	}
	return cmp.Or(
		strings.Compare(r.Filename, other.Filename),
		cmp.Compare(r.Start.Byte, other.Start.Byte),
		cmp.Compare(r.End.Byte, other.End.Byte),
	)
}

func newRange(r hcl.Range, dir string) *Range {
	return &Range{
		Filename: shorten(dir, r.Filename),
		Start:    Place{r.Start.Line, r.Start.Column, r.Start.Byte},
		End:      Place{r.End.Line, r.End.Column, r.End.Byte},
	}
}

// longestSnippet bounds the bytes of a line that are kept around the place.
const longestSnippet = 400

// newSnippet returns nil where the range lies outside the source, which
// happens for places that an expression made up.
func newSnippet(src []byte, r hcl.Range) *Snippet {
	if r.Start.Byte < 0 || r.Start.Byte > len(src) || r.End.Byte < r.Start.Byte {
		return nil
	}
	from := bytes.LastIndexByte(src[:r.Start.Byte], '\n') + 1
	to := len(src)
	if i := bytes.IndexByte(src[r.Start.Byte:], '\n'); i >= 0 {
		to = r.Start.Byte + i
	}
	if from < r.Start.Byte-longestSnippet/2 {
		from = r.Start.Byte - longestSnippet/2
	}
	to = min(to, from+longestSnippet)
	code := strings.TrimRight(string(src[from:to]), "\r")
	start := min(r.Start.Byte-from, len(code))
	end := min(max(r.End.Byte-from, start), len(code))
	return &Snippet{Code: code, Line: r.Start.Line, Start: start, End: end}
}

// Diagnostics shows what was found, warnings and errors together in the order
// of the source, on Err; with JSON as the document on Out.
func (v *View) Diagnostics(diags hcl.Diagnostics, files map[string]*hcl.File) error {
	d := NewDiagnostics(diags, files, v.Dir)
	if v.JSON {
		return v.document(d)
	}
	return v.Err.print(d.lines(v.Err.screen())...)
}

// Warnings shows the diagnostics of something that worked: on Err in the human
// form, so that with JSON Out still holds one document.
func (v *View) Warnings(diags hcl.Diagnostics, files map[string]*hcl.File) {
	if len(diags) > 0 {
		// Nobody can be told that the stream for telling is broken.
		_ = v.Err.print(NewDiagnostics(diags, files, v.Dir).lines(v.Err.screen())...)
	}
}

func (d Diagnostics) lines(sc screen) []line {
	var out []line
	for _, n := range d.Diagnostics {
		out = append(out, n.lines(sc)...)
		out = append(out, blank)
	}
	if d.Errors+d.Warnings > 0 {
		var l line
		if d.Errors > 0 {
			l = append(l, span{bad, plan.Count(d.Errors, "error")})
		}
		if d.Warnings > 0 {
			if len(l) > 0 {
				l = append(l, span{plain, ", "})
			}
			l = append(l, span{warn, plan.Count(d.Warnings, "warning")})
		}
		out = append(out, l)
	}
	return out
}

func (n Diagnostic) lines(sc screen) []line {
	st := bad
	if n.Severity == "warning" {
		st = warn
	}
	if n.Following > 0 {
		return sc.folds(line{{st, "error: "}, {plain, n.Detail}})
	}
	head := line{}
	if n.Range != nil {
		head = append(head, span{strong, fmt.Sprintf("%s:%d:%d: ", n.Range.Filename, n.Range.Start.Line, n.Range.Start.Column)})
	}
	head = append(head, span{st, n.Severity + ": "}, span{strong, n.Summary})
	out := sc.folds(head)
	if s := n.Snippet; s != nil {
		out = append(out, s.lines(st, sc.width)...)
	}
	if n.Detail != "" {
		out = append(out, wrapped(n.Detail, "  ", min(sc.width, 100), plain)...)
	}
	return out
}

// lines draws the code with a caret line below. Both are measured after
// cleaning, so the carets stand below what they mean whatever the source holds.
// Of a line that is too wide for the screen the part around the place is shown.
func (s *Snippet) lines(st style, width int) []line {
	gutter := fmt.Sprintf("%5d | ", s.Line)
	room := max(width-columns(gutter), 20)
	before, at := Clean(s.Code[:s.Start]), Clean(s.Code[s.Start:s.End])
	code := before + at + Clean(s.Code[s.End:])
	if over := columns(before) - room/2; over > 0 && columns(code) > room {
		code = ansi.TruncateLeft(code, over+1, "…")
		before = ansi.TruncateLeft(before, over+1, "…")
	}
	code = ansi.Truncate(code, room, "…")
	carets := strings.Repeat("^", min(max(columns(at), 1), max(room-columns(before), 1)))
	return []line{
		{{faint, gutter}, {plain, code}},
		{{faint, strings.Repeat(" ", 5) + " | "}, {plain, strings.Repeat(" ", columns(before))}, {st, carets}},
	}
}
