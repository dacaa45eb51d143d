package view

import "strings"

// Formatted is what fmt did to one file.
type Formatted struct {
	File    string `json:"file"`
	Changed bool   `json:"changed"` // or would change, with --check and --diff
	Diff    string `json:"diff,omitempty"`
}

// Formatted shows the files that changed, and their differences where they
// were asked for.
func (v *View) Formatted(files []Formatted) error {
	for i := range files {
		files[i].File = v.rel(files[i].File)
	}
	doc := struct {
		Files []Formatted `json:"files"`
	}{nonNil(files)}
	return v.show(doc, func(screen) []line {
		var out []line
		for _, f := range files {
			switch {
			case f.Diff != "":
				out = append(out, diffLines(f.Diff)...)
			case f.Changed:
				out = append(out, plainLine(f.File))
			}
		}
		return out
	})
}

func diffLines(text string) []line {
	var out []line
	for _, l := range CleanLines(text) {
		st := plain
		switch {
		case strings.HasPrefix(l, "+"):
			st = good
		case strings.HasPrefix(l, "-"):
			st = bad
		case strings.HasPrefix(l, "@@"):
			st = info
		}
		out = append(out, line{{st, l}})
	}
	return out
}

// Command shows an argv: for people on one line, arguments quoted so that
// their borders are seen and a POSIX shell would read them back.
func (v *View) Command(argv []string) error {
	doc := struct {
		Argv []string `json:"argv"`
	}{argv}
	return v.show(doc, func(screen) []line { return []line{plainLine(ShellQuote(argv))} })
}

// ShellQuote writes an argv for a person to paste into a POSIX shell.
func ShellQuote(argv []string) string {
	out := make([]string, len(argv))
	for i, a := range argv {
		safe := a != "" && strings.IndexFunc(a, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:=@%+,", r))
		}) < 0
		if !safe {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		out[i] = a
	}
	return strings.Join(out, " ")
}

// Names shows a plain list: one name a line, or {"<what>": [...]}.
func (v *View) Names(what string, names []string) error {
	return v.show(map[string][]string{what: nonNil(names)}, func(screen) []line {
		out := make([]line, len(names))
		for i, n := range names {
			out[i] = plainLine(n)
		}
		return out
	})
}
