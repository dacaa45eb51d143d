package testscripts

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// refusal is one dispatch that must not start: exit 5, these texts, and not a
// byte of the project changed, without --dry-run and with it.
type refusal struct {
	name string
	args []string
	// edit changes the jobs file that args pass as JOBS; nil passes it as it is.
	edit func(f *jobsFile)
	text []string
}

// jobsFile is a jobs file as it is edited: as values, or as text.
type jobsFile struct {
	doc  map[string]any
	text func(string) string
}

func (f *jobsFile) entry(i int) map[string]any { return f.doc["workers"].([]any)[i].(map[string]any) }

func set(key string, value any) func(*jobsFile) {
	return func(f *jobsFile) { f.entry(0)[key] = value }
}

func drop(key string) func(*jobsFile) {
	return func(f *jobsFile) { delete(f.entry(0), key) }
}

func text(old, new string) func(*jobsFile) {
	return func(f *jobsFile) { f.text = func(s string) string { return strings.Replace(s, old, new, 1) } }
}

// refused runs the table against a project as it stands; source is the jobs
// file that edits begin with.
func (p *project) refused(source string, table []refusal) {
	p.t.Helper()
	p.writesNothing(0, "status") // what is compared does not move by itself
	for _, r := range table {
		p.t.Run(r.name, func(t *testing.T) {
			q := *p
			q.t = t
			jobs := filepath.Join(t.TempDir(), "jobs.json")
			if source != "" {
				q.write(jobs, edited(t, q.read(source), r.edit))
			}
			args := slices.Clone(r.args)
			for i := range args {
				if args[i] == "JOBS" {
					args[i] = jobs
				}
			}
			for _, more := range [][]string{{"--dry-run"}, nil} {
				out := q.writesNothing(5, q.team("dispatch", append(args, more...)...)...)
				for _, want := range r.text {
					if !strings.Contains(plainText(out.stderr), want) {
						t.Errorf("%v does not say %q: %s", more, want, out)
					}
				}
			}
		})
	}
}

func edited(t *testing.T, source string, edit func(*jobsFile)) string {
	t.Helper()
	f := &jobsFile{text: func(s string) string { return s }}
	if err := json.Unmarshal([]byte(source), &f.doc); err != nil {
		t.Fatal(err)
	}
	if edit != nil {
		edit(f)
	}
	b, err := json.MarshalIndent(f.doc, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	out := f.text(string(b))
	if edit != nil && f.text(source) == source && out == edited(t, source, nil) {
		t.Fatal("the edit changes nothing")
	}
	return out
}

// plainText undoes the wrapping of messages.
func plainText(s string) string { return strings.Join(strings.Fields(s), " ") }

// writesNothing runs okstra, wants this exit code, and compares everything in
// the project before and after.
func (p *project) writesNothing(code int, args ...string) ended {
	p.t.Helper()
	before := p.snapshot()
	out := p.must(code, args...)
	if after := p.snapshot(); after != before {
		p.t.Errorf("okstra %s changed the project.\nbefore:\n%s\nafter:\n%s", strings.Join(args, " "), before, after)
	}
	return out
}

// TestRefusedRoster is about workers that are named, and whose manifest it is.
func TestRefusedRoster(t *testing.T) {
	t.Parallel()
	p := newProject(t, "review", "unknown")
	p.prepare()
	const ada, bert = "analysis.find-defects.ada", "analysis.find-defects.bert"
	p.refused("", []refusal{
		{name: "unknown worker", args: []string{"--workers", "nobody"}, text: []string{`no worker "nobody"`, ada}},
		{name: "two rounds", args: []string{"--workers", ada + ",cross-check.check-findings.ada"}, text: []string{"different rounds"}},
		{name: "named twice", args: []string{"--workers", ada + "," + ada}, text: []string{ada + " is named twice"}},
		{name: "a later round", args: []string{"--workers", "report.write-report.ada"}, text: []string{"round report cannot begin: upstream-failed"}},
		{name: "a reverify round by name", args: []string{"--workers", "cross-check.check-findings.ada"}, text: []string{"dispatched by its jobs file"}},
		{name: "unknown kind", args: []string{"--workers", ada, "--dispatch-kind", "again"}, text: []string{`no dispatch kind "again"`, "reverify-r<N>"}},
		{name: "kind of another round", args: []string{"--workers", ada, "--dispatch-kind", "report-writer"}, text: []string{"report-writer does not fit round analysis"}},
		{name: "nothing to retry", args: []string{"--workers", ada, "--dispatch-kind", "retry"}, text: []string{ada + " has no ended attempt"}},
		{name: "another lead runtime", args: []string{"--lead-runtime", "codex"}, text: []string{`lead runtime "codex"`, `"external"`}},
		{name: "another run name", args: []string{"--run-name", "other"}, text: []string{`run name "other"`, `"review"`}},
	})

	p.batch("--workers", ada)
	p.refused("", []refusal{
		{name: "recorded already", args: []string{"--workers", ada}, text: []string{ada + " is dispatched already", "analysis/find-defects/ada@analysis#1"}},
		{name: "recorded beside one that is not", args: []string{"--workers", ada + "," + bert}, text: []string{ada + " is dispatched already"}},
		{name: "retry of a completed", args: []string{"--workers", ada, "--dispatch-kind", "retry"}, text: []string{ada + " has completed"}},
	})
	if starts := p.read("starts.log"); strings.Count(starts, "\n") != 1 {
		t.Errorf("more than the one worker was started:\n%s", starts)
	}

	p.batch()
	for range 3 {
		p.batch()
	}
	p.refused("", []refusal{{name: "a finished run", text: []string{"is finished (completed)", "--new"}}})
}

// TestRefusedWhileRunning is about a batch that has not ended.
func TestRefusedWhileRunning(t *testing.T) {
	t.Parallel()
	p := newProject(t, "review", "unknown")
	p.write("workers/ada", "wait-file go-on\n"+p.read("workers/ada"))
	p.prepare()
	p.must(0, p.team("dispatch", "--workers", "analysis.find-defects.ada")...)
	if out := p.must(7, p.team("await", "--timeout", "50ms")...); !strings.Contains(out.stdout, "workers go on") {
		t.Errorf("await says nothing of its time: %s", out)
	}
	out := p.must(5, p.team("dispatch", "--workers", "report.write-report.ada")...)
	if !strings.Contains(plainText(out.stderr), "batch analysis has not ended") {
		t.Errorf("the open batch is not named: %s", out)
	}
	if out := p.must(5, p.team("teardown")...); !strings.Contains(out.stderr, "analysis") {
		t.Errorf("teardown does not say who runs: %s", out)
	}
	p.write("go-on", "")
	p.must(0, p.team("await")...)
}

// TestRefusedPhaseOrder is about an implementation: the executor alone, then
// its verifiers, and this before every other rule.
func TestRefusedPhaseOrder(t *testing.T) {
	t.Parallel()
	p := newProject(t, "implement", "implementation")
	p.prepare()
	const executor, verifier, other = "execute.build.ada", "verify.check.bert", "verify.check.cara"
	const order = "implementation phase order"
	p.refused("", []refusal{
		{name: "executor and verifier", args: []string{"--workers", executor + "," + verifier}, text: []string{order, "leave out " + verifier}},
		{name: "verifier and executor", args: []string{"--workers", verifier + "," + executor}, text: []string{order, "leave out " + verifier}},
		{name: "by labels", args: []string{"--workers", "fake-executor", "--workers", "fake-verifier-1"}, text: []string{order}},
		{name: "verifier first", args: []string{"--workers", verifier}, text: []string{order, "cannot start before " + executor + " has completed"}},
		{name: "before an unfitting kind", args: []string{"--workers", verifier, "--dispatch-kind", "retry"}, text: []string{order}},
		{name: "before a name that stands there twice", args: []string{"--workers", verifier + "," + verifier}, text: []string{order}},
	})

	p.batch("--workers", executor)
	p.refused("", []refusal{
		{name: "executor still in the verifiers' batch", args: []string{"--workers", executor + "," + verifier + "," + other}, text: []string{order, "leave out " + executor}},
	})
	p.must(0, p.team("dispatch", "--workers", verifier+","+other, "--dry-run")...)
	p.batch("--workers", verifier+","+other)
}

// TestRefusedFailedExecutor is about verifiers whose executor has failed.
func TestRefusedFailedExecutor(t *testing.T) {
	t.Parallel()
	p := newProject(t, "implement", "implementation")
	p.write("workers/ada", "exit 3\n")
	p.prepare()
	p.must(0, p.team("dispatch")...)
	p.must(3, p.team("await")...)
	p.refused("", []refusal{
		{name: "verifiers", args: []string{"--workers", "verify.check.bert"}, text: []string{"implementation phase order", "execute.build.ada"}},
	})
}

// TestRefusedJobsFile is about everything that a jobs file can have wrong.
func TestRefusedJobsFile(t *testing.T) {
	t.Parallel()
	p := newProject(t, "review", "unknown")
	p.prepare()
	p.batch()
	file := []string{"--jobs-file", "JOBS"}
	other := p.run.Root + "/elsewhere-worker-x.md"
	table := []refusal{
		{name: "array called jobs", edit: func(f *jobsFile) { f.doc["jobs"] = f.doc["workers"]; delete(f.doc, "workers") }, text: []string{"the array is called workers, not jobs"}},
		{name: "no array", edit: func(f *jobsFile) { delete(f.doc, "workers") }, text: []string{"the array workers is missing"}},
		{name: "empty array", edit: func(f *jobsFile) { f.doc["workers"] = []any{} }, text: []string{"workers is empty"}},
		{name: "not an array", edit: func(f *jobsFile) { f.doc["workers"] = "all" }, text: []string{`workers is "all"`}},
		{name: "unknown key", edit: func(f *jobsFile) { f.doc["note"] = "x" }, text: []string{`unknown key "note"`}},
		{name: "unknown key of an entry", edit: set("note", "x"), text: []string{`workers[0] (cross-check/check-findings/ada@reverify-r1#1): unknown key "note"`}},
		{name: "no kind", edit: func(f *jobsFile) { delete(f.doc, "dispatchKind") }, text: []string{"dispatchKind is missing"}},
		{name: "kind not one of the known", edit: func(f *jobsFile) { f.doc["dispatchKind"] = "reverify" }, text: []string{`no dispatch kind "reverify"`}},
		{name: "kind of another round", edit: func(f *jobsFile) { f.doc["dispatchKind"] = "reverify-r2" }, text: []string{"reverify-r2"}},
		{name: "kind other than the option", args: []string{"--jobs-file", "JOBS", "--dispatch-kind", "reverify-r2"}, text: []string{"dispatchKind is reverify-r1, but --dispatch-kind says reverify-r2"}},

		{name: "workerId", edit: set("workerId", "ada"), text: []string{"mixing v1 and v2 identity"}},
		{name: "version 1 entry", edit: func(f *jobsFile) {
			e := f.entry(0)
			f.doc["workers"] = []any{map[string]any{"workerId": "ada", "provider": e["provider"], "promptPath": e["promptPath"], "workerResultPath": e["workerResultPath"]}}
		}, text: []string{"mixing v1 and v2 identity"}},
		{name: "result path without the token", edit: set("workerResultPath", "verifier-reverify-r1-unknown-001.md"), text: []string{"worker result path has no canonical -worker- token"}},
		{name: "role of a round", edit: set("role", "worker-reverify-r1"), text: []string{"role is worker-reverify-r1, expected verifier", "jobs file v2 identity does not match role execution authority"}},
		{name: "role of another", edit: set("role", "analyst"), text: []string{"jobs file v2 identity does not match role execution authority"}},
		{name: "digests no object", edit: set("digests", "sha256:0"), text: []string{"digests is \"sha256:0\"; it is an object"}},
		{name: "unknown digest", edit: func(f *jobsFile) { f.entry(0)["digests"].(map[string]any)["otherDigest"] = "x" }, text: []string{`unknown digest "otherDigest"`}},
		{name: "attempt 0", edit: set("attempt", 0), text: []string{"attempt is 0; it is a positive integer"}},
		{name: "attempt negative", edit: set("attempt", -1), text: []string{"attempt is -1; it is a positive integer"}},
		{name: "attempt 1.5", edit: set("attempt", 1.5), text: []string{"attempt is 1.5; it is a positive integer"}},
		{name: "attempt a string", edit: set("attempt", "1"), text: []string{"it is a positive integer"}},
		{name: "attempt 2", edit: set("attempt", 2), text: []string{"attempt is 2, expected 1"}},
		{name: "the same entry twice", edit: func(f *jobsFile) {
			f.doc["workers"] = append(f.doc["workers"].([]any), maps.Clone(f.entry(0)))
		}, text: []string{"the same assignment as workers[0]"}},
		{name: "a judge less than planned", edit: func(f *jobsFile) { f.doc["workers"] = f.doc["workers"].([]any)[1:] },
			text: []string{"cross-check.check-findings.ada is missing", "followed exactly"}},
		{name: "path elsewhere", edit: set("workerResultPath", other), text: []string{"workerResultPath is " + other}},
		{name: "several at once", edit: func(f *jobsFile) { f.entry(0)["role"] = "analyst"; f.entry(1)["attempt"] = 0 },
			text: []string{"role execution authority", "it is a positive integer", "and 1 more"}},
		{name: "repeated key", edit: text(`"attempt": 1`, `"attempt": 1, "attempt": 1`), text: []string{`the key "attempt" stands there twice`}},
		{name: "not JSON", edit: text(`{`, `{{`), text: []string{"jobs.json:1:2: not JSON"}},
		{name: "cut off", edit: func(f *jobsFile) { f.text = func(s string) string { return s[:len(s)/2] } }, text: []string{"not JSON"}},
		{name: "no object", edit: func(f *jobsFile) { f.text = func(string) string { return "[]" } }, text: []string{"a jobs file is an object"}},
	}
	for _, key := range []string{"participantRef", "roleExecutionRef", "assignmentRef", "executionLabel", "dutyId", "invocationRef", "attempt", "provider", "promptPath", "workerResultPath", "role", "digests"} {
		table = append(table, refusal{name: "no " + key, edit: drop(key), text: []string{key + " is missing"}})
		if key != "attempt" && key != "digests" {
			table = append(table, refusal{name: "other " + key, edit: set(key, "other"), text: []string{"workers[0]", key, "other"}})
		}
	}
	for _, key := range []string{"catalogDigest", "assignmentDigest", "dutyDigest", "instructionDigest", "promptDigest"} {
		table = append(table,
			refusal{name: "no " + key, edit: func(f *jobsFile) { delete(f.entry(0)["digests"].(map[string]any), key) }, text: []string{"digests has no " + key}},
			refusal{name: "other " + key, edit: func(f *jobsFile) { f.entry(0)["digests"].(map[string]any)[key] = "sha256:00" }, text: []string{key + " is sha256:00, expected sha256:"}})
	}
	for i := range table {
		if table[i].args == nil {
			table[i].args = file
		}
	}
	p.refused(p.run.ReverifyJobs(1), table)

	// What is only advice is not read, and the file as it was is taken.
	advice := filepath.Join(t.TempDir(), "advice.json")
	p.write(advice, edited(t, p.read(p.run.ReverifyJobs(1)), func(f *jobsFile) {
		f.entry(0)["resultPath"], f.entry(0)["completionPaths"] = "anything", []any{"else"}
	}))
	p.writesNothing(0, p.team("dispatch", "--jobs-file", advice, "--dry-run")...)
	p.batch("--jobs-file", advice)
	p.refused(p.run.ReverifyJobs(1), []refusal{
		{name: "recorded already", args: file, text: []string{"cross-check/check-findings/ada@reverify-r1#1 is recorded already, as completed"}},
	})

	// A round plan that was changed after it was recorded.
	plan := p.read(p.run.RoundPlan(2))
	for _, change := range []struct{ name, old, new string }{
		{"another judge", `"worker": "cross-check.check-findings.bert"`, `"worker": "cross-check.check-findings.cara"`},
		{"another finding", `"analysis.find-defects.cara/C2"`, `"analysis.find-defects.ada/A1"`},
		{"another mode", `"mode": "lightweight"`, `"mode": "full-reanalysis"`},
	} {
		if !strings.Contains(plan, change.old) {
			t.Fatalf("the round plan has no %s:\n%s", change.old, plan)
		}
		p.write(p.run.RoundPlan(2), strings.Replace(plan, change.old, change.new, 1))
		moved := []string{"the plan of convergence round 2 is not the one that was begun with"}
		p.refused(p.run.ReverifyJobs(2), []refusal{
			{name: "round plan with " + change.name, args: file, text: moved},
			{name: "the next round, its plan with " + change.name, text: moved},
		})
	}
	p.write(p.run.RoundPlan(2), plan)
	p.batch("--jobs-file", p.run.ReverifyJobs(2))
	p.batch()
	if starts := strings.Split(strings.TrimSpace(p.read("starts.log")), "\n"); len(starts) != 9 {
		t.Errorf("%d workers were started, not 9:\n%s", len(starts), strings.Join(starts, "\n"))
	}
}

// TestRefusedBackend is about a backend that is gone.
func TestRefusedBackend(t *testing.T) {
	t.Parallel()
	p := newProject(t, "review", "unknown")
	p.prepare()
	var state map[string]any
	if err := json.Unmarshal([]byte(p.read(p.run.TeamState())), &state); err != nil {
		t.Fatal(err)
	}
	state["backend"] = "cmux" // as if the run was made inside cmux
	b, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.run.TeamState(), b, 0o600); err != nil {
		t.Fatal(err)
	}
	p.refused("", []refusal{{name: "not inside cmux", text: []string{"cmux", "--backend"}}})
}
