package plan

import (
	"fmt"
	"time"
)

// Format is the version of the plan's JSON form.
const Format = "okstra.plan/1"

// Plan is everything that apply needs: what a definition compiled to (rounds
// with their workers), what was observed while compiling, and the difference
// to the state that it was computed against. It is plain data; two compilations
// of the same files, variables, environment reads and observations give the
// same bytes.
type Plan struct {
	Format      string `json:"format"`
	Okstra      string `json:"okstra"`      // version that compiled it
	ProjectRoot string `json:"projectRoot"` // absolute
	Definition  string `json:"definition"`  // the file or folder, relative to the project root where it is inside it
	Catalog     string `json:"catalogDigest"`

	Run       Run        `json:"run"`
	Rounds    []Round    `json:"rounds"`
	Overrides []Override `json:"overrides,omitempty"`
	Variables []Variable `json:"variables,omitempty"`
	// VariableFiles are the files that --var-file named, in that order, relative
	// to the project root where inside it. They stand in Inputs as well.
	VariableFiles []string    `json:"variableFiles,omitempty"`
	Inputs        []InputFile `json:"inputs"` // every file that was read, sorted by path
	Observed      Observed    `json:"observed"`
	State         StateRef    `json:"state"` // what the difference was computed against
	Difference    Difference  `json:"difference"`
	WorstCase     WorstCase   `json:"worstCase"`
}

// Task names the piece of work that runs belong to.
type Task struct {
	Project string `json:"project"`
	Group   string `json:"group"`
	ID      string `json:"id"`
}

// Key is the task key "project:group:id".
func (t Task) Key() string { return t.Project + ":" + t.Group + ":" + t.ID }

// Run holds what is said once for a whole run.
type Run struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Task        Task     `json:"task"`
	TaskType    string   `json:"taskType"`
	Allowed     []string `json:"allowed"`
	Forbidden   []string `json:"forbidden"`
	Next        []string `json:"next,omitempty"`
	Lead        Lead     `json:"lead"`
	Backend     []string `json:"backend"` // in order of preference
	Parallelism int      `json:"parallelism"`
	Fingerprint []string `json:"fingerprint"`
	Budget      *Budget  `json:"budget,omitempty"`
	Panes       Panes    `json:"panes"`
	After       string   `json:"after,omitempty"` // run reference whose report is an input (--after)
	// AfterReport is the path of that report; it is filled by the caller that
	// knows what is recorded, and empty from the compiler.
	AfterReport string   `json:"afterReport,omitempty"`
	Declared    Position `json:"declared"`
}

// Lead is what the run's lead is told. okstra never starts it.
type Lead struct {
	Runtime      string   `json:"runtime,omitempty"`
	Instructions string   `json:"instructions,omitempty"`
	Inputs       []string `json:"inputs,omitempty"`
}

// Panes is the pane policy of one run. Sizes are cells, LeadShare a percentage.
type Panes struct {
	Placement  Placement `json:"placement"`
	Layout     Layout    `json:"layout"`
	LeadShare  int       `json:"leadShare"`
	MinColumns int       `json:"minColumns"`
	MinRows    int       `json:"minRows"`
	PerWindow  int       `json:"perWindow"`
	Keep       Keep      `json:"keep"`
}

// Budget bounds a run; a nil member is not bounded.
type Budget struct {
	Dispatches *int      `json:"dispatches,omitempty"`
	Wall       *Duration `json:"wall,omitempty"`
	Tokens     *int64    `json:"tokens,omitempty"`
	USD        *float64  `json:"usd,omitempty"`
}

// Round is one step of a run: its workers run beside each other.
type Round struct {
	Name        string    `json:"name"`
	Kind        RoundKind `json:"kind"`
	Index       int       `json:"index"` // from 0, as written
	After       []string  `json:"after"` // rounds that must have met their require
	Require     Require   `json:"require"`
	Parallelism int       `json:"parallelism"`
	Gate        *Gate     `json:"gate,omitempty"`
	// Convergence is set for reverify rounds only. Workers are then templates:
	// each judge is started once per convergence round, with its own items.
	Convergence *Convergence `json:"convergence,omitempty"`
	Workers     []Worker     `json:"workers"`
	Empty       string       `json:"empty,omitempty"` // why there are no workers (an empty for_each)
	Declared    Position     `json:"declared"`
}

// Require is how many of a round's workers must complete. Exactly one of its
// members is meaningful: All, else Percent where it is set, else Count.
type Require struct {
	All     bool `json:"all,omitempty"`
	Count   int  `json:"count,omitempty"`
	Percent *int `json:"percent,omitempty"`
}

// Needed returns how many of total workers must complete.
func (r Require) Needed(total int) int {
	switch {
	case r.All:
		return total
	case r.Percent != nil:
		return (total**r.Percent + 99) / 100
	default:
		return r.Count
	}
}

// Gate stands before its round and waits for a person.
type Gate struct {
	Reason  string   `json:"reason"`
	Choices []string `json:"choices,omitempty"`
}

// Convergence is the policy of a reverify round.
type Convergence struct {
	Enabled     bool   `json:"enabled"`
	MaxRounds   int    `json:"maxRounds"` // 1 to 3
	Mode        string `json:"mode"`      // lightweight or full-reanalysis
	Adversarial bool   `json:"adversarial"`
	Critic      bool   `json:"critic"`
	Source      string `json:"source"` // core or lead
}

// Worker is one assignment: a duty given to a participant in a round, once per
// element of for_each. Everything in it is settled but the attempt's paths.
type Worker struct {
	Key              string  `json:"key"`
	AssignmentRef    string  `json:"assignmentRef"`
	ParticipantRef   string  `json:"participantRef"`
	RoleExecutionRef string  `json:"roleExecutionRef"`
	Label            string  `json:"executionLabel"`
	Duty             string  `json:"dutyId"`
	Role             string  `json:"role"`
	RoleDescription  string  `json:"roleDescription,omitempty"` // for the prompt
	Access           Access  `json:"access"`
	Provider         string  `json:"provider"`
	Model            string  `json:"model,omitempty"` // what is passed to the CLI, aliases resolved
	EachKey          *string `json:"eachKey,omitempty"`

	Instructions Template            `json:"instructions"`
	Program      Program             `json:"program"` // argv[0], resolved
	Argv         []Template          `json:"argv"`    // argv[0] as written
	Dir          string              `json:"dir"`     // relative to the project root ("." is the root); absolute where it is outside
	Env          []EnvVar            `json:"env"`     // sorted by name
	UnsetEnv     []string            `json:"unsetEnv"`
	Prompt       PromptDelivery      `json:"prompt"`
	Result       ResultSource        `json:"result"`
	Output       OutputFormat        `json:"output"`
	Emits        Emits               `json:"emits,omitempty"`
	Audit        bool                `json:"audit"`
	Outputs      []Output            `json:"outputs"`
	Inputs       []string            `json:"inputs"` // declared paths, relative to the project root where inside it
	Limits       Limits              `json:"limits"`
	Retry        Retry               `json:"retry"`
	ExitCodes    map[string]Reason   `json:"exitCodes"`
	Worst        *Worst              `json:"worst,omitempty"`
	Title        string              `json:"title"`
	Digests      Digests             `json:"digests"`
	Origins      map[string]Position `json:"origins"` // attribute → where its value was written

	// Given are files that a run manifest of version 1 brings with it, by
	// GivenKey; nil where okstra names all files itself.
	Given map[string]Given `json:"given,omitempty"`
}

// Given are the files of one attempt of a version 1 worker, relative to the
// project root.
type Given struct {
	Prompt string `json:"prompt"`
	Result string `json:"result"`
}

// GivenKey names an attempt in Worker.Given.
func GivenKey(batch string, attempt int) string { return fmt.Sprintf("%s#%d", batch, attempt) }

// Program is the file that argv[0] resolved to. ModTime is RFC 3339 with
// nanoseconds. A program that was not found has an empty Path and a Problem.
type Program struct {
	Path    string `json:"path"`
	Size    int64  `json:"size"`
	ModTime string `json:"modTime"`
	Problem string `json:"problem,omitempty"`
	Remedy  string `json:"-"` // what to do about Problem, for whoever is told of it
}

// EnvVar is one variable of a worker's environment. Sensitive variables stand
// in the value as references (RefSecret), never as text.
type EnvVar struct {
	Name  string   `json:"name"`
	Value Template `json:"value"`
}

// Output is a further file that a duty declares.
type Output struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required"`
	Schema      string `json:"schema,omitempty"` // JSON Schema file, relative to the project root where inside it
}

// Limits bound one attempt.
type Limits struct {
	Start Duration `json:"start"`
	Wall  Duration `json:"wall"`
	Idle  Duration `json:"idle"`
	Grace Duration `json:"grace"`
}

// Retry says which failures are tried again. Attempts counts all starts.
type Retry struct {
	Attempts int      `json:"attempts"`
	On       []Reason `json:"on"`
	Backoff  Duration `json:"backoff"`
}

// Worst is the most that one start of a provider is taken to use where it
// reports nothing.
type Worst struct {
	Tokens *int64   `json:"tokens,omitempty"`
	USD    *float64 `json:"usd,omitempty"`
}

// Digests are those of contract section 1 that are known before an attempt.
type Digests struct {
	Catalog     string `json:"catalogDigest"`
	Assignment  string `json:"assignmentDigest"`
	Duty        string `json:"dutyDigest"`
	Instruction string `json:"instructionDigest"`
}

// Position is a place in a source file. Line and Column count from 1.
type Position struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// Override tells what the definition changed of an import or the catalog.
type Override struct {
	Kind       string   `json:"kind"`
	Name       string   `json:"name"`
	Attributes []string `json:"attributes"`
	Declared   Position `json:"declared"`
}

// Variable tells where a variable's value came from. Sensitive ones hold no value.
type Variable struct {
	Name      string `json:"name"`
	Source    string `json:"source"` // "default", "OKSTRA_VAR_x", a file, "--var"
	Value     any    `json:"value,omitempty"`
	Sensitive bool   `json:"sensitive,omitempty"`
}

// InputKind says how staleness treats an input.
type InputKind string

const (
	InputDefinition InputKind = "definition" // definition, imports, what they read: a change is a redo
	InputProject    InputKind = "project"    // project files: pinned when a worker is first dispatched
	InputEnv        InputKind = "env"        // an environment variable that was read
)

// InputFile is one thing that compilation read.
type InputFile struct {
	Kind   InputKind `json:"kind"`
	Path   string    `json:"path"` // relative to the project root where inside it, else absolute; a name for InputEnv
	Digest string    `json:"digest"`
}

// Observed is what compilation saw of the world. It never decides a verdict.
type Observed struct {
	Git GitState `json:"git"`
	// Backends lists what was probed, in order of preference; it is filled by
	// the caller that may ask multiplexers, and empty from the compiler.
	Backends []BackendProbe `json:"backends,omitempty"`
	Backend  string         `json:"backend,omitempty"` // the one in force
	// Placement says, a line each, what the pane policy will look like here.
	Placement []string `json:"placement,omitempty"`
	Notes     []string `json:"notes,omitempty"`
}

// GitState is null-like (all empty) outside a repository.
type GitState struct {
	Head   string `json:"head,omitempty"`
	Branch string `json:"branch,omitempty"`
	Base   string `json:"base,omitempty"`
}

// BackendProbe is what was found of one backend.
type BackendProbe struct {
	Name      string `json:"name"`
	Available bool   `json:"available"`
	Found     string `json:"found"`          // version, socket, or what is missing
	Hint      string `json:"hint,omitempty"` // what to install or start
}

// StateRef names the state that a plan was computed against. A run that is not
// recorded yet has an empty lineage and serial 0.
type StateRef struct {
	Lineage string `json:"lineage,omitempty"`
	Serial  int64  `json:"serial"`
	Seq     int    `json:"seq"` // the run number that apply will use
	New     bool   `json:"new"` // that number is not recorded yet
}

// Difference is what apply will do.
type Difference struct {
	// Finished is set when the recorded run ended and nothing changed.
	Finished bool `json:"finished"`
	// Denied is the round whose gate was denied: apply finishes the run there.
	Denied  string         `json:"denied,omitempty"`
	Summary string         `json:"summary"`
	Replace []string       `json:"replace,omitempty"` // worker keys that --replace named
	Changed []string       `json:"changed,omitempty"` // what differs from the run's last plan, for people
	Notes   []string       `json:"notes,omitempty"`   // what has changed but asks for no work
	Rounds  []RoundAction  `json:"rounds"`
	Workers []WorkerAction `json:"workers"`
}

// Work reports whether apply would do anything.
func (d Difference) Work() bool {
	for _, w := range d.Workers {
		switch w.Action {
		case ActionDispatch, ActionAdopt, ActionRetry, ActionRedo, ActionBlocked:
			return true
		}
	}
	for _, r := range d.Rounds {
		if r.Wait != "" {
			return true
		}
	}
	return false
}

// RoundAction is a round's part of the difference.
type RoundAction struct {
	Round string `json:"round"`
	Wait  string `json:"wait,omitempty"` // what it waits for: a gate, the lead's round plan
}

// WorkerAction is a worker's part of the difference.
type WorkerAction struct {
	Key    string `json:"key"`
	Round  string `json:"round"`
	Action Action `json:"action"`
	Why    string `json:"why,omitempty"`
	// Attempt is the number that the next start will have in its batch, 0 where none starts.
	Attempt int    `json:"attempt,omitempty"`
	Status  Status `json:"status,omitempty"` // as recorded
}

// WorstCase bounds what the plan can cost from here on.
type WorstCase struct {
	Starts int      `json:"starts"`
	Wall   Duration `json:"wall"`
	Tokens *int64   `json:"tokens,omitempty"` // nil: not known
	USD    *float64 `json:"usd,omitempty"`    // nil: not known
}

// Usage is what a provider reported for one worker.
type Usage struct {
	Source          string   `json:"source"` // e.g. "claude-result", "codex-turn", "unavailable"
	InputTokens     int64    `json:"inputTokens"`
	OutputTokens    int64    `json:"outputTokens"`
	CachedTokens    int64    `json:"cachedTokens"`
	ReasoningTokens int64    `json:"reasoningTokens"`
	USD             *float64 `json:"usd,omitempty"`
}

// UsageUnavailable is the source of a usage that nobody reported.
const UsageUnavailable = "unavailable"

// Total is the number that budgets count: input, output and reasoning tokens.
// Cached tokens are part of the input in every known provider's report.
func (u *Usage) Total() int64 { return u.InputTokens + u.OutputTokens + u.ReasoningTokens }

// Worker returns the worker with this key and its round, or nils.
func (p *Plan) Worker(key string) (*Round, *Worker) {
	for i := range p.Rounds {
		for j := range p.Rounds[i].Workers {
			if p.Rounds[i].Workers[j].Key == key {
				return &p.Rounds[i], &p.Rounds[i].Workers[j]
			}
		}
	}
	return nil, nil
}

// Round returns the round with this name, or nil.
func (p *Plan) Round(name string) *Round {
	for i := range p.Rounds {
		if p.Rounds[i].Name == name {
			return &p.Rounds[i]
		}
	}
	return nil
}

// DefaultLimits are those of a worker for which nobody said otherwise.
func DefaultLimits() Limits {
	return Limits{Start: Duration(30 * time.Second), Wall: Duration(time.Hour), Idle: Duration(15 * time.Minute), Grace: Duration(10 * time.Second)}
}

// DefaultRetry is the retry policy for which nobody said otherwise.
func DefaultRetry() Retry {
	return Retry{
		Attempts: 2,
		On:       []Reason{ReasonNotStarted, ReasonSupervisorLost, ReasonPaneLost, ReasonRateLimited, ReasonOverloaded},
		Backoff:  Duration(5 * time.Second),
	}
}

// DefaultPanes is the pane policy for which nobody said otherwise.
func DefaultPanes() Panes {
	return Panes{Placement: PlacementBesideLead, Layout: LayoutTiled, LeadShare: 60, MinColumns: 40, MinRows: 8, PerWindow: 4, Keep: KeepRound}
}
