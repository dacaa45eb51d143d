package testscripts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/record"
)

// project is one of testdata's projects, unpacked, and a lead's hands on it:
// for tests that go through tables, which scripts cannot.
type project struct {
	t    *testing.T
	root string
	env  []string
	run  paths.Run
}

// newProject unpacks testdata/NAME.txtar. Its run is the first of
// shop:auth:AUTH-12 with this task type.
func newProject(t *testing.T, name, taskType string) *project {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(t.TempDir(), "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	sockets, err := os.MkdirTemp("/tmp", "okt")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		endServers(sockets)
		if err := os.RemoveAll(sockets); err != nil {
			t.Log(err)
		}
	})
	p := &project{t: t, root: root, run: paths.Run{Root: root, Task: plan.Task{Project: "shop", Group: "auth", ID: "AUTH-12"}, TaskType: taskType, Seq: 1}}
	p.env = []string{"PATH=" + os.Getenv("PATH")}
	for name, value := range variables(home, sockets) {
		p.env = append(p.env, name+"="+value)
	}
	// What a test leaves running would write into a folder that is being removed.
	t.Cleanup(func() { p.with(nil, "okstra", "stop") })
	if err := unpack(name, root); err != nil {
		t.Fatal(err)
	}
	return p
}

// empty removes everything from the project's folder.
func (p *project) empty() {
	p.t.Helper()
	entries, err := os.ReadDir(p.root)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(p.root, e.Name())); err != nil {
			p.t.Fatal(err)
		}
	}
}

// unpack writes the files of testdata/NAME.txtar.
func unpack(name, root string) error {
	archive, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
	if err != nil {
		return err
	}
	return txtar.Write(archive, root)
}

// ended is how a program ended and what it printed.
type ended struct {
	code           int
	stdout, stderr string
}

func (e ended) String() string {
	return fmt.Sprintf("exit %d\nstdout:\n%s\nstderr:\n%s", e.code, e.stdout, e.stderr)
}

// okstra runs the real command line; killed by signal n it ends with 128+n.
func (p *project) okstra(args ...string) ended { return p.with(nil, "okstra", args...) }

// with runs a program with more variables.
func (p *project) with(env []string, program string, args ...string) ended {
	p.t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		p.t.Fatal(err)
	}
	// Not the test's own context: that has ended when it cleans up.
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Args[0] = program
	cmd.Dir, cmd.Env = p.root, append(append([]string{}, p.env...), env...)
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	out := ended{stdout: stdout.String(), stderr: stderr.String()}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if out.code = exit.ExitCode(); out.code < 0 {
			out.code = 128 + 9 // the only signal that these tests end anything with
		}
	} else if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		p.t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	if ctx.Err() != nil {
		p.t.Fatalf("%s %s did not end within %s\n%s", program, strings.Join(args, " "), waitLimit, out)
	}
	return out
}

// must runs okstra and wants this exit code.
func (p *project) must(code int, args ...string) ended {
	p.t.Helper()
	out := p.okstra(args...)
	if out.code != code {
		p.t.Fatalf("okstra %s, exit %d wanted: %s", strings.Join(args, " "), code, out)
	}
	return out
}

// team is a team command of the project's run.
func (p *project) team(verb string, more ...string) []string {
	return append([]string{"team", verb, "--project-root", p.root, "--run-manifest", p.run.Manifest()}, more...)
}

// prepare renders the bundle of the project's run.
func (p *project) prepare() string {
	p.t.Helper()
	return p.must(0, "render-bundle", "--lead-runtime", "external").stdout
}

// batch dispatches what is next, or what more says, and awaits it.
func (p *project) batch(more ...string) ended {
	p.t.Helper()
	p.must(0, p.team("dispatch", more...)...)
	return p.must(0, p.team("await")...)
}

func (p *project) write(path, text string) {
	p.t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.root, path)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) read(path string) string {
	p.t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.root, path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b)
}

func (p *project) state() *record.State {
	p.t.Helper()
	st, err := record.Load(p.run.TeamState())
	if err != nil {
		p.t.Fatal(err)
	}
	return st
}

// snapshot lists every file under the project root with its mode, size, time
// and digest: two that are equal mean that nothing was written.
func (p *project) snapshot() string {
	p.t.Helper()
	s, err := snapshot(p.root)
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

func snapshot(root string) (string, error) {
	var b strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case strings.HasSuffix(rel, ".snapshot"):
			return nil // what the command of this name wrote
		case d.IsDir():
			fmt.Fprintf(&b, "%s %s\n", rel, info.Mode())
			return nil
		case !info.Mode().IsRegular():
			to, err := os.Readlink(path)
			fmt.Fprintf(&b, "%s %s %s\n", rel, info.Mode(), to)
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %s %d %s %s\n", rel, info.Mode(), info.Size(), info.ModTime().Format(time.RFC3339Nano), plan.DigestBytes(content))
		return nil
	})
	return b.String(), err
}

// projectCommand unpacks a project of testdata into the script's folder. A file
// that the script brought itself stays.
func projectCommand(ts *testscript.TestScript, neg bool, args []string) {
	plainUse(ts, neg, len(args) == 1, "project NAME")
	archive, err := txtar.ParseFile(filepath.Join("testdata", args[0]+".txtar"))
	ts.Check(err)
	for _, f := range archive.Files {
		path := ts.MkAbs(f.Name)
		if _, err := os.Lstat(path); err == nil {
			continue
		}
		ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
		ts.Check(os.WriteFile(path, f.Data, 0o644))
	}
}

// snapshotCommand writes the listing of the script's folder to NAME.snapshot.
func snapshotCommand(ts *testscript.TestScript, neg bool, args []string) {
	plainUse(ts, neg, len(args) == 1, "snapshot NAME")
	s, err := snapshot(ts.MkAbs("."))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".snapshot"), []byte(s), 0o600))
}
