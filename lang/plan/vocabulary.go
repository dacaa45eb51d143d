package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Access is what a role may do to the project. The zero value is invalid.
type Access string

const (
	AccessRead  Access = "read"
	AccessWrite Access = "write"
)

// RoundKind says how a round is carried out. The zero value is invalid.
type RoundKind string

const (
	RoundWork         RoundKind = "work"
	RoundReverify     RoundKind = "reverify"
	RoundReportWriter RoundKind = "report-writer"
)

// PromptDelivery is the way in which a worker gets its prompt.
type PromptDelivery string

const (
	PromptPath     PromptDelivery = "path"     // the worker opens OKSTRA_PROMPT, or a path in its argv
	PromptStdin    PromptDelivery = "stdin"    // the prompt's bytes, then end of file
	PromptArgument PromptDelivery = "argument" // the prompt's text is the last argument
)

// ResultSource says who writes the result file.
type ResultSource string

const (
	ResultFile   ResultSource = "file"   // the worker writes OKSTRA_RESULT
	ResultStdout ResultSource = "stdout" // the supervisor writes the final text of the output
)

// OutputFormat is the form of a worker's standard output.
type OutputFormat string

const (
	OutputText         OutputFormat = "text"
	OutputClaudeStream OutputFormat = "claude-stream-json"
	OutputCodexStream  OutputFormat = "codex-json"
	OutputGeminiStream OutputFormat = "gemini-stream-json"
)

// Emits is the structured file that a duty asks for beside the result.
// The empty string means none.
type Emits string

const (
	EmitsNone     Emits = ""
	EmitsFindings Emits = "findings"
	EmitsVerdicts Emits = "verdicts"
	EmitsVerdict  Emits = "verdict"
)

// Placement says where a pane backend puts workers.
type Placement string

const (
	PlacementBesideLead Placement = "beside-lead"
	PlacementWindow     Placement = "window"
	PlacementSession    Placement = "session"
)

// Layout is the arrangement of panes in windows of okstra's own.
type Layout string

const (
	LayoutTiled   Layout = "tiled"
	LayoutColumns Layout = "columns"
	LayoutRows    Layout = "rows"
)

// Keep says how long a finished worker's pane stays.
type Keep string

const (
	KeepRound     Keep = "round"      // until the next round starts, or teardown
	KeepOnFailure Keep = "on-failure" // only where the worker did not complete
	KeepNever     Keep = "never"
)

// Status is the status of an invocation's record. Terminal statuses are
// closed (contract: completed, timeout, error, not-run, contract-violated).
type Status string

const (
	StatusPlanned          Status = "planned"
	StatusSpawning         Status = "spawning"
	StatusRunning          Status = "running"
	StatusCompleted        Status = "completed"
	StatusTimeout          Status = "timeout"
	StatusError            Status = "error"
	StatusNotRun           Status = "not-run"
	StatusContractViolated Status = "contract-violated"
)

// Statuses lists every status, in the order of a worker's life.
var Statuses = []Status{StatusPlanned, StatusSpawning, StatusRunning, StatusCompleted, StatusTimeout, StatusError, StatusNotRun, StatusContractViolated}

// Terminal reports whether nothing can follow this status in one invocation.
func (s Status) Terminal() bool {
	switch s {
	case StatusCompleted, StatusTimeout, StatusError, StatusNotRun, StatusContractViolated:
		return true
	}
	return false
}

// Valid reports whether s is one of Statuses.
func (s Status) Valid() bool { return slices.Contains(Statuses, s) }

// Reason says why a terminal status is what it is. The list is closed; the
// empty reason belongs to StatusCompleted and to what is not terminal.
type Reason string

const (
	ReasonNone Reason = ""

	ReasonWallLimit Reason = "wall-limit"
	ReasonIdleLimit Reason = "idle-limit"

	ReasonNotStarted      Reason = "not-started"
	ReasonCannotStart     Reason = "cannot-start"
	ReasonExitNonzero     Reason = "exit-nonzero"
	ReasonSignal          Reason = "signal"
	ReasonNoResult        Reason = "no-result"
	ReasonInvalidResult   Reason = "invalid-result"
	ReasonSupervisorLost  Reason = "supervisor-lost"
	ReasonPaneLost        Reason = "pane-lost"
	ReasonCancelled       Reason = "cancelled"
	ReasonRateLimited     Reason = "rate-limited"
	ReasonOverloaded      Reason = "overloaded"
	ReasonAuth            Reason = "auth"
	ReasonRefused         Reason = "refused"
	ReasonContextTooLong  Reason = "context-too-long"
	ReasonUntrustedFolder Reason = "untrusted-folder"
	ReasonModelNotFound   Reason = "model-not-found"
	ReasonProviderError   Reason = "provider-error"

	ReasonBudget              Reason = "budget"
	ReasonUpstreamFailed      Reason = "upstream-failed"
	ReasonGateDenied          Reason = "gate-denied"
	ReasonNotNeeded           Reason = "not-needed"
	ReasonConvergenceDisabled Reason = "convergence-disabled"
	ReasonStopped             Reason = "stopped"

	ReasonWroteOutside    Reason = "wrote-outside"
	ReasonForbiddenAction Reason = "forbidden-action"
)

// StatusReasons is the closed table of contract section 6: which reasons a
// status can have.
var StatusReasons = map[Status][]Reason{
	StatusCompleted: {},
	StatusTimeout:   {ReasonWallLimit, ReasonIdleLimit},
	StatusError: {
		ReasonNotStarted, ReasonCannotStart, ReasonExitNonzero, ReasonSignal, ReasonNoResult, ReasonInvalidResult,
		ReasonSupervisorLost, ReasonPaneLost, ReasonCancelled, ReasonRateLimited, ReasonOverloaded, ReasonAuth, ReasonRefused,
		ReasonContextTooLong, ReasonUntrustedFolder, ReasonModelNotFound, ReasonProviderError,
	},
	StatusNotRun:           {ReasonBudget, ReasonUpstreamFailed, ReasonGateDenied, ReasonNotNeeded, ReasonConvergenceDisabled, ReasonStopped},
	StatusContractViolated: {ReasonWroteOutside, ReasonForbiddenAction},
}

// StatusOf returns the status that a reason belongs to, and false for a
// reason that is not in the closed list.
func StatusOf(r Reason) (Status, bool) {
	for s, rs := range StatusReasons {
		if slices.Contains(rs, r) {
			return s, true
		}
	}
	return "", false
}

// Action is what a plan says will happen to a worker.
type Action string

const (
	ActionDispatch Action = "dispatch"
	ActionDone     Action = "done"
	ActionAdopt    Action = "adopt"
	ActionRetry    Action = "retry"
	ActionRedo     Action = "redo"
	ActionDropped  Action = "dropped"
	ActionBlocked  Action = "blocked"
)

// Duration is a time.Duration that JSON shows as Go's duration text ("30s").
type Duration time.Duration

// D returns the standard type.
func (d Duration) D() time.Duration { return time.Duration(d) }

func (d Duration) String() string { return time.Duration(d).String() }

// MarshalJSON writes the duration as text.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// UnmarshalJSON reads the text form only.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("a duration is written as text such as \"30s\": %w", err)
	}
	v, err := time.ParseDuration(s)
	if err != nil {
		return err
	}
	*d = Duration(v)
	return nil
}
