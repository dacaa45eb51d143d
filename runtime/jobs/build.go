package jobs

import (
	"path/filepath"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/record"
)

// Planned is a worker that a batch will start, with its prompt.
type Planned struct {
	Round   *plan.Round
	Worker  *plan.Worker
	Batch   string
	Attempt int
	Prompt  []byte
}

// v2File and v2Entry are the written form, in the order of the contract.
type v2File struct {
	DispatchKind Kind      `json:"dispatchKind"`
	Workers      []v2Entry `json:"workers"`
}

type v2Entry struct {
	ParticipantRef   string                 `json:"participantRef"`
	RoleExecutionRef string                 `json:"roleExecutionRef"`
	AssignmentRef    string                 `json:"assignmentRef"`
	ExecutionLabel   string                 `json:"executionLabel"`
	DutyID           string                 `json:"dutyId"`
	InvocationRef    string                 `json:"invocationRef"`
	Attempt          int                    `json:"attempt"`
	Provider         string                 `json:"provider"`
	PromptPath       string                 `json:"promptPath"`
	WorkerResultPath string                 `json:"workerResultPath"`
	Role             string                 `json:"role"`
	Digests          record.DispatchDigests `json:"digests"`
}

// Build gives the bytes of a version 2 jobs file, which passes Check for the
// same run and kind. It panics on an empty batch.
func Build(run paths.Run, kind Kind, batch []Planned) []byte {
	if len(batch) == 0 {
		panic("jobs: an empty batch")
	}
	f := v2File{DispatchKind: kind}
	for _, p := range batch {
		inv := Derive(run, p.Round, p.Worker, p.Batch, p.Attempt)
		f.Workers = append(f.Workers, v2Entry{
			ParticipantRef: p.Worker.ParticipantRef, RoleExecutionRef: p.Worker.RoleExecutionRef, AssignmentRef: p.Worker.AssignmentRef,
			ExecutionLabel: p.Worker.Label, DutyID: p.Worker.Duty, InvocationRef: inv.Ref, Attempt: p.Attempt, Provider: p.Worker.Provider,
			PromptPath: relative(run.Root, inv.Files.Prompt()), WorkerResultPath: relative(run.Root, inv.Files.WorkerResult()), Role: p.Worker.Role,
			Digests: record.DispatchDigests{Digests: p.Worker.Digests, Prompt: plan.DigestBytes(p.Prompt)},
		})
	}
	data, err := plan.Indented(f)
	if err != nil {
		panic(err) // plain data
	}
	return data
}

// relative is a path as records hold it: relative to the project root where it
// lies inside.
func relative(root, path string) string {
	if rel, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}
