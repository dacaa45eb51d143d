package runtime_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/backends/cmux"
	"github.com/okstra/okstra/backends/cmux/cmuxtest"
	"github.com/okstra/okstra/backends/process"
	"github.com/okstra/okstra/backends/tmux"
	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime"
	"github.com/okstra/okstra/runtime/crash"
	"github.com/okstra/okstra/runtime/proc"
)

// crashOnce names a file: whoever can create it may crash. So a sweep kills
// exactly one process, however many pass the point.
const crashOnce = "OKSTRA_TEST_CRASH_ONCE"

// crashFolder names the folder of a sweep's tmux sockets and launch scripts.
const crashFolder = "OKSTRA_TEST_FOLDER"

// enableCrash makes this process die at the point that its environment names,
// unless another one has died there already.
func enableCrash() {
	at := os.Getenv(crash.EnvVar)
	if at == "" {
		return
	}
	kill, err := crash.KillAt(at)
	if err != nil {
		panic(err)
	}
	point, _, numbered := strings.Cut(at, "#")
	once := os.Getenv(crashOnce)
	crash.Enable(func(name string) {
		if name != point {
			return
		}
		if _, err := os.Stat(once); err == nil {
			return
		}
		if !numbered {
			f, err := os.OpenFile(once, os.O_CREATE|os.O_EXCL, 0o600)
			if err != nil {
				return
			}
			f.Close()
		}
		kill(name) // at a numbered point this may only count; a runner passes those alone
	})
}

// applyRole is what a child of a sweep does: apply the plan in a file.
func applyRole(args []string) int {
	enableCrash()
	b, err := os.ReadFile(args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	p, err := runtime.DecodePlan(b, args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	env := sweepEnv(p.ProjectRoot)
	var out *runtime.Outcome
	switch args[1] {
	case "apply":
		out, err = runtime.Apply(context.Background(), env, runtime.ApplyOptions{Plan: p})
	case "teardown":
		var report *runtime.TeardownReport
		report, err = runtime.Teardown(context.Background(), env, runtime.Selector{ProjectRoot: p.ProjectRoot, Name: p.Run.Name}, false)
		if err == nil && len(report.Left) > 0 {
			err = fmt.Errorf("left: %v", report.Left)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if out != nil {
		return out.Exit
	}
	return 0
}

func sweepEnv(root string) runtime.Env {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return runtime.Env{
		Okstra: self, Version: "test", Environ: os.Environ(), Now: time.Now,
		Backends: map[string]backends.Backend{
			"process": process.New(process.Options{Environ: os.Environ()}),
			"tmux":    tmux.New(tmux.Options{ProjectRoot: root, Environ: os.Environ(), Folder: os.Getenv(crashFolder)}),
			"cmux":    cmux.New(cmux.Options{ProjectRoot: root, Getenv: os.Getenv, Dir: filepath.Join(os.Getenv(crashFolder), "cmux"), TTY: os.DevNull}),
		},
	}
}

// sweep is one crash: a project, and a child that dies in it.
type sweep struct {
	t       *testing.T
	root    string
	plan    string
	backend string
	folder  string // of tmux sockets and launch scripts
	cmux    *cmuxtest.Server
}

func newSweep(t *testing.T, backend string) *sweep {
	t.Helper()
	return newSweepOf(t, backend, func(r *rig) []plan.Round {
		return []plan.Round{
			{Name: "one", Workers: []plan.Worker{r.worker("one", "ada", noteStart+writeResult), r.worker("one", "bert", noteStart+writeResult)}},
			{Name: "two", Workers: []plan.Worker{r.worker("two", "ada", noteStart+writeResult)}},
		}
	})
}

// noteStart leaves a line for each start, under the invocation's name.
const noteStart = `n=$(printf %s "$OKSTRA_INVOCATION" | tr '/@#' '...'); echo "$OKSTRA_CLAIM" >> starts."$n"; `

func newSweepOf(t *testing.T, backend string, rounds func(*rig) []plan.Round) *sweep {
	t.Helper()
	r := newRig(t)
	s := &sweep{t: t, root: r.root, backend: backend, plan: filepath.Join(r.root, "plan.json")}
	folder, err := os.MkdirTemp("/tmp", "okc")
	if err != nil {
		t.Fatal(err)
	}
	s.folder = folder
	p := r.plan(rounds(r)...)
	p.Run.Backend = []string{backend}
	for i := range p.Rounds {
		for j := range p.Rounds[i].Workers {
			// A supervisor that died before init is given up after this.
			p.Rounds[i].Workers[j].Limits.Start = plan.Duration(time.Second)
		}
	}
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.plan, b, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.clean)
	return s
}

// clean ends the private tmux servers of this sweep, and nothing else.
func (s *sweep) clean() {
	sockets, _ := filepath.Glob(filepath.Join(s.folder, "*.sock"))
	for _, socket := range sockets {
		cmd := exec.Command("tmux", "-S", socket, "kill-server")
		_ = cmd.Run() // it may be gone, which is what is wanted
	}
	os.RemoveAll(s.folder)
}

// child is a started one of a sweep.
type child struct {
	*exec.Cmd
	what   string
	stderr bytes.Buffer
}

// begin starts a child.
func (s *sweep) begin(verb, at string) *child {
	s.t.Helper()
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), 60*time.Second)
	s.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, self, "role:apply", s.plan, verb)
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "TMUX") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	dying := []string{crash.EnvVar + "=" + at, crashOnce + "=" + filepath.Join(s.root, "crashed")}
	cmd.Env = append(append(cmd.Env, dying...), crashFolder+"="+s.folder)
	if s.backend == "cmux" {
		cmd.Env = append(cmd.Env, s.lead(dying)...)
	}
	c := &child{Cmd: cmd, what: fmt.Sprintf("%s at %q", verb, at)}
	cmd.Stderr = &c.stderr
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	return c
}

// end waits for a child and returns its exit code, -1 for one that was killed.
func (s *sweep) end(c *child) int {
	s.t.Helper()
	err := c.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return 0
	case errors.As(err, &exit):
		if exit.ExitCode() > 0 && exit.ExitCode() != 3 && exit.ExitCode() != 4 {
			s.t.Errorf("%s: exit %d: %s", c.what, exit.ExitCode(), c.stderr.String())
		}
		return exit.ExitCode()
	}
	s.t.Fatalf("%s: %v: %s", c.what, err, c.stderr.String())
	return 0
}

// run is begin and end.
func (s *sweep) run(verb, at string) int {
	s.t.Helper()
	return s.end(s.begin(verb, at))
}

// lead starts this sweep's cmux, whose surfaces know what to die of, and
// returns the environment of a lead in it.
func (s *sweep) lead(dying []string) []string {
	s.t.Helper()
	if s.cmux == nil {
		var err error
		if s.cmux, err = cmuxtest.New(cmuxtest.Options{Env: append([]string{"PATH=" + os.Getenv("PATH"), "GORACE=" + os.Getenv("GORACE")}, dying...)}); err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(func() {
			if err := s.cmux.Close(); err != nil {
				s.t.Error(err)
			}
		})
	}
	return slices.DeleteFunc(s.cmux.LeadEnv(), func(kv string) bool { return !strings.HasPrefix(kv, "CMUX_") })
}

// crashed marks that the crash of this sweep has happened, so that later
// children run to their ends.
func (s *sweep) crashed() {
	if err := os.WriteFile(filepath.Join(s.root, "crashed"), nil, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// check requires the end that an undisturbed run has: everything completed, no
// attempt's worker started twice, nothing left running.
func (s *sweep) check(at string) {
	s.t.Helper()
	st, err := runtime.Status(s.t.Context(), sweepEnv(s.root), runtime.Selector{ProjectRoot: s.root, Name: "test"})
	if err != nil {
		s.t.Fatal(err)
	}
	if st.Ended != "completed" {
		s.t.Errorf("%s: the run ended %q", at, st.Ended)
	}
	for _, w := range st.Workers {
		if w.Status != plan.StatusCompleted {
			s.t.Errorf("%s: %s is %s/%s %s", at, w.InvocationRef, w.Status, w.Reason, w.Detail)
		}
	}
	files, err := filepath.Glob(filepath.Join(s.root, "starts.*"))
	if err != nil {
		s.t.Fatal(err)
	}
	if len(files) < 3 {
		s.t.Errorf("%s: only %d invocations ran", at, len(files))
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			s.t.Fatal(err)
		}
		claims := strings.Fields(string(b))
		if len(claims) > 1 { // none where the script was killed between opening and writing
			s.t.Errorf("%s: %s was started %d times", at, filepath.Base(f), len(claims))
		}
		for _, c := range claims {
			if left, err := proc.WithClaim(c); err != nil || len(left) > 0 {
				s.t.Errorf("%s: processes %v of %s are left", at, left, filepath.Base(f))
			}
		}
	}
}

// finish applies again, which must bring the run to its end, and tears down.
func (s *sweep) finish(at string) {
	s.t.Helper()
	s.crashed()
	if code := s.run("apply", ""); code != 0 {
		s.t.Errorf("%s: the second apply ended with %d", at, code)
	}
	if s.backend != "process" {
		s.run("teardown", "")
		if left, _ := filepath.Glob(filepath.Join(s.folder, "*.sock")); len(left) > 0 {
			s.t.Errorf("%s: teardown left servers %v", at, left)
		}
		if s.cmux != nil && len(s.cmux.Surfaces()) != 1 {
			s.t.Errorf("%s: teardown left surfaces %+v", at, s.cmux.Surfaces())
		}
	}
	s.check(at)
	if s.t.Failed() {
		s.t.Log(s.story())
	}
}

// TestCrashSweep kills the runner, or the first supervisor, at every named
// point of a run of two rounds, applies again and tears down.
func TestCrashSweep(t *testing.T) {
	for _, backend := range []string{"process", "tmux", "cmux"} {
		for _, point := range crash.Points() {
			passings := 1
			switch point.Name {
			case "runner.state-written":
				passings = 6
			case "runner.settled", "runner.go-written", "runner.backend-started":
				passings = 2
			}
			for n := 1; n <= passings; n++ {
				at := point.Name
				if n > 1 {
					at = fmt.Sprintf("%s#%d", point.Name, n)
				}
				if slices.Contains(notPassed, point.Name) {
					continue
				}
				t.Run(backend+"/"+at, func(t *testing.T) {
					t.Parallel()
					s := newSweep(t, backend)
					code := s.run("apply", at)
					if point.Process == crash.Runner && code != -1 {
						t.Fatalf("the runner was not killed at %s: exit %d", at, code)
					}
					if _, err := os.Stat(filepath.Join(s.root, "crashed")); err != nil && point.Process == crash.Supervisor {
						t.Fatalf("no supervisor passed %s", at)
					}
					s.finish(at)
				})
			}
		}
	}
}

// notPassed are points of endings that this run does not have;
// TestCrashAtEndings passes them.
var notPassed = []string{"supervisor.limit-reached", "supervisor.term-sent", "supervisor.kill-sent", "supervisor.prompt-given", "supervisor.result-written"}

// story returns what the run's event log tells, for the message of a failure.
func (s *sweep) story() string {
	files, _ := filepath.Glob(filepath.Join(s.root, ".okstra/tasks/p/g/t/runs/unknown/events/*.jsonl"))
	var b strings.Builder
	for _, f := range files {
		text, _ := os.ReadFile(f)
		b.Write(text)
	}
	return b.String()
}
