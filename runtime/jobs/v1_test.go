package jobs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/lead"
	"github.com/okstra/okstra/runtime/record"
	"github.com/okstra/okstra/runtime/schema"
)

// v1 is a run whose manifest has version 1 identity.
func v1(t *testing.T) Context {
	root := t.TempDir()
	run := paths.Run{Root: root, Task: plan.Task{Project: "shop", Group: "auth", ID: "A-1"}, TaskType: TaskImplementation, Seq: 1}
	return Context{Run: run, Manifest: &lead.Manifest{TaskType: TaskImplementation, Workers: []lead.WorkerV1{
		{WorkerID: "claude", Provider: "claude", PromptPath: "p", WorkerResultPath: "r", Role: lead.RoleExecutor},
		{WorkerID: "codex", Provider: "codex", PromptPath: "p", WorkerResultPath: "r", Role: lead.RoleVerifier},
		{WorkerID: "gemini", Provider: "gemini", PromptPath: "p", WorkerResultPath: "r", Role: "analyst"},
	}}}
}

// entryV1 writes the prompt and returns an entry for it.
func entryV1(t *testing.T, c Context, id string) object {
	t.Helper()
	prompt := filepath.Join(c.Run.Dir(), "prompts", id+".md")
	if err := os.MkdirAll(filepath.Dir(prompt), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(prompt, []byte("do it"), 0o600); err != nil {
		t.Fatal(err)
	}
	return object{"workerId": id, "provider": id, "promptPath": prompt, "workerResultPath": filepath.Join(c.Run.Dir(), "worker-results", id+"-worker-implementation-001.md")}
}

func fileV1(t *testing.T, kind string, entries ...object) []byte {
	t.Helper()
	out, err := json.Marshal(object{"dispatchKind": kind, "workers": entries})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestVersion1(t *testing.T) {
	c := v1(t)
	e := entryV1(t, c, "gemini")
	src := fileV1(t, "initial", e)
	if err := schema.Validate("jobs", src); err != nil {
		t.Errorf("schema: %v", err)
	}
	jobs, r := Check(src, "j", c)
	if r != nil {
		t.Fatalf("%+v", r)
	}
	j := jobs[0]
	if j.Ref != "gemini@initial#1" || j.V1.WorkerID != "gemini" || j.PromptPath != e["promptPath"] ||
		!strings.HasSuffix(j.AuditPath, "gemini-worker-audit-implementation-001.md") || !strings.HasSuffix(j.EmitPath, "gemini-worker-emit-implementation-001.json") {
		t.Errorf("%+v", j)
	}
	c.Dispatches = []*record.Dispatch{{WorkerID: "gemini", InvocationRef: "gemini@reverify-r1#1", Batch: "reverify-r1", Attempt: 1, Status: plan.StatusError}}
	jobs, r = Check(fileV1(t, "retry", entryV1(t, c, "gemini")), "j", c)
	if r != nil || jobs[0].Ref != "gemini@reverify-r1#2" {
		t.Errorf("retry: %+v %+v", jobs, r)
	}
}

func TestVersion1Refusals(t *testing.T) {
	tests := []struct {
		name string
		make func(c *Context, e object) []byte
		want []string
	}{
		{"version 2 fields", func(c *Context, e object) []byte { e["dutyId"] = "x"; return fileV1(t, "initial", e) }, []string{"mixing v1 and v2 identity"}},
		{"a version 2 entry", func(c *Context, e object) []byte {
			delete(e, "workerId")
			e["assignmentRef"] = "a/b/c"
			return fileV1(t, "initial", e)
		}, []string{"mixing v1 and v2 identity", "identity version 1"}},
		{"a worker that is not there", func(c *Context, e object) []byte { e["workerId"] = "zoe"; return fileV1(t, "initial", e) }, []string{"no worker zoe"}},
		{"another provider", func(c *Context, e object) []byte { e["provider"] = "claude"; return fileV1(t, "initial", e) }, []string{"provider is claude, expected gemini"}},
		{"no token", func(c *Context, e object) []byte {
			e["workerResultPath"] = filepath.Join(c.Run.Dir(), "worker-results", "gemini-reverify-r1.md")
			return fileV1(t, "initial", e)
		}, []string{"worker result path has no canonical -worker- token"}},
		{"outside", func(c *Context, e object) []byte {
			e["workerResultPath"] = filepath.Join(c.Run.Dir(), "..", "x-worker-y.md")
			return fileV1(t, "initial", e)
		}, []string{"lies outside the run's folder"}},
		{"a link on the way", func(c *Context, e object) []byte {
			if err := os.Symlink(t.TempDir(), filepath.Join(c.Run.Dir(), "worker-results")); err != nil {
				t.Fatal(err)
			}
			return fileV1(t, "initial", e)
		}, []string{"goes through the link", "worker-results"}},
		{"a prompt that is a link", func(c *Context, e object) []byte {
			link := filepath.Join(c.Run.Dir(), "prompts", "link.md")
			if err := os.Symlink(e["promptPath"].(string), link); err != nil {
				t.Fatal(err)
			}
			e["promptPath"] = link
			return fileV1(t, "initial", e)
		}, []string{"goes through the link", "link.md"}},
		{"a result that is there", func(c *Context, e object) []byte {
			touch(t, e["workerResultPath"].(string))
			return fileV1(t, "initial", e)
		}, []string{"exists already"}},
		{"an audit that is there", func(c *Context, e object) []byte {
			touch(t, AuditPath(e["workerResultPath"].(string)))
			return fileV1(t, "initial", e)
		}, []string{"exists already", "audit"}},
		{"a prompt that was used", func(c *Context, e object) []byte {
			touch(t, e["promptPath"].(string)+".status.json")
			return fileV1(t, "initial", e)
		}, []string{"status.json exists already"}},
		{"no prompt", func(c *Context, e object) []byte {
			e["promptPath"] = e["promptPath"].(string) + "x"
			return fileV1(t, "initial", e)
		}, []string{"promptPath cannot be read"}},
		{"a path twice", func(c *Context, e object) []byte {
			other := entryV1(t, *c, "claude")
			other["promptPath"] = e["promptPath"]
			return fileV1(t, "initial", e, other)
		}, []string{"is named already by workers[0] (gemini)"}},
		{"a path of a record", func(c *Context, e object) []byte {
			c.Dispatches = []*record.Dispatch{{WorkerID: "claude", InvocationRef: "claude@initial#1", PromptPath: relative(c.Run.Root, e["promptPath"].(string))}}
			return fileV1(t, "initial", e)
		}, []string{"is named already by claude@initial#1"}},
		{"the worker twice", func(c *Context, e object) []byte { return fileV1(t, "initial", e, e) }, []string{"same worker as workers[0]"}},
		{"recorded", func(c *Context, e object) []byte {
			c.Dispatches = []*record.Dispatch{{WorkerID: "gemini", InvocationRef: "gemini@initial#1", Batch: "initial", Attempt: 1, Status: plan.StatusCompleted}}
			return fileV1(t, "initial", e)
		}, []string{"gemini@initial#1 is recorded already, as completed"}},
		{"retry of nothing", func(c *Context, e object) []byte { return fileV1(t, "retry", e) }, []string{"nothing is recorded of gemini"}},
		{"executor beside verifier", func(c *Context, e object) []byte {
			return fileV1(t, "initial", entryV1(t, *c, "claude"), entryV1(t, *c, "codex"))
		}, []string{"implementation phase order", "leave out codex"}},
		{"verifier first", func(c *Context, e object) []byte { return fileV1(t, "initial", entryV1(t, *c, "codex")) }, []string{"implementation phase order"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := v1(t)
			src := tt.make(&c, entryV1(t, c, "gemini"))
			jobs, r := Check(src, "j", c)
			refused(t, jobs, r, tt.want...)
		})
	}
}

func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
}
