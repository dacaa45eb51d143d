package testscripts

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/okstra/okstra/backends/cmux/cmuxtest"
)

// backendsApart are the fields in which the same run differs from backend to
// backend, beyond those in which two runs do: the backend itself and the plan's
// digest, since a plan holds what was probed and where panes will stand.
var backendsApart = map[string]bool{"backend": true, "dispatchMode": true, "planDigest": true}

// ofScreens are the events that only a backend with screens has.
var ofScreens = map[string]bool{"panes-reclaimed": true, "note": true}

// TestSameRecordsOnEveryBackend carries the same definitions out as processes,
// in tmux and in cmux: team-state and events tell the same.
func TestSameRecordsOnEveryBackend(t *testing.T) {
	runs := []struct {
		name, project, taskType string
		exit                    int
		before                  func(p *project) // changes the project
	}{
		{"review", "review", "unknown", 0, func(*project) {}},
		{"implementation", "implement", "implementation", 0, func(*project) {}},
		{"failing", "review", "unknown", 3, func(p *project) {
			// One is tried again and goes on failing, one is ended by its limit.
			p.write("workers/bert", "print not today\nexit 4\n")
			p.write("okstra.hcl", strings.Replace(p.read("okstra.hcl"), `timeout = { start = "2s" }`,
				"timeout = { start = \"10s\", wall = \"1s\", grace = \"1s\" }\n  retry   = { attempts = 2, backoff = \"10ms\" }", 1))
			p.write("workers/cara", "silent\n")
		}},
	}
	for _, r := range runs {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			// One folder for all: digests of prompts and plans hold its path.
			p := newProject(t, r.project, r.taskType)
			env := p.env
			var first, firstEvents any
			for _, backend := range []string{"process", "tmux", "cmux"} {
				p.t, p.env = t, env
				p.empty()
				if err := unpack(r.project, p.root); err != nil {
					t.Fatal(err)
				}
				r.before(p)
				switch backend {
				case "tmux":
					if _, err := exec.LookPath("tmux"); err != nil {
						t.Fatal(err)
					}
				case "cmux":
					p.env = append(slices.Clone(env), cmuxLead(t)...)
				}
				p.must(r.exit, "apply", "--backend", backend)
				p.must(0, "verify")
				if got := p.state().Backend; got != backend {
					t.Fatalf("%s was asked for, %s is recorded", backend, got)
				}
				records, events := without(p.records(), backendsApart), p.events()
				p.must(0, "teardown")
				if first == nil {
					first, firstEvents = records, events
					continue
				}
				if diff := cmp.Diff(first, records); diff != "" {
					t.Errorf("other records than as processes (-process +%s):\n%s", backend, diff)
				}
				if diff := cmp.Diff(firstEvents, events); diff != "" {
					t.Errorf("other events than as processes (-process +%s):\n%s", backend, diff)
				}
			}
		})
	}
}

// cmuxLead starts a cmux for the test and returns the environment of a lead in
// it, as far as it is cmux's.
func cmuxLead(t *testing.T) []string {
	t.Helper()
	server, err := cmuxtest.New(cmuxtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return slices.DeleteFunc(server.LeadEnv(), func(kv string) bool {
		return !strings.HasPrefix(kv, "CMUX_") && !strings.HasPrefix(kv, "__CF")
	})
}

// without drops the named fields from a decoded JSON value.
func without(v any, names map[string]bool) any {
	switch v := v.(type) {
	case map[string]any:
		for k, one := range v {
			if names[k] {
				delete(v, k)
				continue
			}
			v[k] = without(one, names)
		}
	case []any:
		for i := range v {
			v[i] = without(v[i], names)
		}
	}
	return v
}

// events reads the run's event log, less what belongs to screens, to time and
// to the plan. Workers of a batch end in any order, so the events of each
// invocation are put together, in their own order.
func (p *project) events() any {
	p.t.Helper()
	b, err := os.ReadFile(p.run.Events())
	if err != nil {
		p.t.Fatal(err)
	}
	var out []map[string]any
	for line := range strings.Lines(string(b)) {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			p.t.Fatal(err)
		}
		kind, _ := e["type"].(string)
		if ofScreens[kind] {
			continue
		}
		if kind == "plan-applied" {
			delete(e, "message") // it names the backend
		}
		for _, name := range []string{"ts", "seq", "serial"} {
			delete(e, name)
		}
		out = append(out, e)
	}
	slices.SortStableFunc(out, func(a, b map[string]any) int {
		x, _ := a["invocationRef"].(string)
		y, _ := b["invocationRef"].(string)
		return strings.Compare(x, y)
	})
	return out
}
