package verify

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/converge"
	"github.com/okstra/okstra/runtime/launch"
	"github.com/okstra/okstra/runtime/lead"
	"github.com/okstra/okstra/runtime/record"
	"github.com/okstra/okstra/runtime/schema"
	"github.com/okstra/okstra/runtime/sidecar"
)

var (
	rules = Rules{Validate: schema.Validate}
	start = time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC)
)

// fixture is a whole recorded run, made by hand: two analysts, a reverify
// round, a gate, a report.
type fixture struct {
	t      *testing.T
	run    paths.Run
	plan   *plan.Plan
	state  *record.State
	events []lead.Event
}

func worker(round, duty, role, participant string, emits plan.Emits) plan.Worker {
	d := func(s string) string { return plan.DigestBytes([]byte(s + duty + participant)) }
	return plan.Worker{
		Key: paths.WorkerKey(round, duty, participant, nil), AssignmentRef: paths.AssignmentRef(round, duty, participant, nil),
		ParticipantRef: participant, RoleExecutionRef: role + "/" + participant, Label: participant + "-" + role, Duty: duty, Role: role,
		Provider: "claude", Access: plan.AccessRead, Emits: emits,
		Digests: plan.Digests{Catalog: d("c"), Assignment: d("a"), Duty: d("d"), Instruction: d("i")},
	}
}

func newFixture(t *testing.T) *fixture {
	root := t.TempDir()
	all := plan.Require{All: true}
	f := &fixture{t: t, plan: &plan.Plan{
		Format: plan.Format, ProjectRoot: root, Definition: "okstra.hcl", Run: plan.Run{Name: "review", TaskType: "final-verification", Task: plan.Task{Project: "shop", Group: "auth", ID: "A-1"}},
		Rounds: []plan.Round{
			{Name: "analysis", Kind: plan.RoundWork, Require: all, Workers: []plan.Worker{
				worker("analysis", "find", "analyst", "ada", plan.EmitsFindings), worker("analysis", "find", "analyst", "bert", plan.EmitsFindings)}},
			{Name: "cross", Kind: plan.RoundReverify, Index: 1, After: []string{"analysis"}, Require: all,
				Convergence: &plan.Convergence{Enabled: true, MaxRounds: 2, Mode: "lightweight", Source: "core"}, Workers: []plan.Worker{
					worker("cross", "judge", "verifier", "ada", plan.EmitsVerdicts), worker("cross", "judge", "verifier", "bert", plan.EmitsVerdicts)}},
			{Name: "report", Kind: plan.RoundReportWriter, Index: 2, After: []string{"analysis", "cross"}, Require: all, Gate: &plan.Gate{Reason: "look"},
				Workers: []plan.Worker{worker("report", "write-up", "report-writer", "ada", plan.EmitsNone)}},
		},
	}}
	f.run = paths.Run{Root: root, Task: f.plan.Run.Task, TaskType: f.plan.Run.TaskType, Seq: 1}
	f.state = &record.State{
		SchemaVersion: record.SchemaVersion, Lineage: "l", RunName: "review", Run: f.run.Ref(), PlanNumber: 1, LeadRuntime: "external",
		DispatchMode: "cli-wrapper", Backend: "process", LeadUsage: &plan.Usage{Source: plan.UsageUnavailable}, StartedAt: start,
	}
	f.create()
	f.analysis()
	conv := f.cross()
	f.report(conv)
	f.finish()
	return f
}

func (f *fixture) write(path string, data []byte) {
	f.t.Helper()
	must(f.t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(f.t, os.WriteFile(path, data, 0o600))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) rel(path string) string {
	rel, err := filepath.Rel(f.run.Root, path)
	must(f.t, err)
	return rel
}

func (f *fixture) create() {
	raw, err := plan.Indented(f.plan)
	must(f.t, err)
	f.write(f.run.Plan(1), raw)
	f.state.PlanPath, f.state.PlanDigest = f.rel(f.run.Plan(1)), plan.DigestBytes(raw)
	must(f.t, lead.WriteManifest(f.run, lead.NewManifest(f.run, f.plan, f.run.Plan(1), "process", lead.RuntimeExternal)))
}

// ran records a finished attempt with all its files. change may spoil the
// sidecar before it is written.
func (f *fixture) ran(round int, w *plan.Worker, batch, kind string, files map[string]string, change func(*sidecar.Status)) *record.Dispatch {
	r := &f.plan.Rounds[round]
	a := paths.Attempt{Run: f.run, Batch: batch, Stem: paths.Stem(w.Role, w.Duty, w.ParticipantRef, w.EachKey), Number: 1, Report: r.Kind == plan.RoundReportWriter}
	ref := paths.InvocationRef(w.AssignmentRef, batch, 1)
	rec := &launch.Record{
		SchemaVersion: launch.SchemaVersion, Run: f.run.Ref(), ProjectRoot: f.run.Root, InvocationRef: ref, WorkerKey: w.Key, Batch: batch, DispatchKind: kind,
		Attempt: 1, Role: w.Role, Access: w.Access, Label: w.Label, Provider: w.Provider, Tag: f.state.Tag(ref), Backend: "process",
		Program: "/bin/true", Argv: []string{"true"}, Dir: f.run.Root, Stdin: launch.StdinNone, Result: plan.ResultFile, Output: plan.OutputText,
		Emits: w.Emits, Report: a.Report, Limits: plan.DefaultLimits(),
		Paths: launch.Paths{Prompt: a.Prompt(), Status: a.Status(), Lock: a.Lock(), Go: a.Go(), Env: a.Env(), Log: a.Log(), ErrLog: a.ErrLog(),
			Inputs: f.run.InputsIndex(batch), Result: a.Result(), WorkerResult: a.WorkerResult()},
	}
	if w.Emits != plan.EmitsNone {
		rec.Paths.Emit = a.Emit()
	}
	f.write(a.Prompt(), []byte("prompt of "+ref))
	must(f.t, rec.Check())
	launched, err := plan.Indented(rec)
	must(f.t, err)
	f.write(a.Launch(), launched)
	if a.Report {
		files["pointer"] = rec.PointTo(a.Result(), plan.DigestBytes([]byte(files["result"]))).Text()
	}

	exit, end := 0, start.Add(time.Minute)
	st := &sidecar.Status{
		SchemaVersion: sidecar.SchemaVersion, InvocationRef: ref, WorkerKey: w.Key, Batch: batch, DispatchKind: kind, Attempt: 1, Claim: "claim-" + w.Key,
		Stage: sidecar.StageFinish, Host: "h", BootID: "b", StartedAt: start, FinishedAt: &end, ExitCode: &exit, DurationMS: 60_000,
		Usage: &plan.Usage{Source: "claude-result", InputTokens: 7},
	}
	for _, c := range rec.CompletionPaths() {
		text, ok := files[c.Name]
		if !ok {
			continue
		}
		f.write(c.Path, []byte(text))
		st.Artifacts = append(st.Artifacts, sidecar.Artifact{Name: c.Name, Path: c.Path, Size: int64(len(text)), Digest: plan.DigestBytes([]byte(text))})
	}
	if change != nil {
		change(st)
	}
	raw := st.Encode()
	f.write(a.Status(), raw)

	d := &record.Dispatch{
		InvocationRef: ref, WorkerKey: w.Key, ParticipantRef: w.ParticipantRef, RoleExecutionRef: w.RoleExecutionRef, AssignmentRef: w.AssignmentRef,
		ExecutionLabel: w.Label, DutyID: w.Duty, Round: r.Name, Batch: batch, Kind: kind, Role: w.Role, Provider: w.Provider, BackendType: "claude-cli",
		DispatchMode: "cli-wrapper", Attempt: 1, Digests: record.DispatchDigests{Digests: w.Digests, Prompt: plan.DigestBytes([]byte("prompt of " + ref))},
		PromptPath: f.rel(a.Prompt()), StatusPath: f.rel(a.Status()), LaunchPath: f.rel(a.Launch()), ResultPath: f.rel(a.Result()), Tag: rec.Tag,
		Claim: st.Claim, Limits: rec.Limits, CreatedAt: start, StartedAt: &st.StartedAt, FinishedAt: st.FinishedAt, ExitCode: st.ExitCode, Signal: st.Signal,
		SidecarDigest: plan.DigestBytes(raw), Artifacts: st.Artifacts, Usage: st.Usage,
	}
	for _, c := range rec.CompletionPaths() {
		d.CompletionPaths = append(d.CompletionPaths, f.rel(c.Path))
	}
	d.Status, d.Reason, d.Detail = sidecar.Completed(st, sidecar.Gather(rec, schema.Validate), nil)
	f.state.WorkerDispatches = append(f.state.WorkerDispatches, d)
	return d
}

func (f *fixture) round(name, batch string) *record.Round {
	r := f.state.Round(name)
	begun := start
	r.Batch, r.BegunAt, r.Result = batch, &begun, met
	return r
}

const findingsOf = `{"format":"okstra.findings/1","findings":[{"id":"F1","title":"hole","severity":"major","location":"a.go:1","claim":"c","evidence":"e"}]}`

func (f *fixture) analysis() {
	for i := range f.plan.Rounds[0].Workers {
		f.ran(0, &f.plan.Rounds[0].Workers[i], "analysis", "initial", map[string]string{"result": "# found", "emit": findingsOf}, nil)
	}
	f.round("analysis", "analysis")
	f.hand("analysis", f.run.InputsIndex("analysis"))
}

// hand writes a file for workers or lead.
func (f *fixture) hand(round, path string) {
	f.write(path, []byte(`{"format":"x"}`))
	r := f.state.Round(round)
	if r.Files == nil {
		r.Files = map[string]string{}
	}
	r.Files[f.rel(path)] = plan.DigestBytes([]byte(`{"format":"x"}`))
}

func (f *fixture) cross() *converge.State {
	v := &verifier{run: f.run, state: f.state}
	in, err := converge.InputOf(f.run.Ref(), f.plan, &f.plan.Rounds[1], v.emitted(""))
	must(f.t, err)
	s := converge.Start(in)
	rec := f.round("cross", "")
	f.hand("cross", f.run.ReverifyJobs(1))
	for p := s.Next(); p != nil; p = s.Next() {
		batch := paths.ReverifyBatch(p.Number)
		f.write(f.run.RoundPlan(p.Number), converge.Encode(p))
		rec.Batch = batch
		rec.Convergence = append(rec.Convergence, record.ConvergenceRound{Number: p.Number, Batch: batch, PlanDigest: p.Digest()})
		for i := range f.plan.Rounds[1].Workers {
			w := &f.plan.Rounds[1].Workers[i]
			ask := p.JudgeItems(w.Key)
			if ask == nil {
				continue
			}
			doc := converge.Verdicts{Format: converge.VerdictsFormat}
			for _, id := range ask.Findings {
				doc.Verdicts = append(doc.Verdicts, converge.Verdict{Finding: id, Verdict: converge.Agree, Basis: "looked"})
			}
			f.ran(1, w, batch, batch, map[string]string{"result": "# judged", "emit": string(converge.Encode(doc))}, nil)
		}
		answers, err := converge.AnswersTo(p, v.emitted(batch))
		must(f.t, err)
		s = s.Judge(p, answers)
	}
	f.write(f.run.Convergence(), converge.Encode(s))
	return s
}

func (f *fixture) report(conv *converge.State) {
	r := f.round("report", paths.ReportWriterBatch)
	r.Approval = &record.Approval{Approved: true, Note: "fine", At: start, Seen: plan.DigestBytes(nil)}
	f.write(f.run.Approval("report"), []byte(`{"format":"okstra.approval/1","approved":true,"note":"fine","at":"2026-11-30T01:02:03Z","resultsDigest":"`+plan.DigestBytes(nil)+`"}`))
	d := f.ran(2, &f.plan.Rounds[2].Workers[0], paths.ReportWriterBatch, "report-writer", map[string]string{"result": "# Report\n"}, nil)
	v := &verifier{run: f.run, state: f.state, plan: f.plan, conv: conv}
	text, problems, err := v.rendered(d)
	must(f.t, err)
	if len(problems) > 0 {
		f.t.Fatal(problems)
	}
	f.write(f.run.FinalReport(), []byte(text))
}

func (f *fixture) finish() {
	end := start.Add(time.Hour)
	f.state.Ended, f.state.EndedAt = "completed", &end
	f.save()
	f.events = lead.Expected(f.state, f.plan)
	for i := range f.events {
		f.events[i].TS, f.events[i].Serial = start, f.state.Serial
	}
	must(f.t, lead.Append(f.run, f.events...))
}

func (f *fixture) save() {
	f.state.Project()
	must(f.t, new(record.Writer).Save(f.run.TeamState(), f.state))
}

func (f *fixture) verify() *Report {
	f.t.Helper()
	r, err := Verify(f.run, rules)
	must(f.t, err)
	return r
}

func lines(r *Report) string {
	var b strings.Builder
	for _, d := range r.Disagreements {
		b.WriteString(d.String() + "\n")
	}
	return b.String()
}

func TestAgrees(t *testing.T) {
	f := newFixture(t)
	r := f.verify()
	if !r.Agree() {
		t.Errorf("disagrees:\n%s", lines(r))
	}
	if r.Workers != 5 || r.Events != len(f.events) {
		t.Errorf("%d invocations, %d events", r.Workers, r.Events)
	}
}

// flip changes one byte in the middle of a file.
func flip(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	b[len(b)/2] ^= 1
	must(t, os.WriteFile(path, b, 0o600))
}

// replace changes text in a file without changing its length where it can.
func replace(t *testing.T, path, old, new string) {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	if !bytes.Contains(b, []byte(old)) {
		t.Fatalf("%s does not hold %s", path, old)
	}
	must(t, os.WriteFile(path, bytes.Replace(b, []byte(old), []byte(new), 1), 0o600))
}

func TestDisagreements(t *testing.T) {
	ada := func(f *fixture) *record.Dispatch { return f.state.WorkerDispatches[0] }
	abs := func(f *fixture, path string) string { return filepath.Join(f.run.Root, path) }
	const adaRef = "analysis/find/ada@analysis#1"
	tests := []struct {
		name   string
		change func(f *fixture)
		want   []string // each must be part of some line
	}{
		{"a byte of a sidecar", func(f *fixture) { flip(t, abs(f, ada(f).StatusPath)) }, []string{adaRef + ": sidecar"}},
		{"a sidecar's exit code", func(f *fixture) { replace(t, abs(f, ada(f).StatusPath), `"exit_code": 0`, `"exit_code": 1`) },
			[]string{adaRef + ": sidecar", "status: recorded completed, found error/exit-nonzero", "exitCode: recorded 0, found 1"}},
		{"a sidecar removed", func(f *fixture) { must(t, os.Remove(abs(f, ada(f).StatusPath))) }, []string{adaRef + ": sidecar", "found missing"}},
		{"a byte of a result", func(f *fixture) { flip(t, abs(f, ada(f).ResultPath)) },
			[]string{"artifact result", "status: recorded completed, found error/invalid-result"}},
		{"a result removed", func(f *fixture) { must(t, os.Remove(abs(f, ada(f).ResultPath))) },
			[]string{"artifact result", "status: recorded completed, found error/no-result"}},
		{"a result that is a link now", func(f *fixture) {
			p := abs(f, ada(f).ResultPath)
			must(t, os.Rename(p, p+".away"))
			must(t, os.Symlink(p+".away", p))
		}, []string{"artifact result", "not a regular file"}},
		{"a byte of an emit file", func(f *fixture) { flip(t, ada(f).Artifacts[1].Path) }, []string{"artifact emit"}},
		{"a byte of a prompt", func(f *fixture) { flip(t, abs(f, ada(f).PromptPath)) }, []string{adaRef + ": prompt"}},
		{"a launch record of another attempt", func(f *fixture) { replace(t, abs(f, ada(f).LaunchPath), `"attempt": 1`, `"attempt": 2`) }, []string{"attempt of the launch record"}},
		{"a launch record removed", func(f *fixture) { must(t, os.Remove(abs(f, ada(f).LaunchPath))) }, []string{"launch record", "found missing"}},
		{"a status in the record", func(f *fixture) { ada(f).Status, ada(f).Reason = plan.StatusTimeout, plan.ReasonWallLimit; f.save() },
			[]string{"status: recorded timeout/wall-limit, found completed", "event worker-settled", "round analysis: result: recorded met, found unmet"}},
		{"a record without files", func(f *fixture) {
			d := *ada(f)
			d.InvocationRef, d.WorkerKey, d.StatusPath, d.LaunchPath, d.SidecarDigest = "x/y/z@x#1", "x.y.z", "nowhere.status.json", "nowhere.launch.json", ""
			f.state.WorkerDispatches = append(f.state.WorkerDispatches, &d)
			f.save()
		}, []string{"x/y/z@x#1: status: recorded completed, found no sidecar", "event worker-settled"}},
		{"a record taken out", func(f *fixture) {
			f.state.WorkerDispatches = f.state.WorkerDispatches[1:]
			f.save()
		}, []string{"status.json: record: recorded (nothing)", "emit-final-verification-001.json: record", "no record of " + adaRef}},
		{"a record twice", func(f *fixture) { f.state.WorkerDispatches = append(f.state.WorkerDispatches, ada(f)); f.save() }, []string{"recorded once, found twice"}},
		{"an unfinished record of a finished worker", func(f *fixture) { ada(f).Status = plan.StatusRunning; f.save() }, []string{"no runner has settled yet"}},
		{"a worker that ran and is not-run", func(f *fixture) { ada(f).Status, ada(f).Reason = plan.StatusNotRun, plan.ReasonBudget; f.save() }, []string{"recorded not-run/budget, found completed"}},
		{"a stray result", func(f *fixture) {
			f.write(filepath.Join(f.run.Dir(), "worker-results", "analysis", "a.b.c-worker-final-verification-001.md"), []byte("x"))
		}, []string{"a.b.c-worker-final-verification-001.md: record"}},
		{"an event in the middle dropped", func(f *fixture) { dropLine(t, f.run.Events(), 4) }, []string{"numbered without a gap", "event "}},
		{"the last event dropped", func(f *fixture) { dropLine(t, f.run.Events(), len(f.events)-1) }, []string{"event run-ended"}},
		{"an event's status", func(f *fixture) {
			replace(t, f.run.Events(), `"status":"completed"`, `"status":"timeout"`)
		}, []string{adaRef + ": event worker-settled: recorded completed, found timeout"}},
		{"no events", func(f *fixture) { must(t, os.Remove(f.run.Events())) }, []string{"event run-created", "event worker-settled"}},
		{"a torn event", func(f *fixture) { appendTo(t, f.run.Events(), `{"ts"`) }, []string{"the last line is torn"}},
		{"an event of a later state", func(f *fixture) {
			must(t, lead.Append(f.run, lead.Event{TS: start, Serial: 99, Type: lead.Note, Message: "x"}))
		}, []string{"serial: recorded 1 is the state's, found 99"}},
		{"a byte of the plan", func(f *fixture) { flip(t, f.run.Plan(1)) }, []string{"plan-final-verification-001-p1.json: plan"}},
		{"the manifest", func(f *fixture) { replace(t, f.run.Manifest(), `"role": "analyst"`, `"role": "executor"`) }, []string{"manifest: recorded sha256:"}},
		{"no manifest", func(f *fixture) { must(t, os.Remove(f.run.Manifest())) }, []string{"manifest", "found missing"}},
		{"the approval", func(f *fixture) { replace(t, f.run.Approval("report"), "fine", "no!!") }, []string{"note: recorded fine, found no!!"}},
		{"an outcome in the convergence state", func(f *fixture) { replace(t, f.run.Convergence(), `"outcome": "confirmed"`, `"outcome": "rejected"`) },
			[]string{"finding analysis.find.ada/F1: recorded rejected, found confirmed"}},
		{"a finding added", func(f *fixture) {
			editJSON(t, f.run.Convergence(), func(o map[string]any) {
				list := o["findings"].([]any)
				extra := map[string]any{}
				for k, v := range list[0].(map[string]any) {
					extra[k] = v
				}
				extra["finding"] = "zoe/F9"
				o["findings"] = append(list, extra)
			})
		}, []string{"finding zoe/F9", "no worker wrote it"}},
		{"no convergence state", func(f *fixture) { must(t, os.Remove(f.run.Convergence())) }, []string{"convergence: recorded", "found missing"}},
		{"membership of a round plan", func(f *fixture) {
			editJSON(t, f.run.RoundPlan(1), func(o map[string]any) { o["judges"] = o["judges"].([]any)[1:] })
		}, []string{"round plan 1 differs"}},
		{"a round plan removed", func(f *fixture) { must(t, os.Remove(f.run.RoundPlan(1))) }, []string{"round plan 1: missing"}},
		{"the digest of a round plan", func(f *fixture) {
			f.state.FindRound("cross").Convergence[0].PlanDigest = plan.DigestBytes(nil)
			f.save()
		}, []string{"round-plan-r1", "round plan: recorded sha256:"}},
		{"a byte of the final report", func(f *fixture) { flip(t, f.run.FinalReport()) }, []string{"final report: recorded sha256:"}},
		{"no final report", func(f *fixture) { must(t, os.Remove(f.run.FinalReport())) }, []string{"final report: recorded the round report is met, found missing"}},
		{"the end", func(f *fixture) { f.state.Ended = "rejected"; f.save() }, []string{"ended: recorded rejected, found completed"}},
		{"the lead's view", func(f *fixture) { replace(t, f.run.TeamState(), `"status":"completed"`, `"status":"timeout"`) }, []string{"workers[]"}},
		{"the lead runtime", func(f *fixture) { f.state.LeadRuntime = "codex"; f.save() }, []string{"leadRuntime: recorded codex, found external"}},
		{"the dispatch mode", func(f *fixture) { f.state.DispatchMode = "tmux-pane"; f.save() }, []string{"dispatchMode: recorded tmux-pane, found cli-wrapper"}},
		{"mixed, though nothing was moved", func(f *fixture) { f.state.DispatchMode = "mixed"; f.save() }, []string{"dispatchMode: recorded mixed, found cli-wrapper"}},
		{"the dispatch mode of a record", func(f *fixture) { ada(f).DispatchMode = "cmux-pane"; f.save() }, []string{adaRef + ": dispatchMode: recorded cmux-pane, found cli-wrapper"}},
		{"the lineage", func(f *fixture) { f.state.Lineage = "other"; f.save() }, []string{"lineage: recorded other, found l in the tag of " + adaRef}},
		{"an event's message", func(f *fixture) { replace(t, f.run.Events(), "is completed", "is very good") }, []string{"message: recorded"}},
		{"an event's time", func(f *fixture) { replace(t, f.run.Events(), `"ts":"2026-11-30T`, `"ts":"2027-11-30T`) }, []string{"ts: recorded not before 2027-11-30T"}},
		{"an inputs index", func(f *fixture) { flip(t, f.run.InputsIndex("analysis")) }, []string{"state/inputs-analysis-final-verification-001.json: file of round analysis"}},
		{"a jobs file removed", func(f *fixture) { must(t, os.Remove(f.run.ReverifyJobs(1))) }, []string{"file of round cross: recorded sha256:", "found missing"}},
		{"the whole record", func(f *fixture) { must(t, os.Remove(f.run.TeamState())) }, []string{"team-state-final-verification-001.json: record", "found missing"}},
		{"an unknown status", func(f *fixture) { ada(f).Status = "fine"; f.save() }, []string{"schema: recorded a team-state"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			tt.change(f)
			r := f.verify()
			got := lines(r)
			if r.Agree() {
				t.Fatal("agrees")
			}
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("no line holds %q:\n%s", want, got)
				}
			}
			if !slices.IsSortedFunc(r.Disagreements, func(a, b Disagreement) int { return strings.Compare(a.Subject, b.Subject) }) {
				t.Error("not sorted")
			}
		})
	}
}

func dropLine(t *testing.T, path string, n int) {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	all := bytes.SplitAfter(b, []byte("\n"))
	must(t, os.WriteFile(path, bytes.Join(slices.Delete(all, n, n+1), nil), 0o600))
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, append(b, text...), 0o600))
}

func editJSON(t *testing.T, path string, change func(map[string]any)) {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	var o map[string]any
	must(t, json.Unmarshal(b, &o))
	change(o)
	b, err = json.Marshal(o)
	must(t, err)
	must(t, os.WriteFile(path, b, 0o600))
}

// TestStatuses: attempts that ended otherwise agree when they are recorded as
// they were.
func TestStatuses(t *testing.T) {
	attempt := func(change func(*sidecar.Status)) func(f *fixture) *record.Dispatch {
		return func(f *fixture) *record.Dispatch {
			w := worker("analysis", "extra", "analyst", "zoe", plan.EmitsNone)
			return f.ran(0, &w, "analysis", "initial", map[string]string{"result": "half"}, change)
		}
	}
	finish := func(st *sidecar.Status, code int) { st.ExitCode = &code }
	noSidecar := func(status plan.Status, reason plan.Reason) func(f *fixture) *record.Dispatch {
		return func(f *fixture) *record.Dispatch {
			d := attempt(nil)(f)
			must(t, os.Remove(filepath.Join(f.run.Root, d.StatusPath)))
			d.Status, d.Reason, d.SidecarDigest, d.Artifacts, d.StartedAt = status, reason, "", nil, nil
			return d
		}
	}
	open := func(stage sidecar.Stage, status plan.Status, reason plan.Reason) func(f *fixture) *record.Dispatch {
		return func(f *fixture) *record.Dispatch {
			d := attempt(func(st *sidecar.Status) {
				st.Stage, st.FinishedAt, st.ExitCode, st.Artifacts, st.Usage = stage, nil, nil, nil, nil
			})(f)
			d.Status, d.Reason, d.SidecarDigest, d.Artifacts = status, reason, "", nil
			return d
		}
	}
	tests := []struct {
		name  string
		make  func(f *fixture) *record.Dispatch
		want  plan.Reason
		agree bool
	}{
		{"exit 3", attempt(func(st *sidecar.Status) { finish(st, 3) }), plan.ReasonExitNonzero, true},
		{"a signal", attempt(func(st *sidecar.Status) { finish(st, 137); st.Signal = "KILL" }), plan.ReasonSignal, true},
		{"a limit", attempt(func(st *sidecar.Status) {
			st.Stage, st.ExitCode, st.Timeout = sidecar.StageTimeout, nil, &sidecar.Timeout{Limit: sidecar.LimitIdle, After: plan.Duration(time.Minute)}
		}), plan.ReasonIdleLimit, true},
		{"a provider's error", attempt(func(st *sidecar.Status) { st.Reason = plan.ReasonAuth }), plan.ReasonAuth, true},
		{"it changed the tree", attempt(func(st *sidecar.Status) { st.Changed = &sidecar.Changed{Paths: []string{"a.go"}} }), plan.ReasonWroteOutside, true},
		{"never started", noSidecar(plan.StatusError, plan.ReasonNotStarted), plan.ReasonNotStarted, true},
		{"could not start", noSidecar(plan.StatusError, plan.ReasonCannotStart), plan.ReasonCannotStart, true},
		{"not run", noSidecar(plan.StatusNotRun, plan.ReasonBudget), plan.ReasonBudget, true},
		{"lost without a trace", noSidecar(plan.StatusError, plan.ReasonSupervisorLost), plan.ReasonSupervisorLost, false},
		{"the supervisor was killed", open(sidecar.StageStart, plan.StatusError, plan.ReasonSupervisorLost), plan.ReasonSupervisorLost, true},
		{"killed, but recorded as never started", open(sidecar.StageStart, plan.StatusError, plan.ReasonNotStarted), plan.ReasonNotStarted, false},
		{"it may have run, but is recorded as not run", open(sidecar.StageStart, plan.StatusNotRun, plan.ReasonStopped), plan.ReasonStopped, false},
		{"it left at the gate", open(sidecar.StageInit, plan.StatusError, plan.ReasonNotStarted), plan.ReasonNotStarted, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			d := tt.make(f)
			if d.Reason != tt.want {
				t.Fatalf("the fixture recorded %s/%s", d.Status, d.Reason)
			}
			f.save()
			f.settleEvents(d)
			r := f.verify()
			if r.Agree() != tt.agree {
				t.Errorf("agrees: %t\n%s", r.Agree(), lines(r))
			}
		})
	}
}

// settleEvents appends what a further dispatch must have left in the log.
func (f *fixture) settleEvents(d *record.Dispatch) {
	f.t.Helper()
	have, err := lead.Read(f.run.Events())
	must(f.t, err)
	missing := lead.Missing(have, lead.Expected(f.state, f.plan))
	for i := range missing {
		missing[i].TS, missing[i].Serial = start, f.state.Serial
	}
	must(f.t, lead.Append(f.run, missing...))
}

func TestForbiddenAction(t *testing.T) {
	f := newFixture(t)
	d := f.state.WorkerDispatches[3]
	d.Status, d.Reason = plan.StatusContractViolated, plan.ReasonForbiddenAction
	f.save()
	if got := lines(f.verify()); !strings.Contains(got, d.InvocationRef+": status: recorded contract-violated/forbidden-action, found completed") {
		t.Errorf("without its event:\n%s", got)
	}
	must(t, lead.Append(f.run, lead.Event{TS: start, Type: lead.ForbiddenAction, Round: d.Round, InvocationRef: d.InvocationRef, Message: "pushed"}))
	if got := lines(f.verify()); strings.Contains(got, d.InvocationRef+": status") {
		t.Errorf("with its event:\n%s", got)
	}
}

func TestNoRun(t *testing.T) {
	run := paths.Run{Root: t.TempDir(), Task: plan.Task{Project: "a", Group: "b", ID: "c"}, TaskType: "unknown", Seq: 1}
	if _, err := Verify(run, rules); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// TestReadsOnly: verifying leaves every file as it was.
func TestReadsOnly(t *testing.T) {
	f := newFixture(t)
	before := snapshot(t, f.run.Root)
	f.verify()
	if after := snapshot(t, f.run.Root); before != after {
		t.Error("something was changed")
	}
}

func snapshot(t *testing.T, root string) string {
	t.Helper()
	var b strings.Builder
	must(t, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		b.WriteString(path + info.ModTime().String() + info.Mode().String() + "\n")
		return nil
	}))
	return b.String()
}
