package view

import (
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/term"
)

// ColorMode says when to colour. The zero value is invalid.
type ColorMode string

const (
	ColorAuto   ColorMode = "auto"
	ColorAlways ColorMode = "always"
	ColorNever  ColorMode = "never"
)

// ParseColorMode reads the value of --color.
func ParseColorMode(s string) (ColorMode, error) {
	switch m := ColorMode(s); m {
	case ColorAuto, ColorAlways, ColorNever:
		return m, nil
	}
	return "", fmt.Errorf("--color is auto, always or never, not %q", s)
}

// defaultWidth is used where nothing tells the width.
const defaultWidth = 80

// Stream is one output stream with what was detected of it, once.
type Stream struct {
	w        io.Writer
	terminal bool
	color    bool
	width    int  // columns
	sized    bool // a terminal or COLUMNS told the width
}

// NewStream detects what w is. Colour is decided by, strongest first: mode,
// NO_COLOR (any value but the empty one), CLICOLOR_FORCE, TERM=dumb, and
// whether this very stream is a terminal.
func NewStream(w io.Writer, mode ColorMode, getenv func(string) string) *Stream {
	s := &Stream{w: w, width: defaultWidth}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		s.terminal = true
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			s.width, s.sized = columns, true
		}
	}
	if n, err := strconv.Atoi(getenv("COLUMNS")); err == nil && n > 0 {
		s.width, s.sized = n, true
	}
	s.width = max(s.width, 20)
	s.color = colored(mode, s.terminal, getenv)
	return s
}

func colored(mode ColorMode, terminal bool, getenv func(string) string) bool {
	switch mode {
	case ColorAlways:
		return true
	case ColorNever:
		return false
	}
	if getenv("NO_COLOR") != "" {
		return false
	}
	if f := getenv("CLICOLOR_FORCE"); f != "" && f != "0" {
		return true
	}
	return terminal && getenv("TERM") != "dumb"
}

// Terminal reports whether a person sees this stream as it is written.
func (s *Stream) Terminal() bool { return s.terminal }

// screen is the room on this stream.
func (s *Stream) screen() screen { return screen{s.width, s.sized} }

// Width is the number of columns.
func (s *Stream) Width() int { return s.width }

// Write passes bytes on as they are; the caller has made them harmless.
func (s *Stream) Write(b []byte) (int, error) { return s.w.Write(b) }
