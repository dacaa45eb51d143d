package jobs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/converge"
	"github.com/okstra/okstra/runtime/lead"
	"github.com/okstra/okstra/runtime/record"
)

// Context is what a jobs file is held against.
type Context struct {
	Run        paths.Run
	Manifest   *lead.Manifest
	Plan       *plan.Plan         // in force; nil for a version 1 manifest
	Dispatches []*record.Dispatch // recorded so far
	// Kind is what --dispatch-kind said; empty where it was not given.
	Kind string
	// Prompt gives the bytes of the prompt that an invocation will have: the
	// file's where it is written, else as it would be rendered now.
	Prompt func(Job) ([]byte, error)
	// RoundPlan gives the persisted plan of convergence round n, or an error
	// that wraps fs.ErrNotExist.
	RoundPlan func(n int) (*converge.RoundPlan, error)
}

// Job is one entry that was found in order. For version 1 Worker and Round are
// nil, and V1 is set.
type Job struct {
	Invocation
	Worker *plan.Worker
	Round  *plan.Round
	V1     *lead.WorkerV1
	// Absolute paths, derived. EmitPath and AuditPath are where the files would
	// be; whether they are required is for the worker to say.
	PromptPath string
	ResultPath string // the file with the -worker- token
	AuditPath  string
	EmitPath   string
}

// Check decodes a jobs file, strictly, and holds it against the run. name is
// how messages call the file. It returns the jobs in the file's order, or the
// refusal that names every problem with its line and column. Phase order is
// judged before everything else that can be judged at all.
func Check(src []byte, name string, c Context) ([]Job, *Refusal) {
	f := decode(src, name, c.Manifest.Identity())
	if r := f.phaseOrder(c); r != nil {
		return nil, r
	}
	f.checkKind(c)
	var jobs []Job
	if c.Manifest.Identity() == 1 {
		jobs = f.checkV1(c)
	} else {
		jobs = f.checkV2(c)
	}
	if r := f.refusal(); r != nil {
		return nil, r
	}
	return jobs, nil
}

func (f *file) phaseOrder(c Context) *Refusal {
	roster := RosterV1(c.Manifest)
	if c.Plan != nil {
		roster = Roster(c.Plan)
	}
	byKey := map[string]Member{}
	for _, m := range roster {
		byKey[m.Key] = m
	}
	var batch []Member
	for _, e := range f.entries {
		key := e.workerID
		if _, w := c.worker(e.assignmentRef); w != nil {
			key = w.Key
		}
		if m, ok := byKey[key]; ok {
			batch = append(batch, m)
		}
	}
	return PhaseOrder(c.Manifest.TaskType, roster, batch, Statuses(c.Dispatches))
}

func (c Context) worker(assignmentRef string) (*plan.Round, *plan.Worker) {
	if c.Plan == nil || assignmentRef == "" {
		return nil, nil
	}
	for i := range c.Plan.Rounds {
		for j := range c.Plan.Rounds[i].Workers {
			if c.Plan.Rounds[i].Workers[j].AssignmentRef == assignmentRef {
				return &c.Plan.Rounds[i], &c.Plan.Rounds[i].Workers[j]
			}
		}
	}
	return nil, nil
}

func (f *file) checkKind(c Context) {
	if c.Kind != "" && f.kind != "" && c.Kind != string(f.kind) {
		f.add(f.kindAt, "dispatchKind is %s, but --dispatch-kind says %s", f.kind, printable(c.Kind))
	}
}

func (f *file) checkV2(c Context) []Job {
	var jobs []Job
	seen := map[string]int{}
	for _, e := range f.entries {
		if e.assignmentRef == "" || e.workerID != "" {
			continue // said already
		}
		if first, ok := seen[e.assignmentRef]; ok {
			f.add(e.offset, "%s: the same assignment as workers[%d]", e.name(), first)
			continue
		}
		seen[e.assignmentRef] = e.index
		round, w := c.worker(e.assignmentRef)
		if w == nil {
			f.at(e, "assignmentRef", "no assignment %s in this run", printable(e.assignmentRef))
			continue
		}
		f.identity(e, w)
		if f.kind == "" {
			continue
		}
		batch, err := batchOf(f.kind, round, w, c.Dispatches)
		if err != nil {
			f.at(e, "assignmentRef", "%s", err)
			continue
		}
		job := Job{Invocation: Derive(c.Run, round, w, batch, nextAttempt(f.kind, w.Key, batch, c.Dispatches)), Worker: w, Round: round}
		if job.Kind != f.kind {
			f.at(e, "assignmentRef", "the first attempt of %s has not run yet; its kind is %s, not %s", w.Key, job.Kind, f.kind)
			continue
		}
		job.PromptPath, job.ResultPath = job.Files.Prompt(), job.Files.WorkerResult()
		job.AuditPath, job.EmitPath = job.Files.Audit(), job.Files.Emit()
		f.derived(e, job, c)
		jobs = append(jobs, job)
	}
	f.membership(c, jobs)
	return jobs
}

// identity compares what the entry says of its worker with the plan.
func (f *file) identity(e *entry, w *plan.Worker) {
	for _, t := range []struct{ field, got, want string }{
		{"participantRef", e.participantRef, w.ParticipantRef},
		{"roleExecutionRef", e.roleExecutionRef, w.RoleExecutionRef},
		{"executionLabel", e.executionLabel, w.Label},
		{"dutyId", e.dutyID, w.Duty},
		{"provider", e.provider, w.Provider},
	} {
		if t.got != "" && t.got != t.want {
			f.differs(e, t.field, t.got, t.want)
		}
	}
	if e.role != "" && e.role != w.Role {
		f.at(e, "role", "role is %s, expected %s: %s", printable(e.role), w.Role, authority)
	}
}

// derived compares the entry with the invocation that its worker and kind give.
func (f *file) derived(e *entry, job Job, c Context) {
	if d := recordOf(job.Ref, c.Dispatches); d != nil {
		f.at(e, "invocationRef", "%s %s, as %s since %s%s", job.Ref, alreadyRecorded, d.Status, d.CreatedAt.UTC().Format("2006-01-02T15:04:05Z"), goesOn(d))
		return
	}
	if e.attempt > 0 && e.attempt != job.Attempt {
		f.differs(e, "attempt", fmt.Sprint(e.attempt), fmt.Sprint(job.Attempt))
	}
	if e.invocationRef != "" && e.invocationRef != job.Ref {
		f.differs(e, "invocationRef", e.invocationRef, job.Ref)
	}
	if e.promptPath != "" && c.resolve(e.promptPath) != job.PromptPath {
		f.differs(e, "promptPath", e.promptPath, job.PromptPath)
	}
	if e.workerResultPath != "" && c.resolve(e.workerResultPath) != job.ResultPath {
		if !strings.Contains(filepath.Base(e.workerResultPath), workerToken) {
			f.at(e, "workerResultPath", "workerResultPath is %s, expected %s: %s", printable(e.workerResultPath), job.ResultPath, noToken)
		} else {
			f.differs(e, "workerResultPath", e.workerResultPath, job.ResultPath)
		}
	}
	d := job.Worker.Digests
	for name, want := range map[string]string{
		"catalogDigest": d.Catalog, "assignmentDigest": d.Assignment, "dutyDigest": d.Duty, "instructionDigest": d.Instruction,
	} {
		f.digest(e, name, want)
	}
	if e.digests["promptDigest"] == nil {
		return
	}
	prompt, err := c.Prompt(job)
	if err != nil {
		f.at(e, "promptPath", "the prompt cannot be read: %s", err)
		return
	}
	f.digest(e, "promptDigest", plan.DigestBytes(prompt))
}

func (f *file) digest(e *entry, name, want string) {
	v := e.digests[name]
	if v == nil {
		return // said already
	}
	if got, _ := v.value.(string); got != want {
		f.add(v.offset, "%s: %s is %s, expected %s", e.name(), name, printable(got), want)
	}
}

// membership holds a reverify batch against its persisted round plan.
func (f *file) membership(c Context, jobs []Job) {
	n, ok := f.kind.Reverify()
	if !ok || len(jobs) == 0 {
		return
	}
	p, err := c.RoundPlan(n)
	if errors.Is(err, fs.ErrNotExist) {
		f.add(f.kindAt, "there is no round plan for %s: await the batch before it first", f.kind)
		return
	}
	if err != nil {
		f.add(f.kindAt, "the round plan of %s cannot be read: %s", f.kind, err)
		return
	}
	want := map[string]bool{}
	for _, key := range p.Workers() {
		want[key] = true
	}
	have := map[string]bool{}
	for _, d := range c.Dispatches {
		if d.Batch == string(f.kind) && d.Superseded == "" {
			have[keyOf(d)] = true
		}
	}
	for _, j := range jobs {
		have[j.Worker.Key] = true
		if !want[j.Worker.Key] {
			f.add(f.kindAt, "%s is not in the round plan of %s, which is followed exactly", j.Worker.Key, f.kind)
		}
	}
	// An entry whose worker is not known may be the one that seems to be missing;
	// what is wrong with it is said.
	known := len(jobs) == len(f.entries)
	for _, key := range p.Workers() {
		if known && !have[key] {
			f.add(f.kindAt, "%s is missing: the round plan of %s is followed exactly", key, f.kind)
		}
	}
}

func (f *file) differs(e *entry, field, got, want string) {
	f.at(e, field, "%s is %s, expected %s", field, printable(got), want)
}

func (f *file) at(e *entry, field, format string, args ...any) {
	offset := e.offset
	if v := e.fields[field]; v != nil {
		offset = v.offset
	}
	f.add(offset, "%s: %s", e.name(), fmt.Sprintf(format, args...))
}

// resolve makes a path of a jobs file absolute.
func (c Context) resolve(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(c.Run.Root, path)
}

// goesOn says what brings a recorded invocation to its end.
func goesOn(d *record.Dispatch) string {
	if d.Status.Terminal() {
		return ""
	}
	return "; `okstra team await` brings it to its end"
}

// recordOf finds the record of an invocation that ran or will run. One that is
// not-run stands in nobody's way.
func recordOf(ref string, dispatches []*record.Dispatch) *record.Dispatch {
	i := slices.IndexFunc(dispatches, func(d *record.Dispatch) bool { return d.InvocationRef == ref && d.Status != plan.StatusNotRun })
	if i < 0 {
		return nil
	}
	return dispatches[i]
}

func (f *file) checkV1(c Context) []Job {
	var jobs []Job
	seen := map[string]int{}
	named := map[string]string{}
	for _, d := range c.Dispatches {
		if d.Status == plan.StatusNotRun {
			continue // it stands in nobody's way
		}
		named[c.resolve(d.PromptPath)], named[c.resolve(d.ResultPath)] = d.InvocationRef, d.InvocationRef
	}
	for _, e := range f.entries {
		if e.workerID == "" {
			continue
		}
		if first, ok := seen[e.workerID]; ok {
			f.add(e.offset, "%s: the same worker as workers[%d]", e.name(), first)
			continue
		}
		seen[e.workerID] = e.index
		i := slices.IndexFunc(c.Manifest.Workers, func(w lead.WorkerV1) bool { return w.WorkerID == e.workerID })
		if i < 0 {
			f.at(e, "workerId", "no worker %s in the run manifest", printable(e.workerID))
			continue
		}
		w := c.Manifest.Workers[i]
		if e.provider != "" && e.provider != w.Provider {
			f.differs(e, "provider", e.provider, w.Provider)
		}
		if e.role != "" && e.role != w.Role {
			f.differs(e, "role", e.role, w.Role)
		}
		if f.kind == "" || e.promptPath == "" || e.workerResultPath == "" {
			continue
		}
		job, ok := f.jobV1(e, &w, c)
		if !ok {
			continue
		}
		f.pathsV1(e, job, c, named)
		jobs = append(jobs, job)
	}
	return jobs
}

// jobV1 derives a version 1 invocation: the batch is the kind's own name,
// except for a retry, which stays where the attempt before it was.
func (f *file) jobV1(e *entry, w *lead.WorkerV1, c Context) (Job, bool) {
	batch := string(f.kind)
	if f.kind == KindRetry {
		last := latest(e.workerID, c.Dispatches)
		if last == nil {
			f.at(e, "workerId", "nothing is recorded of %s that could be retried", e.workerID)
			return Job{}, false
		}
		batch = last.Batch
	}
	attempt := nextAttempt(f.kind, e.workerID, batch, c.Dispatches)
	job := Job{
		Invocation: Invocation{Ref: paths.InvocationRef(e.workerID, batch, attempt), Batch: batch, Kind: f.kind, Attempt: attempt},
		V1:         w, PromptPath: c.resolve(e.promptPath), ResultPath: c.resolve(e.workerResultPath),
	}
	job.AuditPath, job.EmitPath = AuditPath(job.ResultPath), EmitPath(job.ResultPath)
	if d := recordOf(job.Ref, c.Dispatches); d != nil {
		f.at(e, "workerId", "%s %s, as %s%s", job.Ref, alreadyRecorded, d.Status, goesOn(d))
		return Job{}, false
	}
	return job, true
}

// pathsV1 checks paths that, in version 1, a file brings with it: inside the
// run's folder, no link on the way, results not there yet, each named once.
func (f *file) pathsV1(e *entry, job Job, c Context, named map[string]string) {
	if !strings.Contains(filepath.Base(job.ResultPath), workerToken) {
		f.at(e, "workerResultPath", "workerResultPath is %s: %s", printable(e.workerResultPath), noToken)
	}
	for _, t := range []struct {
		field, path string
		exists      bool
	}{{"promptPath", job.PromptPath, true}, {"workerResultPath", job.ResultPath, false}} {
		if owner, ok := named[t.path]; ok {
			f.at(e, t.field, "%s %s is named already by %s", t.field, t.path, owner)
			continue
		}
		named[t.path] = e.name()
		if !strings.HasPrefix(t.path, c.Run.Dir()+string(filepath.Separator)) {
			f.at(e, t.field, "%s %s lies outside the run's folder %s", t.field, printable(t.path), c.Run.Dir())
			continue
		}
		if link := linkOn(c.Run.Dir(), t.path); link != "" {
			f.at(e, t.field, "%s goes through the link %s", t.field, link)
			continue
		}
		_, err := os.Lstat(t.path)
		switch {
		case err == nil && !t.exists:
			f.at(e, t.field, "%s %s exists already", t.field, t.path)
		case err != nil && t.exists:
			f.at(e, t.field, "%s cannot be read: %s", t.field, err)
		}
	}
	for _, p := range []string{paths.Companions(job.PromptPath).Status(), job.AuditPath} {
		if p == "" {
			continue
		}
		if _, err := os.Lstat(p); err == nil {
			f.at(e, "promptPath", "%s exists already", p)
		}
	}
}

// linkOn returns the first symbolic link between dir and path, path included.
func linkOn(dir, path string) string {
	rel, err := filepath.Rel(dir, path)
	if err != nil {
		return path
	}
	at := dir
	for part := range strings.SplitSeq(rel, string(filepath.Separator)) {
		at = filepath.Join(at, part)
		info, err := os.Lstat(at)
		if err != nil {
			return ""
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return at
		}
	}
	return ""
}
