package lead

import "github.com/okstra/okstra/lang/plan"

// EventType says what an event is about. The list is closed: EventTypes.
type EventType string

const (
	RunCreated      EventType = "run-created"
	RunResumed      EventType = "run-resumed"
	PlanApplied     EventType = "plan-applied"
	RoundBegun      EventType = "round-begun"
	WorkerDispatch  EventType = "worker-dispatched"
	WorkerStarted   EventType = "worker-started"
	WorkerSettled   EventType = "worker-settled"
	WorkerRetrying  EventType = "worker-retrying"
	RoundEnded      EventType = "round-ended"
	GateWaiting     EventType = "gate-waiting"
	GateApproved    EventType = "gate-approved"
	GateDenied      EventType = "gate-denied"
	PanesReclaimed  EventType = "panes-reclaimed"
	RunEnded        EventType = "run-ended"
	RunStopped      EventType = "run-stopped"
	Detached        EventType = "detached"
	BudgetExhausted EventType = "budget-exhausted"
	Note            EventType = "note"

	LeadCheckpoint  EventType = "lead-checkpoint"
	LeadActivity    EventType = "lead-activity"
	LeadError       EventType = "lead-error"
	ForbiddenAction EventType = "forbidden-action"
	UsageCollected  EventType = "usage-collected"
	UserApproval    EventType = "user-approval"
)

// EventKind is one row of the table of event types.
type EventKind struct {
	Type        EventType
	Description string
	// Lead is set for what `okstra event` may append; the others are the
	// engine's.
	Lead bool
	// Worker is set where an invocationRef is required.
	Worker bool
	verb   string // the PROGRESS phrase where an event has no message
}

// EventTypes is the closed list, in the order of a run's life, the lead's own last.
var EventTypes = []EventKind{
	{Type: RunCreated, Description: "The run got its number, plan and manifest.", verb: "creating the run"},
	{Type: RunResumed, Description: "A command took the run up again.", verb: "resuming the run"},
	{Type: PlanApplied, Description: "A plan became the one in force.", verb: "applying the plan"},
	{Type: RoundBegun, Description: "The first worker of a batch is about to start.", verb: "beginning the round"},
	{Type: WorkerDispatch, Description: "A worker's invocation was recorded and handed to the backend.", Worker: true, verb: "dispatching a worker"},
	{Type: WorkerStarted, Description: "The supervisor released the worker.", Worker: true, verb: "starting a worker"},
	{Type: WorkerSettled, Description: "An invocation reached a terminal status; data says which and why.", Worker: true, verb: "settling a worker"},
	{Type: WorkerRetrying, Description: "A further attempt of a worker will follow.", Worker: true, verb: "retrying a worker"},
	{Type: RoundEnded, Description: "Every worker of a batch is settled; data says whether the round met its require.", verb: "ending the round"},
	{Type: GateWaiting, Description: "A gate waits for a person.", verb: "waiting for an approval"},
	{Type: GateApproved, Description: "A person approved a gate.", verb: "passing the gate"},
	{Type: GateDenied, Description: "A person denied a gate, which ends the run.", verb: "ending at the gate"},
	{Type: PanesReclaimed, Description: "The panes of a batch were closed.", verb: "reclaiming panes"},
	{Type: RunEnded, Description: "The run is finished.", verb: "ending the run"},
	{Type: RunStopped, Description: "The run was stopped; its workers were ended.", verb: "stopping the run"},
	{Type: Detached, Description: "The runner left; workers go on.", verb: "detaching from the workers"},
	{Type: BudgetExhausted, Description: "The budget allows no further start.", verb: "running out of budget"},
	{Type: Note, Description: "Something that a reader should know.", verb: "noting"},

	{Type: LeadCheckpoint, Description: "The lead reached a phase; a later session resumes from the last one.", Lead: true, verb: "reaching a checkpoint"},
	{Type: LeadActivity, Description: "What the lead is doing, with --invocation where it concerns a worker.", Lead: true, verb: "working"},
	{Type: LeadError, Description: "Something failed on the lead's side.", Lead: true, verb: "reporting an error"},
	{Type: ForbiddenAction, Description: "A worker did what its task type forbids; its invocation becomes contract-violated.", Lead: true, Worker: true, verb: "reporting a forbidden action"},
	{Type: UsageCollected, Description: "Usage was collected; one of the three conditions of the cleanup gate.", Lead: true, verb: "collecting usage"},
	{Type: UserApproval, Description: "The user approved the cleanup, or a step that the bundle names.", Lead: true, verb: "taking the user's approval"},
}

// KindOf returns the row of an event type, and false for a type that is not listed.
func KindOf(t EventType) (EventKind, bool) {
	for _, k := range EventTypes {
		if k.Type == t {
			return k, true
		}
	}
	return EventKind{}, false
}

// Phase is a phase id of a run as its lead sees it. The list is closed: Phases.
type Phase string

const (
	PhaseIntake      Phase = "phase-1-intake"
	PhasePrepare     Phase = "phase-2-prepare"
	PhaseTeam        Phase = "phase-3-team"
	PhaseDispatch    Phase = "phase-4-dispatch"
	PhaseAwait       Phase = "phase-5-await"
	PhaseConvergence Phase = "phase-5.5-convergence"
	PhaseReport      Phase = "phase-6-report"
	PhaseClose       Phase = "phase-7-close"
)

// PhaseInfo is one row of the table of phases.
type PhaseInfo struct {
	Phase       Phase
	Description string
}

// Phases is the closed list, in order.
var Phases = []PhaseInfo{
	{PhaseIntake, "Read the bundle, the manifest and the task's inputs."},
	{PhasePrepare, "The run is prepared: number, plan, manifest, prompts."},
	{PhaseTeam, "Check what would start (`okstra team dispatch --dry-run`)."},
	{PhaseDispatch, "Start the workers of a work round."},
	{PhaseAwait, "Wait until they are settled."},
	{PhaseConvergence, "Re-verify findings until they are settled."},
	{PhaseReport, "The report-writer writes; okstra makes the final report."},
	{PhaseClose, "Usage, persistence, the user's approval, teardown."},
}

// ValidPhase reports whether p is listed.
func ValidPhase(p Phase) bool {
	for _, row := range Phases {
		if row.Phase == p {
			return true
		}
	}
	return false
}

// PhaseNow is the phase that a log has come to, the first where it is empty.
func PhaseNow(events []Event) Phase {
	for i := len(events) - 1; i >= 0; i-- {
		if events[i].Phase != "" {
			return events[i].Phase
		}
	}
	return PhaseIntake
}

// PhaseOf is the phase that an event of the engine belongs to: kind is that of
// the round it is about, empty where it is about the run.
func PhaseOf(t EventType, kind plan.RoundKind) Phase {
	switch t {
	case RunCreated, PlanApplied, RunResumed:
		return PhasePrepare
	case RunEnded, RunStopped, UsageCollected, UserApproval:
		return PhaseClose
	case LeadCheckpoint:
		return PhaseIntake
	}
	switch kind {
	case plan.RoundReverify:
		return PhaseConvergence
	case plan.RoundReportWriter:
		return PhaseReport
	}
	switch t {
	case WorkerSettled, WorkerRetrying, RoundEnded, Detached, PanesReclaimed:
		return PhaseAwait
	}
	return PhaseDispatch
}
