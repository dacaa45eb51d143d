// Package testscripts holds okstra's end-to-end stories: one *.txtar script
// each, run against the real command line with fake worker CLIs. This file is
// the frame: the programs that scripts can execute and the environment that
// they start in. The commands that scripts have beyond testscript's own are in
// commands_test.go; README.md describes them.
package testscripts

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/backends/cmux"
	"github.com/okstra/okstra/backends/cmux/cmuxtest"
	"github.com/okstra/okstra/backends/process"
	"github.com/okstra/okstra/backends/tmux"
	"github.com/okstra/okstra/cmd/okstra/cli"
	"github.com/okstra/okstra/runtime/crash"
	"github.com/okstra/okstra/testscripts/fakeworker"
)

// socketsVariable names the folder where this script's okstra keeps the
// sockets of its own tmux servers; only the test binary reads it.
const socketsVariable = "OKSTRA_TEST_SOCKETS"

func TestMain(m *testing.M) {
	cmuxtest.Main() // this binary may be the cmux command of a test
	// With the race detector each program that ends would stay for a second.
	if err := os.Setenv("GORACE", raceOptions); err != nil {
		panic(err)
	}
	if strings.HasSuffix(os.Args[0], ".test") {
		// Started by nohup, or behind a shell, the tests ignore signals, and so
		// would what they start. What is listened for is at its default in a child.
		for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
			if signal.Ignored(sig) {
				signal.Notify(make(chan os.Signal, 1), sig)
			}
		}
	}
	// Most stories wait for other processes.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){
		"okstra":     func() { os.Exit(okstra(os.Args[1:])) },
		"fakeworker": func() { os.Exit(fakeworker.Main(os.Args[1:])) },
	})
}

const raceOptions = "atexit_sleep_ms=0"

// okstra is the real command line, with two additions that no other binary
// has: crash points, and a folder of its own for tmux sockets.
func okstra(args []string) int {
	if at := os.Getenv("OKSTRA_CRASH_AT"); at != "" {
		hook, err := crash.KillAt(at)
		if err != nil {
			fmt.Fprintln(os.Stderr, "OKSTRA_CRASH_AT:", err)
			return 125
		}
		crash.Enable(hook)
	}
	env := cli.Process()
	env.Backends = func(env cli.Env, root string) map[string]backends.Backend {
		getenv := func(name string) string { return os.Getenv(name) }
		return map[string]backends.Backend{
			cmux.Name:    cmux.New(cmux.Options{Getenv: getenv, ProjectRoot: root}),
			tmux.Name:    tmux.New(tmux.Options{Environ: env.Environ, ProjectRoot: root, Folder: os.Getenv(socketsVariable)}),
			process.Name: process.New(process.Options{Environ: env.Environ}),
		}
	}
	return cli.Main(args, env)
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 ".",
		Setup:               setup,
		Condition:           condition,
		Cmds:                commands(),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("OKSTRA_UPDATE") == "1",
	})
}

// setup makes the environment of one script. It starts nearly empty, so what
// okstra, git and tmux need is set here; nothing of a tmux or cmux that the
// tests themselves run in gets through.
func setup(env *testscript.Env) error {
	if err := alone(env.WorkDir); err != nil {
		return err
	}
	home := filepath.Join(env.WorkDir, ".home")
	if err := os.Mkdir(home, 0o700); err != nil {
		return err
	}
	// Sockets need short paths, which the work folder does not have.
	sockets, err := os.MkdirTemp("/tmp", "okt")
	if err != nil {
		return err
	}
	env.Defer(func() {
		endServers(sockets)
		if err := os.RemoveAll(sockets); err != nil {
			env.T().Log(err)
		}
	})
	for name, value := range variables(home, sockets) {
		env.Setenv(name, value)
	}
	for _, name := range []string{"TMUX", "TMUX_PANE", "NO_COLOR", "CLICOLOR_FORCE", "OKSTRA_CRASH_AT"} {
		env.Vars = unset(env.Vars, name)
	}
	// Git looks above the work folder otherwise.
	env.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(env.WorkDir))
	return nil
}

// variables are the environment of a script, PATH apart.
func variables(home, sockets string) map[string]string {
	return map[string]string{
		"HOME":                home,
		"XDG_CONFIG_HOME":     filepath.Join(home, ".config"),
		"XDG_STATE_HOME":      filepath.Join(home, ".state"),
		"LC_ALL":              "C.UTF-8",
		"TERM":                "dumb",
		"SHELL":               "/bin/sh",
		"TZ":                  "UTC",
		"COLUMNS":             "1000", // nothing is cut or broken
		"GORACE":              raceOptions,
		"GIT_CONFIG_NOSYSTEM": "1",
		"GIT_AUTHOR_NAME":     "A", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
		"GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.com", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
		socketsVariable: sockets,
	}
}

// alone makes sure that no folder above holds a project: the scripts' okstra
// would take that for theirs.
func alone(dir string) error {
	for dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		for _, name := range []string{".okstra", ".git"} {
			if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
				return fmt.Errorf("%s holds %s: remove it, or set TMPDIR to a folder that is in no project", dir, name)
			}
		}
	}
	return nil
}

func unset(vars []string, name string) []string {
	var out []string
	for _, v := range vars {
		if !strings.HasPrefix(v, name+"=") {
			out = append(out, v)
		}
	}
	return out
}

// condition knows the conditions beyond testscript's own. A missing tmux is an
// error, not a skip, where OKSTRA_REQUIRE_TMUX=1 says that it must be there.
func condition(name string) (bool, error) {
	switch name {
	case "tmux":
		_, err := exec.LookPath("tmux")
		if err != nil && os.Getenv("OKSTRA_REQUIRE_TMUX") == "1" {
			return false, fmt.Errorf("tmux is required here: %w", err)
		}
		return err == nil, nil
	case "root":
		return os.Geteuid() == 0, nil
	}
	return false, fmt.Errorf("unknown condition %q", name)
}
