package launch

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Pointer is the content of a report-writer's worker result: it names the
// narrative and what that was when the worker ended.
type Pointer struct {
	Path   string // of the narrative, relative to the project root where inside it
	Digest string // "sha256:<hex>"
}

// PointTo returns the pointer to a narrative of this attempt.
func (r *Record) PointTo(narrative, digest string) Pointer {
	if rel, err := filepath.Rel(r.ProjectRoot, narrative); err == nil && filepath.IsLocal(rel) {
		narrative = rel
	}
	return Pointer{Path: narrative, Digest: digest}
}

// Text is the pointer's file form, one fact a line.
func (p Pointer) Text() string {
	return fmt.Sprintf("narrative: %s\nsha256: %s\n", p.Path, strings.TrimPrefix(p.Digest, "sha256:"))
}

// ParsePointer reads what Text wrote.
func ParsePointer(text string) (Pointer, error) {
	first, rest, ok := strings.Cut(text, "\nsha256: ")
	path, named := strings.CutPrefix(first, "narrative: ")
	digest, whole := strings.CutSuffix(rest, "\n")
	if !ok || !named || !whole || path == "" || len(digest) != 64 {
		return Pointer{}, fmt.Errorf("not a worker-result pointer: it must be the lines \"narrative: PATH\" and \"sha256: HEX\"")
	}
	return Pointer{Path: path, Digest: "sha256:" + digest}, nil
}
