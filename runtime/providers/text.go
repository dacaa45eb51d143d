package providers

import (
	"fmt"
	"strings"
)

// maxShown is the longest line for the screen, in runes. The log has the rest.
const maxShown = 2000

// textStream is plain output: every line is shown as it is, and the whole is
// the final text.
type textStream struct {
	final   finalText
	started bool
	inLine  bool // pieces of the present line were seen
	fold    folding
}

func (t *textStream) Line(line []byte, more bool) []Shown {
	first := !t.inLine
	t.inLine = more
	if t.started && first {
		t.final.add("\n")
	}
	t.started = true
	if !t.final.truncated {
		t.final.add(string(line))
	}
	if !first {
		return nil
	}
	if asIs, instead := t.fold.take(string(line[:min(len(line), maxShown)])); !asIs {
		return instead
	}
	return []Shown{plainLine(line, more)}
}

func (t *textStream) Busy() bool { return false }

func (t *textStream) End() Outcome {
	text := t.final.String()
	if text != "" && !t.final.truncated {
		text += "\n"
	}
	return Outcome{FinalText: text, HasFinal: t.started, Truncated: t.final.truncated}
}

// plainLine shows the beginning of a line that is no record.
func plainLine(line []byte, more bool) Shown {
	// A rune has at most four bytes, so this is never too little.
	head := clipBytes(string(line[:min(len(line), 4*maxShown+maxEscape)]), 4*maxShown+maxEscape)
	text := strings.TrimRight(Clean(head), " ")
	short := clip(text, maxShown)
	if more || short != text || len(head) < len(line) {
		short = fmt.Sprintf("%s [a long line, the rest is in the log]", strings.TrimSuffix(short, "..."))
	}
	return Shown{Kind: ShownText, Text: short}
}

// finalText gathers text up to MaxFinal bytes and keeps the beginning.
type finalText struct {
	b         strings.Builder
	truncated bool
}

func (f *finalText) add(s string) {
	if f.truncated {
		return
	}
	if room := MaxFinal - f.b.Len(); len(s) > room {
		s = clipBytes(s, room)
		f.truncated = true
	}
	f.b.WriteString(s)
}

func (f *finalText) reset() { *f = finalText{} }

func (f *finalText) String() string { return f.b.String() }
