package cmux

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/okstra/okstra/backends"
)

// Announce implements backends.Announcer: a chip and a progress bar in the
// sidebar entry of the lead's workspace, a line in its log, and a notification
// on the lead's surface when somebody is wanted.
func (b *Backend) Announce(ctx context.Context, n backends.Notice) error {
	s, a, err := b.anchor(ctx)
	if err != nil {
		return fmt.Errorf("announce in cmux: %w", err)
	}
	defer s.Close()
	var errs []error
	for _, line := range sidebar(n, a.workspace) {
		errs = append(errs, s.side(ctx, line))
	}
	if n.Alert {
		errs = append(errs, s.call(ctx, "notification.create_for_surface", map[string]any{
			"workspace_id": a.workspace, "surface_id": a.surface,
			"title": "okstra " + printable(n.Run), "body": printable(n.Text),
		}, nil))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("announce in cmux: %w", err)
	}
	return nil
}

// sidebar composes the lines of the older protocol, which alone has them. Its
// words are not quoted, so texts are reduced to what needs no quoting.
func sidebar(n backends.Notice, workspace string) []string {
	key, text := "okstra-"+word(n.Run), sentence(n.Text)
	tab := " --tab=" + workspace
	level := n.Level
	switch level {
	case "info", "success", "warning", "error", "progress":
	default:
		level = "info"
	}
	var lines []string
	if n.Ended {
		lines = append(lines, "clear_status "+key+tab, "clear_progress"+tab)
	} else {
		lines = append(lines, "set_status "+key+" "+text+tab)
		if n.Total > 0 {
			part := float64(min(max(n.Done, 0), n.Total)) / float64(n.Total)
			lines = append(lines, fmt.Sprintf("set_progress %.3f --label=%s%s", part, key, tab))
		}
	}
	return append(lines, "log --level="+level+" --source=okstra"+tab+" -- "+text)
}

// side sends one line on a connection of its own: an answer of the older
// protocol may have more lines, and nothing marks its end.
func (s *session) side(ctx context.Context, line string) error {
	c := newSession(s.link)
	defer c.Close()
	if err := c.open(ctx); err != nil {
		return err
	}
	answer, err := c.line(ctx, line)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(answer, "OK") {
		verb, _, _ := strings.Cut(line, " ")
		return fmt.Errorf("%s: %s", verb, printable(answer))
	}
	return nil
}

// word reduces a text to one word.
func word(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-@", r) {
			return r
		}
		return '-'
	}, s)
}

// sentence reduces a text to words that are no options and hold no quotes.
func sentence(s string) string {
	s = strings.Map(func(r rune) rune {
		if strings.ContainsRune("\"'`\\|", r) {
			return ' '
		}
		return r
	}, printable(s))
	var words []string
	for _, w := range strings.Fields(s) {
		if w = strings.TrimLeft(w, "-"); w != "" {
			words = append(words, w)
		}
	}
	if len(words) == 0 {
		return "running"
	}
	return strings.Join(words, " ")
}
