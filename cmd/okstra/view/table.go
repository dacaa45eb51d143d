package view

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// screen is the room that a result has.
type screen struct {
	width int // columns, for prose
	// fits says that rows have to fit in as well: a person looks on, or COLUMNS
	// asks for it. Whoever reads a pipe gets everything.
	fits bool
}

// give is one step of how a table gives way where it is wider than the screen.
type give struct {
	column int
	least  int // so many columns of it stay at least
	how    way
}

// way says what becomes of a column that gives way. The zero value is none.
type way int

const (
	leftOut   way = iota + 1
	cutEnd        // an ellipsis stands for the end of its texts
	cutMiddle     // an ellipsis stands for their middle: a key ends in what tells it apart
	broken        // its texts go over several lines
)

func leaveOut(column int) give          { return give{column, 0, leftOut} }
func cut(column, least int) give        { return give{column, least, cutEnd} }
func cutKey(column, least int) give     { return give{column, least, cutMiddle} }
func breakLines(column, least int) give { return give{column, least, broken} }

// of is what stays of a column where so much is over.
func (g give) of(width, over int) int { return max(width-over, g.least) }

// table aligns rows by columns of terminal cells, so that wide characters take
// their two. Where the rows have to fit and do not, columns that hold nothing
// below their heading go first, then the steps are taken in their order, each
// no further than is needed.
func (sc screen) table(rows [][]span, indent string, steps ...give) []line {
	natural := columnWidths(rows)
	widths := slices.Clone(natural)
	ways := make([]way, len(widths))
	over := func() int {
		total := columns(indent) - 2
		for i, w := range widths {
			if ways[i] != leftOut {
				total += w + 2
			}
		}
		return total - sc.width
	}
	if sc.fits {
		for i := range widths {
			if over() > 0 && headingOnly(rows, i) {
				ways[i] = leftOut
			}
		}
		for _, g := range steps {
			o := over()
			switch {
			case o <= 0 || g.column >= len(widths) || ways[g.column] == leftOut:
			case g.how == leftOut:
				ways[g.column] = leftOut
			case g.of(widths[g.column], o) < widths[g.column]:
				widths[g.column], ways[g.column] = g.of(widths[g.column], o), g.how
			}
		}
		// A column that was left out may have made more room than was needed.
		for _, g := range slices.Backward(steps) {
			if spare := -over(); spare > 0 && g.column < len(widths) && ways[g.column] != leftOut {
				widths[g.column] = min(widths[g.column]+spare, natural[g.column])
			}
		}
	}
	out := make([]line, 0, len(rows))
	for _, row := range rows {
		out = append(out, tableRow(row, indent, widths, ways)...)
	}
	return out
}

func columnWidths(rows [][]span) []int {
	var widths []int
	for _, row := range rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], columns(Clean(c.text)))
		}
	}
	return widths
}

// headingOnly reports whether nothing stands below the heading of a column.
func headingOnly(rows [][]span, column int) bool {
	if len(rows) < 2 || len(rows[0]) <= column || rows[0][column].style != heading {
		return false
	}
	for _, row := range rows[1:] {
		if len(row) > column && row[column].text != "" {
			return false
		}
	}
	return true
}

// tableRow lays one row out; it has several lines where a text is broken.
func tableRow(row []span, indent string, widths []int, ways []way) []line {
	var shown []int
	texts := make([][]string, len(row))
	height := 1
	for i, c := range row {
		if ways[i] == leftOut {
			continue
		}
		shown = append(shown, i)
		texts[i] = cell(Clean(c.text), widths[i], ways[i])
		height = max(height, len(texts[i]))
	}
	out := make([]line, height)
	for n := range out {
		l := line{{plain, indent}}
		for at, i := range shown {
			text := ""
			if n < len(texts[i]) {
				text = texts[i][n]
			}
			l = append(l, span{row[i].style, text})
			if at < len(shown)-1 {
				l = append(l, span{plain, strings.Repeat(" ", max(widths[i]-columns(text), 0)+2)})
			}
		}
		out[n] = l
	}
	return out
}

// cell is the text of one cell in its column, as lines.
func cell(text string, width int, how way) []string {
	n := columns(text)
	if n <= width {
		return []string{text}
	}
	switch how {
	case cutEnd:
		return []string{ansi.Truncate(text, width, "…")}
	case cutMiddle:
		tail := (width - 1) / 2
		return []string{ansi.Truncate(text, width-1-tail, "") + "…" + ansi.TruncateLeft(text, n-tail, "")}
	case broken:
		lines := strings.Split(ansi.Wrap(text, width, "/"), "\n")
		for i := range lines {
			lines[i] = strings.TrimSpace(lines[i])
		}
		return lines
	}
	return []string{text}
}

// heads makes the first row of a table.
func heads(names ...string) []span {
	row := make([]span, len(names))
	for i, n := range names {
		row[i] = span{heading, n}
	}
	return row
}

// folded breaks a line that does not fit at spaces, and begins what follows at
// hang. A word that is wider than the screen stays whole, so that a path can
// be copied.
func (sc screen) folded(l line, hang int) []line {
	if !sc.fits || columns(l.render(false)) <= sc.width {
		return []line{l}
	}
	var out []line
	var now line
	at := 0
	for i, w := range wordsOf(l) {
		if i > 0 && at > hang && at+w.gap+w.width > sc.width {
			out = append(out, now)
			now, at, w.gap = line{{plain, strings.Repeat(" ", hang)}}, hang, 0
		}
		now = now.with(w)
		at += w.gap + w.width
	}
	return append(out, now)
}

// folds is folded for lines that begin at the same place: what follows stands
// two columns further in than their own indentation.
func (sc screen) folds(lines ...line) []line {
	var out []line
	for _, l := range lines {
		text := l.render(false)
		out = append(out, sc.folded(l, columns(text)-columns(strings.TrimLeft(text, " "))+2)...)
	}
	return out
}

// word is what stands between spaces, in one or several styles.
type word struct {
	gap   int // spaces before it
	spans line
	width int
}

// with adds a word; what has the style of the one before goes on in it.
func (l line) with(w word) line {
	gap := strings.Repeat(" ", w.gap)
	if n := len(l); n > 0 && l[n-1].style == w.spans[0].style {
		l[n-1].text += gap + w.spans[0].text
		return append(l, w.spans[1:]...)
	}
	return append(append(l, span{plain, gap}), w.spans...)
}

func wordsOf(l line) []word {
	var out []word
	now := word{}
	for _, s := range l {
		for i, part := range strings.Split(Clean(s.text), " ") {
			if i > 0 {
				if len(now.spans) > 0 {
					out = append(out, now)
					now = word{}
				}
				now.gap++
			}
			if part != "" {
				now.spans = append(now.spans, span{s.style, part})
				now.width += columns(part)
			}
		}
	}
	if len(now.spans) > 0 {
		out = append(out, now)
	}
	return out
}
