package providers

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// checkHarmless fails where s could do anything to a terminal.
func checkHarmless(t testing.TB, s string) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Errorf("not valid UTF-8: %q", s)
	}
	for _, r := range s {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			t.Errorf("%U in %q", r, s)
		}
	}
}

func TestClean(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"plain", "all is well", "all is well"},
		{"empty", "", ""},
		{"other scripts", "größer 価格 🙂 👩‍🚀", "größer 価格 🙂 👩‍🚀"},
		{"tab and line breaks", "a\tb\rc\nd\u2028e", "a b c d e"},
		{"colour", "\x1b[1;31mred\x1b[0m", "red"},
		{"private CSI", "\x1b[?1049hscreen", "screen"},
		{"title by BEL", "\x1b]0;owned\x07x", "x"},
		{"title by ST", "\x1b]2;owned\x1b\\x", "x"},
		{"clipboard", "\x1b]52;c;QUJD\x07x", "x"},
		{"device control", "\x1bPq#0;1\x1b\\x", "x"},
		{"reset", "\x1bcx", "x"},
		{"character set", "\x1b(0x", "x"},
		{"stray escape", "a\x1b", "a\uFFFD"},
		{"escape before a control", "a\x1b\x07b", "a\uFFFD\uFFFDb"},
		{"title without end", "\x1b]0;all of this stays", "\uFFFD]0;all of this stays"},
		{"CSI cut by a control", "\x1b[3\x07x", "\uFFFD[3\uFFFDx"},
		{"C0 and DEL", "\x00\x08\x7f", "\uFFFD\uFFFD\uFFFD"},
		{"C1 as UTF-8", "\u009b2J\u0085", "\uFFFD2J\uFFFD"},
		{"C1 as a byte", "\x9b2J", "\uFFFD2J"},
		{"bidi", "\u202etxt\u202c \u2066a\u2069 \u200f \u061c", "\uFFFDtxt\uFFFD \uFFFDa\uFFFD \uFFFD \uFFFD"},
		{"byte order mark", "\uFEFFx", "\uFFFDx"},
		{"escape in an escape", "\x1b[\x1b[31mx", "\uFFFD[x"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Clean(tc.in)
			if got != tc.want {
				t.Errorf("Clean(%q) = %q, want %q", tc.in, got, tc.want)
			}
			checkHarmless(t, got)
		})
	}
}

func TestCleanLongEscape(t *testing.T) {
	got := Clean("\x1b]0;" + strings.Repeat("x", 2*maxEscape) + "\x07end")
	if !strings.HasSuffix(got, "xx\uFFFDend") {
		t.Errorf("a sequence longer than %d bytes was swallowed", maxEscape)
	}
}

func TestClip(t *testing.T) {
	for _, tc := range []struct {
		in   string
		n    int
		want string
	}{
		{"short", 10, "short"},
		{"exactly ten", 11, "exactly ten"},
		{"a little longer", 8, "a lit..."},
		{"größer als zehn", 8, "größe..."},
	} {
		if got := clip(tc.in, tc.n); got != tc.want {
			t.Errorf("clip(%q, %d) = %q, want %q", tc.in, tc.n, got, tc.want)
		}
	}
	if got := clipBytes("größer", 3); got != "gr" {
		t.Errorf("clipBytes split a character: %q", got)
	}
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b[31m\u202e\x9b")
	f.Fuzz(func(t *testing.T, s string) {
		got := Clean(s)
		checkHarmless(t, got)
		if again := Clean(got); again != got {
			t.Errorf("Clean(Clean(%q)) = %q, not %q", s, again, got)
		}
	})
}
