package lead

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime/schema"
)

func TestManifestRoundTrip(t *testing.T) {
	root := t.TempDir()
	run, p := runOf(root), reviewPlan(root)
	m := NewManifest(run, p, run.Plan(1), "cmux", RuntimeClaudeCode)
	if m.TerminalBackend != ModeCmuxPane || NewManifest(run, p, run.Plan(1), "tmux", RuntimeCodex).TerminalBackend != "" {
		t.Error("terminalBackend is for exactly the cmux runs")
	}
	if e := m.TeamContract.Executor; e == nil || e.WorkerKey != "write.carry-out.ada" {
		t.Errorf("executor: %+v", e)
	}
	if diff := cmp.Diff([]string{RoleExecutor, RoleReportWriter, RoleVerifier}, m.TeamContract.RequiredRoles); diff != "" {
		t.Error(diff)
	}
	if err := WriteManifest(run, m); err != nil {
		t.Fatal(err)
	}
	if err := WriteManifest(run, m); !errors.Is(err, fs.ErrExist) {
		t.Errorf("written twice: %v", err)
	}
	got, err := ReadManifest(run.Manifest())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m, got); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	raw, err := os.ReadFile(run.Manifest())
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate("run-manifest", raw); err != nil {
		t.Error(err)
	}
	if strings.Contains(strings.ReplaceAll(string(raw), `"projectRoot": "`+root, ""), root) {
		t.Error("a path is not relative to the project root")
	}
	again := NewManifest(run, reviewPlan(root), run.Plan(1), "cmux", RuntimeClaudeCode)
	if plan.Digest(again) != plan.Digest(m) {
		t.Error("the same plan gives another manifest")
	}
}

func TestManifestVersion1(t *testing.T) {
	const good = `{"schemaVersion":"1.0","somethingOld":true,"leadRuntime":"codex","taskType":"implementation",
		"workers":[{"workerId":"claude","provider":"claude","promptPath":"p.md","workerResultPath":"r-worker-x.md","role":"executor"}]}`
	m, err := ParseManifest([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	if m.Identity() != 1 || len(m.Workers) != 1 || m.Workers[0].Role != "executor" || m.LeadRuntime != RuntimeCodex {
		t.Errorf("%+v", m)
	}
	if err := schema.Validate("run-manifest", []byte(good)); err != nil {
		t.Error(err)
	}
}

func TestManifestRefusals(t *testing.T) {
	root := t.TempDir()
	run := runOf(root)
	v2, err := plan.Indented(NewManifest(run, reviewPlan(root), run.Plan(1), "tmux", RuntimeExternal))
	if err != nil {
		t.Fatal(err)
	}
	change := func(old, new string) string {
		if !strings.Contains(string(v2), old) {
			t.Fatalf("nothing to change: %s", old)
		}
		return strings.Replace(string(v2), old, new, 1)
	}
	tests := []struct{ name, doc, want string }{
		{"no JSON", "x", "invalid character"},
		{"a later identity version", change(`"executionIdentityVersion": 2`, `"executionIdentityVersion": 3`), "knows 2"},
		{"another schema version", change(`"schemaVersion": "2.0"`, `"schemaVersion": "3.0"`), `"3.0"`},
		{"an unknown key", change(`"runName"`, `"runname2": 1, "runName"`), "runname2"},
		{"an unknown lead runtime", change(`"leadRuntime": "external"`, `"leadRuntime": "tmux"`), "a multiplexer is a backend"},
		{"no run", change(`"run": "shop`, `"run": "", "definition": "shop`), "no run"},
		{"workers in version 2", change(`"runName"`, `"workers": [{"workerId":"x"}], "runName"`), "workers belong to version 1"},
		{"something after", string(v2) + "{}", "after top-level value"},
		{"version 1 without workers", `{"schemaVersion":"1.0"}`, "missing"},
		{"version 1, unknown key of a worker", `{"workers":[{"workerId":"a","model":"x"}]}`, "model"},
		{"version 1, no role", `{"workers":[{"workerId":"a","provider":"b","promptPath":"c","workerResultPath":"d"}]}`, "workers[0] has no role"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := ParseManifest([]byte(tt.doc)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("want %q, got %v", tt.want, err)
			}
		})
	}
}

func TestRunOf(t *testing.T) {
	root := t.TempDir()
	run := runOf(root)
	for _, given := range []string{"", root} {
		got, err := RunOf(run.Manifest(), given)
		if err != nil || got != run {
			t.Errorf("%q: %+v, %v", given, got, err)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(root, link); err != nil {
		t.Fatal(err)
	}
	if _, err := RunOf(run.Manifest(), link); err != nil {
		t.Errorf("through a link: %v", err)
	}
	for name, path := range map[string]string{
		"another name": filepath.Join(filepath.Dir(run.Manifest()), "manifest.json"), "another place": filepath.Join(root, filepath.Base(run.Manifest())),
		"another task type": strings.Replace(run.Manifest(), "runs/implementation", "runs/unknown", 1), "seq 0": strings.Replace(run.Manifest(), "-003", "-000", 1),
	} {
		if _, err := RunOf(path, ""); err == nil {
			t.Errorf("%s is taken: %s", name, path)
		}
	}
	if _, err := RunOf(run.Manifest(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "lies in the project") {
		t.Errorf("another project: %v", err)
	}
}

func FuzzManifest(f *testing.F) {
	run := runOf("/srv/shop")
	v2, err := plan.Indented(NewManifest(run, reviewPlan("/srv/shop"), run.Plan(1), "tmux", RuntimeExternal))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(v2)
	f.Add([]byte(`{"workers":[{"workerId":"a","provider":"b","promptPath":"c","workerResultPath":"d","role":"e"}]}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		m, err := ParseManifest(doc)
		if err == nil && m.Identity() == 1 && len(m.Workers) == 0 {
			t.Error("version 1 without workers")
		}
	})
}
