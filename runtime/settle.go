package runtime

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/converge"
	"github.com/okstra/okstra/runtime/crash"
	"github.com/okstra/okstra/runtime/launch"
	"github.com/okstra/okstra/runtime/lead"
	"github.com/okstra/okstra/runtime/record"
	"github.com/okstra/okstra/runtime/schema"
	"github.com/okstra/okstra/runtime/sidecar"
)

const killSignal = syscall.SIGKILL

// settle applies the completion rule to an attempt whose sidecar is terminal.
// Reading and hashing what it left is done beside the owner.
func (s *session) settle(statusPath string, f *flight, st *sidecar.Status) {
	f.settling = true
	launchPath := absolute(s.run.Root, f.d.LaunchPath)
	s.background(func() func() {
		e, err := examine(s.run.Root, launchPath, statusPath)
		return func() {
			s.forget(statusPath)
			if err != nil {
				s.fail(f.d, plan.ReasonInvalidResult, err.Error())
				return
			}
			s.conclude(f.d, e)
		}
	})
}

// evidence is everything that the completion rule looks at.
type evidence struct {
	sidecar *sidecar.Status
	digest  string // of the sidecar's bytes
	found   []sidecar.Found
}

// examine reads the files of one ended attempt.
func examine(root, launchPath, statusPath string) (evidence, error) {
	rec, err := launch.Read(launchPath)
	if err != nil {
		return evidence{}, err
	}
	st, digest, err := sidecar.ReadDigest(statusPath)
	if err != nil {
		return evidence{}, err
	}
	return evidence{sidecar: st, digest: digest, found: sidecar.Gather(rec.At(root), Validate)}, nil
}

// conclude writes what the completion rule says into the record.
func (s *session) conclude(d *record.Dispatch, e evidence) {
	st := e.sidecar
	d.Claim, d.SidecarDigest = st.Claim, e.digest
	d.ExitCode, d.Signal, d.Usage, d.Artifacts = st.ExitCode, st.Signal, st.Usage, st.Artifacts
	s.started(d, st)
	d.FinishedAt = st.FinishedAt
	var overlapped []string
	if st.Changed != nil && len(st.Changed.Paths) > 0 {
		overlapped = Overlapping(s.run, s.state, d)
	}
	d.Suspects = overlapped
	status, reason, detail := sidecar.Completed(st, e.found, overlapped)
	if status == plan.StatusCompleted && len(overlapped) > 0 {
		// Nobody can say who it was, so that the status stays; but it is said.
		detail = fmt.Sprintf("the tree changed while it ran (%s), by it or by %s", plan.Some(st.Changed.Paths), plan.Some(withoutRun(s.run, overlapped)))
		s.note(lead.Event{TS: s.env.Now(), Type: lead.Note, Phase: s.phaseOf(lead.WorkerSettled, d), Round: d.Round, InvocationRef: d.InvocationRef,
			Message: d.ExecutionLabel + " has read access, and " + detail})
	}
	s.end(d, status, reason, detail, st.RetryAfter)
	crash.Point("runner.settled")
}

// withoutRun shortens the names of workers of a run to their keys.
func withoutRun(run paths.Run, workers []string) []string {
	out := make([]string, len(workers))
	for i, w := range workers {
		out[i] = strings.TrimPrefix(w, run.Ref()+" ")
	}
	return out
}

// started records that a worker ran, once; a quick one may have ended before
// anybody looked.
func (s *session) started(d *record.Dispatch, st *sidecar.Status) {
	if d.StartedAt != nil {
		return
	}
	at := st.StartedAt
	d.StartedAt = &at
	s.noteLater(lead.Event{TS: s.env.Now(), Type: lead.WorkerStarted, Phase: s.phaseOf(lead.WorkerStarted, d), Round: d.Round,
		InvocationRef: d.InvocationRef, Message: d.ExecutionLabel + " is running", Data: map[string]any{lead.DataLabel: d.ExecutionLabel}})
}

// phaseOf is the phase of an event about a dispatch, whose round the plan may
// no longer have.
func (s *session) phaseOf(t lead.EventType, d *record.Dispatch) lead.Phase {
	var kind plan.RoundKind
	if r := s.plan.Round(d.Round); r != nil {
		kind = r.Kind
	}
	return lead.PhaseOf(t, kind)
}

// Overlapping names the workers, of this run and of the project's other runs,
// that ran at the same time as d: a tree that changed meanwhile proves nothing
// against d alone.
func Overlapping(run paths.Run, st *record.State, d *record.Dispatch) []string {
	var out []string
	add := func(run paths.Run, st *record.State) {
		for _, o := range st.WorkerDispatches {
			if o.Tag == d.Tag || d.StartedAt == nil {
				continue
			}
			if o.StartedAt == nil {
				if o.Status == plan.StatusSpawning {
					// It may run already: nobody has looked yet.
					out = append(out, run.Ref()+" "+o.WorkerKey)
				}
				continue
			}
			if d.FinishedAt != nil && o.StartedAt.After(*d.FinishedAt) || o.FinishedAt != nil && o.FinishedAt.Before(*d.StartedAt) {
				continue
			}
			out = append(out, run.Ref()+" "+o.WorkerKey)
		}
	}
	add(run, st)
	others, err := recorded(run.Root)
	if err != nil {
		return append(out, "unknown: "+err.Error())
	}
	for _, other := range others {
		if other == run {
			continue
		}
		st, err := record.Load(other.TeamState())
		if err != nil {
			out = append(out, "unknown: "+err.Error())
			continue
		}
		add(other, st)
	}
	return out
}

// fail ends a dispatch that has no terminal sidecar.
func (s *session) fail(d *record.Dispatch, reason plan.Reason, detail string) {
	status, ok := plan.StatusOf(reason)
	if !ok {
		panic("reason " + string(reason) + " is not in the closed list")
	}
	now := s.env.Now()
	d.FinishedAt = &now
	s.end(d, status, reason, detail, nil)
	s.clearRemains(d)
	crash.Point("runner.settled")
}

// end makes a dispatch terminal, says so, and enlists its retry in the same
// write, so that no crash can lose one of the two.
func (s *session) end(d *record.Dispatch, status plan.Status, reason plan.Reason, detail string, retryAfter *plan.Duration) {
	// Paths of the project are told as the project tells them.
	d.Status, d.Reason, d.Detail = status, reason, strings.ReplaceAll(detail, s.run.Root+string(filepath.Separator), "")
	s.note(lead.Event{TS: s.env.Now(), Type: lead.WorkerSettled, Phase: s.phaseOf(lead.WorkerSettled, d), Round: d.Round,
		InvocationRef: d.InvocationRef, Message: lead.Settled(d.ExecutionLabel, string(status), string(reason)), Data: lead.SettledData(d)})
	s.keepPane(d)
	s.retry(d, retryAfter)
}

// retry enlists the next attempt of a failed dispatch where its policy says so.
func (s *session) retry(d *record.Dispatch, retryAfter *plan.Duration) {
	j := s.work[d.WorkerKey]
	if j == nil || j.worker.Given != nil || s.stopping || d.Status == plan.StatusCompleted || d.Status == plan.StatusNotRun {
		return
	}
	w := j.worker
	if n := used(s.state, d); n >= w.Retry.Attempts || !slices.Contains(w.Retry.On, d.Reason) {
		if d.Uncounted {
			s.enlist(j, d.Attempt+1, d.Allowance, nil)
		}
		return
	}
	wait := backoff(w.Retry.Backoff.D(), d.Attempt)
	if retryAfter != nil && retryAfter.D() > wait {
		wait = retryAfter.D()
	}
	at := s.env.Now().Add(wait)
	next := s.enlist(j, d.Attempt+1, d.Allowance, &at)
	s.note(lead.Event{TS: s.env.Now(), Type: lead.WorkerRetrying, Phase: lead.PhaseOf(lead.WorkerRetrying, j.round.Kind), Round: d.Round, InvocationRef: d.InvocationRef,
		Message: fmt.Sprintf("%s is tried again in %s (attempt %d)", d.ExecutionLabel, wait.Round(time.Millisecond), next.Attempt)})
}

// backoff doubles with every attempt, to 64 times its base at most.
func backoff(base time.Duration, attempt int) time.Duration {
	return base << min(max(attempt-1, 0), 6)
}

// Validate checks a document against one of okstra's own schemas or, where
// name is an absolute path, against that JSON Schema file.
func Validate(name string, doc []byte) error {
	if !filepath.IsAbs(name) {
		if err := schema.Validate(name, doc); err != nil {
			return err
		}
		switch kind := plan.Emits(name); kind {
		case plan.EmitsFindings, plan.EmitsVerdicts, plan.EmitsVerdict:
			// What a schema cannot say: no id twice, no two verdicts on one finding.
			return converge.Check(kind, doc)
		}
		return nil
	}
	src, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("read schema: %w", err)
	}
	compiled, err := schema.CompileFile(src, name)
	if err != nil {
		return err
	}
	return compiled.Validate(doc)
}
