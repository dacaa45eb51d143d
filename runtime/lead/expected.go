package lead

import (
	"fmt"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime/record"
)

// Expected lists the events that a state must have left in the log, in the
// order of the record, without times and numbers. A runner that takes a run up
// again appends those that are missing, with its own time and the state's
// serial; verifying looks for them. p may be nil: phases are then those of work
// rounds.
func Expected(st *record.State, p *plan.Plan) []Event {
	kindOf := func(round string) plan.RoundKind {
		if p != nil {
			if r := p.Round(round); r != nil {
				return r.Kind
			}
		}
		return plan.RoundWork
	}
	out := []Event{
		{Type: RunCreated, Phase: PhaseOf(RunCreated, ""), Message: "starting " + st.Run},
		{Type: PlanApplied, Phase: PhaseOf(PlanApplied, ""), Message: fmt.Sprintf("plan %d, backend %s", st.PlanNumber, st.Backend)},
	}
	add := func(t EventType, round, invocation, message string, data map[string]any) {
		out = append(out, Event{Type: t, Phase: PhaseOf(t, kindOf(round)), Round: round, InvocationRef: invocation, Message: message, Data: data})
	}
	for _, r := range st.Rounds {
		if r.BegunAt != nil {
			add(RoundBegun, r.Name, "", Beginning(r.Name, r.Batch), nil)
		}
		switch {
		case r.Approval == nil:
		case r.Approval.Approved:
			add(GateApproved, r.Name, "", "the gate of round "+r.Name+" was approved", nil)
		default:
			add(GateDenied, r.Name, "", "the gate of round "+r.Name+" was denied", nil)
		}
	}
	for _, d := range st.WorkerDispatches {
		label := map[string]any{DataLabel: d.ExecutionLabel}
		on := d.Status == plan.StatusSpawning || d.Status == plan.StatusRunning
		if on || d.StartedAt != nil {
			add(WorkerDispatch, d.Round, d.InvocationRef, "dispatching "+d.ExecutionLabel, map[string]any{DataLabel: d.ExecutionLabel, "kind": d.Kind})
		}
		if d.StartedAt != nil {
			add(WorkerStarted, d.Round, d.InvocationRef, d.ExecutionLabel+" is running", label)
		}
		if d.Status.Terminal() {
			add(WorkerSettled, d.Round, d.InvocationRef, Settled(d.ExecutionLabel, string(d.Status), string(d.Reason)), SettledData(d))
		}
	}
	if st.EndedAt != nil {
		add(RunEnded, "", "", "the run is finished: "+st.Ended, nil)
	}
	return out
}

// Beginning is the message of round-begun. A batch that is not named after its
// round is named itself.
func Beginning(round, batch string) string {
	if batch == round {
		return "beginning round " + round
	}
	return "beginning " + batch
}

// Settled is the message of worker-settled.
func Settled(label, status, reason string) string {
	if reason == "" {
		return label + " is " + status
	}
	return label + " is " + status + " (" + reason + ")"
}

// Wording is the message that an event of the engine has by its other fields
// and the execution label of its worker, and false for a type whose messages
// differ. ended is how the run ended.
func (e Event) Wording(run, label, ended string) (string, bool) {
	switch e.Type {
	case RunCreated:
		return "starting " + run, true
	case RunResumed:
		return "taking up " + run, true
	case WorkerDispatch:
		return "dispatching " + label, true
	case WorkerStarted:
		return label + " is running", true
	case WorkerSettled:
		return Settled(label, e.Text(DataStatus), e.Text(DataReason)), true
	case GateApproved:
		return "the gate of round " + e.Round + " was approved", true
	case GateDenied:
		return "the gate of round " + e.Round + " was denied", true
	case RunEnded:
		return "the run is finished: " + ended, true
	case RunStopped:
		return "the run was stopped", true
	case BudgetExhausted:
		return "the budget allows no further start", true
	}
	return "", false
}

// SettledData is what a worker-settled event carries.
func SettledData(d *record.Dispatch) map[string]any {
	data := map[string]any{DataStatus: string(d.Status), DataLabel: d.ExecutionLabel, "attempt": d.Attempt}
	if d.Reason != plan.ReasonNone {
		data[DataReason] = string(d.Reason)
	}
	return data
}
