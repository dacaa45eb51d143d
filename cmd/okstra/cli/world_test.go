package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/okstra/okstra/lang/plan"
)

func writeFile(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func TestProgram(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "a", "tool"), "no", 0o644)
	writeFile(t, filepath.Join(dir, "b", "tool"), "yes", 0o755)
	writeFile(t, filepath.Join(dir, "a", "plain"), "no", 0o644)
	writeFile(t, filepath.Join(dir, "here"), "no", 0o755)
	env := Env{Dir: dir, Environ: []string{"PATH=relative:" + filepath.Join(dir, "a") + "::" + filepath.Join(dir, "b")}}
	w := newWorld(env)

	if p := w.Program("tool"); p.Path != filepath.Join(dir, "b", "tool") || p.Size != 3 || p.ModTime == "" || p.Problem != "" {
		t.Errorf("tool: %+v", p)
	}
	for name, want := range map[string]string{
		"plain":                         "is not executable",
		"nothere":                       "nothere is not on PATH",
		"here":                          "here is not on PATH",
		filepath.Join(dir, "a"):         "is a folder",
		filepath.Join(dir, "a/missing"): "does not exist",
		filepath.Join(dir, "a/tool"):    "is not executable",
	} {
		p := w.Program(name)
		if !strings.Contains(p.Problem, want) || p.Path != "" {
			t.Errorf("%s: %+v, want a problem with %q", name, p, want)
		}
	}
}

func TestLookupTakesTheLast(t *testing.T) {
	env := Env{Environ: []string{"A=1", "AB=2", "A=3", "B="}}
	if v, ok := env.lookup("A"); v != "3" || !ok {
		t.Errorf("A is %q, %v", v, ok)
	}
	if v, ok := env.lookup("B"); v != "" || !ok {
		t.Errorf("B is %q, %v", v, ok)
	}
	if _, ok := env.lookup("C"); ok {
		t.Error("C is set")
	}
}

func TestGit(t *testing.T) {
	dir := t.TempDir()
	env := Env{Dir: dir, Environ: append(os.Environ(),
		"HOME="+dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_DIR=/nowhere",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com")}
	git := func(args ...string) string {
		t.Helper()
		out, err := runGit(env, dir, args...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatalf("git is needed for this test: %v", err)
	}
	if diff := cmp.Diff(plan.GitState{}, newWorld(env).Git(dir)); diff != "" {
		t.Errorf("outside a repository:\n%s", diff)
	}

	git("init", "-q", "-b", "main")
	if diff := cmp.Diff(plan.GitState{Branch: "main"}, newWorld(env).Git(dir)); diff != "" {
		t.Errorf("without a commit:\n%s", diff)
	}
	git("commit", "-q", "--allow-empty", "-m", "one")
	one := git("rev-parse", "HEAD")
	git("checkout", "-q", "-b", "work")
	git("commit", "-q", "--allow-empty", "-m", "two")
	two := git("rev-parse", "HEAD")
	sub := filepath.Join(dir, "sub")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	w := newWorld(env)
	for _, d := range []string{dir, sub} {
		if diff := cmp.Diff(plan.GitState{Head: two, Branch: "work", Base: one}, w.Git(d)); diff != "" {
			t.Errorf("on a branch, in %s:\n%s", d, diff)
		}
	}
	git("checkout", "-q", "--detach", "main")
	if diff := cmp.Diff(plan.GitState{Head: one, Base: one}, newWorld(env).Git(dir)); diff != "" {
		t.Errorf("detached:\n%s", diff)
	}
	// What was asked once stays as it was for this compilation.
	if got := w.Git(dir).Head; got != two {
		t.Errorf("the second answer is %s, not %s", got, two)
	}
}

func TestCatalogCLIs(t *testing.T) {
	clis, err := catalogCLIs()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range clis {
		got[c.provider] = c.command[0] + " " + strings.Join(c.version, " ")
	}
	want := map[string]string{
		"claude": "claude claude --version",
		"codex":  "codex codex --version",
		"gemini": "gemini gemini --version",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
