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
// "# ERROR: summary", several with " | " between them.
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
			for i, line := range strings.Split(string(src), "\n") {
				_, comment, ok := strings.Cut(line, "# ")
				if !ok {
					continue
				}
				for _, m := range expectation.FindAllStringSubmatch(comment, -1) {
					want = append(want, fmt.Sprintf("%3d %s: %s", i+1, m[1], strings.TrimSpace(m[2])))
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
				got = append(got, fmt.Sprintf("%3d %s: %s", line, severity, d.Summary))
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
