package cli

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
	"sync"
	"syscall"
	"time"

	"github.com/okstra/okstra/cmd/okstra/view"
	"github.com/okstra/okstra/lang"
	"github.com/okstra/okstra/lang/plan"
)

// world answers what a compilation asks of the machine. It asks git only when
// it is asked, and looks at each program once.
type world struct {
	env Env

	mu       sync.Mutex
	git      map[string]plan.GitState
	programs map[string]plan.Program
}

var _ lang.World = (*world)(nil)

func newWorld(env Env) *world {
	return &world{env: env, git: map[string]plan.GitState{}, programs: map[string]plan.Program{}}
}

func (w *world) Env(name string) (string, bool) { return w.env.lookup(name) }
func (w *world) Environ() []string              { return w.env.Environ }

// Git asks the git program: reading .git by hand would have to know about
// worktrees, packed refs and ref tables, and three calls take 5 ms together.
func (w *world) Git(root string) plan.GitState {
	w.mu.Lock()
	defer w.mu.Unlock()
	if g, ok := w.git[root]; ok {
		return g
	}
	g := readGit(w.env, root)
	w.git[root] = g
	return g
}

// readGit returns the zero value outside a repository and where git is not
// there. Base is the merge base with the remote's default branch, else with a
// local main or master; on a commit of that branch it is the commit itself.
func readGit(env Env, root string) plan.GitState {
	if !insideGit(root) {
		return plan.GitState{}
	}
	ask := func(args ...string) string {
		out, err := runGit(env, root, args...)
		if err != nil {
			return ""
		}
		return out
	}
	g := plan.GitState{
		Head:   ask("rev-parse", "--verify", "--quiet", "HEAD"),
		Branch: ask("symbolic-ref", "--quiet", "--short", "HEAD"),
	}
	if g.Head == "" {
		return g
	}
	for _, ref := range []string{"refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master"} {
		if base := ask("merge-base", "HEAD", ref); base != "" {
			g.Base = base
			break
		}
	}
	return g
}

// insideGit saves the calls where no folder above root holds a .git.
func insideGit(root string) bool {
	for dir := root; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// queryTimeout bounds a question to another program.
const queryTimeout = 10 * time.Second

func runGit(env Env, dir string, args ...string) (string, error) {
	return query(context.Background(), queryTimeout, env, dir, append([]string{"git", "-C", dir}, args...), []string{"GIT_OPTIONAL_LOCKS=0", "LC_ALL=C"})
}

// errNoAnswer is the error of a program that did not answer in time.
var errNoAnswer = errors.New("no answer")

// query runs a program that only reports something and returns its trimmed
// standard output; errNoAnswer where it takes longer than within. Variables that would
// point git elsewhere are left out: a plan is about this project, also when
// okstra runs inside a git hook.
func query(ctx context.Context, within time.Duration, env Env, dir string, argv, extra []string) (string, error) {
	program := lookProgram(env, argv[0])
	if program.Problem != "" {
		return "", errors.New(program.Problem)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("%w within %s", errNoAnswer, within))
	defer cancel()
	cmd := exec.CommandContext(ctx, program.Path, argv[1:]...)
	// Some start themselves once more: all of it ends.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Dir = dir
	cmd.WaitDelay = time.Second
	for _, v := range env.Environ {
		name, _, _ := strings.Cut(v, "=")
		switch name {
		case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR":
			continue
		}
		cmd.Env = append(cmd.Env, v)
	}
	cmd.Env = append(cmd.Env, extra...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", fmt.Errorf("%s: %w", argv[0], context.Cause(ctx))
		}
		if text := strings.TrimSpace(errOut.String()); text != "" {
			return "", fmt.Errorf("%s: %w: %s", argv[0], err, text)
		}
		return "", fmt.Errorf("%s: %w", argv[0], err)
	}
	return strings.TrimSpace(out.String()), nil
}

// Program resolves argv[0].
func (w *world) Program(name string) plan.Program {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p, ok := w.programs[name]; ok {
		return p
	}
	p := lookProgram(w.env, name)
	w.programs[name] = p
	return p
}

// lookProgram finds a program as a shell would, but never in the working
// directory: an empty or relative entry of PATH is passed over.
func lookProgram(env Env, name string) plan.Program {
	if strings.ContainsRune(name, filepath.Separator) {
		p := statProgram(name)
		if p.Problem != "" {
			p.Path = ""
		}
		return p
	}
	var denied plan.Program
	for _, dir := range filepath.SplitList(env.getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		p := statProgram(filepath.Join(dir, name))
		if p.Problem == "" {
			return p
		}
		if p.Path != "" && denied.Path == "" {
			denied = p
		}
	}
	if denied.Path != "" {
		return plan.Program{Problem: denied.Problem, Remedy: denied.Remedy}
	}
	return plan.Program{Problem: fmt.Sprintf("%s is not on PATH", name), Remedy: "install it, put its folder on PATH, or correct command"}
}

const correctCommand = "correct command, which names this file, or put the program there"

// statProgram sets Path beside Problem where the file is there but cannot be
// executed; its caller clears it.
func statProgram(path string) plan.Program {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return plan.Program{Problem: path + " does not exist", Remedy: correctCommand}
	case err != nil:
		return plan.Program{Problem: err.Error(), Remedy: correctCommand}
	case info.IsDir():
		return plan.Program{Problem: path + " is a folder", Remedy: correctCommand}
	case info.Mode()&0o111 == 0:
		return plan.Program{Path: path, Problem: path + " is not executable", Remedy: "run " + view.ShellQuote([]string{"chmod", "+x", path}) + " once"}
	}
	return plan.Program{Path: path, Size: info.Size(), ModTime: info.ModTime().UTC().Format(time.RFC3339Nano)}
}
