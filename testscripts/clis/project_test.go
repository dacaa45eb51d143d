package clis

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime"
	"github.com/okstra/okstra/testscripts/modelserver"
)

// clis are the providers under test.
var clis = []string{"claude", "codex", "gemini"}

// server is the model service of all stories; it is started before them.
var server *modelserver.Server

// project is a git repository with the stories' definition, and a home of its
// own, in which each CLI finds the model server and a key.
type project struct {
	t    *testing.T
	dir  string
	home string
	env  []string
	log  bytes.Buffer
}

func newProject(t *testing.T) *project {
	t.Helper()
	// A short path: a tmux socket stands below it.
	base, err := os.MkdirTemp("/tmp", "okc")
	if err != nil {
		t.Fatal(err)
	}
	p := &project{t: t, dir: filepath.Join(base, "project"), home: filepath.Join(base, "home")}
	t.Cleanup(func() {
		p.teardown()
		if t.Failed() {
			t.Logf("%s is kept; okstra said:\n%s", base, p.log.String())
			return
		}
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	definition, err := os.ReadFile("testdata/okstra.hcl")
	if err != nil {
		t.Fatal(err)
	}
	p.write(filepath.Join(p.dir, "okstra.hcl"), string(definition))
	p.write(filepath.Join(p.dir, "README"), "hi\n")
	p.write(filepath.Join(p.dir, "docs", "README"), "hi\n")
	p.write(filepath.Join(p.home, ".codex", "config.toml"), fmt.Sprintf(`model_provider = "story"
[model_providers.story]
name = "story"
base_url = "%s/v1"
env_key = "STORY_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
`, server.URL))
	p.write(filepath.Join(p.home, ".gemini", "settings.json"), `{
  "general": {"maxAttempts": 1},
  "security": {"auth": {"selectedType": "gemini-api-key"}},
  "telemetry": {"enabled": false},
  "privacy": {"usageStatisticsEnabled": false}
}
`)
	p.env = []string{
		"PATH=" + os.Getenv(binVar) + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME=" + p.home, "LANG=C.UTF-8", "TERM=xterm-256color",
		"XDG_RUNTIME_DIR=" + base, "TMUX_TMPDIR=" + base, "TMPDIR=" + base,
		"ANTHROPIC_BASE_URL=" + server.URL, "ANTHROPIC_API_KEY=story", "CLAUDE_CODE_MAX_RETRIES=0",
		"GOOGLE_GEMINI_BASE_URL=" + server.URL, "GEMINI_API_KEY=story",
		"STORY_KEY=story",
		"IS_SANDBOX=1", // claude writes as root only with it
		"CLAUDECODE=1", // as in a lead's own session; a worker must not see it
	}
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "."}, {"-c", "user.name=story", "-c", "user.email=story@example.org", "commit", "-q", "-m", "begin"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = p.dir, p.env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	return p
}

func (p *project) write(path, text string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// set changes a variable of the environment; an empty value removes it.
func (p *project) set(name, value string) {
	kept := p.env[:0:0]
	for _, kv := range p.env {
		if !strings.HasPrefix(kv, name+"=") {
			kept = append(kept, kv)
		}
	}
	if value != "" {
		kept = append(kept, name+"="+value)
	}
	p.env = kept
}

// command is okstra with args in this project.
func (p *project) command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Getenv(okstraVar), args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	return cmd
}

// okstra runs okstra and returns its standard output and exit code.
func (p *project) okstra(args ...string) (string, int) {
	p.t.Helper()
	cmd := p.command(args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &p.log
	fmt.Fprintf(&p.log, "$ okstra %s\n", strings.Join(args, " "))
	err := cmd.Run()
	p.log.Write(out.Bytes())
	if cmd.ProcessState == nil {
		p.t.Fatalf("okstra %s: %v", args, err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// vars are the flags that choose a story.
func vars(cli, model string, more ...string) []string {
	args := []string{"--var", "cli=" + cli, "--var", "model=" + model}
	for _, m := range more {
		args = append(args, "--var", m)
	}
	return args
}

// apply runs a story and returns the one worker's status, and the exit code.
func (p *project) apply(run, backend string, vars ...string) (runtime.WorkerStatus, int) {
	p.t.Helper()
	_, code := p.okstra(append([]string{"apply", run, "--backend", backend}, vars...)...)
	workers := p.status(run).Workers
	if len(workers) != 1 {
		p.t.Fatalf("run %s has %d workers recorded", run, len(workers))
	}
	return workers[0], code
}

func (p *project) status(run string) runtime.RunStatus {
	p.t.Helper()
	out, _ := p.okstra("status", run, "--json")
	var s runtime.RunStatus
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		p.t.Fatalf("status of %s: %v\n%s", run, err, out)
	}
	return s
}

// result is a worker's result file.
func (p *project) result(w runtime.WorkerStatus) string {
	p.t.Helper()
	path := w.ResultPath
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.dir, path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b)
}

// untouched fails where a worker left anything in the project but in .okstra.
func (p *project) untouched() {
	p.t.Helper()
	p.untouchedBut()
}

// untouchedBut is untouched, but for files that the story itself changed.
func (p *project) untouchedBut(files ...string) {
	p.t.Helper()
	cmd := exec.Command("git", "status", "--porcelain", "--untracked-files=all")
	cmd.Dir, cmd.Env = p.dir, p.env
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if name := strings.TrimSpace(line[2:]); !slices.Contains(files, name) {
			p.t.Errorf("the project was changed: %s", line)
		}
	}
}

// teardown closes every pane of the project, and with the last one its tmux
// server.
func (p *project) teardown() {
	for _, run := range []string{"write", "read", "cross-check"} {
		if _, err := os.Stat(filepath.Join(p.dir, ".okstra", "tasks", "clis", "default", run)); err != nil {
			continue
		}
		if out, code := p.okstra("teardown", run, "--force"); code != 0 {
			p.t.Errorf("teardown of %s ended with %d:\n%s", run, code, out)
		}
	}
}

// await polls until ready says true, and fails the test where it never does.
func (p *project) await(what string, ready func() bool) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 90*time.Second)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !ready() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			p.t.Fatalf("waited in vain for %s", what)
		}
	}
}

// check compares status and reason.
func check(t *testing.T, w runtime.WorkerStatus, status plan.Status, reason plan.Reason) {
	t.Helper()
	if w.Status != status || w.Reason != reason {
		t.Errorf("%s %s (%s), want %s %s", w.Status, w.Reason, w.Detail, status, reason)
	}
}
