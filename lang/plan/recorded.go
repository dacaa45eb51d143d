package plan

// Recorded is what the difference needs to know of the latest run of a task
// and task type. The runtime fills it from disk; this package only compares.
// The zero value (Exists false) means that nothing is recorded.
type Recorded struct {
	Exists  bool
	Seq     int
	Lineage string
	Serial  int64
	// Latest is the highest sequence number of the task type's folder.
	Latest int
	// Ended says how a finished run ended: "" while it is unfinished, else
	// "completed", "rejected" (a blocking verdict) or "denied" (a gate).
	Ended string
	// Plan is the plan that the run was last driven by; nil if unreadable.
	Plan *Plan
	// Backend is the one that the run was begun with, or was moved to.
	Backend string
	// Spent is what counts against the run's budget so far.
	Spent Spent
	// Workers by worker key, the latest invocation of each.
	Workers map[string]RecordedWorker
	// Rounds by name.
	Rounds map[string]RecordedRound
}

// RecordedWorker is the latest invocation of one worker.
type RecordedWorker struct {
	Status           Status
	Reason           Reason
	AssignmentDigest string
	Batch            string
	Attempt          int  // of that invocation
	Allowance        int  // attempts used since the last fresh allowance
	Live             bool // a supervisor runs
	Unsettled        bool // it has ended, and no runner has settled it yet
	// NeverRan is set where the attempt was planned or spawning but its
	// supervisor never reached start: the same attempt may be started again.
	NeverRan bool
	// InputsPinned are the project inputs as they were when first dispatched.
	InputsPinned []InputFile
	// ProgramPinned is the program as it was then; nil where that is not known.
	ProgramPinned *Program
}

// Spent is what a run has used of its budget. What still runs, and what was not
// reported, counts at its worst.
type Spent struct {
	Dispatches int
	Wall       Duration // the longest worker of each batch, summed
	Tokens     int64
	USD        float64
}

// RecordedRound is what stands recorded of a round.
type RecordedRound struct {
	Settled  bool   // every worker terminal and require met
	Approval string // "", "approved", "denied", "void"; an answer that no runner has taken up counts
}
