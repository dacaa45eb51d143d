// Package lang turns run-definition files into a definition and a definition
// into a plan. Everything that can be blamed on the text of the files comes
// back as hcl.Diagnostics with ranges, all at once. It reads through the file
// system it is given, asks the world only through the World interface, starts
// nothing and writes nothing.
package lang

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/spf13/afero"

	"github.com/okstra/okstra/lang/plan"
)

// World is what compilation may ask of the machine. Every answer is an
// observation that ends up in the plan.
type World interface {
	// Env returns an environment variable.
	Env(name string) (string, bool)
	// Environ returns all of them as NAME=value, for OKSTRA_VAR_x.
	Environ() []string
	// Git returns the state of the repository at the project root; all empty
	// outside one.
	Git(projectRoot string) plan.GitState
	// Program resolves argv[0]: an absolute path, a path with a slash (already
	// made absolute by the compiler) or a bare name on PATH. What was wrong
	// stands in Program.Problem, and what to do about it in Program.Remedy.
	Program(name string) plan.Program
}

// Source says where a definition is. The zero value of every field but Dir and
// Fs means "find it".
type Source struct {
	Fs          afero.Fs // read-only
	Dir         string   // absolute working directory (-C)
	File        string   // -f: a file or folder, relative to Dir
	ProjectRoot string   // --project-root
	Vars        []VarArg // --var and --var-file, in command-line order
	World       World
	Version     string // okstra's own, for required_version
}

// VarArg is one --var NAME=VALUE or --var-file PATH.
type VarArg struct {
	Var  string
	File string
}

// RunInfo describes a run of a definition for list.
type RunInfo struct {
	Name        string
	Description string
	TaskType    string
	Task        plan.Task
	Default     bool
	Rounds      []string
	Declared    plan.Position
}

// Definition is a loaded, decoded and reference-checked definition. It is not
// safe for concurrent use.
type Definition struct {
	ProjectRoot string // absolute
	Path        string // absolute path of the file or folder

	source Source
	folder string // of Path, absolute
	failed bool   // Load reported errors: there will be no plan
	broken bool   // and nothing was decoded: there is nothing to compile

	files           map[string]*hcl.File // by the name in ranges
	places          map[string]place     // the same
	definitionFiles []definitionFile
	catalogSource   []byte

	settings     *settings
	variables    map[string]*variable
	valuesFiles  []string // that the command line named, absolute, in its order
	locals       map[string]*local
	providers    map[string]*provider
	participants map[string]*participant
	roles        map[string]*role
	duties       map[string]*duty
	taskTypes    map[string]*taskType
	runs         map[string]*run
	runOrder     []string // as written
	overrides    []plan.Override
	defaultRun   string
	heads        map[string]head

	functionNames []string
	usesGit       bool
	reader        *reader
	eval          *evaluator
	base          reads // what loading itself read
}

// definitionFile is a file that was parsed.
type definitionFile struct {
	path string
	src  []byte
}

// Secrets gives the value of a sensitive variable.
type Secrets func(variable string) (string, bool)

// Compiled is the outcome of Compile.
type Compiled struct {
	Plan *plan.Plan // without State, Difference and WorstCase, and with Observed.Git only
	// Secrets fills the sensitive variables that worker environments name.
	Secrets Secrets
}

// CompileOptions are the parts of a request that a definition does not hold.
type CompileOptions struct {
	// ProgramsRequired makes a program that is not there an error (plan,
	// apply) and not a warning (validate).
	ProgramsRequired bool
	// After is the run reference whose report the new run takes as an input.
	After string
}
