package lang

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
)

var expectation = regexp.MustCompile(`(ERROR|WARNING): ([^|]+)`)

// TestErrorFiles compiles every file of testdata/error and compares the
// diagnostics with the comments on the offending lines:
// "# ERROR: summary", several with " | " between them; "# ERROR: summary => words"
// expects the words in the detail too.
func TestErrorFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/error/*.hcl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			details := map[string][]string{} // expectation → words of the details, in the order of the line
			for i, line := range strings.Split(string(src), "\n") {
				_, comment, ok := strings.Cut(line, "# ")
				if !ok {
					continue
				}
				for _, m := range expectation.FindAllStringSubmatch(comment, -1) {
					summary, words, _ := strings.Cut(m[2], "=>")
					w := fmt.Sprintf("%3d %s: %s", i+1, m[1], strings.TrimSpace(summary))
					want = append(want, w)
					details[w] = append(details[w], strings.TrimSpace(words))
				}
			}
			diags, _ := complaints(tree(t, map[string]string{"okstra.hcl": string(src)}))
			var got []string
			for _, d := range diags {
				line := 0
				if d.Subject != nil {
					line = d.Subject.Start.Line
				}
				severity := "ERROR"
				if d.Severity == hcl.DiagWarning {
					severity = "WARNING"
				}
				g := fmt.Sprintf("%3d %s: %s", line, severity, d.Summary)
				got = append(got, g)
				if words := details[g]; len(words) > 0 {
					if !strings.Contains(d.Detail, words[0]) {
						t.Errorf("line %d: the detail does not hold %q: %s", line, words[0], d.Detail)
					}
					details[g] = words[1:]
				}
				if d.Detail == "" || !strings.HasSuffix(d.Detail, ".") && !strings.HasSuffix(d.Detail, "?") && !strings.HasSuffix(d.Detail, "]") {
					t.Errorf("line %d: the detail is no sentence: %q", line, d.Detail)
				}
			}
			slices.Sort(want)
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s\n%s", diff, texts(diags))
			}
		})
	}
}
