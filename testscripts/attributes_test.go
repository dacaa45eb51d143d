package testscripts

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/okstra/okstra/lang"
)

// TestEveryAttributeHasAStory: every attribute of the language, and every key
// of an object attribute, is written in a definition of some story. What each
// of them changes in a plan is tested in package lang; the stories show what
// that means for a run.
func TestEveryAttributeHasAStory(t *testing.T) {
	var stories []byte
	for _, pattern := range []string{"*.txtar", "testdata/*.txtar", "../examples/*/*.hcl"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no files (%v)", pattern, err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			stories = append(stories, b...)
		}
	}
	written := func(name string) bool {
		return regexp.MustCompile(`(?m)(^\s*|[{,]\s*)` + name + `\s*=[^=]`).Match(stories)
	}
	for _, b := range lang.Reference() {
		for _, a := range b.Attributes {
			if !written(a.Name) {
				t.Errorf("%s: no story uses the attribute %s", b.Path, a.Name)
			}
			for _, k := range a.Keys {
				if !written(k.Name) {
					t.Errorf("%s: no story uses the key %s of %s", b.Path, k.Name, a.Name)
				}
			}
		}
	}
}
