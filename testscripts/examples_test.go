package testscripts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// examplesDir holds the examples that are shipped; each has a story of its own
// in examples/NAME.txtar here.
const examplesDir = "../examples"

// TestExamples runs every shipped example as its readers would, in a copy.
func TestExamples(t *testing.T) {
	shipped, err := filepath.Abs(examplesDir)
	if err != nil {
		t.Fatal(err)
	}
	cmds := commands()
	cmds["example"] = func(ts *testscript.TestScript, neg bool, args []string) {
		plainUse(ts, neg, len(args) == 1, "example NAME")
		dir := ts.MkAbs(args[0])
		ts.Check(os.CopyFS(dir, os.DirFS(filepath.Join(shipped, args[0]))))
		ts.Check(ts.Chdir(dir))
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "examples",
		Setup:               setup,
		Condition:           condition,
		Cmds:                cmds,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("OKSTRA_UPDATE") == "1",
	})
}

// TestExamplesWhole wants a story for every example, and an example for every
// story.
func TestExamplesWhole(t *testing.T) {
	definitions, err := filepath.Glob(filepath.Join(examplesDir, "*", "okstra.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	if len(definitions) == 0 {
		t.Fatal("there are no examples")
	}
	for _, d := range definitions {
		name := filepath.Base(filepath.Dir(d))
		if _, err := os.Stat(filepath.Join("examples", name+".txtar")); err != nil {
			t.Errorf("example %s has no story: %v", name, err)
		}
	}
	stories, err := filepath.Glob("examples/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range stories {
		name := strings.TrimSuffix(filepath.Base(s), ".txtar")
		if _, err := os.Stat(filepath.Join(examplesDir, name, "okstra.hcl")); err != nil {
			t.Errorf("story %s has no example: %v", s, err)
		}
	}
}
