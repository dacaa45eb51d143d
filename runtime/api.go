// Package runtime is okstra's engine: it turns a plan into records. It drives
// rounds (dispatch, await, settle, retry, reclaim, gates), reconciles what it
// finds on disk, and answers questions about recorded runs. It knows rounds
// and records; it knows no provider and no multiplexer, and never parses HCL.
//
// The runner may die at any instant. Everything it knows is therefore re-read
// from disk, never remembered.
package runtime

import (
	"context"
	"errors"
	"time"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/launch"
	"github.com/okstra/okstra/runtime/lead"
	"github.com/okstra/okstra/runtime/record"
	"github.com/okstra/okstra/runtime/sidecar"
)

// Env is what the engine takes from the process that it lives in.
type Env struct {
	Okstra   string // absolute path of the okstra program, for supervisors
	Version  string
	Environ  []string // the runner's environment
	Backends map[string]backends.Backend
	Now      func() time.Time
	// Ours are the files that this process writes its own output to.
	Ours []launch.FileID
	// Secret fills sensitive variables in worker environments; nil knows none.
	Secret func(variable string) (string, bool)
	// Catalog compiles workers of version 1 manifests, whose commands are those
	// of the catalog's providers: one for each, its role and provider as asked,
	// in rounds that mean nothing. nil refuses such manifests.
	Catalog func(run paths.Run, workers []lead.WorkerV1) (*plan.Plan, error)
}

// Errors that callers tell apart. Exit codes: contract section 13.
var (
	ErrNotFound    = errors.New("no such recorded run")         // 1
	ErrHeld        = errors.New("another okstra holds the run") // 6
	ErrInterrupted = errors.New("interrupted")                  // 129, 130, 143
)

// Refusal is a refused request: nothing was started and nothing written. Exit 5.
type Refusal struct {
	What   string   // one line
	Moved  []string // a line each: what moved or differs
	Remedy string   // what to do instead
}

func (r *Refusal) Error() string { return r.What }

// Selector names a recorded run: "review", "review@002", or a task key with
// task type. Exactly one recorded run must match.
type Selector struct {
	ProjectRoot string
	Name        string // run name or paths.Run.Ref; empty: the only one
	Seq         int    // 0: the latest
}

// Progress receives what happens while a run is driven. The implementation
// prints; it must not block for long. It is called from one goroutine.
type Progress interface {
	Event(Event)
}

// Event is one thing that happened.
type Event struct {
	Time          time.Time
	Type          string // the types of runtime/lead
	Phase         string
	Round         string
	InvocationRef string
	WorkerKey     string // of the invocation
	Attempt       int
	Label         string
	Detail        string // why a status is what it is, one line
	Status        plan.Status
	Reason        plan.Reason
	Message       string
	Log           lead.Event // the event as it stands in the log
}

// Asker answers a gate on a terminal. It returns ok false where nobody can be
// asked; the run then waits (exit 4).
type Asker interface {
	Ask(ctx context.Context, round string, gate plan.Gate) (answer Answer, ok bool)
}

// Answer is a person's answer to a gate.
type Answer struct {
	Approved bool
	Choice   string
	Note     string
	By       string
}

// ApplyOptions drive Apply.
type ApplyOptions struct {
	Plan    *plan.Plan // from lang.Compile, or read from a file
	Saved   bool       // Plan was read from a file: execute exactly it or refuse
	New     bool       // --new: start the next number
	Replace []string   // --replace: worker keys or labels to redo
	Backend string     // --backend: overrides the choice
	Seq     int        // go on with this recorded run, not with the latest; 0 is the latest
	// Again is what stands after "okstra apply" to go on with the run as it is
	// applied now: operand and definition flags, none of them secret. It is
	// recorded, so that every later message can name the whole command.
	Again []string
	// Recheck re-reads what a saved plan depends on, for staleness. It returns
	// the plan as it would be compiled now, or an error; nil skips the check.
	Recheck  func() (*plan.Plan, error)
	Progress Progress
	Asker    Asker

	renderOnly bool // a run without an available backend is prepared all the same
}

// Outcome is how a driven run stands when a verb returns.
type Outcome struct {
	Run     paths.Run
	RunName string
	State   *record.State
	Plan    *plan.Plan
	Exit    int      // contract section 13
	Summary string   // one line
	Next    []string // commands that go on from here
	Nothing bool     // there was nothing to do
	Attach  string   // how to see panes that are in a server or window of okstra's own
	Cleanup string   // the command that closes the panes which are still open
	Waiting string   // what is waited for, with exit 4
}

// RunStatus is everything that status shows of a recorded run, from disk alone.
type RunStatus struct {
	Run       paths.Run      `json:"-"`
	Ref       string         `json:"run"`
	RunName   string         `json:"runName"`
	TaskType  string         `json:"taskType"`
	Seq       int            `json:"seq"`
	Backend   string         `json:"backend"`
	StartedAt time.Time      `json:"startedAt"`
	EndedAt   *time.Time     `json:"endedAt,omitempty"`
	Ended     string         `json:"ended,omitempty"`
	Driven    bool           `json:"driven"` // an okstra holds the run lock now
	Waiting   string         `json:"waiting,omitempty"`
	Rounds    []RoundStatus  `json:"rounds"`
	Workers   []WorkerStatus `json:"workers"`
	Usage     plan.Usage     `json:"usage"`
	Leftovers []string       `json:"leftovers,omitempty"` // open panes and live processes of ended runs
}

// RoundStatus is one round of RunStatus.
type RoundStatus struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	State     string `json:"state"` // waiting, running, met, unmet, not-run, blocked
	Completed int    `json:"completed"`
	Total     int    `json:"total"`
	Gate      bool   `json:"gate,omitempty"`     // it has one
	Approval  string `json:"approval,omitempty"` // approved, denied, void
	Choice    string `json:"choice,omitempty"`
	Note      string `json:"note,omitempty"`
	// Answered is set where the answer lies on disk and no runner has taken it yet.
	Answered bool `json:"answered,omitempty"`
}

// WorkerStatus is one worker of RunStatus: its latest invocation.
type WorkerStatus struct {
	WorkerKey     string      `json:"workerKey"`
	Label         string      `json:"executionLabel"`
	Round         string      `json:"round"`
	Batch         string      `json:"batch"`
	InvocationRef string      `json:"invocationRef"`
	Attempt       int         `json:"attempt"`
	Status        plan.Status `json:"status"`
	Reason        plan.Reason `json:"reason,omitempty"`
	Detail        string      `json:"detail,omitempty"`
	Stage         string      `json:"stage,omitempty"` // of the sidecar, where not settled
	Live          bool        `json:"live"`
	StartedAt     *time.Time  `json:"startedAt,omitempty"`
	FinishedAt    *time.Time  `json:"finishedAt,omitempty"`
	DurationMS    int64       `json:"duration_ms"`
	ExitCode      *int        `json:"exitCode,omitempty"`
	ResultPath    string      `json:"resultPath"`
	LogPath       string      `json:"logPath"`
	PaneID        string      `json:"paneId,omitempty"`
	Usage         *plan.Usage `json:"usage,omitempty"`
}

// Explanation is the rule and the evidence behind a status (okstra why).
type Explanation struct {
	Worker   WorkerStatus    `json:"worker"`
	Rule     string          `json:"rule"`     // one sentence: the rule that gave the status
	Evidence []string        `json:"evidence"` // a line each: what was found where
	Hint     string          `json:"hint,omitempty"`
	Attempts []WorkerStatus  `json:"attempts"`
	Sidecar  *sidecar.Status `json:"sidecar,omitempty"`
	LogTail  []string        `json:"logTail,omitempty"`
}

// TeardownReport says what was closed and what could not be.
type TeardownReport struct {
	Closed []string `json:"closed"`
	Ended  []string `json:"ended"` // workers that were ended first (--force)
	Left   []string `json:"left"`  // what could not be closed, and why
	// Kept are the runs whose open panes were left alone, since somebody goes on
	// with them.
	Kept []string `json:"kept,omitempty"`
}

// LogOptions select what Logs writes.
type LogOptions struct {
	Follow bool
	Stderr bool
	Tail   int  // lines; 0 is all
	Raw    bool // bytes as they came; else control sequences are made harmless
}
