package providers

import "strings"

// PartName reads a line "=== okstra:NAME ===", alone on its line, with which a
// final text says that what follows is for another file than the result.
func PartName(line string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), "=== okstra:")
	if !ok {
		return "", false
	}
	name, ok = strings.CutSuffix(rest, " ===")
	if !ok || name == "" || strings.ContainsAny(name, " \t") {
		return "", false
	}
	return name, true
}

// folding keeps the parts of a message that are for files off the screen.
type folding struct{ inPart bool }

// take tells whether a line of the message is shown as it is; if not, shown
// stands for it.
func (f *folding) take(line string) (asIs bool, shown []Shown) {
	name, ok := PartName(line)
	if !ok {
		return !f.inPart, nil
	}
	f.inPart = true
	return false, []Shown{{ShownInfo, "[" + clip(Clean(name), 80) + ": kept for its file]"}}
}
