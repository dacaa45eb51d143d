package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// askDefinition is a run that starts at once and one that waits at a gate.
const askDefinition = `
provider "fake" {
  command = ["/bin/sh"]
}
duty "d" {
  instructions = "x"
}
run "r" {
  backend = [backend.process]
  round "a" {
    assign {
      duty = duty.d
      to   = provider.fake
    }
  }
  round "b" {
    gate {
      choices = ["yes"]
    }
    assign {
      duty = duty.d
      to   = provider.fake
    }
  }
}
`

// TestReadersEndSoon: a verb that only reads ends by a signal, though what it
// waits for heeds none.
func TestReadersEndSoon(t *testing.T) {
	env, _, _ := testEnv(t, t.TempDir())
	stdin, typed := io.Pipe()
	signals := make(chan os.Signal)
	exited := make(chan int, 1)
	env.Stdin = stdin
	env.Signals = func() (<-chan os.Signal, func()) { return signals, func() {} }
	env.Exit = func(code int) { exited <- code }
	ended := make(chan int)
	go func() { ended <- Main([]string{"fmt", "-"}, env) }()
	signals <- syscall.SIGTERM
	if got := <-exited; got != 143 {
		t.Errorf("the process ends with %d, want 143", got)
	}
	// What ends by itself after a signal says so as well.
	if err := typed.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-ended; got != 143 {
		t.Errorf("the verb ends with %d, want 143", got)
	}
}

// TestEvaluationEndsSoon: so does a verb that is about to write or to start
// something, while it evaluates the definition.
func TestEvaluationEndsSoon(t *testing.T) {
	for _, args := range []string{"apply", "render-bundle", "doctor --probe"} {
		t.Run(args, func(t *testing.T) {
			dir := t.TempDir()
			started, release := filepath.Join(dir, "started"), filepath.Join(dir, "release")
			writeFile(t, filepath.Join(dir, "okstra.hcl"), strings.Replace(askDefinition, `"x"`, `"${git.head}"`, 1), 0o644)
			writeFile(t, filepath.Join(dir, ".git", "HEAD"), "", 0o644)
			writeFile(t, filepath.Join(dir, "bin", "git"), "#!/bin/sh\n: > "+started+"\nuntil [ -e "+release+" ]; do /bin/sleep 0.02; done\necho "+strings.Repeat("a", 40)+"\n", 0o755)
			env, _, errOut := testEnv(t, dir)
			signals := make(chan os.Signal)
			exited := make(chan int, 1)
			env.Signals = func() (<-chan os.Signal, func()) { return signals, func() {} }
			env.Exit = func(code int) { exited <- code }
			ended := make(chan int)
			go func() { ended <- Main(strings.Fields(args), env) }()
			await(t, func() bool {
				_, err := os.Stat(started)
				return err == nil
			})
			signals <- syscall.SIGTERM
			if got := <-exited; got != 143 {
				t.Errorf("the process ends with %d, want 143", got)
			}
			writeFile(t, release, "", 0o644)
			if got := <-ended; got != 143 {
				t.Errorf("the verb ends with %d, want 143\n%s", got, errOut)
			}
			if _, err := os.Stat(filepath.Join(dir, ".okstra")); err == nil {
				t.Error("it wrote records")
			}
		})
	}
}

// TestReads: what drives or ends workers takes the time that it needs.
func TestReads(t *testing.T) {
	for name, want := range map[string]bool{
		"validate": true, "fmt": true, "plan": true, "list": true, "graph": true, "status": true, "__complete": true,
		"apply": false, "approve": false, "stop": false, "teardown": false, "attach": false, "doctor": false,
		"team dispatch": false, "team await": false, "team teardown": false, "render-bundle": false, "event": false,
	} {
		if c := named(commands(), name); c == nil || c.reads() != want {
			t.Errorf("%s: reads is not %t", name, want)
		}
	}
}

// TestOut: plan --out replaces saved plans and empty files only.
func TestOut(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "okstra.hcl"), askDefinition, 0o644)
	writeFile(t, filepath.Join(dir, "other.json"), `{"format": "okstra/other"}`, 0o644)
	writeFile(t, filepath.Join(dir, "empty"), "", 0o644)
	for _, c := range []struct {
		out, words string
	}{
		{"other.json", "save plan other.json: there is a file of this name already that is no saved plan"},
		{".", "this is a folder"},
		{"nosuch/p.json", "save plan nosuch/p.json: there is no folder " + filepath.Join(dir, "nosuch")},
		{"new.json", ""},
		{"new.json", ""},
		{"empty", ""},
	} {
		env, _, errOut := testEnv(t, dir)
		env.Backends = realBackends
		got := Main([]string{"plan", "--out", c.out}, env)
		if want := map[bool]int{true: ExitDone, false: ExitError}[c.words == ""]; got != want || !strings.Contains(oneLine(errOut.String()), c.words) {
			t.Errorf("--out %s: exit %d, want %d, with %q:\n%s", c.out, got, want, c.words, errOut)
		}
	}
	for _, out := range []string{"okstra.hcl", "okstra.vars.hcl", "okstra.hcl.json", "sub/p.hcl", ".hcl", "A.HCL"} {
		env, _, errOut := testEnv(t, dir)
		env.Backends = realBackends
		if got := Main([]string{"plan", "--out", out}, env); got != ExitUsage || !strings.Contains(errOut.String(), "review.plan.json") {
			t.Errorf("--out %s: exit %d\n%s", out, got, errOut)
		}
		if _, err := os.Stat(filepath.Join(dir, out)); err == nil && out != "okstra.hcl" {
			t.Errorf("--out %s was written", out)
		}
	}
	if b, err := os.ReadFile(filepath.Join(dir, "okstra.hcl")); err != nil || string(b) != askDefinition {
		t.Errorf("the definition is %q, %v", b, err)
	}
}

// oneLine undoes the wrapping of messages.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// TestFileErrors: what is wrong with a file is said without the name of a
// system call, and its path once.
func TestFileErrors(t *testing.T) {
	for _, c := range []struct {
		args string
		want string
	}{
		{"-C nosuch list", "/nosuch: there is no such file or folder"},
		{"-C file list", "/file is not a folder"},
		{"fmt nosuch.hcl", "fmt nosuch.hcl: there is no such file or folder"},
	} {
		dir := t.TempDir()
		writeFile(t, filepath.Join(dir, "file"), "", 0o644)
		t.Chdir(dir)
		env, _, errOut := testEnv(t, dir)
		if got := Main(strings.Fields(c.args), env); got != ExitError || !strings.Contains(oneLine(errOut.String()), c.want) {
			t.Errorf("%s: exit %d, %q not in\n%s", c.args, got, c.want, errOut)
		}
	}
}

// TestFormatLinks: fmt shows and changes nothing outside for a link to it.
func TestFormatLinks(t *testing.T) {
	for _, c := range []struct {
		args, link, target string
		want               int
	}{
		{"fmt", "p/okstra.hcl", "../outside.hcl", ExitError},
		{"fmt", "p/okstra/a.hcl", "../../outside.hcl", ExitError},
		{"fmt team", "p/team/a.hcl", "../../outside.hcl", ExitError},
		{"fmt team", "p/team/a.hcl", "../real/team.hcl", ExitDone},
		{"fmt", "p/okstra.hcl", "real/team.hcl", ExitDone},
		{"fmt team/a.hcl", "p/team/a.hcl", "../../outside.hcl", ExitDone}, // a person names it
	} {
		dir := t.TempDir()
		writeFile(t, filepath.Join(dir, "outside.hcl"), "a  = 1 # secret\n", 0o644)
		writeFile(t, filepath.Join(dir, "p", "real", "team.hcl"), "a  = 1\n", 0o644)
		writeFile(t, filepath.Join(dir, filepath.Dir(c.link), "README"), "", 0o644)
		if err := os.Symlink(c.target, filepath.Join(dir, c.link)); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(dir, "p", ".git"), 0o755); err != nil {
			t.Fatal(err)
		}
		env, out, errOut := testEnv(t, filepath.Join(dir, "p"))
		got := Main(strings.Fields(c.args), env)
		if got != c.want || c.want == ExitError && !strings.Contains(oneLine(errOut.String()), "this is a link to") {
			t.Errorf("%s: exit %d, want %d\n%s%s", c.args, got, c.want, out, errOut)
		}
		b, err := os.ReadFile(filepath.Join(dir, "outside.hcl"))
		if err != nil || c.want == ExitError && string(b) != "a  = 1 # secret\n" {
			t.Errorf("%s: the file outside is %q, %v", c.args, b, err)
		}
	}
}

// TestInitBesideCode: a folder called okstra that holds no definition is none.
func TestInitBesideCode(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "okstra", "x.go"), "package okstra", 0o644)
	env, _, errOut := testEnv(t, dir)
	if got := Main([]string{"init"}, env); got != ExitDone {
		t.Errorf("exit %d\n%s", got, errOut)
	}
	if err := os.Remove(filepath.Join(dir, "okstra.hcl")); err != nil {
		t.Error(err)
	}
	writeFile(t, filepath.Join(dir, "okstra", "x.hcl"), "", 0o644)
	env, _, errOut = testEnv(t, dir)
	if got := Main([]string{"init"}, env); got != ExitError || !strings.Contains(errOut.String(), "there is a definition already: okstra") {
		t.Errorf("exit %d\n%s", got, errOut)
	}
}

// TestCompleteGates: before anything is recorded the definition tells the gates.
func TestCompleteGates(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "okstra.hcl"), askDefinition, 0o644)
	env, out, _ := testEnv(t, dir)
	if got := Main([]string{"__complete", "--", "approve", "r", ""}, env); got != ExitDone || out.String() != "b\n" {
		t.Errorf("exit %d, %q", got, out)
	}
}
