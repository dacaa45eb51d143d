package runtime

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/launch"
	"github.com/okstra/okstra/runtime/lead"
	"github.com/okstra/okstra/runtime/providers"
	"github.com/okstra/okstra/runtime/record"
	"github.com/okstra/okstra/runtime/sidecar"
)

// logTail is how many lines of a log an explanation shows.
const logTail = 12

// Why tells the rule and the evidence behind a worker's status.
func Why(_ context.Context, _ Env, sel Selector, name string) (*Explanation, error) {
	run, st, err := find(sel)
	if err != nil {
		return nil, err
	}
	ds, err := recordedWorker(run, st, name)
	if err != nil {
		return nil, err
	}
	d := ds[len(ds)-1]
	ex := &Explanation{Worker: workerStatus(run, d), Evidence: []string{}}
	for _, one := range ds {
		ex.Attempts = append(ex.Attempts, workerStatus(run, one))
	}
	ex.Rule = ruleOf(d)
	if d.Status == plan.StatusCompleted {
		ex.Rule += movedSince(run, d)
	}
	if d.Reason != "" {
		rec, err := launch.Read(absolute(run.Root, d.LaunchPath))
		if err != nil {
			rec = nil // the hint is less exact then
		}
		ex.Hint = hintFor(d, rec)
	}
	gatherEvidence(run, d, ex)
	return ex, nil
}

// movedSince tells what of a completed worker's files is not any more what it
// was when that was settled.
func movedSince(run paths.Run, d *record.Dispatch) string {
	var moved []string
	rec, err := launch.Read(absolute(run.Root, d.LaunchPath))
	if err != nil {
		return ""
	}
	for _, f := range sidecar.Gather(rec.At(run.Root), nil) {
		for _, a := range d.Artifacts {
			switch {
			case a.Name != f.Name || a.Digest == f.Digest:
			case !f.Exists:
				moved = append(moved, f.Name+" was removed")
			default:
				moved = append(moved, f.Name+" was changed")
			}
		}
	}
	if len(moved) == 0 {
		return ""
	}
	return " Since then " + strings.Join(moved, ", ") + "; okstra verify lists it."
}

// hintFor says what to do. Where a worker left a file unwritten it says which
// file: for the result there is more than one way, for the others only one.
// rec is nil where the launch record cannot be read.
func hintFor(d *record.Dispatch, rec *launch.Record) string {
	e := providers.Ended{Reason: d.Reason, Provider: d.Provider, Backend: lead.BackendOf(lead.Mode(d.DispatchMode)), Detail: d.Detail}
	if rec != nil {
		e.Output, e.Result, e.Backend = rec.Output, rec.Result, rec.Backend
	}
	if d.Reason == plan.ReasonNoResult && e.Result != plan.ResultStdout {
		name, _, _ := strings.Cut(d.Detail, " ")
		switch out, declared := strings.CutPrefix(name, "out:"); {
		case name == "audit":
			return "The audit file is owed where a duty says audit = true, and by every report-writer: write what was read and done to OKSTRA_AUDIT."
		case name == "emit":
			return "The duty says what it emits: write that JSON document to OKSTRA_EMIT; okstra schema shows its form."
		case declared:
			return fmt.Sprintf("The duty declares the output %s as required: write it to %s.", out, OutputVariable(out))
		}
	}
	if d.Reason == plan.ReasonInvalidResult && strings.HasPrefix(d.Detail, "out:") {
		return "The duty names a JSON Schema for this output; show the form that it asks for in the instructions."
	}
	return providers.HintFor(e)
}

// ruleOf is the sentence of the contract that gave a status.
func ruleOf(d *record.Dispatch) string {
	switch d.Status {
	case plan.StatusPlanned:
		if d.RetryAfter != nil {
			return "It is recorded and waits out its backoff until " + d.RetryAfter.Local().Format(time.TimeOnly) + "."
		}
		return "It is recorded and has not been started."
	case plan.StatusSpawning:
		return "It was handed to the backend; its supervisor has not said that the worker may run."
	case plan.StatusRunning:
		return "Its supervisor has started the worker and has not written a terminal sidecar."
	case plan.StatusCompleted:
		return "Its sidecar is terminal with exit 0, every completion path is there as recorded, and the output held no error record."
	case plan.StatusTimeout:
		return "Its supervisor ended it at a limit."
	case plan.StatusNotRun:
		return notRunRules[d.Reason]
	case plan.StatusContractViolated:
		if d.Reason == plan.ReasonWroteOutside {
			return "It has no write access, and the work tree changed while it alone ran."
		}
		return "It did what its role or its task type forbids."
	}
	return errorRules[d.Reason]
}

var notRunRules = map[plan.Reason]string{
	plan.ReasonBudget:              "It was not started: the run's budget did not allow another start.",
	plan.ReasonUpstreamFailed:      "It was not started: a round that it comes after did not meet its require.",
	plan.ReasonGateDenied:          "It was not started: a person denied a gate before it.",
	plan.ReasonNotNeeded:           "It was not started: a verdict ended the run before it.",
	plan.ReasonConvergenceDisabled: "It was not started: fewer than two analysts completed, or convergence is off.",
	plan.ReasonStopped:             "It was not started: the run was stopped.",
}

var errorRules = map[plan.Reason]string{
	plan.ReasonNotStarted:      "No supervisor took up the attempt within its start limit.",
	plan.ReasonCannotStart:     "The worker could not be started.",
	plan.ReasonExitNonzero:     "The worker ended with an exit code other than 0.",
	plan.ReasonSignal:          "The worker was ended by a signal.",
	plan.ReasonNoResult:        "The worker ended with 0 but a required file is missing or empty.",
	plan.ReasonInvalidResult:   "A required file is there but is not what it has to be.",
	plan.ReasonSupervisorLost:  "Its supervisor was killed after the worker may have started.",
	plan.ReasonPaneLost:        "Its pane was closed while the worker ran.",
	plan.ReasonCancelled:       "It was ended on request.",
	plan.ReasonRateLimited:     "The provider reported a rate limit.",
	plan.ReasonOverloaded:      "The provider reported that it is overloaded.",
	plan.ReasonAuth:            "The provider refused the login.",
	plan.ReasonRefused:         "The provider or the CLI refused the request.",
	plan.ReasonContextTooLong:  "The provider reported that the prompt is too long.",
	plan.ReasonUntrustedFolder: "The CLI does not trust the folder.",
	plan.ReasonModelNotFound:   "The provider does not know the model.",
	plan.ReasonProviderError:   "The provider reported an error.",
}

func gatherEvidence(run paths.Run, d *record.Dispatch, ex *Explanation) {
	say := func(format string, args ...any) { ex.Evidence = append(ex.Evidence, fmt.Sprintf(format, args...)) }
	say("record: %s of %s, attempt %d, %s %s", d.InvocationRef, relative(run.Root, run.TeamState()), d.Attempt, d.Status, d.Reason)
	if d.Detail != "" {
		say("detail: %s", d.Detail)
	}
	statusPath := absolute(run.Root, d.StatusPath)
	j, err := sidecar.Judge(statusPath, lockOf(statusPath))
	switch {
	case err != nil:
		say("sidecar: %v", err)
	case j.Status == nil:
		say("sidecar: %s was never written", d.StatusPath)
	default:
		ex.Sidecar = j.Status
		line := fmt.Sprintf("sidecar: %s at stage %s", d.StatusPath, j.Status.Stage)
		if j.Status.ExitCode != nil {
			line += fmt.Sprintf(", exit code %d", *j.Status.ExitCode)
		}
		if j.Status.Signal != "" {
			line += ", signal " + j.Status.Signal
		}
		if t := j.Status.Timeout; t != nil {
			line += fmt.Sprintf(", %s limit after %s", t.Limit, t.After)
		}
		say("%s (supervisor: %s)", line, j.Verdict)
		if c := j.Status.Changed; c != nil && len(c.Paths) > 0 {
			say("changed while it ran: %s", strings.Join(c.Paths, ", "))
			if others := append(slices.Clone(c.Suspects), d.Suspects...); len(others) > 0 {
				say("others ran at the same time, so that proves nothing against it: %s", strings.Join(others, ", "))
			}
		}
		for _, n := range j.Status.Notes {
			say("note: %s", n)
		}
	}
	if rec, err := launch.Read(absolute(run.Root, d.LaunchPath)); err == nil {
		say("command: %s in %s", strings.Join(quoted(rec.Argv), " "), rec.Dir)
		rec = rec.At(run.Root)
		for _, f := range sidecar.Gather(rec, Validate) {
			switch {
			case f.Problem != "":
				say("%s: %s: %s", f.Name, relative(run.Root, f.Path), f.Problem)
			case !f.Exists:
				say("%s: %s is missing", f.Name, relative(run.Root, f.Path))
			case f.Invalid != "":
				say("%s: %s does not fit: %s", f.Name, relative(run.Root, f.Path), f.Invalid)
			default:
				say("%s: %s, %d bytes", f.Name, relative(run.Root, f.Path), f.Size)
			}
		}
	}
	files := companions(run, d)
	for _, log := range []string{files.ErrLog(), files.Log()} {
		if lines := tail(log, logTail); len(lines) > 0 {
			ex.LogTail = lines
			break
		}
	}
}

// quoted makes an argv readable without being a shell's business.
func quoted(argv []string) []string {
	out := make([]string, len(argv))
	for i, a := range argv {
		if len(a) > 120 {
			a = a[:120] + "…"
		}
		if a == "" || strings.ContainsFunc(a, func(r rune) bool { return r <= ' ' || strings.ContainsRune(`"'\$;&|<>()*?#~`, r) }) {
			a = fmt.Sprintf("%q", a)
		}
		out[i] = a
	}
	return out
}

// tail returns the last lines of a file, or nothing where there is none.
func tail(path string, lines int) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	const most = 64 << 10
	off := max(0, info.Size()-most)
	b := make([]byte, info.Size()-off)
	n, _ := f.ReadAt(b, off) // a shorter read shows less
	text := strings.TrimRight(string(b[:n]), "\n")
	if text == "" {
		return nil
	}
	all := strings.Split(text, "\n")
	return all[max(0, len(all)-lines):]
}
