package jobs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/converge"
	"github.com/okstra/okstra/runtime/lead"
	"github.com/okstra/okstra/runtime/record"
	"github.com/okstra/okstra/runtime/schema"
)

func worker(round, duty, role, participant string) plan.Worker {
	d := func(s string) string { return plan.DigestBytes([]byte(s + duty + participant)) }
	return plan.Worker{
		Key: paths.WorkerKey(round, duty, participant, nil), AssignmentRef: paths.AssignmentRef(round, duty, participant, nil),
		ParticipantRef: participant, RoleExecutionRef: role + "/" + participant, Label: "claude-" + role, Duty: duty, Role: role, Provider: "claude",
		Digests: plan.Digests{Catalog: d("catalog"), Assignment: d("assignment"), Duty: d("duty"), Instruction: d("instruction")},
	}
}

// fixture is an implementation run: an executor, two verifiers, a reverify
// round and a report.
type fixture struct {
	run        paths.Run
	plan       *plan.Plan
	dispatches []*record.Dispatch
}

func newFixture(t *testing.T) *fixture {
	root := t.TempDir()
	p := &plan.Plan{ProjectRoot: root, Run: plan.Run{Name: "build", TaskType: TaskImplementation}, Rounds: []plan.Round{
		{Name: "write", Kind: plan.RoundWork, Workers: []plan.Worker{worker("write", "do", lead.RoleExecutor, "ada")}},
		{Name: "check", Kind: plan.RoundWork, Workers: []plan.Worker{worker("check", "verify", lead.RoleVerifier, "bert"), worker("check", "verify", lead.RoleVerifier, "cleo")}},
		{Name: "cross", Kind: plan.RoundReverify, Convergence: &plan.Convergence{Enabled: true, MaxRounds: 2, Mode: "lightweight", Source: "core"},
			Workers: []plan.Worker{worker("cross", "judge", lead.RoleVerifier, "bert"), worker("cross", "judge", lead.RoleVerifier, "cleo")}},
		{Name: "report", Kind: plan.RoundReportWriter, Workers: []plan.Worker{worker("report", "write-up", lead.RoleReportWriter, "ada")}},
	}}
	key := "a|b/ü x"
	w := worker("check", "verify", lead.RoleVerifier, "bert")
	w.EachKey, w.Key, w.AssignmentRef = &key, paths.WorkerKey("check", "verify", "bert", &key), paths.AssignmentRef("check", "verify", "bert", &key)
	p.Rounds[1].Workers = append(p.Rounds[1].Workers, w)
	return &fixture{run: paths.Run{Root: root, Task: plan.Task{Project: "shop", Group: "auth", ID: "A-1"}, TaskType: TaskImplementation, Seq: 1}, plan: p}
}

func (f *fixture) context() Context {
	return Context{
		Run: f.run, Plan: f.plan, Dispatches: f.dispatches,
		Manifest:  lead.NewManifest(f.run, f.plan, f.run.Plan(1), "process", lead.RuntimeExternal),
		Prompt:    func(j Job) ([]byte, error) { return []byte("prompt of " + j.Ref), nil },
		RoundPlan: func(n int) (*converge.RoundPlan, error) { return f.roundPlan(n) },
	}
}

func (f *fixture) roundPlan(n int) (*converge.RoundPlan, error) {
	if n > 1 {
		return nil, fs.ErrNotExist
	}
	p := &converge.RoundPlan{Format: converge.RoundPlanFormat, Number: n}
	for _, w := range f.plan.Rounds[2].Workers {
		p.Judges = append(p.Judges, converge.JudgeItems{Worker: w.Key, Findings: []string{"x/F1"}})
	}
	return p, nil
}

// batch plans all workers of a round.
func (f *fixture) batch(round int, batch string, attempt int) []Planned {
	var out []Planned
	r := &f.plan.Rounds[round]
	for i := range r.Workers {
		inv := Derive(f.run, r, &r.Workers[i], batch, attempt)
		out = append(out, Planned{Round: r, Worker: &r.Workers[i], Batch: batch, Attempt: attempt, Prompt: []byte("prompt of " + inv.Ref)})
	}
	return out
}

// ran records an invocation of every worker of a round.
func (f *fixture) ran(round int, batch string, status plan.Status) {
	r := &f.plan.Rounds[round]
	for i := range r.Workers {
		w := &r.Workers[i]
		inv := Derive(f.run, r, w, batch, 1)
		f.dispatches = append(f.dispatches, &record.Dispatch{
			InvocationRef: inv.Ref, WorkerKey: w.Key, Batch: batch, Attempt: 1, Status: status, Role: w.Role,
			CreatedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), PromptPath: relative(f.run.Root, inv.Files.Prompt()), ResultPath: relative(f.run.Root, inv.Files.Result()),
		})
	}
}

func TestGeneratedFilesPassTheirOwnCheck(t *testing.T) {
	tests := []struct {
		name  string
		kind  Kind
		setup func(f *fixture) []Planned
	}{
		{"initial", KindInitial, func(f *fixture) []Planned { return f.batch(0, "write", 1) }},
		{"verifiers, one with a key", KindInitial, func(f *fixture) []Planned {
			f.ran(0, "write", plan.StatusCompleted)
			return f.batch(1, "check", 1)
		}},
		{"retry", KindRetry, func(f *fixture) []Planned {
			f.ran(0, "write", plan.StatusCompleted)
			f.ran(1, "check", plan.StatusError)
			return f.batch(1, "check", 2)
		}},
		{"reverify", KindReverify(1), func(f *fixture) []Planned {
			f.ran(0, "write", plan.StatusCompleted)
			return f.batch(2, "reverify-r1", 1)
		}},
		{"a worker that was not run before", KindInitial, func(f *fixture) []Planned {
			f.ran(0, "write", plan.StatusNotRun)
			return f.batch(0, "write", 1)
		}},
		{"retry in a reverify batch", KindRetry, func(f *fixture) []Planned {
			f.ran(0, "write", plan.StatusCompleted)
			f.ran(2, "reverify-r1", plan.StatusTimeout)
			return f.batch(2, "reverify-r1", 2)
		}},
		{"report-writer", KindReportWriter, func(f *fixture) []Planned { return f.batch(3, paths.ReportWriterBatch, 1) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			batch := tt.setup(f)
			src := Build(f.run, tt.kind, batch)
			if err := schema.Validate("jobs", src); err != nil {
				t.Errorf("schema: %v", err)
			}
			jobs, refusal := Check(src, "jobs.json", f.context())
			if refusal != nil {
				t.Fatalf("%s\n%s", refusal.What, strings.Join(refusal.Moved, "\n"))
			}
			if len(jobs) != len(batch) {
				t.Fatalf("%d jobs of %d", len(jobs), len(batch))
			}
			for i, j := range jobs {
				if j.Worker != batch[i].Worker || j.Batch != batch[i].Batch || j.Attempt != batch[i].Attempt || j.Kind != tt.kind {
					t.Errorf("job %d: %+v", i, j.Invocation)
				}
				if AuditPath(j.ResultPath) != j.AuditPath || EmitPath(j.ResultPath) != j.EmitPath {
					t.Errorf("audit or emit path of a result path differ from the derived: %s %s", AuditPath(j.ResultPath), EmitPath(j.ResultPath))
				}
			}
		})
	}
}

// object is a decoded jobs file that a test spoils.
type object = map[string]any

func spoil(t *testing.T, src []byte, change func(file, entry object)) []byte {
	t.Helper()
	var file object
	if err := json.Unmarshal(src, &file); err != nil {
		t.Fatal(err)
	}
	change(file, file["workers"].([]any)[0].(object))
	out, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRefusals(t *testing.T) {
	set := func(key string, value any) func(object, object) {
		return func(_, e object) { e[key] = value }
	}
	digest := func(key string, value any) func(object, object) {
		return func(_, e object) { e["digests"].(object)[key] = value }
	}
	const ref = "write/do/ada@write#1"
	tests := []struct {
		name   string
		change func(file, entry object)
		want   []string
	}{
		{"workerId in a version 2 entry", set("workerId", "claude"), []string{"mixing v1 and v2 identity", "workerId"}},
		{"a result path without the token", set("workerResultPath", "worker-results/executor-write-r1.md"),
			[]string{"worker result path has no canonical -worker- token", ref, "expected"}},
		{"a role of its own", set("role", "worker-reverify-r1"),
			[]string{"jobs file v2 identity does not match role execution authority", `worker-reverify-r1`, "expected executor"}},
		{"the array is called jobs", func(f, _ object) { f["jobs"] = f["workers"]; delete(f, "workers") }, []string{"called workers, not jobs"}},
		{"an unknown key of the file", func(f, _ object) { f["Workers"] = 1 }, []string{`unknown key "Workers"`}},
		{"an unknown key of an entry", set("retries", 3), []string{`unknown key "retries"`, ref}},
		{"a missing field", func(_, e object) { delete(e, "provider") }, []string{"provider is missing", ref}},
		{"an empty field", set("dutyId", ""), []string{"dutyId is empty"}},
		{"a field of another type", set("dutyId", 3), []string{"dutyId is 3; it is a string"}},
		{"attempt 0", set("attempt", 0), []string{"attempt is 0; it is a positive integer"}},
		{"attempt 1.5", set("attempt", 1.5), []string{"attempt is 1.5; it is a positive integer"}},
		{"attempt as text", set("attempt", "1"), []string{`attempt is "1"; it is a positive integer`}},
		{"another attempt", set("attempt", 2), []string{"attempt is 2, expected 1"}},
		{"no kind", func(f, _ object) { delete(f, "dispatchKind") }, []string{"dispatchKind is missing"}},
		{"an unknown kind", func(f, _ object) { f["dispatchKind"] = "reverify-r0" }, []string{`"reverify-r0"`, "report-writer"}},
		{"a kind that does not fit the round", func(f, _ object) { f["dispatchKind"] = "report-writer" }, []string{"does not fit a worker of the work round"}},
		{"a retry of nothing", func(f, _ object) { f["dispatchKind"] = "retry" }, []string{"nothing is recorded of write.do.ada"}},
		{"twice the same", func(f, e object) { f["workers"] = append(f["workers"].([]any), e) }, []string{"same assignment as workers[0]"}},
		{"no entries", func(f, _ object) { f["workers"] = []any{} }, []string{"workers is empty"}},
		{"an entry that is no object", func(f, _ object) { f["workers"] = []any{3} }, []string{"workers[0] is 3"}},
		{"an assignment that is not there", set("assignmentRef", "write/do/zoe"), []string{"no assignment write/do/zoe"}},
		{"another invocationRef", set("invocationRef", "write/do/ada@write#7"), []string{"invocationRef is write/do/ada@write#7, expected " + ref}},
		{"another participant", set("participantRef", "bert"), []string{"participantRef is bert, expected ada"}},
		{"another role execution", set("roleExecutionRef", "verifier/ada"), []string{"roleExecutionRef is verifier/ada, expected executor/ada"}},
		{"another label", set("executionLabel", "x"), []string{"executionLabel is x, expected claude-executor"}},
		{"another provider", set("provider", "codex"), []string{"provider is codex, expected claude"}},
		{"another prompt", set("promptPath", "/etc/passwd"), []string{"promptPath is /etc/passwd, expected "}},
		{"another result with the token", set("workerResultPath", "x-worker-y.md"), []string{"workerResultPath is x-worker-y.md, expected "}},
		{"a digest", digest("dutyDigest", "sha256:0"), []string{"dutyDigest is sha256:0, expected sha256:"}},
		{"the prompt's digest", digest("promptDigest", "sha256:0"), []string{"promptDigest is sha256:0, expected sha256:"}},
		{"a digest missing", func(_, e object) { delete(e["digests"].(object), "catalogDigest") }, []string{"digests has no catalogDigest"}},
		{"an unknown digest", digest("moodDigest", "x"), []string{`unknown digest "moodDigest"`}},
		{"digests of another type", set("digests", "x"), []string{"digests is"}},
		{"a control character", set("provider", "co\x1b[2Jdex"), []string{`provider is "co\x1b[2Jdex"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			src := spoil(t, Build(f.run, KindInitial, f.batch(0, "write", 1)), tt.change)
			jobs, refusal := Check(src, "jobs.json", f.context())
			refused(t, jobs, refusal, tt.want...)
			for _, line := range refusal.Moved {
				if !strings.HasPrefix(line, "jobs.json:") {
					t.Errorf("no place: %s", line)
				}
			}
		})
	}
}

func refused(t *testing.T, jobs []Job, r *Refusal, want ...string) {
	t.Helper()
	if r == nil {
		t.Fatal("not refused")
	}
	if jobs != nil {
		t.Error("jobs beside a refusal")
	}
	if r.Remedy == "" || len(r.Moved) == 0 {
		t.Errorf("no remedy or no places: %+v", r)
	}
	all := r.What + "\n" + strings.Join(r.Moved, "\n") + "\n" + r.Remedy
	for _, w := range want {
		if !strings.Contains(all, w) {
			t.Errorf("lacks %q:\n%s", w, all)
		}
	}
	if strings.Contains(all, "\x1b") {
		t.Error("a control character got through")
	}
}

func TestRefusalPlaces(t *testing.T) {
	f := newFixture(t)
	tests := []struct{ name, src, want string }{
		{"not JSON", "{\n  \"dispatchKind\": initial\n}", "j:2:19: not JSON"},
		{"cut", "{\n  \"dispatchKind\":", "j:2:18: not JSON: it ends in the middle"},
		{"empty", "", "j:1:1: not JSON: it ends in the middle"},
		{"a list", "[]", "j:1:1: a jobs file is an object"},
		{"something after", "{\"dispatchKind\":\"initial\",\"workers\":[]}\n x", "j:2:2: not JSON: invalid character 'x' after top-level value"},
		{"a key twice", "{\"workers\":[],\n \"workers\":[]}", `j:2:2: the key "workers" stands there twice`},
		{"kind after a wide character", "{\"dispatchKind\":\"ü\", \"worker\":1}", `j:1:22: unknown key "worker"`},
		{"not UTF-8", "{\n\"\xff\"", "j:2:2: not UTF-8"},
		{"deep", strings.Repeat("[", 100) + strings.Repeat("]", 100), "nested deeper than 32"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, r := Check([]byte(tt.src), "j", f.context())
			if r == nil || !slices.ContainsFunc(r.Moved, func(l string) bool { return strings.Contains(l, tt.want) }) {
				t.Errorf("want %q in %+v", tt.want, r)
			}
		})
	}
}

func TestRefusalsOfRecordedAndPlanned(t *testing.T) {
	t.Run("an invocation already recorded", func(t *testing.T) {
		f := newFixture(t)
		src := Build(f.run, KindInitial, f.batch(0, "write", 1))
		f.ran(0, "write", plan.StatusRunning)
		jobs, r := Check(src, "j", f.context())
		refused(t, jobs, r, "write/do/ada@write#1 is recorded already, as running since 2026-01-02T03:04:05Z; `okstra team await` brings it to its end")
	})
	t.Run("--dispatch-kind differs", func(t *testing.T) {
		f := newFixture(t)
		c := f.context()
		c.Kind = "retry"
		jobs, r := Check(Build(f.run, KindInitial, f.batch(0, "write", 1)), "j", c)
		refused(t, jobs, r, "dispatchKind is initial, but --dispatch-kind says retry")
	})
	t.Run("a retry of what was not run", func(t *testing.T) {
		f := newFixture(t)
		f.ran(0, "write", plan.StatusNotRun)
		jobs, r := Check(Build(f.run, KindRetry, f.batch(0, "write", 1)), "j", f.context())
		refused(t, jobs, r, "the first attempt of write.do.ada has not run yet; its kind is initial, not retry")
	})
	t.Run("no round plan", func(t *testing.T) {
		f := newFixture(t)
		f.ran(0, "write", plan.StatusCompleted)
		jobs, r := Check(Build(f.run, KindReverify(2), f.batch(2, "reverify-r2", 1)), "j", f.context())
		refused(t, jobs, r, "there is no round plan for reverify-r2")
	})
	t.Run("a judge is left out", func(t *testing.T) {
		f := newFixture(t)
		f.ran(0, "write", plan.StatusCompleted)
		jobs, r := Check(Build(f.run, KindReverify(1), f.batch(2, "reverify-r1", 1)[:1]), "j", f.context())
		refused(t, jobs, r, "cross.judge.cleo is missing", "followed exactly")
	})
	for name, tt := range map[string]struct {
		change   func(object)
		headline string
	}{
		"a judge with a workerId":             {func(e object) { e["workerId"] = "cross.judge.bert" }, "mixing v1 and v2 identity"},
		"a judge whose assignment is unknown": {func(e object) { e["assignmentRef"] = "cross/judge/zoe" }, "no assignment cross/judge/zoe in this run"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.ran(0, "write", plan.StatusCompleted)
			src := spoil(t, Build(f.run, KindReverify(1), f.batch(2, "reverify-r1", 1)), func(_, e object) { tt.change(e) })
			jobs, r := Check(src, "j", f.context())
			refused(t, jobs, r, tt.headline)
			if !strings.Contains(r.What, tt.headline) || strings.Contains(strings.Join(r.Moved, "\n"), "is missing: the round plan") {
				t.Errorf("%s\n%s", r.What, strings.Join(r.Moved, "\n"))
			}
			if strings.Contains(r.Remedy, "--workers") {
				t.Errorf("judges cannot be named one by one: %s", r.Remedy)
			}
		})
	}
	t.Run("a judge is added", func(t *testing.T) {
		f := newFixture(t)
		f.ran(0, "write", plan.StatusCompleted)
		c := f.context()
		c.RoundPlan = func(int) (*converge.RoundPlan, error) {
			return &converge.RoundPlan{Judges: []converge.JudgeItems{{Worker: "cross.judge.bert"}}}, nil
		}
		jobs, r := Check(Build(f.run, KindReverify(1), f.batch(2, "reverify-r1", 1)), "j", c)
		refused(t, jobs, r, "cross.judge.cleo is not in the round plan")
	})
	t.Run("a prompt that cannot be read", func(t *testing.T) {
		f := newFixture(t)
		c := f.context()
		c.Prompt = func(Job) ([]byte, error) { return nil, errors.New("gone") }
		jobs, r := Check(Build(f.run, KindInitial, f.batch(0, "write", 1)), "j", c)
		refused(t, jobs, r, "the prompt cannot be read: gone")
	})
	t.Run("every problem at once", func(t *testing.T) {
		f := newFixture(t)
		src := spoil(t, Build(f.run, KindInitial, f.batch(0, "write", 1)), func(file, e object) {
			file["x"], e["role"], e["attempt"] = 1, "boss", -1
		})
		_, r := Check(src, "j", f.context())
		if r == nil || len(r.Moved) != 3 || !strings.Contains(r.What, "(and 2 more)") {
			t.Errorf("%+v", r)
		}
	})
}

func TestPhaseOrderComesFirst(t *testing.T) {
	f := newFixture(t)
	both := append(f.batch(0, "write", 1), f.batch(1, "check", 1)[:1]...)
	src := spoil(t, Build(f.run, KindInitial, both), func(file, e object) { file["x"] = 1; e["role"] = "boss" })
	_, r := Check(src, "j", f.context())
	if r == nil || !strings.Contains(r.What, "implementation phase order") || !strings.Contains(r.Moved[0], "leave out check.verify.bert") {
		t.Errorf("%+v", r)
	}
}

func TestPhaseOrder(t *testing.T) {
	ada := Member{"write.do.ada", "claude-executor", lead.RoleExecutor, 1}
	bert := Member{"check.verify.bert", "codex-verifier", lead.RoleVerifier, 2}
	cleo := Member{"look.find.cleo", "claude-analyst", "analyst", 0}
	roster := []Member{cleo, ada, bert}
	done := map[string]plan.Status{ada.Key: plan.StatusCompleted}
	running, failed := map[string]plan.Status{ada.Key: plan.StatusRunning}, map[string]plan.Status{ada.Key: plan.StatusError}
	tests := []struct {
		name     string
		taskType string
		batch    []Member
		statuses map[string]plan.Status
		want     []string // empty: allowed
	}{
		{"executor alone", TaskImplementation, []Member{ada}, nil, nil},
		{"analyst before all", TaskImplementation, []Member{cleo}, nil, nil},
		{"verifier after", TaskImplementation, []Member{bert}, done, nil},
		{"both", TaskImplementation, []Member{ada, bert}, nil, []string{"one batch holds", "leave out check.verify.bert", "--workers write.do.ada"}},
		{"executor still in the batch", TaskImplementation, []Member{ada, bert}, done, []string{"still holds the executor", "leave out write.do.ada", "--workers check.verify.bert"}},
		{"verifier before", TaskImplementation, []Member{bert}, nil, []string{"before write.do.ada has completed", "leave out check.verify.bert"}},
		{"verifier beside", TaskImplementation, []Member{bert}, running, []string{"write.do.ada is on its way: await it"}},
		{"verifier after a failure", TaskImplementation, []Member{bert}, failed, []string{"`--dispatch-kind retry --workers write.do.ada`"}},
		{"an executor that comes later", TaskImplementation, []Member{{"first.check.dora", "d", lead.RoleVerifier, 0}}, nil, nil},
		{"both, another task type", "unknown", []Member{ada, bert}, nil, []string{"one batch holds"}},
		{"verifier before, another task type", "unknown", []Member{bert}, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := PhaseOrder(tt.taskType, roster, tt.batch, tt.statuses)
			if len(tt.want) == 0 {
				if r != nil {
					t.Fatalf("refused: %+v", r)
				}
				return
			}
			refused(t, nil, r, append(tt.want, "implementation phase order")...)
		})
	}
}

func TestUnexecuted(t *testing.T) {
	f := newFixture(t)
	for i := range f.plan.Rounds {
		f.plan.Rounds[i].Index = i
	}
	check := &f.plan.Rounds[1]
	if got := Unexecuted(f.plan, check, f.dispatches); !slices.Equal(got, []string{"write.do.ada"}) {
		t.Errorf("before the executor: %v", got)
	}
	f.ran(0, "write", plan.StatusError)
	if got := Unexecuted(f.plan, check, f.dispatches); len(got) != 1 {
		t.Errorf("a failed executor bars nobody: %v", got)
	}
	f.dispatches[0].Status = plan.StatusCompleted
	if got := Unexecuted(f.plan, check, f.dispatches); len(got) != 0 {
		t.Errorf("a completed executor bars: %v", got)
	}
	if got := Unexecuted(f.plan, &f.plan.Rounds[3], nil); len(got) != 0 {
		t.Errorf("the report-writer waits for an executor: %v", got)
	}
	f.plan.Run.TaskType = "unknown"
	if got := Unexecuted(f.plan, check, nil); len(got) != 0 {
		t.Errorf("another task type: %v", got)
	}
}

func TestStatusesFollowTheLatestThatCounts(t *testing.T) {
	got := Statuses([]*record.Dispatch{
		{WorkerKey: "a", Status: plan.StatusCompleted}, {WorkerKey: "a", Status: plan.StatusCompleted, Superseded: "redo"},
		{WorkerKey: "b", Status: plan.StatusCompleted}, {WorkerKey: "b", Status: plan.StatusRunning},
		{WorkerID: "c", Status: plan.StatusCompleted},
	})
	if got["a"] != plan.StatusCompleted || got["b"] != plan.StatusRunning || got["c"] != plan.StatusCompleted {
		t.Errorf("%v", got)
	}
}

func TestCheckLead(t *testing.T) {
	m := &lead.Manifest{LeadRuntime: lead.RuntimeCodex, RunName: "build"}
	if r := CheckLead(m, "codex", "build"); r != nil {
		t.Errorf("%+v", r)
	}
	if r := CheckLead(m, "", ""); r != nil {
		t.Errorf("%+v", r)
	}
	refused(t, nil, CheckLead(m, "external", ""), `lead runtime "external"`, `"codex"`)
	refused(t, nil, CheckLead(m, "", "review"), `run name "review"`, `"build"`)
}

func FuzzCheck(f *testing.F) {
	root := f.TempDir()
	run := paths.Run{Root: root, Task: plan.Task{Project: "p", Group: "g", ID: "i"}, TaskType: "unknown", Seq: 1}
	r := plan.Round{Name: "write", Kind: plan.RoundWork, Workers: []plan.Worker{worker("write", "do", "analyst", "ada")}}
	p := &plan.Plan{ProjectRoot: root, Run: plan.Run{Name: "x", TaskType: "unknown"}, Rounds: []plan.Round{r}}
	good := Build(run, KindInitial, []Planned{{Round: &p.Rounds[0], Worker: &p.Rounds[0].Workers[0], Batch: "write", Attempt: 1, Prompt: []byte("x")}})
	f.Add(good, 2)
	f.Add([]byte(`{"dispatchKind":"initial","workers":[{"workerId":"a","provider":"b","promptPath":"c","workerResultPath":"d-worker-e"}]}`), 1)
	f.Add([]byte(`{"workers":[[{"a":1e999}]],"x":"\ud800"}`), 2)
	f.Fuzz(func(t *testing.T, src []byte, version int) {
		c := Context{
			Run: run, Plan: p, Manifest: &lead.Manifest{ExecutionIdentityVersion: 2, TaskType: "unknown"},
			Prompt:    func(Job) ([]byte, error) { return []byte("x"), nil },
			RoundPlan: func(int) (*converge.RoundPlan, error) { return nil, fs.ErrNotExist },
		}
		if version == 1 {
			c.Plan, c.Manifest = nil, &lead.Manifest{Workers: []lead.WorkerV1{{WorkerID: "a", Provider: "b", Role: "r"}}}
		}
		jobs, refusal := Check(src, "f", c)
		if (jobs == nil) == (refusal == nil) {
			t.Fatalf("neither jobs nor a refusal, or both: %v %v", jobs, refusal)
		}
		if refusal != nil && strings.ContainsAny(fmt.Sprint(refusal.What, refusal.Moved), "\x1b\x00\n") {
			t.Fatalf("a control character got through: %q", refusal.What)
		}
	})
}

func TestKindOf(t *testing.T) {
	for _, tt := range []struct {
		batch   string
		attempt int
		want    Kind
	}{
		{"look", 1, KindInitial},
		{"look", 2, KindRetry},
		{"reverify-r2", 1, "reverify-r2"},
		{"reverify-r2", 2, KindRetry},
		{"report-writer", 1, KindReportWriter},
		{"report-writer", 3, KindRetry},
	} {
		if got := KindOf(tt.batch, tt.attempt); got != tt.want {
			t.Errorf("attempt %d in %s: %s, want %s", tt.attempt, tt.batch, got, tt.want)
		}
	}
}
