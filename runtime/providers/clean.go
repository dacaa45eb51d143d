package providers

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// replacement stands where a character was that could change what a terminal
// does or in which order it shows text.
const replacement = '\uFFFD'

// Clean makes one line of foreign text harmless for a terminal, and keeps it
// readable: escape sequences are taken out, tabs and line breaks become spaces,
// other control characters (C0, DEL, C1), bidirectional overrides and invalid
// UTF-8 become U+FFFD. The result is valid UTF-8.
func Clean(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		if n := escapeLen(s[i:]); n > 0 {
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case r == '\t' || r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029':
			b.WriteByte(' ')
		case !harmless(r):
			b.WriteRune(replacement)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// harmless reports whether r may stand on a screen as it is.
func harmless(r rune) bool {
	switch {
	case r == utf8.RuneError, unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
		return false
	case r == '\u2028', r == '\u2029', r == '\uFEFF':
		return false
	}
	return true
}

// maxEscape bounds an escape sequence. A longer one is no sequence: a stray
// ESC must not swallow a line.
const maxEscape = 4096

// escapeLen returns the length of the escape sequence that s begins with: CSI,
// the string sequences (OSC, DCS, SOS, PM, APC) up to their end, or a short
// one; 0 where s begins with none or with one that never ends.
func escapeLen(s string) int {
	if len(s) < 2 || s[0] != 0x1b {
		return 0
	}
	if len(s) > maxEscape {
		s = s[:maxEscape]
	}
	switch s[1] {
	case '[':
		for i := 2; i < len(s); i++ {
			switch c := s[i]; {
			case c >= 0x40 && c <= 0x7e:
				return i + 1
			case c < 0x20 || c > 0x3f:
				return 0
			}
		}
		return 0
	case ']', 'P', 'X', '^', '_':
		for i := 2; i < len(s); i++ {
			if s[i] == 0x07 {
				return i + 1
			}
			if s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\' {
				return i + 2
			}
		}
		return 0
	}
	i := 1
	for i < len(s) && s[i] >= 0x20 && s[i] <= 0x2f {
		i++
	}
	if i < len(s) && s[i] >= 0x30 && s[i] <= 0x7e {
		return i + 1
	}
	return 0
}

// clip shortens s to at most n runes, the last three of them dots.
func clip(s string, n int) string {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	runes := 0
	for i := range s {
		if runes == n-3 {
			return s[:i] + "..."
		}
		runes++
	}
	return s
}

// clipBytes cuts s to at most n bytes without splitting a character.
func clipBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
