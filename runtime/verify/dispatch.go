package verify

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime/launch"
	"github.com/okstra/okstra/runtime/record"
	"github.com/okstra/okstra/runtime/sidecar"
)

// dispatch derives one invocation again.
func (v *verifier) dispatch(d *record.Dispatch) {
	v.out.Workers++
	ref := d.InvocationRef
	if v.seen[ref] {
		v.add(ref, "record", "once", "twice")
	}
	v.seen[ref] = true
	v.own(d)

	rec := v.launchRecord(d)
	raw, err := os.ReadFile(v.abs(d.StatusPath))
	switch {
	case err != nil:
		v.withoutSidecar(d, problem(err))
		return
	case d.SidecarDigest != "" && plan.DigestBytes(raw) != d.SidecarDigest:
		v.add(ref, "sidecar", d.SidecarDigest, plan.DigestBytes(raw))
	}
	st, err := sidecar.Decode(raw)
	if err != nil {
		v.add(ref, "sidecar", "a status sidecar", err.Error())
		return
	}
	v.identity(d, st)
	if !st.Stage.Terminal() {
		v.notTerminal(d, st)
		return
	}
	if rec != nil {
		v.settled(d, rec, st)
	}
}

// here is where a path lies that was absolute when d was launched; the project
// may have been moved since.
func (v *verifier) here(d *record.Dispatch, path string) string {
	if root, known := v.roots[d.InvocationRef]; known {
		return launch.Moved(path, root, v.run.Root)
	}
	return path
}

// own marks the files that the invocation accounts for.
func (v *verifier) own(d *record.Dispatch) {
	prompt := v.abs(d.PromptPath)
	for _, p := range []string{prompt, v.abs(d.StatusPath), v.abs(d.LaunchPath), v.abs(d.ResultPath)} {
		v.owned[p] = true
	}
	for _, p := range d.CompletionPaths {
		v.owned[v.abs(p)] = true
	}
	for _, a := range d.Artifacts {
		v.owned[a.Path] = true
	}
}

// launchRecord reads the launch record and holds the prompt and the derived
// paths against the dispatch. It is nil where nothing can be derived from it.
func (v *verifier) launchRecord(d *record.Dispatch) *launch.Record {
	ref := d.InvocationRef
	ran := d.SidecarDigest != "" || d.Status == plan.StatusRunning
	rec, err := launch.Read(v.abs(d.LaunchPath))
	if err != nil {
		if ran {
			v.add(ref, "launch record", d.LaunchPath, problem(err))
		}
		return nil
	}
	v.roots[ref], v.backends[ref] = rec.ProjectRoot, rec.Backend
	rec = rec.At(v.run.Root)
	for _, o := range rec.Outputs {
		v.owned[o.Path] = true
	}
	for _, p := range []string{rec.Paths.Result, rec.Paths.WorkerResult, rec.Paths.Audit, rec.Paths.Emit} {
		v.owned[p] = true
	}
	for _, f := range []struct {
		fact            string
		recorded, found any
	}{
		{"invocationRef of the launch record", ref, rec.InvocationRef}, {"workerKey of the launch record", d.WorkerKey, rec.WorkerKey},
		{"batch of the launch record", d.Batch, rec.Batch}, {"kind of the launch record", d.Kind, rec.DispatchKind},
		{"attempt of the launch record", d.Attempt, rec.Attempt}, {"role of the launch record", d.Role, rec.Role},
		{"tag of the launch record", d.Tag, rec.Tag}, {"run of the launch record", v.run.Ref(), rec.Run},
		{"prompt path", v.abs(d.PromptPath), rec.Paths.Prompt}, {"sidecar path", v.abs(d.StatusPath), rec.Paths.Status},
		{"result path", v.abs(d.ResultPath), rec.Paths.Result},
	} {
		v.compare(ref, f.fact, f.recorded, f.found)
	}
	var recorded, derived []string
	for _, p := range d.CompletionPaths {
		recorded = append(recorded, v.abs(p))
	}
	for _, c := range rec.CompletionPaths() {
		derived = append(derived, c.Path)
	}
	v.compare(ref, "completion paths", recorded, derived)
	if ran && d.Digests.Prompt != "" {
		prompt, err := os.ReadFile(v.abs(d.PromptPath))
		if err != nil {
			v.add(ref, "prompt", d.Digests.Prompt, problem(err))
		} else {
			v.compare(ref, "prompt", d.Digests.Prompt, plan.DigestBytes(prompt))
		}
	}
	return rec
}

// withoutSidecar judges a dispatch of which no sidecar is there.
func (v *verifier) withoutSidecar(d *record.Dispatch, found string) {
	switch {
	case d.SidecarDigest != "":
		v.add(d.InvocationRef, "sidecar", d.SidecarDigest, found)
	case d.Status == plan.StatusPlanned, d.Status == plan.StatusSpawning, d.Status == plan.StatusNotRun:
	case d.Reason == plan.ReasonNotStarted, d.Reason == plan.ReasonCannotStart, d.Reason == plan.ReasonInvalidResult:
		// It was given up before its supervisor said anything, or what was
		// there could not be read.
	default:
		v.add(d.InvocationRef, "status", status(d.Status, d.Reason), "no sidecar: nothing shows that it ran")
	}
}

// notTerminal judges a dispatch whose supervisor never said how it ended.
func (v *verifier) notTerminal(d *record.Dispatch, st *sidecar.Status) {
	found := "a sidecar at stage " + string(st.Stage)
	switch d.Status {
	case plan.StatusSpawning, plan.StatusRunning:
		return
	case plan.StatusPlanned, plan.StatusNotRun:
		if st.Stage == sidecar.StageInit {
			return
		}
	case plan.StatusError:
		if d.Reason == plan.ReasonSupervisorLost && st.Stage == sidecar.StageStart ||
			d.Reason == plan.ReasonNotStarted && st.Stage == sidecar.StageInit {
			return
		}
	}
	v.add(d.InvocationRef, "status", status(d.Status, d.Reason), found)
}

// identity compares what sidecar and record say of who ran.
func (v *verifier) identity(d *record.Dispatch, st *sidecar.Status) {
	for _, f := range []struct {
		fact            string
		recorded, found any
	}{
		{"invocationRef of the sidecar", d.InvocationRef, st.InvocationRef}, {"workerKey of the sidecar", d.WorkerKey, st.WorkerKey},
		{"batch of the sidecar", d.Batch, st.Batch}, {"kind of the sidecar", d.Kind, st.DispatchKind}, {"attempt of the sidecar", d.Attempt, st.Attempt},
	} {
		v.compare(d.InvocationRef, f.fact, f.recorded, f.found)
	}
	if d.Claim != "" {
		v.compare(d.InvocationRef, "claim", d.Claim, st.Claim)
	}
}

// settled derives status, reason and artifacts of an ended attempt.
func (v *verifier) settled(d *record.Dispatch, rec *launch.Record, st *sidecar.Status) {
	ref := d.InvocationRef
	if !d.Status.Terminal() {
		v.add(ref, "status", string(d.Status), "a terminal sidecar ("+string(st.Stage)+") that no runner has settled yet")
		return
	}
	var overlapped []string
	if st.Changed != nil && len(st.Changed.Paths) > 0 {
		overlapped = d.Suspects
		if v.rules.Overlapping != nil {
			overlapped = v.rules.Overlapping(v.run, v.state, d)
		}
	}
	got, reason, _ := sidecar.Completed(st, sidecar.Gather(rec, v.rules.Validate), overlapped)
	if got == plan.StatusCompleted && rec.Report {
		// A report that is set aside was held against facts that are no more.
		past := d.Superseded != "" && d.Reason == plan.ReasonInvalidResult
		if past || d.Superseded == "" && len(v.reportProblems(d)) > 0 {
			got, reason = plan.StatusError, plan.ReasonInvalidResult
		}
	}
	// The lead's word stands over the completion rule; its event is the proof.
	forbidden := d.Reason == plan.ReasonForbiddenAction && v.reported(ref)
	if want := status(d.Status, d.Reason); !forbidden && want != status(got, reason) {
		v.add(ref, "status", want, status(got, reason))
	}
	v.compare(ref, "exitCode", d.ExitCode, st.ExitCode)
	v.compare(ref, "signal", d.Signal, st.Signal)
	v.compare(ref, "usage", d.Usage, st.Usage)
	v.compare(ref, "artifacts", d.Artifacts, st.Artifacts)
	v.compare(ref, "finishedAt", d.FinishedAt, st.FinishedAt)
	for _, a := range st.Artifacts {
		f := sidecar.Look(launch.CompletionPath{Name: a.Name, Path: v.here(d, a.Path)})
		found := f.Digest
		switch {
		case f.Problem != "":
			found = f.Problem
		case !f.Exists:
			found = "missing"
		case !f.Regular:
			found = "not a regular file"
		}
		v.compare(ref, "artifact "+a.Name, a.Digest, found)
	}
}

func status(s plan.Status, r plan.Reason) string {
	if r == plan.ReasonNone {
		return string(s)
	}
	return string(s) + "/" + string(r)
}

// strays looks for attempts and results that no record names.
func (v *verifier) strays() {
	for _, dir := range []string{"prompts", "worker-results"} {
		root := filepath.Join(v.run.Dir(), dir)
		tail := "-" + filepath.Base(strings.TrimSuffix(v.run.TeamState(), ".json"))
		tail = strings.TrimPrefix(tail, "-team-state")
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			if !ofRun(e.Name(), tail) || v.owned[path] || dir == "prompts" && !evidence(path) {
				return nil
			}
			v.add(v.rel(path), "record", "(nothing)", "a file of an invocation that no record names")
			return nil
		})
		if err != nil && problem(err) != "missing" {
			v.add(v.rel(root), "files", "readable", problem(err))
		}
	}
}

// ofRun reports whether a file belongs to this run: other sequence numbers
// share the folders.
func ofRun(name, tail string) bool {
	i := strings.LastIndex(name, tail)
	if i < 0 {
		return false
	}
	rest := name[i+len(tail):]
	return rest == "" || rest[0] == '.' || strings.HasPrefix(rest, "-a")
}

// evidence picks the companions of a prompt that show that it was used.
func evidence(path string) bool {
	return slices.ContainsFunc([]string{".status.json", ".launch.json"}, func(suffix string) bool { return strings.HasSuffix(path, suffix) })
}
