package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/crash"
	"github.com/okstra/okstra/runtime/durable"
	"github.com/okstra/okstra/runtime/jobs"
	"github.com/okstra/okstra/runtime/launch"
	"github.com/okstra/okstra/runtime/lead"
	"github.com/okstra/okstra/runtime/record"
	"github.com/okstra/okstra/runtime/sidecar"
)

// job is a worker to be brought to its end in one batch.
type job struct {
	round  *plan.Round
	worker *plan.Worker
	batch  string
	extra  string // text after the instructions: the items of a re-verification
}

// batchWork is the workers of the batch that is being driven, by worker key.
type batchWork map[string]*job

// enlist records an invocation of a job as planned. The state is not yet
// written; nothing starts before it is.
func (s *session) enlist(j *job, attempt, allowance int, notBefore *time.Time) *record.Dispatch {
	w := j.worker
	a := attemptFiles(s.run, w, j.batch, attempt)
	kind := string(jobs.KindOf(j.batch, attempt))
	invocation := paths.InvocationRef(w.AssignmentRef, j.batch, attempt)
	// A prompt that cannot be read fails when it is prepared.
	prompt, _ := s.promptText(j, a, kind)
	s.pin(w)
	rel := func(p string) string { return relative(s.run.Root, p) }
	d := &record.Dispatch{
		InvocationRef: invocation, WorkerKey: w.Key, ParticipantRef: w.ParticipantRef, RoleExecutionRef: w.RoleExecutionRef,
		AssignmentRef: w.AssignmentRef, ExecutionLabel: w.Label, DutyID: w.Duty, Round: j.round.Name, Batch: j.batch, Kind: kind,
		Role: w.Role, Provider: w.Provider, BackendType: w.Provider + "-cli", DispatchMode: string(lead.ModeOf(s.backend.Name())),
		Attempt: attempt, Allowance: allowance, Status: plan.StatusPlanned,
		Digests:    record.DispatchDigests{Digests: w.Digests, Prompt: plan.DigestBytes([]byte(prompt))},
		PromptPath: rel(a.Prompt()), StatusPath: rel(a.Status()), LaunchPath: rel(a.Launch()), ResultPath: rel(a.Result()),
		Tag: s.state.Tag(invocation), Limits: w.Limits, CreatedAt: s.env.Now(), RetryAfter: notBefore,
	}
	if w.Given != nil {
		d.WorkerID, d.AssignmentRef, d.RoleExecutionRef, d.ParticipantRef = w.Key, "", "", ""
	}
	for _, c := range s.launchRecord(j, d, a, nil).CompletionPaths() {
		d.CompletionPaths = append(d.CompletionPaths, rel(c.Path))
	}
	if old := s.state.Invocation(invocation); old != nil {
		// Only an attempt that never ran is enlisted again; what the provider
		// asked to wait for holds for the next runner too.
		if notBefore == nil && old.Status == plan.StatusPlanned && old.Digests.Assignment == d.Digests.Assignment {
			d.RetryAfter = old.RetryAfter
		}
		*old = *d
		d = old
	} else {
		s.state.WorkerDispatches = append(s.state.WorkerDispatches, d)
	}
	s.changed()
	return d
}

// launchRecord renders the launch record of an attempt.
func (s *session) launchRecord(j *job, d *record.Dispatch, a paths.Attempt, argv []string) *launch.Record {
	w := j.worker
	r := &launch.Record{
		SchemaVersion: launch.SchemaVersion, Run: s.run.Ref(), ProjectRoot: s.run.Root, InvocationRef: d.InvocationRef,
		WorkerKey: w.Key, Batch: j.batch, DispatchKind: d.Kind, Attempt: a.Number, Role: w.Role, Access: w.Access, Label: w.Label,
		Provider: w.Provider, Tag: d.Tag, Backend: s.backend.Name(), Program: w.Program.Path, Argv: argv,
		Dir: absolute(s.run.Root, w.Dir), Stdin: launch.StdinNone,
		Paths: launch.Paths{
			Prompt: a.Prompt(), Status: a.Status(), Lock: a.Lock(), Go: a.Go(), Env: a.Env(), Log: a.Log(), ErrLog: a.ErrLog(),
			Inputs: s.run.InputsIndex(j.batch), Result: a.Result(), WorkerResult: a.WorkerResult(),
		},
		Result: w.Result, Output: w.Output, Emits: w.Emits, Audit: w.Audit, Report: a.Report, Limits: w.Limits,
		ExitCodes: w.ExitCodes, Hold: s.backend.Name() != "process", Watch: w.Access == plan.AccessRead, Ours: s.env.Ours,
	}
	if w.Prompt == plan.PromptStdin {
		r.Stdin = launch.StdinPrompt
	}
	if w.Audit {
		r.Paths.Audit = a.Audit()
	}
	if w.Emits != plan.EmitsNone {
		r.Paths.Emit = a.Emit()
	}
	for _, e := range w.Env {
		for _, ref := range e.Value.Refs() {
			if _, secret := ref.SecretName(); secret {
				r.SecretEnv = append(r.SecretEnv, e.Name)
				break
			}
		}
	}
	for _, o := range w.Outputs {
		out := launch.Output{Name: o.Name, Path: a.Output(o.Name), Required: o.Required}
		if o.Schema != "" {
			out.Schema = absolute(s.run.Root, o.Schema)
		}
		r.Outputs = append(r.Outputs, out)
	}
	return r
}

// preparation is everything that must be on disk before a supervisor starts,
// made by the owner and written beside it.
type preparation struct {
	d      *record.Dispatch
	files  paths.Attempt
	prompt string
	record *launch.Record
	env    []string
	launch backends.Launch
}

// prepare renders one planned dispatch. An error is the world's: a secret
// without a value, or a completion path that exists already.
func (s *session) prepare(j *job, d *record.Dispatch) (*preparation, error) {
	w := j.worker
	a := attemptFiles(s.run, w, j.batch, d.Attempt)
	prompt, err := s.promptText(j, a, d.Kind)
	if err != nil {
		return nil, err
	}
	fill := filler(a, prompt)
	var argv []string
	for _, t := range w.Argv {
		argv = append(argv, t.Fill(fill))
	}
	if w.Prompt == plan.PromptArgument {
		argv = append(argv, prompt)
	}
	env, err := environment(s.env, s.run, w, a, d.InvocationRef, prompt)
	if err != nil {
		return nil, err
	}
	rec := s.launchRecord(j, d, a, argv)
	for _, c := range rec.CompletionPaths() {
		switch _, err := os.Lstat(c.Path); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, fmt.Errorf("look at %s, which the attempt is to write: %w", relative(s.run.Root, c.Path), err)
		default:
			return nil, fmt.Errorf("%s exists before the attempt that is to write it; it belongs to %s", relative(s.run.Root, c.Path), s.owner(c.Path))
		}
	}
	return &preparation{
		d: d, files: a, prompt: prompt, record: rec, env: env,
		launch: backends.Launch{
			Command: []string{s.env.Okstra, "supervise", a.Launch()}, Label: d.ExecutionLabel, Tag: d.Tag, Title: w.Title,
			Policy: policyOf(s.plan), Beside: s.openPanes(s.backend.Name()),
		},
	}, nil
}

// owner names the invocation that a completion path was made for.
func (s *session) owner(path string) string {
	rel := relative(s.run.Root, path)
	for _, d := range s.state.WorkerDispatches {
		for _, c := range d.CompletionPaths {
			if c == rel && d.Status != plan.StatusPlanned {
				return d.InvocationRef
			}
		}
	}
	return "nothing that this run recorded"
}

// openPanes are the handles of this run that are still on a screen of a
// backend; of any, where none is named.
func (s *session) openPanes(backend string) []backends.Handle {
	var out []backends.Handle
	for _, d := range s.state.WorkerDispatches {
		if d.Handle != nil && d.Handle.Pane != "" && !d.Closed && (backend == "" || backend == d.Handle.Backend) {
			out = append(out, *d.Handle)
		}
	}
	return out
}

// write puts the attempt's files on disk. It may run again for an attempt that
// never ran.
func (p *preparation) write() error {
	for _, f := range []string{p.files.Prompt(), p.files.WorkerResult(), p.files.Result()} {
		if err := durable.MkdirAll(filepath.Dir(f)); err != nil {
			return err
		}
	}
	env := &launch.Env{SchemaVersion: launch.EnvSchemaVersion, Env: p.env}
	var prompt []durable.File
	if p.files.GivenPrompt == "" {
		prompt = append(prompt, durable.File{Path: p.files.Prompt(), Data: []byte(p.prompt), Perm: 0o600})
	}
	if err := launch.WriteAttempt(p.files.Launch(), p.record, env, prompt...); err != nil {
		return err
	}
	return durable.Touch(p.files.Lock())
}

// writeAll writes the files of a group. Most of the time is spent in waiting
// for the disk, which does several at once for the price of one.
func writeAll(group []*preparation) []error {
	const atOnce = 16
	errs := make([]error, len(group))
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i, p := range group {
		g.Go(func() error {
			errs[i] = p.write()
			return nil
		})
	}
	_ = g.Wait() // errs has them
	return errs
}

// startReady hands planned dispatches to the backend, as many as parallelism
// and budget allow: intent now, files and supervisors once intent is on disk.
func (s *session) startReady(batch string, work batchWork) error {
	s.heedStop()
	if s.stopping {
		return nil
	}
	now := s.env.Now()
	s.exhausted = false // what ended meanwhile may have used less than its worst
	slots := s.slots(batch)
	var group []*preparation
	for _, d := range s.state.InBatch(batch) {
		if d.Status != plan.StatusPlanned || slots <= 0 || (d.RetryAfter != nil && d.RetryAfter.After(now)) {
			continue
		}
		j := work[d.WorkerKey]
		if j == nil {
			continue // not part of what is driven now
		}
		if why := s.affordable(j.worker, batch); why != "" {
			s.exhausted = true
			break
		}
		p, err := s.prepare(j, d)
		if err != nil {
			s.fail(d, plan.ReasonCannotStart, err.Error())
			continue
		}
		slots--
		d.Status, d.DispatchMode = plan.StatusSpawning, string(lead.ModeOf(s.backend.Name()))
		s.note(lead.Event{TS: now, Type: lead.WorkerDispatch, Phase: lead.PhaseOf(lead.WorkerDispatch, j.round.Kind), Round: d.Round,
			InvocationRef: d.InvocationRef, Message: "dispatching " + d.ExecutionLabel, Data: map[string]any{lead.DataLabel: d.ExecutionLabel, "kind": d.Kind}})
		f := &flight{d: d, round: j.round, worker: j.worker, startBy: now.Add(d.Limits.Start.D() + startSlack)}
		if old, err := sidecar.Read(p.files.Status()); err == nil {
			f.stale = old.Claim
		}
		s.live[p.files.Status()] = f
		group = append(group, p)
	}
	if len(group) == 0 {
		return nil
	}
	for _, p := range group {
		if err := durable.MkdirAll(filepath.Dir(p.files.Status())); err != nil {
			return err
		}
		s.watch.Add(p.files.Status())
	}
	s.then(func() {
		crash.Point("runner.intent-written")
		s.background(func() func() { return s.launchGroup(group) })
	})
	return nil
}

// startSlack is what the runner allows beyond the supervisor's own start
// limit, so that it is the supervisor that gives up first.
const startSlack = 3 * time.Second

// launchGroup runs beside the owner.
func (s *session) launchGroup(group []*preparation) func() {
	type failed struct {
		p   *preparation
		err error
	}
	var failures []failed
	var ready []*preparation
	var launches []backends.Launch
	for i, err := range writeAll(group) {
		p := group[i]
		if err != nil {
			failures = append(failures, failed{p, err})
			continue
		}
		ready = append(ready, p)
		launches = append(launches, p.launch)
	}
	crash.Point("runner.launch-written")
	var started []backends.Started
	if len(launches) > 0 {
		started = s.backend.Start(context.Background(), launches)
	}
	crash.Point("runner.backend-started")
	return func() {
		for _, f := range failures {
			s.notStarted(f.p.d, f.p.files.Status(), f.err)
		}
		for i, st := range started {
			s.onStarted(ready[i], st)
		}
	}
}

// onStarted takes the backend's answer for one launch.
func (s *session) onStarted(p *preparation, st backends.Started) {
	d := p.d
	f := s.live[p.files.Status()]
	if f == nil {
		return // it has been given up meanwhile
	}
	f.asked = true
	if st.Note != "" {
		s.note(lead.Event{TS: s.env.Now(), Type: lead.Note, Round: d.Round, InvocationRef: d.InvocationRef, Message: st.Note})
	}
	switch {
	case st.Err == nil:
		placed(d, st.Handle)
		s.changed()
	case errors.Is(st.Err, backends.ErrUnanswered):
		// Somebody may be there: init tells, or the start limit ends.
		placed(d, st.Handle)
		d.Detail = st.Err.Error()
		s.changed()
	default:
		placed(d, st.Handle)
		s.notStarted(d, p.files.Status(), st.Err)
		s.closePanes([]*record.Dispatch{d})
		return
	}
	s.look(p.files.Status())
}

// placed records what a backend knows of a launch: where it is, or by what it
// is found again.
func placed(d *record.Dispatch, h backends.Handle) {
	if h.Tag == "" {
		return
	}
	d.Handle, d.PaneID, d.Closed = &h, h.Pane, false
}

// notStarted settles a dispatch whose supervisor certainly does not run.
func (s *session) notStarted(d *record.Dispatch, statusPath string, err error) {
	s.forget(statusPath)
	s.fail(d, plan.ReasonNotStarted, err.Error())
}

// forget ends the watch over one attempt.
func (s *session) forget(statusPath string) {
	delete(s.live, statusPath)
	s.watch.Remove(statusPath)
}

// slots is how many more workers of the batch may run now.
func (s *session) slots(batch string) int {
	limit := s.plan.Run.Parallelism
	for i := range s.plan.Rounds {
		r := &s.plan.Rounds[i]
		if inRound(r, batch) && r.Parallelism > 0 {
			limit = min(limit, r.Parallelism)
		}
	}
	for _, d := range s.state.InBatch(batch) {
		if d.Status == plan.StatusSpawning || d.Status == plan.StatusRunning {
			limit--
		}
	}
	return limit
}

// inRound tells whether a batch belongs to a round.
func inRound(r *plan.Round, batch string) bool {
	switch r.Kind {
	case plan.RoundReverify:
		return strings.HasPrefix(batch, "reverify-r")
	case plan.RoundReportWriter:
		return batch == paths.ReportWriterBatch
	default:
		return batch == r.Name
	}
}
