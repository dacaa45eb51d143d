package supervise_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime/durable"
	"github.com/okstra/okstra/runtime/launch"
	"github.com/okstra/okstra/runtime/proc"
	"github.com/okstra/okstra/runtime/sidecar"
)

// rig is one attempt: its files, and the supervisor once it was started.
type rig struct {
	nohup bool // the supervisor is started with HUP ignored
	t     testing.TB
	dir   string
	rec   *launch.Record
	env   []string // further variables of the worker
	cmd   *exec.Cmd
	out   output
	done  chan error
}

// output is what all supervisors of an attempt said; several may speak at once.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// patience bounds every wait of these tests; none of them should come near it.
const patience = 60 * time.Second

func newRig(t testing.TB, steps ...string) *rig {
	t.Helper()
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	prompt := filepath.Join(dir, "prompts", "p.md")
	if err := os.MkdirAll(filepath.Dir(prompt), 0o700); err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, dir: dir}
	r.rec = &launch.Record{
		SchemaVersion: launch.SchemaVersion,
		Run:           "p:g:i/t@001",
		ProjectRoot:   dir,
		InvocationRef: "round/duty/ada@round#1",
		WorkerKey:     "round.duty.ada",
		Batch:         "round",
		DispatchKind:  "initial",
		Attempt:       1,
		Role:          "analyst",
		Access:        plan.AccessRead,
		Label:         "fake-analyst",
		Provider:      "fake",
		Tag:           "tag",
		Backend:       "process",
		Program:       exe,
		Argv:          append([]string{exe}, steps...),
		Dir:           dir,
		Stdin:         launch.StdinNone,
		Paths: launch.Paths{
			Prompt: prompt, Status: prompt + ".status.json", Lock: prompt + ".lock", Go: prompt + ".go", Env: prompt + ".env.json",
			Log: prompt + ".log", ErrLog: prompt + ".err.log", Inputs: filepath.Join(dir, "inputs.json"),
			Result:       filepath.Join(dir, "worker-results", "x-worker-t-001.md"),
			WorkerResult: filepath.Join(dir, "worker-results", "x-worker-t-001.md"),
		},
		Result: plan.ResultFile,
		Output: plan.OutputText,
		Limits: plan.Limits{
			Start: plan.Duration(patience), Wall: plan.Duration(patience), Idle: plan.Duration(patience), Grace: plan.Duration(time.Second),
		},
	}
	if err := os.WriteFile(prompt, []byte("the prompt\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := durable.TryLock(r.rec.Paths.Lock)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	return r
}

func (r *rig) launchPath() string { return r.rec.Paths.Prompt + ".launch.json" }

// start writes the records and starts the supervisor.
func (r *rig) start(extra ...string) {
	r.t.Helper()
	env := append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir, roleVar + "=worker", "OKSTRA_RESULT=" + r.rec.Paths.Result,
	}, r.env...)
	if err := launch.WriteEnv(r.rec.Paths.Env, &launch.Env{SchemaVersion: launch.EnvSchemaVersion, Env: env}); err != nil {
		r.t.Fatal(err)
	}
	if err := launch.Write(r.launchPath(), r.rec); err != nil && !errors.Is(err, fs.ErrExist) {
		r.t.Fatal(err)
	}
	r.spawn(extra...)
}

func (r *rig) spawn(extra ...string) {
	r.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		r.t.Fatal(err)
	}
	argv := []string{exe, r.launchPath()}
	if r.nohup {
		argv = append([]string{"/bin/sh", "-c", `trap '' HUP; exec "$@"`, "sh"}, argv...)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), roleVar + "=supervisor", "GOCOVERDIR=" + os.Getenv("GOCOVERDIR")}, extra...)
	cmd.Stdout, cmd.Stderr = &r.out, &r.out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	r.cmd, r.done = cmd, done
	r.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		if s, err := sidecar.Read(r.rec.Paths.Status); err == nil {
			_, _ = proc.EndClaim(r.t.Context(), s.Claim, 0)
		}
	})
}

// until polls for a condition, and says what was last seen when it never comes.
func (r *rig) until(what string, ok func() bool) {
	r.t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			b, _ := os.ReadFile(r.rec.Paths.Status)
			r.t.Fatalf("never: %s\nsidecar: %s\noutput: %s", what, b, r.out.String())
		}
		<-tick.C
	}
}

// stage waits for a stage and returns the sidecar.
func (r *rig) stage(want sidecar.Stage) *sidecar.Status {
	r.t.Helper()
	var last *sidecar.Status
	r.until("stage "+string(want), func() bool {
		s, err := sidecar.Read(r.rec.Paths.Status)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.t.Fatal(err)
		}
		last = s
		return s != nil && s.Stage == want
	})
	return last
}

// release waits for init and lets the worker start.
func (r *rig) release() *sidecar.Status {
	r.t.Helper()
	s := r.stage(sidecar.StageInit)
	r.word(s.Claim, true)
	return s
}

func (r *rig) word(claim string, g bool) {
	r.t.Helper()
	if err := launch.WriteGo(r.rec.Paths.Go, &launch.Go{Claim: claim, Go: g}); err != nil {
		r.t.Fatal(err)
	}
}

// wait waits for the supervisor's end and returns its exit code.
func (r *rig) wait() int {
	r.t.Helper()
	select {
	case <-r.done:
		return r.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		r.t.Fatalf("the supervisor does not end\n%s", r.out.String())
		return -1
	}
}

// run goes the whole way and returns the terminal sidecar.
func (r *rig) run() *sidecar.Status {
	r.t.Helper()
	r.start()
	r.release()
	if code := r.wait(); code != 0 {
		r.t.Fatalf("supervisor ended with %d\n%s", code, r.out.String())
	}
	return r.terminal()
}

func (r *rig) terminal() *sidecar.Status {
	r.t.Helper()
	s, err := sidecar.Read(r.rec.Paths.Status)
	if err != nil {
		r.t.Fatal(err)
	}
	if !s.Stage.Terminal() {
		r.t.Fatalf("sidecar is at %q\n%s", s.Stage, r.out.String())
	}
	if left, err := proc.WithClaim(s.Claim); err != nil || len(left) > 0 {
		r.t.Errorf("processes left: %v", left)
	}
	if _, err := os.Lstat(r.rec.Paths.Status + ".reserve"); err == nil {
		r.t.Error("the reserved space was not given back")
	}
	return s
}

// verdict applies the completion rule.
func (r *rig) verdict(s *sidecar.Status) string {
	status, reason, _ := sidecar.Completed(s, sidecar.Gather(r.rec, nil), nil)
	return strings.TrimSuffix(string(status)+"/"+string(reason), "/")
}

func (r *rig) read(path string) string {
	r.t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(b)
}

func (r *rig) judge() sidecar.Judgement {
	r.t.Helper()
	j, err := sidecar.Judge(r.rec.Paths.Status, r.rec.Paths.Lock)
	if err != nil {
		r.t.Fatal(err)
	}
	return j
}

func endClaim(t testing.TB, claim string) []proc.Identity {
	left, err := proc.EndClaim(t.Context(), claim, 100*time.Millisecond)
	if err != nil {
		t.Error(err)
	}
	return left
}
