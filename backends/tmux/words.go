package tmux

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// command is one tmux command: its name and its words, not yet escaped for the
// command line.
type command []string

// builtin spells the name of a tmux command so that a user's command-alias of
// that name does not replace it: tmux takes any unambiguous beginning, and an
// alias is only looked up by its whole name.
func builtin(name string) string { return name[:len(name)-1] }

// longName undoes builtin, for messages.
func longName(short string) string {
	for _, name := range names {
		if builtin(name) == short {
			return name
		}
	}
	return short
}

// names are the commands that okstra uses. What it never uses: send-keys,
// respawn-pane, wait-for.
var names = []string{
	"break-pane", "capture-pane", "display-message", "if-shell", "join-pane", "kill-pane", "kill-server",
	"list-panes", "list-windows", "new-session", "new-window", "resize-pane", "select-layout", "select-pane",
	"set-option", "show-options", "split-window",
}

func cmd(name string, words ...string) command {
	return append(command{builtin(name)}, words...)
}

// chain joins commands to the words of one client call.
func chain(cmds []command) []string {
	var out []string
	for i, c := range cmds {
		if i > 0 {
			out = append(out, ";")
		}
		for _, w := range c {
			out = append(out, escapeWord(w))
		}
	}
	return out
}

// escapeWord keeps tmux from taking a word's final semicolon for the end of
// the command.
func escapeWord(w string) string {
	if strings.HasSuffix(w, ";") {
		return w[:len(w)-1] + `\;`
	}
	return w
}

// escapeFormat makes text harmless where tmux expands formats: nothing in it
// is looked up, and #(…) runs nothing. What could steer a terminal or turn the
// direction of the text becomes a space.
func escapeFormat(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control) {
			return ' '
		}
		return r
	}, text)
	return strings.ReplaceAll(text, "#", "##")
}

// maxTitle bounds a pane's title in runes.
const maxTitle = 120

func title(text string) string {
	if utf8.RuneCountInString(text) > maxTitle {
		text = string([]rune(text)[:maxTitle-1]) + "…"
	}
	return escapeFormat(text)
}

// What tmux numbers, as it writes it.
func isPane(s string) bool    { return strings.HasPrefix(s, "%") && isNumber(s[1:], 9) }
func isWindow(s string) bool  { return strings.HasPrefix(s, "@") && isNumber(s[1:], 9) }
func isSession(s string) bool { return strings.HasPrefix(s, "$") && isNumber(s[1:], 9) }

// isEpoch tells a server's start time.
func isEpoch(s string) bool { return isNumber(s, 20) }

func isNumber(s string, most int) bool {
	return s != "" && len(s) <= most && strings.Trim(s, "0123456789") == ""
}

// maxPlain bounds a tag and a label in bytes.
const maxPlain = 200

func isTag(s string) bool   { return s != "" && isPlain(s, "_.-") }
func isLabel(s string) bool { return isPlain(s, " ._-") }

// isPlain tells a text of ASCII letters, digits and the other characters.
func isPlain(s, others string) bool {
	return len(s) <= maxPlain && !strings.ContainsFunc(s, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune(others, r)
	})
}

// maxCommand bounds the words of one launch, and maxChain those of one client
// call: tmux refuses a message of more than 16364 bytes.
const (
	maxCommand = 8 << 10
	maxChain   = 14 << 10
)

// checkLaunch refuses what must not become words of tmux.
func checkLaunch(argv []string, tag, label string) error {
	if len(argv) < 2 {
		// One word alone would be run by the user's shell.
		return fmt.Errorf("supervisor command %q has fewer than two words", argv)
	}
	if !strings.HasPrefix(argv[0], "/") {
		return fmt.Errorf("supervisor program %q is no absolute path", argv[0])
	}
	size := 0
	for _, w := range argv {
		size += len(w) + 1
		if strings.ContainsRune(w, 0) {
			return fmt.Errorf("supervisor command %q holds a NUL", argv)
		}
	}
	if size > maxCommand {
		return fmt.Errorf("supervisor command of %d bytes is longer than %d", size, maxCommand)
	}
	if !isTag(tag) {
		return fmt.Errorf("tag %q is not made of A-Z a-z 0-9 _ . -", tag)
	}
	if !isLabel(label) {
		return fmt.Errorf("label %q is not made of A-Z a-z 0-9 space . _ -", label)
	}
	return nil
}

func size(words []string) int {
	n := 0
	for _, w := range words {
		n += len(w) + 1
	}
	return n
}
