package supervise

import (
	"fmt"
	"slices"
	"strings"

	"github.com/okstra/okstra/runtime/durable"
	"github.com/okstra/okstra/runtime/launch"
	"github.com/okstra/okstra/runtime/providers"
)

// parts is a final text, taken apart at its "=== okstra:NAME ===" lines.
type parts struct {
	result string
	named  map[string]string
	order  []string // names in order of appearance
	twice  []string // names that appeared again; the last one counts
}

// splitParts takes a final text apart: what stands before the first marker is
// the result.
func splitParts(text string) parts {
	p := parts{named: map[string]string{}}
	current := ""
	var b strings.Builder
	flush := func() {
		if current == "" {
			p.result = b.String()
		} else {
			p.named[current] = b.String()
		}
		b.Reset()
	}
	for line := range strings.Lines(text) {
		name, ok := providers.PartName(line)
		if !ok {
			b.WriteString(line)
			continue
		}
		flush()
		if slices.Contains(p.order, name) {
			p.twice = append(p.twice, name)
		} else {
			p.order = append(p.order, name)
		}
		current = name
	}
	flush()
	return p
}

// destination is one file that a part goes to.
type destination struct {
	part     string // "" is the result
	path     string
	required bool
	json     bool
}

// destinations are the files of an attempt that can come from a final text.
func destinations(rec *launch.Record) []destination {
	out := []destination{{"", rec.Paths.Result, true, false}}
	if rec.Paths.Audit != "" {
		out = append(out, destination{"audit", rec.Paths.Audit, rec.Audit, false})
	}
	if rec.Paths.Emit != "" {
		out = append(out, destination{"emit", rec.Paths.Emit, rec.Emits != "", true})
	}
	for _, o := range rec.Outputs {
		out = append(out, destination{o.Name, o.Path, o.Required, false})
	}
	return out
}

func (p parts) text(name string) string {
	if name == "" {
		return p.result
	}
	return p.named[name]
}

// missing names the required parts that are not there or empty.
func (p parts) missing(rec *launch.Record) []string {
	var out []string
	for _, d := range destinations(rec) {
		if d.required && strings.TrimSpace(p.text(d.part)) == "" {
			if d.part == "" {
				out = append(out, "result")
			} else {
				out = append(out, d.part)
			}
		}
	}
	return out
}

// write puts every part into its file, whole. A file that the worker wrote
// itself is left to it.
func (p parts) write(rec *launch.Record) (notes []string, err error) {
	known := map[string]bool{}
	for _, d := range destinations(rec) {
		known[d.part] = true
		text := p.text(d.part)
		if strings.TrimSpace(text) == "" {
			continue
		}
		if d.json {
			text = unfence(text)
		}
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		if present(d.path) {
			notes = append(notes, fmt.Sprintf("%s was written by the worker; the part of its output was left out", d.path))
			continue
		}
		if err := durable.WriteFile(d.path, []byte(text), 0o600); err != nil {
			return notes, err
		}
	}
	for _, name := range p.order {
		if !known[name] {
			notes = append(notes, fmt.Sprintf("the output has a part named %q, which nobody asked for", name))
		}
	}
	for _, name := range p.twice {
		notes = append(notes, fmt.Sprintf("the output has the part %q more than once; the last one counts", name))
	}
	return notes, nil
}

// unfence takes the code fence away that models put around JSON.
func unfence(text string) string {
	t := strings.TrimSpace(text)
	inner, ok := strings.CutSuffix(t, "```")
	if !ok || !strings.HasPrefix(inner, "```") {
		return text
	}
	_, inner, ok = strings.Cut(inner, "\n") // the opening fence and its language
	if !ok {
		return text
	}
	return inner
}
