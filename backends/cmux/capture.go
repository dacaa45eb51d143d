package cmux

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/okstra/okstra/backends"
)

// Capture implements backends.Backend. cmux draws nothing before a surface was
// shown once; that is an error, not an empty screen.
func (b *Backend) Capture(ctx context.Context, h backends.Handle, lines int) (string, error) {
	fail := func(err error) (string, error) {
		return "", fmt.Errorf("read the screen of surface %s: %w", h.Pane, err)
	}
	if err := valid(h); err != nil {
		return fail(err)
	}
	if lines <= 0 {
		return "", nil
	}
	s := newSession(b.link(h.Socket))
	defer s.Close()
	v := newSurvey(s)
	r, workspace, err := v.locate(ctx, h)
	if err != nil {
		return fail(err)
	}
	if b.own(ctx, v, h, r) != mine {
		return fail(errors.New("it is not provably okstra's"))
	}
	var screen struct {
		Text string `json:"text"`
	}
	err = s.call(ctx, "surface.read_text", map[string]any{
		// The rows below the cursor count as lines, so more are asked for.
		"workspace_id": workspace, "surface_id": r.ID, "scrollback": true, "lines": lines + 200,
	}, &screen)
	if err != nil {
		return fail(err)
	}
	return tail(screen.Text, lines), nil
}

// tail cuts the last lines off, without the blank rest of the screen.
func tail(text string, lines int) string {
	all := strings.Split(strings.TrimRight(text, " \t\r\n"), "\n")
	if len(all) > lines {
		all = all[len(all)-lines:]
	}
	for i, l := range all {
		all[i] = strings.TrimRight(strings.Map(drawable, l), " ")
	}
	return strings.Join(all, "\n")
}

func drawable(r rune) rune {
	if (r < ' ' && r != '\t') || r == 0x7f || (r >= 0x80 && r < 0xa0) {
		return -1
	}
	return r
}
