package testscripts

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/okstra/okstra/"

// allowed says which packages of ours a package may import: itself and what is
// below it aside. The directions are those of docs/architecture.md.
var allowed = map[string][]string{
	"cmd/okstra":              {"cmd/okstra/cli"},
	"cmd/okstra/cli":          {"cmd/okstra/view", "lang", "lang/catalog", "lang/plan", "lang/plan/paths", "backends", "backends/process", "backends/tmux", "backends/cmux", "runtime", "runtime/*"},
	"cmd/okstra/view":         {"lang/plan", "lang/plan/paths", "runtime", "runtime/lead", "runtime/record", "runtime/verify", "runtime/sidecar", "runtime/converge", "lang"},
	"lang":                    {"lang/plan", "lang/plan/paths", "lang/catalog", "lang/function", "lang/guard"},
	"lang/plan":               {},
	"lang/plan/paths":         {"lang/plan"},
	"lang/catalog":            {},
	"lang/guard":              {},
	"lang/function":           {"lang/guard"},
	"runtime":                 {"lang/plan", "lang/plan/paths", "backends", "runtime/*"},
	"runtime/record":          {"lang/plan", "backends", "runtime/sidecar", "runtime/durable"},
	"runtime/sidecar":         {"lang/plan", "runtime/proc", "runtime/durable", "runtime/launch"},
	"runtime/launch":          {"lang/plan", "runtime/durable"},
	"runtime/proc":            {},
	"runtime/durable":         {},
	"runtime/crash":           {},
	"runtime/providers":       {"lang/plan"},
	"runtime/providers/host":  {},
	"runtime/schema":          {},
	"runtime/supervise":       {"lang/plan", "runtime/sidecar", "runtime/launch", "runtime/proc", "runtime/durable", "runtime/crash", "runtime/providers", "runtime/supervise/*"},
	"runtime/supervise/tree":  {},
	"runtime/converge":        {"lang/plan", "lang/plan/paths", "runtime/record", "runtime/durable"},
	"runtime/jobs":            {"lang/plan", "lang/plan/paths", "runtime/record", "runtime/lead", "runtime/converge"},
	"runtime/lead":            {"lang/plan", "lang/plan/paths", "runtime/durable", "runtime/converge", "runtime/record"},
	"runtime/verify":          {"lang/plan", "lang/plan/paths", "runtime/record", "runtime/sidecar", "runtime/launch", "runtime/lead", "runtime/converge", "runtime/jobs", "runtime/durable", "runtime/proc"},
	"backends":                {},
	"backends/internal/ident": {},
	"backends/process":        {"backends", "backends/internal/ident"},
	"backends/tmux":           {"backends", "backends/tmux/*", "backends/internal/ident"},
	"backends/tmux/layout":    {"backends"},
	"backends/cmux":           {"backends", "backends/cmux/*", "backends/internal/ident"},
	"backends/cmux/cmuxtest":  {},
	"backends/backendtest":    {"backends"},
	"testscripts":             {"*"},
	"testscripts/bench":       {},
	"testscripts/fakeworker":  {},
	"testscripts/modelserver": {},
	"testscripts/clis":        {"*"},
}

// TestArchitecture fails on an import that goes against the house's directions,
// on printing outside the command line, and on waiting that no context ends.
func TestArchitecture(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			if name := e.Name(); path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		checkFile(t, path, filepath.ToSlash(rel))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkFile(t *testing.T, path, rel string) {
	src, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
		return
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, src, parser.SkipObjectResolution)
	if err != nil {
		t.Error(err)
		return
	}
	pkg := filepath.ToSlash(filepath.Dir(rel))
	may, known := allowed[pkg]
	if !known {
		t.Errorf("%s: package %s is not in the table of directions; say in testscripts/architecture_test.go what it may import", rel, pkg)
		return
	}
	for _, imp := range file.Imports {
		name := strings.Trim(imp.Path.Value, `"`)
		ours, is := strings.CutPrefix(name, module)
		if is && !slices.ContainsFunc(may, func(m string) bool { return matches(m, ours) }) {
			t.Errorf("%s: package %s may not import %s", rel, pkg, ours)
		}
		if strings.HasPrefix(pkg, "lang") && (name == "os" || name == "os/exec" || name == "net") {
			t.Errorf("%s: lang reads through afero and asks through World; it may not import %s", rel, name)
		}
		if name == "github.com/spf13/pflag" && !strings.HasPrefix(pkg, "testscripts") && pkg != "cmd/okstra/cli" {
			t.Errorf("%s: only cmd/okstra/cli knows flags", rel)
		}
	}
	if strings.HasPrefix(pkg, "testscripts") || strings.HasSuffix(pkg, "test") {
		return
	}
	ast.Inspect(file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := sel.X.(*ast.Ident)
		if !ok {
			return true
		}
		switch call := x.Name + "." + sel.Sel.Name; call {
		case "fmt.Print", "fmt.Println", "fmt.Printf":
			t.Errorf("%s: %s: only views print", rel, call)
		case "time.Sleep":
			t.Errorf("%s: time.Sleep: wait on an event, or in a helper that takes a context", rel)
		case "os.Exit":
			if pkg != "cmd/okstra" && pkg != "cmd/okstra/cli" { // the second interrupt ends at once
				t.Errorf("%s: os.Exit: return the code", rel)
			}
		}
		return true
	})
}

func matches(pattern, name string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(name, prefix)
	}
	return pattern == name
}
