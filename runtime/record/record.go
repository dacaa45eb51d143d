// Package record owns team-state, the recorded facts of one run: its types,
// loading and saving. It writes what the runtime decided and decides nothing.
package record

import (
	"time"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime/sidecar"
)

// SchemaVersion is the version of team-state.
const SchemaVersion = "okstra.team-state/1"

// State is team-state (contract section 7).
type State struct {
	SchemaVersion    string      `json:"schemaVersion"`
	Lineage          string      `json:"lineage"` // random, made with the run
	Serial           int64       `json:"serial"`  // +1 with every write
	RunName          string      `json:"runName"`
	Run              string      `json:"run"` // paths.Run.Ref
	PlanPath         string      `json:"planPath"`
	PlanNumber       int         `json:"planNumber"`
	PlanDigest       string      `json:"planDigest"`
	SavedPlanDigest  string      `json:"savedPlanDigest,omitempty"` // the plan file that apply was given
	LeadRuntime      string      `json:"leadRuntime"`
	DispatchMode     string      `json:"dispatchMode"` // cli-wrapper, tmux-pane, cmux-pane, mixed
	Backend          string      `json:"backend"`
	Again            []string    `json:"again,omitempty"` // what stands after "okstra apply" to go on with the run
	LeadUsage        *plan.Usage `json:"leadUsage"`
	StartedAt        time.Time   `json:"startedAt"`
	EndedAt          *time.Time  `json:"endedAt,omitempty"`
	Ended            string      `json:"ended,omitempty"` // completed, rejected, denied
	EndedDetail      string      `json:"endedDetail,omitempty"`
	Allowance        int         `json:"allowance"` // +1 with every apply that gives failed workers fresh attempts
	Rounds           []*Round    `json:"rounds"`
	Pins             []Pin       `json:"pins,omitempty"`
	Workers          []Worker    `json:"workers"` // a projection for the lead: written, never read
	WorkerDispatches []*Dispatch `json:"workerDispatches"`
}

// Round holds only what cannot be derived from the dispatches.
type Round struct {
	Name  string `json:"name"`
	Batch string `json:"batch"`
	// Convergence lists the convergence rounds whose plans are fixed.
	Convergence []ConvergenceRound `json:"convergence,omitempty"`
	BegunAt     *time.Time         `json:"begunAt,omitempty"`
	Approval    *Approval          `json:"approval,omitempty"`
	Result      string             `json:"result,omitempty"` // met, unmet
	// Files are the digests of what okstra wrote for the round's workers and for
	// the lead (inputs indexes, jobs files), by path relative to the project root.
	Files map[string]string `json:"files,omitempty"`
}

// ConvergenceRound names one persisted round plan; membership never changes
// after.
type ConvergenceRound struct {
	Number     int    `json:"number"`
	Batch      string `json:"batch"`
	PlanDigest string `json:"planDigest"`
}

// Approval is the answer to a gate as it was taken into the record.
type Approval struct {
	Approved bool      `json:"approved"`
	Choice   string    `json:"choice,omitempty"`
	Note     string    `json:"note,omitempty"`
	By       string    `json:"by,omitempty"`
	At       time.Time `json:"at"`
	Seen     string    `json:"resultsDigest"` // digest of the results that it saw
}

// Pin is what a worker was given, as it was when it was first dispatched: its
// project inputs and its program.
type Pin struct {
	WorkerKey string           `json:"workerKey"`
	Inputs    []plan.InputFile `json:"inputs"`
	Program   *plan.Program    `json:"program,omitempty"`
}

// Worker is the lead's view of one worker.
type Worker struct {
	WorkerKey      string      `json:"workerKey"`
	ExecutionLabel string      `json:"executionLabel"`
	Round          string      `json:"round"`
	Role           string      `json:"role"`
	BackendType    string      `json:"backendType"`
	Status         plan.Status `json:"status"`
	Reason         plan.Reason `json:"reason,omitempty"`
	Attempt        int         `json:"attempt"`
	ResultPath     string      `json:"resultPath"`
	Usage          *plan.Usage `json:"usage"`
}

// Dispatch is the record of one invocation.
type Dispatch struct {
	InvocationRef    string             `json:"invocationRef"`
	WorkerKey        string             `json:"workerKey"`
	WorkerID         string             `json:"workerId,omitempty"` // v1 manifests only
	ParticipantRef   string             `json:"participantRef,omitempty"`
	RoleExecutionRef string             `json:"roleExecutionRef,omitempty"`
	AssignmentRef    string             `json:"assignmentRef,omitempty"`
	ExecutionLabel   string             `json:"executionLabel"`
	DutyID           string             `json:"dutyId,omitempty"`
	Round            string             `json:"round"`
	Batch            string             `json:"batch"`
	Kind             string             `json:"kind"` // dispatch kind: initial, retry, reverify-r<N>, report-writer
	Role             string             `json:"role"`
	Provider         string             `json:"provider"`
	BackendType      string             `json:"backendType"` // <provider>-cli
	DispatchMode     string             `json:"dispatchMode"`
	Attempt          int                `json:"attempt"`
	Allowance        int                `json:"allowance"`           // State.Allowance when it was made
	Uncounted        bool               `json:"uncounted,omitempty"` // does not count against retry.attempts
	Status           plan.Status        `json:"status"`
	Reason           plan.Reason        `json:"reason,omitempty"`
	Detail           string             `json:"detail,omitempty"`
	Digests          DispatchDigests    `json:"digests"`
	PromptPath       string             `json:"promptPath"`
	StatusPath       string             `json:"statusSidecarPath"`
	LaunchPath       string             `json:"launchPath"`
	ResultPath       string             `json:"resultPath"`
	CompletionPaths  []string           `json:"completionPaths"`
	PaneID           string             `json:"paneId,omitempty"`
	Handle           *backends.Handle   `json:"handle,omitempty"`
	Closed           bool               `json:"closed,omitempty"` // its pane was closed, and that was seen
	Tag              string             `json:"tag"`
	Claim            string             `json:"claim,omitempty"`
	Limits           plan.Limits        `json:"limits"`
	CreatedAt        time.Time          `json:"createdAt"`
	StartedAt        *time.Time         `json:"startedAt,omitempty"`
	FinishedAt       *time.Time         `json:"finishedAt,omitempty"`
	ExitCode         *int               `json:"exitCode,omitempty"`
	Signal           string             `json:"signal,omitempty"`
	SidecarDigest    string             `json:"sidecarDigest,omitempty"`
	Artifacts        []sidecar.Artifact `json:"artifacts,omitempty"`
	Usage            *plan.Usage        `json:"usage,omitempty"`
	Suspects         []string           `json:"suspects,omitempty"` // others that ran while the tree changed
	RetryAfter       *time.Time         `json:"retryAfter,omitempty"`
	Superseded       string             `json:"superseded,omitempty"` // why a later plan no longer counts it: redo, dropped
}

// DispatchDigests are the five digests of an invocation.
type DispatchDigests struct {
	plan.Digests
	Prompt string `json:"promptDigest"`
}
