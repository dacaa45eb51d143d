// Package launch holds the files by which a runner hands one attempt to its
// supervisor: the launch record, the environment record and the go file. Once
// the worker was started none of them changes. It knows their form and nothing of who
// starts what.
package launch

import "github.com/okstra/okstra/lang/plan"

// SchemaVersion is the version of the launch record.
const SchemaVersion = "okstra.launch/1"

// Record is "<prompt>.launch.json" (0600): everything that the supervisor
// needs, but the environment. All paths are absolute.
type Record struct {
	SchemaVersion string      `json:"schemaVersion"`
	Run           string      `json:"run"` // paths.Run.Ref
	ProjectRoot   string      `json:"projectRoot"`
	InvocationRef string      `json:"invocationRef"`
	WorkerKey     string      `json:"workerKey"`
	Batch         string      `json:"batch"`
	DispatchKind  string      `json:"dispatchKind"`
	Attempt       int         `json:"attempt"`
	Role          string      `json:"role"`
	Access        plan.Access `json:"access"`
	Label         string      `json:"executionLabel"`
	Provider      string      `json:"provider"`
	Tag           string      `json:"tag"`     // [A-Za-z0-9_.-]
	Backend       string      `json:"backend"` // process, tmux, cmux

	Program string   `json:"program"` // the file to execute
	Argv    []string `json:"argv"`    // argv[0] included
	Dir     string   `json:"dir"`
	// Stdin is StdinNone or StdinPrompt.
	Stdin string `json:"stdin"`

	Paths   Paths             `json:"paths"`
	Outputs []Output          `json:"outputs,omitempty"`
	Result  plan.ResultSource `json:"result"`
	Output  plan.OutputFormat `json:"output"`
	Emits   plan.Emits        `json:"emits,omitempty"`
	Audit   bool              `json:"audit"`
	Report  bool              `json:"report"` // a report-writer: the supervisor writes the pointer
	// SecretEnv names the variables of the environment that hold sensitive values:
	// no record and no message may repeat those.
	SecretEnv []string               `json:"secretEnv,omitempty"`
	Limits    plan.Limits            `json:"limits"`
	ExitCodes map[string]plan.Reason `json:"exitCodes,omitempty"`
	// Hold keeps the screen after the end until TERM or HUP.
	Hold bool `json:"hold"`
	// Watch asks for the read-only check of the git tree.
	Watch bool `json:"watch"`
	// Ours are the files that the runner's own output goes to, which the
	// read-only check leaves out.
	Ours []FileID `json:"ours,omitempty"`
}

// Paths are the attempt's files.
type Paths struct {
	Prompt string `json:"prompt"`
	Status string `json:"status"`
	Lock   string `json:"lock"`
	Go     string `json:"go"`
	Env    string `json:"env"`
	Log    string `json:"log"`
	ErrLog string `json:"errLog"`
	Inputs string `json:"inputs"`
	// Result is what the worker writes; WorkerResult is the same but for a
	// report-writer, where it is the pointer that the supervisor writes.
	Result       string `json:"result"`
	WorkerResult string `json:"workerResult"`
	Audit        string `json:"audit,omitempty"`
	Emit         string `json:"emit,omitempty"`
}

// Output is a declared output of the duty.
type Output struct {
	Name     string `json:"name"`
	Path     string `json:"path"`
	Required bool   `json:"required"`
	Schema   string `json:"schema,omitempty"` // JSON Schema file that it must meet, absolute
}

// What a worker finds on its standard input.
const (
	StdinNone   = "none"   // end of file at once
	StdinPrompt = "prompt" // the prompt's bytes, then end of file
)

// Env is "<prompt>.env.json" (0600): the whole environment of the worker as
// "NAME=value", but OKSTRA_CLAIM, which only the supervisor knows. The
// supervisor removes the file once the worker has started.
type Env struct {
	SchemaVersion string   `json:"schemaVersion"` // "okstra.env/1"
	Env           []string `json:"env"`
	// EnvBase64 holds, in base64, the entries that are not UTF-8, which JSON
	// cannot. Only the file has it: WriteEnv takes them out of Env, and ReadEnv
	// puts them back.
	EnvBase64 []string `json:"envBase64,omitempty"`
}

// EnvSchemaVersion is the version of Env.
const EnvSchemaVersion = "okstra.env/1"

// Go is "<prompt>.go": the runner's word to the supervisor that claimed.
type Go struct {
	Claim string `json:"claim"`
	Go    bool   `json:"go"`
}

// CompletionPath is one file that must exist for the attempt to be completed.
type CompletionPath struct {
	Name string // as in sidecar.Artifact
	Path string
}

// CompletionPaths derives the paths that must exist for this attempt to be
// completed, the same for every way of dispatching (contract section 6).
func (r *Record) CompletionPaths() []CompletionPath {
	out := []CompletionPath{{"result", r.Paths.Result}}
	if r.Report {
		out = append(out, CompletionPath{"pointer", r.Paths.WorkerResult})
	}
	if r.Audit {
		out = append(out, CompletionPath{"audit", r.Paths.Audit})
	}
	if r.Emits != plan.EmitsNone {
		out = append(out, CompletionPath{"emit", r.Paths.Emit})
	}
	for _, o := range r.Outputs {
		if o.Required {
			out = append(out, CompletionPath{"out:" + o.Name, o.Path})
		}
	}
	return out
}
