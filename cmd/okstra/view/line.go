package view

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// style names what a piece of text is, and so how it looks in colour.
type style int

const (
	plain style = iota + 1
	strong
	faint
	good
	bad
	warn
	info
	heading
)

var styles = map[style]ansi.Style{
	strong:  ansi.NewStyle().Bold(),
	faint:   ansi.NewStyle().Faint(),
	good:    ansi.NewStyle().ForegroundColor(ansi.Green),
	bad:     ansi.NewStyle().Bold().ForegroundColor(ansi.Red),
	warn:    ansi.NewStyle().ForegroundColor(ansi.Yellow),
	info:    ansi.NewStyle().ForegroundColor(ansi.Cyan),
	heading: ansi.NewStyle().Faint(),
}

// span is a piece of one line in one style. Its text may come from anywhere:
// it is cleaned when it is written.
type span struct {
	style style
	text  string
}

// line is one line of output, without its end.
type line []span

// blank is an empty line.
var blank = line{}

// plainLine is a line of plain text.
func plainLine(s string) line { return line{{plain, s}} }

// render returns the line's text; escapes come from styles and nowhere else.
func (l line) render(color bool) string {
	var b strings.Builder
	for _, s := range l {
		text := Clean(s.text)
		st, ok := styles[s.style]
		if !color || !ok || text == "" {
			b.WriteString(text)
			continue
		}
		b.WriteString(st.Styled(text))
	}
	return strings.TrimRight(b.String(), " ")
}

// print writes lines with one call, so that output of two goroutines never
// mixes inside a line.
func (s *Stream) print(lines ...line) error {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.render(s.color))
		b.WriteByte('\n')
	}
	_, err := s.w.Write([]byte(b.String()))
	return err
}

// columns is the width of text on a terminal.
func columns(s string) int { return ansi.StringWidth(s) }

// wrapped breaks text into lines of at most width columns, each after indent.
// It breaks at spaces alone, so that a path or a command word that is wider
// stays one and can be copied. Line ends in the text are kept.
func wrapped(text, indent string, width int, st style) []line {
	var out []line
	room := max(width-columns(indent), 20)
	for _, part := range CleanLines(text) {
		rest := ""
		for i, word := range strings.Split(part, " ") {
			switch {
			case i == 0:
				rest = word
			case columns(rest)+1+columns(word) > room:
				out = append(out, line{{plain, indent}, {st, rest}})
				rest = word
			default:
				rest += " " + word
			}
		}
		out = append(out, line{{plain, indent}, {st, rest}})
	}
	return out
}
