package lang

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/spf13/afero"

	"github.com/okstra/okstra/lang/plan"
)

// fakeWorld answers with what a test says. Every program is there, but those
// whose name holds "missing".
type fakeWorld struct {
	env map[string]string
	git plan.GitState
}

func (w fakeWorld) Env(name string) (string, bool) { v, ok := w.env[name]; return v, ok }

func (w fakeWorld) Environ() []string {
	var out []string
	for _, name := range names(w.env) {
		out = append(out, name+"="+w.env[name])
	}
	return out
}

func (w fakeWorld) Git(string) plan.GitState { return w.git }

func (w fakeWorld) Program(name string) plan.Program {
	if strings.Contains(name, "missing") {
		return plan.Program{Problem: name + " is not there", Remedy: "install it"}
	}
	path := name
	if !filepath.IsAbs(path) {
		path = "/usr/bin/" + name
	}
	return plan.Program{Path: path, Size: 1, ModTime: "2026-01-01T00:00:00Z"}
}

// tree makes a source with the given files below /p, found from /p.
func tree(t testing.TB, files map[string]string) Source {
	t.Helper()
	fs := afero.NewMemMapFs()
	if err := fs.MkdirAll("/p/.git", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join("/p", path)
		}
		if err := afero.WriteFile(fs, path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Source{Fs: afero.NewReadOnlyFs(fs), Dir: "/p", World: fakeWorld{}, Version: "0.1.0"}
}

// compile loads and compiles one run, or fails the test with all diagnostics.
func compile(t testing.TB, src Source, run string) *Compiled {
	t.Helper()
	def, diags := Load(src)
	c, more := Compile(def, run, CompileOptions{})
	if c == nil {
		t.Fatal(texts(append(diags, more...)))
	}
	return c
}

// complaints loads a source, compiles every run, and returns all diagnostics.
func complaints(src Source) (hcl.Diagnostics, *Definition) {
	def, diags := Load(src)
	for _, r := range def.Runs() {
		_, more := Compile(def, r.Name, CompileOptions{})
		diags = append(diags, more...)
	}
	return tidy(diags), def
}

func texts(diags hcl.Diagnostics) string {
	var b strings.Builder
	for _, d := range diags {
		b.WriteString(d.Error() + "\n")
	}
	return b.String()
}

const smallest = `
duty "explain" {
  instructions = "Explain what this repository does, in ten lines."
}

run "ask" {
  round "answer" {
    assign {
      duty = duty.explain
      to   = provider.claude
    }
  }
}
`

func TestSmallest(t *testing.T) {
	p := compile(t, tree(t, map[string]string{"okstra.hcl": smallest}), "").Plan
	w := p.Rounds[0].Workers[0]
	if w.Key != "answer.explain.claude" || w.Role != "analyst" || w.Label != "claude-analyst" {
		t.Errorf("worker = %+v", w)
	}
	if p.Run.Task.Key() != "p:default:ask" || p.Run.TaskType != "unknown" {
		t.Errorf("task = %s, %s", p.Run.Task.Key(), p.Run.TaskType)
	}
	if len(w.Argv) == 0 || w.Argv[0].String() != "claude" || w.Result != plan.ResultStdout {
		t.Errorf("argv = %v, result = %s", w.Argv, w.Result)
	}
}
