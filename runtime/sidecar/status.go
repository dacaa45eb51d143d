// Package sidecar owns the status sidecar, the one fact that tells what became
// of an attempt: its type, writing, reading, watching, and the judgement of an
// attempt under its lock (contract sections 4 and 5). It starts nothing and
// kills nothing.
package sidecar

import (
	"time"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime/proc"
)

// SchemaVersion is the version of the sidecar's JSON form.
const SchemaVersion = "okstra.status/1"

// Stage is how far a supervisor has come. The zero value is invalid.
type Stage string

const (
	StageInit    Stage = "init"    // it waits for .go
	StageStart   Stage = "start"   // the worker may have run
	StageFinish  Stage = "finish"  // terminal
	StageTimeout Stage = "timeout" // terminal
)

// Terminal reports whether the sidecar will never be written again.
func (s Stage) Terminal() bool { return s == StageFinish || s == StageTimeout }

// Status is the content of "<prompt>.status.json". Only the attempt's
// supervisor writes it.
type Status struct {
	SchemaVersion string          `json:"schemaVersion"`
	InvocationRef string          `json:"invocationRef"`
	WorkerKey     string          `json:"workerKey"`
	Batch         string          `json:"batch"`
	DispatchKind  string          `json:"dispatchKind"`
	Attempt       int             `json:"attempt"`
	Claim         string          `json:"claim"` // random, made by the supervisor
	Stage         Stage           `json:"stage"`
	Supervisor    proc.Identity   `json:"supervisor"`
	Worker        *Worker         `json:"worker,omitempty"`
	Host          string          `json:"host"`
	BootID        string          `json:"bootId"`
	Pane          *Pane           `json:"pane,omitempty"`
	StartedAt     time.Time       `json:"startedAt"`
	FinishedAt    *time.Time      `json:"finishedAt,omitempty"`
	DurationMS    int64           `json:"duration_ms"`
	ExitCode      *int            `json:"exit_code,omitempty"` // 128+n for signal n
	Signal        string          `json:"signal,omitempty"`
	Reason        plan.Reason     `json:"reason,omitempty"` // what the supervisor knows better than the exit code
	Detail        string          `json:"detail,omitempty"` // for people: the last error line, what to do
	RetryAfter    *plan.Duration  `json:"retryAfter,omitempty"`
	Timeout       *Timeout        `json:"timeout,omitempty"`
	Bytes         Bytes           `json:"bytes"`
	Artifacts     []Artifact      `json:"artifacts,omitempty"`
	Usage         *plan.Usage     `json:"usage,omitempty"`
	Changed       *Changed        `json:"changed,omitempty"`
	Leftover      []proc.Identity `json:"leftover,omitempty"`
	Notes         []string        `json:"notes,omitempty"` // e.g. that a hanging program was ended after its artifacts were there
}

// Worker is the process that the supervisor started.
type Worker struct {
	proc.Identity
	PGID int `json:"pgid"`
}

// Pane says where the supervisor found itself. ID is the multiplexer's id.
type Pane struct {
	Backend string `json:"backend"`
	Socket  string `json:"socket,omitempty"`
	ID      string `json:"id"`
}

// Timeout tells which limit ended the worker.
type Timeout struct {
	Limit string        `json:"limit"` // LimitWall or LimitIdle
	After plan.Duration `json:"after"`
}

// The limits that end a worker.
const (
	LimitWall = "wall"
	LimitIdle = "idle"
)

// Bytes counts output. Dropped counts what could not be written to the log.
type Bytes struct {
	Stdout  int64 `json:"stdout"`
	Stderr  int64 `json:"stderr"`
	Dropped int64 `json:"dropped,omitempty"`
}

// Artifact is a completion path as it was when the worker ended. A path that
// was not there is not listed.
type Artifact struct {
	Name   string `json:"name"` // result, audit, emit, pointer, or out:NAME
	Path   string `json:"path"` // absolute
	Size   int64  `json:"size"`
	Digest string `json:"sha256"` // "sha256:<hex>"
}

// Changed is the outcome of the read-only check (contract section 12).
type Changed struct {
	Paths    []string `json:"paths"`
	Suspects []string `json:"suspects,omitempty"` // others that overlapped; the status then stays
}
