package lead

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/converge"
	"github.com/okstra/okstra/runtime/durable"
)

// ManifestVersion is the schema version of a manifest with version 2 identity.
const ManifestVersion = "2.0"

// IdentityVersion is the execution identity version that okstra writes. A
// manifest without one has identity version 1.
const IdentityVersion = 2

// Manifest is the run manifest: what a lead and the team commands know of a
// run. It is written once, after the plan, and never changes. Paths in it are
// relative to the project root, as in every record.
type Manifest struct {
	SchemaVersion            string `json:"schemaVersion"`
	ExecutionIdentityVersion int    `json:"executionIdentityVersion,omitempty"`

	RunName     string `json:"runName"`
	Run         string `json:"run"` // paths.Run.Ref
	TaskType    string `json:"taskType"`
	Definition  string `json:"definition"` // relative to the project root where it is inside it
	ProjectRoot string `json:"projectRoot"`
	PlanPath    string `json:"planPath"`
	StatePath   string `json:"teamStatePath"`

	LeadRuntime     Runtime  `json:"leadRuntime"`
	LeadAdapter     Adapter  `json:"leadAdapter"`
	TerminalBackend Mode     `json:"terminalBackend,omitempty"` // ModeCmuxPane for exactly the cmux runs
	LeadEventsPath  string   `json:"leadEventsPath"`
	TeamContract    Contract `json:"teamContract"`

	RoleExecutions []RoleExecution `json:"roleExecutions"`
	Participants   []Participant   `json:"participants"`
	Duties         []Duty          `json:"duties"`
	Assignments    []Assignment    `json:"assignments"`
	Digests        ManifestDigests `json:"digests"`

	// Workers is the roster of a manifest with identity version 1, and empty
	// in version 2.
	Workers []WorkerV1 `json:"workers,omitempty"`
}

// Adapter says how the lead's host is treated. Its dispatch mode tells whether
// and how the lead dispatches; team-state's tells how the run was dispatched.
type Adapter struct {
	Name              string `json:"name"`
	DispatchMode      Mode   `json:"dispatchMode"`
	SessionAccounting string `json:"sessionAccounting"`
}

// Contract is what the team owes: the roles that must deliver, and who alone
// may change the project where there is an executor.
type Contract struct {
	RequiredRoles []string  `json:"requiredRoles"`
	Executor      *Executor `json:"executor,omitempty"`
}

// Executor is the one participant that may change the project's files.
type Executor struct {
	RoleExecutionRef string `json:"roleExecutionRef"`
	Provider         string `json:"provider"`
	Model            string `json:"model,omitempty"`
	DisplayName      string `json:"displayName"`
	WorkerKey        string `json:"workerKey"`
}

// RoleExecution is a role as taken on by one participant in this run.
type RoleExecution struct {
	Ref            string      `json:"roleExecutionRef"`
	Role           string      `json:"role"`
	ParticipantRef string      `json:"participantRef"`
	Access         plan.Access `json:"access"`
}

// Participant is a provider with a model.
type Participant struct {
	Ref      string `json:"participantRef"`
	Provider string `json:"provider"`
	Model    string `json:"model,omitempty"`
}

// Duty is what can be asked of a participant.
type Duty struct {
	ID     string     `json:"dutyId"`
	Role   string     `json:"role"`
	Emits  plan.Emits `json:"emits,omitempty"`
	Audit  bool       `json:"audit"`
	Digest string     `json:"dutyDigest"`
}

// Assignment is a duty given to a participant in a round.
type Assignment struct {
	Ref              string         `json:"assignmentRef"`
	WorkerKey        string         `json:"workerKey"`
	ExecutionLabel   string         `json:"executionLabel"`
	Round            string         `json:"round"`
	RoundKind        plan.RoundKind `json:"roundKind"`
	DutyID           string         `json:"dutyId"`
	ParticipantRef   string         `json:"participantRef"`
	RoleExecutionRef string         `json:"roleExecutionRef"`
	Role             string         `json:"role"`
	Provider         string         `json:"provider"`
	Digests          plan.Digests   `json:"digests"`
}

// ManifestDigests are those of the plan that the manifest was made from.
type ManifestDigests struct {
	Catalog string `json:"catalogDigest"`
	Plan    string `json:"planDigest"`
}

// WorkerV1 is one worker of a manifest with identity version 1. Paths may be
// relative to the project root.
type WorkerV1 struct {
	WorkerID         string `json:"workerId"`
	Provider         string `json:"provider"`
	PromptPath       string `json:"promptPath"`
	WorkerResultPath string `json:"workerResultPath"`
	Role             string `json:"role"`
}

// Identity returns the execution identity version, 1 or 2.
func (m *Manifest) Identity() int {
	if m.ExecutionIdentityVersion == 0 {
		return 1
	}
	return m.ExecutionIdentityVersion
}

// Assignment returns the assignment of this reference, or nil.
func (m *Manifest) Assignment(ref string) *Assignment {
	for i := range m.Assignments {
		if m.Assignments[i].Ref == ref {
			return &m.Assignments[i]
		}
	}
	return nil
}

// NewManifest makes the manifest of a run from its plan. backend is the name
// of the backend in force, empty where none can dispatch. It panics on a
// backend or lead runtime that is not in the tables; callers use ParseRuntime.
func NewManifest(run paths.Run, p *plan.Plan, planPath, backend string, leadRuntime Runtime) *Manifest {
	h, mode := hostOf(leadRuntime), ModeOf(backend)
	m := &Manifest{
		SchemaVersion:            ManifestVersion,
		ExecutionIdentityVersion: IdentityVersion,
		RunName:                  p.Run.Name,
		Run:                      run.Ref(),
		TaskType:                 p.Run.TaskType,
		Definition:               p.Definition,
		ProjectRoot:              run.Root,
		PlanPath:                 relative(run.Root, planPath),
		StatePath:                relative(run.Root, run.TeamState()),
		LeadRuntime:              leadRuntime,
		LeadAdapter:              Adapter{Name: h.agent, DispatchMode: mode, SessionAccounting: h.accounting},
		LeadEventsPath:           relative(run.Root, run.Events()),
		Digests:                  ManifestDigests{Catalog: p.Catalog, Plan: plan.Digest(p)},
	}
	if mode == ModeCmuxPane {
		m.TerminalBackend = ModeCmuxPane
	}
	m.fillRoster(p)
	return m
}

// fillRoster takes role executions, participants, duties and assignments from
// the plan, each once, sorted by reference; assignments in plan order.
func (m *Manifest) fillRoster(p *plan.Plan) {
	roles := map[string]bool{}
	executions := map[string]RoleExecution{}
	participants := map[string]Participant{}
	duties := map[string]Duty{}
	m.Assignments = []Assignment{}
	for _, r := range p.Rounds {
		for _, w := range r.Workers {
			roles[w.Role] = true
			executions[w.RoleExecutionRef] = RoleExecution{Ref: w.RoleExecutionRef, Role: w.Role, ParticipantRef: w.ParticipantRef, Access: w.Access}
			participants[w.ParticipantRef] = Participant{Ref: w.ParticipantRef, Provider: w.Provider, Model: w.Model}
			duties[w.Duty] = Duty{ID: w.Duty, Role: w.Role, Emits: w.Emits, Audit: w.Audit, Digest: w.Digests.Duty}
			m.Assignments = append(m.Assignments, Assignment{
				Ref: w.AssignmentRef, WorkerKey: w.Key, ExecutionLabel: w.Label, Round: r.Name, RoundKind: r.Kind, DutyID: w.Duty,
				ParticipantRef: w.ParticipantRef, RoleExecutionRef: w.RoleExecutionRef, Role: w.Role, Provider: w.Provider, Digests: w.Digests,
			})
			if w.Role == RoleExecutor && m.TeamContract.Executor == nil {
				m.TeamContract.Executor = &Executor{
					RoleExecutionRef: w.RoleExecutionRef, Provider: w.Provider, Model: w.Model, DisplayName: w.Label, WorkerKey: w.Key,
				}
			}
		}
	}
	m.TeamContract.RequiredRoles = sortedKeys(roles)
	m.RoleExecutions = sortedValues(executions)
	m.Participants = sortedValues(participants)
	m.Duties = sortedValues(duties)
}

// Roles with a meaning of their own in the contract.
const (
	RoleExecutor     = "executor"
	RoleVerifier     = "verifier"
	RoleReportWriter = "report-writer"
	RoleCritic       = converge.RoleCritic
)

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func sortedValues[V any](m map[string]V) []V {
	out := make([]V, 0, len(m))
	for _, k := range sortedKeys(m) {
		out = append(out, m[k])
	}
	return out
}

// WriteManifest writes the manifest of a run, once: the error wraps
// os.ErrExist where there is one already, whatever it holds.
func WriteManifest(run paths.Run, m *Manifest) error {
	data, err := plan.Indented(m)
	if err != nil {
		return fmt.Errorf("write manifest of %s: %w", run.Ref(), err)
	}
	if err := durable.MkdirAll(filepath.Dir(run.Manifest())); err != nil {
		return fmt.Errorf("write manifest of %s: %w", run.Ref(), err)
	}
	if err := durable.CreateExclusive(run.Manifest(), data, 0o600); err != nil {
		return fmt.Errorf("write manifest of %s: %w", run.Ref(), err)
	}
	return nil
}

// maxManifest bounds what ReadManifest takes in, in bytes.
const maxManifest = 64 << 20

// ReadManifest reads a manifest of either identity version, strictly: unknown
// keys are refused in version 2, which only okstra writes, and in the workers
// of version 1.
func ReadManifest(path string) (*Manifest, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err != nil {
		return nil, fmt.Errorf("read manifest %s: %w", path, err)
	}
	if len(data) > maxManifest {
		return nil, fmt.Errorf("read manifest %s: larger than %d bytes", path, maxManifest)
	}
	m, err := ParseManifest(data)
	if err != nil {
		return nil, fmt.Errorf("read manifest %s: %w", path, err)
	}
	return m, nil
}

// ParseManifest decodes a manifest as ReadManifest does.
func ParseManifest(data []byte) (*Manifest, error) {
	var head struct {
		SchemaVersion            string          `json:"schemaVersion"`
		ExecutionIdentityVersion *int            `json:"executionIdentityVersion"`
		Workers                  json.RawMessage `json:"workers"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, err
	}
	if v := head.ExecutionIdentityVersion; v != nil && *v != IdentityVersion {
		return nil, fmt.Errorf("executionIdentityVersion is %d; this okstra knows %d, and 1 where the field is absent", *v, IdentityVersion)
	}
	m := new(Manifest)
	if head.ExecutionIdentityVersion == nil {
		if err := json.Unmarshal(data, m); err != nil {
			return nil, err
		}
		m.Workers = nil
		if err := strict(head.Workers, &m.Workers); err != nil {
			return nil, fmt.Errorf("workers of a version 1 manifest: %w", err)
		}
		return m, m.checkV1()
	}
	if err := strict(data, m); err != nil {
		return nil, err
	}
	if m.SchemaVersion != ManifestVersion {
		return nil, fmt.Errorf("schemaVersion is %q, not %q", m.SchemaVersion, ManifestVersion)
	}
	return m, m.checkV2()
}

// workerID is what can stand in an invocation, on a command line and on a screen.
var workerID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
})

func (m *Manifest) checkV1() error {
	var errs []error
	if len(m.Workers) == 0 {
		errs = append(errs, errors.New("a version 1 manifest without workers"))
	}
	seen := map[string]bool{}
	for i, w := range m.Workers {
		for _, f := range []struct{ name, value string }{
			{"workerId", w.WorkerID}, {"provider", w.Provider}, {"promptPath", w.PromptPath}, {"workerResultPath", w.WorkerResultPath}, {"role", w.Role},
		} {
			if f.value == "" {
				errs = append(errs, fmt.Errorf("workers[%d] has no %s", i, f.name))
			}
		}
		if w.WorkerID != "" && !workerID().MatchString(w.WorkerID) {
			errs = append(errs, fmt.Errorf("workers[%d] has the workerId %q; it begins with a letter or digit and holds those and ._-", i, w.WorkerID))
		}
		if w.WorkerID != "" && seen[w.WorkerID] {
			errs = append(errs, fmt.Errorf("workers[%d] repeats the workerId %q", i, w.WorkerID))
		}
		seen[w.WorkerID] = true
	}
	if m.LeadRuntime != "" {
		if _, err := ParseRuntime(string(m.LeadRuntime)); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (m *Manifest) checkV2() error {
	var errs []error
	for _, f := range []struct{ name, value string }{
		{"run", m.Run}, {"runName", m.RunName}, {"projectRoot", m.ProjectRoot}, {"planPath", m.PlanPath},
		{"teamStatePath", m.StatePath}, {"leadEventsPath", m.LeadEventsPath}, {"leadRuntime", string(m.LeadRuntime)},
	} {
		if f.value == "" {
			errs = append(errs, fmt.Errorf("no %s", f.name))
		}
	}
	if len(m.Workers) > 0 {
		errs = append(errs, errors.New("workers belong to version 1; version 2 has assignments"))
	}
	if _, err := ParseRuntime(string(m.LeadRuntime)); err != nil {
		errs = append(errs, err)
	}
	seen := map[string]bool{}
	for i, a := range m.Assignments {
		if a.Ref == "" || a.WorkerKey == "" {
			errs = append(errs, fmt.Errorf("assignments[%d] has no assignmentRef or workerKey", i))
		}
		if seen[a.Ref] {
			errs = append(errs, fmt.Errorf("assignments[%d] repeats %q", i, a.Ref))
		}
		seen[a.Ref] = true
	}
	return errors.Join(errs...)
}

// strict decodes one JSON value without unknown keys and with nothing after it.
func strict(data []byte, into any) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return errors.New("missing")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON value")
	}
	return nil
}

var manifestName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^run-manifest-(.+)-([0-9]{3,})\.json$`)
})

// RunOf returns the run that a manifest belongs to, from the manifest's own
// path, and refuses a path that okstra would not have chosen. projectRoot may
// be empty; else the manifest must lie under it.
func RunOf(manifestPath, projectRoot string) (paths.Run, error) {
	fail := func(why string) (paths.Run, error) {
		return paths.Run{}, fmt.Errorf("%s is not a run manifest of okstra: %s", manifestPath, why)
	}
	abs, err := filepath.Abs(manifestPath)
	if err != nil {
		return fail(err.Error())
	}
	match := manifestName().FindStringSubmatch(filepath.Base(abs))
	if match == nil {
		return fail("its name is not run-manifest-<task-type>-<seq>.json")
	}
	// <root>/.okstra/tasks/<project>/<group>/<id>/runs/<task-type>/manifests/<name>
	parts := strings.Split(abs, string(filepath.Separator))
	if len(parts) < 10 {
		return fail("it does not lie under .okstra/tasks")
	}
	tail := parts[len(parts)-9:]
	seq, err := strconv.Atoi(match[2])
	if err != nil || seq < 1 {
		return fail("its number is not a sequence number")
	}
	run := paths.Run{
		Root:     strings.Join(parts[:len(parts)-9], string(filepath.Separator)),
		Task:     plan.Task{Project: tail[2], Group: tail[3], ID: tail[4]},
		TaskType: tail[6],
		Seq:      seq,
	}
	if run.Root == "" {
		run.Root = string(filepath.Separator)
	}
	if run.Manifest() != abs {
		return fail("expected " + run.Manifest())
	}
	if projectRoot != "" {
		root, err := filepath.Abs(projectRoot)
		if err != nil {
			return fail(err.Error())
		}
		if root != run.Root && !sameFolder(root, run.Root) {
			return fail("it lies in the project " + run.Root + ", not in " + root)
		}
	}
	return run, nil
}

// sameFolder tells whether two paths are one folder, through links.
func sameFolder(a, b string) bool {
	fa, err := os.Stat(a)
	if err != nil {
		return false
	}
	fb, err := os.Stat(b)
	return err == nil && os.SameFile(fa, fb)
}
