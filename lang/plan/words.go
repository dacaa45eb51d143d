package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// Count says "1 worker", "2 workers".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// mostNamed is how many names a sentence holds: a run may have thousands.
const mostNamed = 5

// Some lists names for a sentence: the first few, and how many more there are.
func Some(names []string) string {
	if len(names) <= mostNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:mostNamed], ", "), len(names)-mostNamed)
}

// NearestFirst orders names by how alike they are to the given one, which is
// none of them.
func NearestFirst(given string, names []string) []string {
	out := slices.Clone(names)
	slices.SortStableFunc(out, func(a, b string) int {
		return cmp.Compare(levenshtein.Distance(given, a, nil), levenshtein.Distance(given, b, nil))
	})
	return out
}
