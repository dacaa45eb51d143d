package lang

import (
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFormatStands formats every definition of the repository: what is an
// example stands formatted, and formatting twice is formatting once.
func TestFormatStands(t *testing.T) {
	seen := 0
	for _, root := range []string{"../examples", "catalog", "testdata"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".hcl" {
				return err
			}
			src := readFile(t, path)
			once, diags := Format([]byte(src), path)
			if diags.HasErrors() {
				if root == "testdata" {
					return nil // some are there to be wrong
				}
				t.Errorf("%s: %s", path, texts(diags))
				return nil
			}
			seen++
			if root != "testdata" {
				if diff := cmp.Diff(src, string(once)); diff != "" {
					t.Errorf("%s is not formatted (-as it is +formatted):\n%s", path, diff)
				}
			}
			twice, _ := Format(once, path)
			if diff := cmp.Diff(string(once), string(twice)); diff != "" {
				t.Errorf("%s differs when formatted twice:\n%s", path, diff)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < 15 {
		t.Errorf("only %d definitions were found", seen)
	}
}
