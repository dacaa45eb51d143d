package runtime

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/durable"
	"github.com/okstra/okstra/runtime/providers"
	"github.com/okstra/okstra/runtime/record"
	"github.com/okstra/okstra/runtime/sidecar"
)

// Status tells how a recorded run stands, from disk alone.
func Status(ctx context.Context, env Env, sel Selector) (*RunStatus, error) {
	run, st, err := find(sel)
	if err != nil {
		return nil, err
	}
	out, err := statusOf(run, st)
	if err != nil {
		return nil, err
	}
	open := leftOpen(run, st)
	for i, gone := range goneOf(ctx, env.Backends, open) {
		if !gone {
			out.Leftovers = append(out.Leftovers, paneName(open[i]))
		}
	}
	return out, nil
}

// Runs tells how every recorded run of a project stands, oldest first. A run
// whose state cannot be read is listed with what is wrong with it.
func Runs(ctx context.Context, env Env, projectRoot string) ([]RunStatus, error) {
	all, err := recorded(projectRoot)
	if err != nil {
		return nil, err
	}
	out := make([]RunStatus, 0, len(all))
	var left []*record.Dispatch // what may still be on a screen, of all runs: they are looked at together
	var of []int                // the run of each, as an index of out
	for _, run := range all {
		st, err := record.Load(run.TeamState())
		var one *RunStatus
		if err == nil {
			one, err = statusOf(run, st)
		}
		if err != nil {
			out = append(out, RunStatus{Run: run, Ref: run.Ref(), TaskType: run.TaskType, Seq: run.Seq, Ended: "damaged", Leftovers: []string{err.Error()}})
			continue
		}
		for _, d := range leftOpen(run, st) {
			left, of = append(left, d), append(of, len(out))
		}
		out = append(out, *one)
	}
	gone := goneOf(ctx, env.Backends, left)
	for i, d := range left {
		if !gone[i] {
			out[of[i]].Leftovers = append(out[of[i]].Leftovers, paneName(d))
		}
	}
	return out, nil
}

// leftOpen is what a run that nobody goes on with may have left on a screen. A
// server may have ended since, with everything in it.
func leftOpen(run paths.Run, st *record.State) []*record.Dispatch {
	if !behind(run, st) {
		return nil
	}
	return screensOf(st)
}

func statusOf(run paths.Run, st *record.State) (*RunStatus, error) {
	p, err := loadPlan(run, st)
	if err != nil {
		return nil, err
	}
	out := &RunStatus{
		Run: run, Ref: run.Ref(), RunName: st.RunName, TaskType: run.TaskType, Seq: run.Seq, Backend: st.Backend,
		StartedAt: st.StartedAt, EndedAt: st.EndedAt, Ended: st.Ended, Driven: driven(run),
	}
	latest := map[string]*record.Dispatch{}
	var usages []*plan.Usage
	for _, d := range st.WorkerDispatches {
		if d.Superseded == "" {
			latest[d.WorkerKey] = d
		}
		if d.Usage != nil {
			usages = append(usages, d.Usage)
		}
	}
	out.Usage = providers.Sum(usages...)
	blocker := blockedBy(run, p, st)
	for i := range p.Rounds {
		r := &p.Rounds[i]
		rs := RoundStatus{Name: r.Name, Kind: string(r.Kind), Total: len(r.Workers), Gate: r.Gate != nil}
		rec := st.FindRound(r.Name)
		active := false
		for j := range r.Workers {
			w := &r.Workers[j]
			d := latest[w.Key]
			if d == nil && r.Kind == plan.RoundReverify && rec != nil && rec.Result == "met" {
				rs.Total-- // require is held against those that were asked
				out.Workers = append(out.Workers, WorkerStatus{WorkerKey: w.Key, Label: w.Label, Round: r.Name, Status: plan.StatusNotRun, Reason: plan.ReasonNotNeeded, Detail: "it had nothing to judge"})
				continue
			}
			if d == nil {
				out.Workers = append(out.Workers, WorkerStatus{WorkerKey: w.Key, Label: w.Label, Round: r.Name, Status: plan.StatusPlanned})
				continue
			}
			ws := workerStatus(run, d)
			if d.Status == plan.StatusCompleted {
				rs.Completed++
			}
			active = active || !d.Status.Terminal() && d.Status != plan.StatusPlanned
			out.Workers = append(out.Workers, ws)
		}
		rs.State = roundState(rec, active)
		if err := answerOf(run, p, st, r, rec, &rs); err != nil {
			return nil, err
		}
		if out.Waiting == "" && st.Ended == "" && !active && rs.State != "met" && r.Gate != nil && reached(st, r, blocker) {
			switch {
			case rs.Answered:
				out.Waiting = "okstra apply, which takes the answer to the gate of round " + r.Name
			case rs.Approval != "approved":
				out.Waiting = "approval of round " + r.Name + ": " + asked(r, blocker)
			}
		}
		out.Rounds = append(out.Rounds, rs)
	}
	if out.Waiting == "" && st.Ended == "" && blocker != "" {
		out.Waiting = "the end of the run, with a report at most: " + blocker
	}
	return out, nil
}

// blockedBy says who blocks the work of a run, empty where nobody does. A
// verdict that cannot be read blocks nothing; verify tells of it.
func blockedBy(run paths.Run, p *plan.Plan, st *record.State) string {
	s := &session{run: run, state: st, plan: p}
	if s.weighAll() != nil {
		return ""
	}
	return s.rejected
}

// reached reports whether it is a round's turn: what it comes after is met, or
// it is the report on work that somebody blocks.
func reached(st *record.State, r *plan.Round, blocker string) bool {
	if blocker != "" {
		return r.Kind == plan.RoundReportWriter
	}
	return upstreamMet(st, r)
}

// asked is the question of a round's gate, with who blocks the work beside it.
func asked(r *plan.Round, blocker string) string {
	if blocker == "" {
		return r.Gate.Reason
	}
	return r.Gate.Reason + " (" + blocker + ")"
}

// answerOf fills in how the gate of a round was answered: as recorded, or as
// it lies on disk for the next runner to take.
func answerOf(run paths.Run, p *plan.Plan, st *record.State, r *plan.Round, rec *record.Round, rs *RoundStatus) error {
	if rec != nil && rec.Approval != nil {
		rs.Approval, rs.Choice, rs.Note = approvalState(run, p, st, rec), rec.Approval.Choice, rec.Approval.Note
	}
	if r.Gate == nil || rs.Approval == "approved" || rs.Approval == "denied" {
		return nil
	}
	file, err := loadApproval(run.Approval(r.Name))
	if err != nil || file == nil || file.Seen != resultsDigest(run, p, st, r.Name) {
		return err
	}
	rs.Approval, rs.Choice, rs.Note, rs.Answered = "approved", file.Choice, file.Note, true
	if !file.Approved {
		rs.Approval = "denied"
	}
	return nil
}

func roundState(rec *record.Round, active bool) string {
	switch {
	case active:
		return "running"
	case rec == nil || rec.BegunAt == nil && rec.Result == "":
		return "waiting"
	case rec.Result != "":
		return rec.Result
	}
	return "begun"
}

// unmet names the rounds that a round waits for.
func unmet(st *record.State, r *plan.Round) []string {
	var out []string
	for _, name := range r.After {
		if up := st.FindRound(name); up == nil || up.Result != "met" {
			out = append(out, "round "+name+" has not met its require")
		}
	}
	return out
}

func upstreamMet(st *record.State, r *plan.Round) bool { return len(unmet(st, r)) == 0 }

// driven reports whether an okstra holds the run now.
func driven(run paths.Run) bool {
	lock, err := durable.TryRLock(run.Lock())
	if err != nil {
		return errors.Is(err, durable.ErrLocked)
	}
	lock.Close()
	return false
}

// workerStatus tells of one dispatch; where the record lags behind the
// sidecar, because nobody drives the run, the sidecar is shown.
func workerStatus(run paths.Run, d *record.Dispatch) WorkerStatus {
	ws := WorkerStatus{
		WorkerKey: d.WorkerKey, Label: d.ExecutionLabel, Round: d.Round, Batch: d.Batch, InvocationRef: d.InvocationRef, Attempt: d.Attempt,
		Status: d.Status, Reason: d.Reason, Detail: d.Detail, StartedAt: d.StartedAt, FinishedAt: d.FinishedAt, ExitCode: d.ExitCode,
		ResultPath: absolute(run.Root, d.ResultPath), LogPath: companions(run, d).Log(), PaneID: d.PaneID, Usage: d.Usage,
	}
	if d.StartedAt != nil && d.FinishedAt != nil {
		ws.DurationMS = d.FinishedAt.Sub(*d.StartedAt).Milliseconds()
	}
	if d.Status != plan.StatusSpawning && d.Status != plan.StatusRunning {
		return ws
	}
	statusPath := absolute(run.Root, d.StatusPath)
	j, err := sidecar.Judge(statusPath, lockOf(statusPath))
	if err != nil {
		ws.Detail = err.Error()
		return ws
	}
	ws.Live = j.Verdict == sidecar.Live
	if j.Status != nil {
		ws.Stage = string(j.Status.Stage)
		at := j.Status.StartedAt
		ws.StartedAt, ws.FinishedAt = &at, j.Status.FinishedAt
	}
	switch j.Verdict {
	case sidecar.Terminal:
		ws.Detail = "it ended; the next apply settles it"
	case sidecar.Lost:
		ws.Detail = "its supervisor was killed; the next apply settles it"
	case sidecar.NeverStarted:
		ws.Detail = "it never ran; the next apply starts it"
	case sidecar.Foreign:
		ws.Detail = "it runs on host " + j.Status.Host
	}
	return ws
}

// ParseSelector reads "review", "review@002" or a run reference.
func ParseSelector(projectRoot, text string) (Selector, error) {
	sel := Selector{ProjectRoot: projectRoot, Name: text}
	name, seq, ok := strings.Cut(text, "@")
	if !ok {
		return sel, nil
	}
	var n int
	if _, err := fmt.Sscanf(seq, "%d", &n); err != nil || n < 1 || strings.Trim(seq, "0123456789") != "" {
		return sel, fmt.Errorf("run %q: the part after @ is a run number such as 002", text)
	}
	sel.Name, sel.Seq = name, n
	return sel, nil
}
