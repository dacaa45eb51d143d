package view

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes text from elsewhere harmless on a terminal: control characters,
// bytes that are not UTF-8 and marks that reorder what is shown become
// visible. A tab becomes a space; a line end becomes visible too, since Clean
// is for one line.
func Clean(s string) string {
	if strings.IndexFunc(s, dangerous) < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == utf8.RuneError:
			b.WriteRune(r)
		case r == '\t':
			b.WriteByte(' ')
		case r < 0x20:
			b.WriteRune(0x2400 + r) // the control pictures block
		case r == 0x7f:
			b.WriteRune(0x2421)
		case dangerous(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// dangerous reports what Clean replaces. RuneError stands for bytes that are
// not UTF-8; a real U+FFFD in the text passes through Clean unchanged.
func dangerous(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r < 0xa0, r == utf8.RuneError:
		return true
	case r == 0x2028, r == 0x2029:
		return true
	}
	// The zero width joiner holds emoji together and moves nothing.
	return r != 0x200d && unicode.Is(unicode.Cf, r)
}

// CleanLines is Clean for text of several lines.
func CleanLines(s string) []string {
	s = strings.TrimSuffix(s, "\n")
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = Clean(strings.TrimSuffix(l, "\r"))
	}
	return lines
}
