package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"github.com/okstra/okstra/cmd/okstra/view"
	"github.com/okstra/okstra/lang"
	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime"
	"github.com/okstra/okstra/runtime/record"
	"github.com/okstra/okstra/runtime/schema"
)

type applyOptions struct {
	definitionFlags
	fresh   bool
	replace []string
	backend string
	after   string
}

func applyCommand() *command {
	return &command{
		name:     "apply",
		group:    groupRun,
		operands: []operand{{name: "RUN|FILE", kind: kindRunFile, optional: true}},
		short:    "execute a run, or exactly a saved plan",
		long: `Starts the workers that the plan names, waits for them, and goes on until the run is finished or has to wait. A run that an earlier apply left is continued: what still runs is adopted, what is done stays, and only what changed or failed is done again.

RUN is the name of a run, which goes on with its latest number or starts the next, or RUN@NUMBER, which goes on with that recorded one. Anything that cannot be such a name, a path with a slash or a dot in it, is the FILE of a plan saved with "okstra plan --out"; it is executed exactly, or refused (exit 5) with the thing that moved.

A gate is asked on a terminal. Elsewhere apply stops with exit 4 and names the command that answers it.

The first INT, TERM or HUP detaches: nothing more is started, workers go on, and "okstra apply" takes them up again while "okstra stop" ends them. The second ends okstra at once.`,
		example: `okstra apply review
okstra apply review --var base=develop --backend process
okstra apply ./review.plan.json
okstra apply review@005
okstra apply review --replace analysis.find-defects.ada`,
		bind: func(fs *pflag.FlagSet) run {
			o := &applyOptions{}
			fs.BoolVar(&o.fresh, "new", false, "start the next run number, whatever is recorded")
			fs.StringArrayVar(&o.replace, "replace", nil, "redo this `WORKER`, by key or label; repeatable")
			fs.StringVar(&o.backend, "backend", "", "start the workers on this `BACKEND`: cmux, tmux or process")
			fs.StringVar(&o.after, "after", "", "a new run that reads the report of the recorded `RUN`")
			o.definitionFlags.bind(fs)
			return o.run
		},
	}
}

var runName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_-]*)(@[^./]*)?$`)
})

// isPlanFile tells the two operands of apply apart by their form alone, so
// that a file which happens to be there never changes what a name means.
func isPlanFile(operand string) bool { return operand != "" && !runName().MatchString(operand) }

// numberedRun reads RUN or RUN@NUMBER; the number is 0 where there is none.
func numberedRun(operand string) (name string, seq int, err error) {
	name, number, numbered := strings.Cut(operand, "@")
	if !numbered {
		return name, 0, nil
	}
	seq, err = strconv.Atoi(number)
	if err != nil || seq < 1 {
		return "", 0, usage(nil, "run %q: the part after @ is a run number such as 002", operand)
	}
	return name, seq, nil
}

// runOrFile writes a file name so that apply takes it for one.
func runOrFile(file string) string {
	if runName().MatchString(file) {
		return "./" + file
	}
	return file
}

func (o *applyOptions) run(ctx context.Context, s *session, operands []string) error {
	name := optional(operands, 0)
	if isPlanFile(name) {
		return o.applySaved(ctx, s, name)
	}
	name, seq, err := numberedRun(name)
	if err != nil {
		return err
	}
	if seq > 0 && (o.fresh || o.after != "") {
		return usage(applyCommand(), "--new and --after are for a new run, which has no NUMBER yet")
	}
	if err := s.knownBackend(o.backend); err != nil {
		return err
	}
	c, l, err := s.compileFirst(ctx, s.source(o.vars), name, lang.CompileOptions{ProgramsRequired: true, After: o.after})
	if err != nil {
		return err
	}
	s.view.Warnings(l.diags, l.files())
	env := s.engine(c.Plan.ProjectRoot, c.Secrets)
	return s.drive(ctx, env, runtime.ApplyOptions{
		Plan: c.Plan, New: o.fresh, Seq: seq, Replace: words(o.replace), Backend: o.backend,
		Again: s.again(c.Plan.Run.Name, c.Plan, o.vars),
	})
}

// applySaved executes a plan file.
func (o *applyOptions) applySaved(ctx context.Context, s *session, file string) error {
	if o.fresh || len(o.replace) > 0 || o.after != "" || o.backend != "" {
		return usage(applyCommand(), "a saved plan is executed as it is: --new, --replace, --after and --backend belong to the plan that is saved")
	}
	p, err := s.savedPlan(file)
	if err != nil {
		return err
	}
	src := s.source(append(savedVariables(p), o.vars...))
	src.ProjectRoot = p.ProjectRoot
	if src.File == "" {
		src.File = underRoot(p.ProjectRoot, p.Definition)
	}
	// Where the plan goes on after an interruption nothing is rechecked, and the
	// definition is compiled only if a worker needs a sensitive variable.
	var secrets lang.Secrets
	recheck := func() (*plan.Plan, error) {
		c, _, err := compile(src, p.Run.Name, lang.CompileOptions{ProgramsRequired: true, After: p.Run.After})
		if err != nil {
			return nil, err
		}
		secrets = c.Secrets
		return c.Plan, nil
	}
	env := s.engine(p.ProjectRoot, func(variable string) (string, bool) {
		if secrets == nil {
			if _, err := recheck(); err != nil {
				return "", false
			}
		}
		return secrets(variable)
	})
	return s.drive(ctx, env, runtime.ApplyOptions{
		Plan: p, Saved: true, Recheck: recheck, Again: s.again(runOrFile(s.absolute(file)), p, o.vars),
	})
}

// savedPlan reads the plan that a command line names. Whoever names a file that
// is none is told what it is, or what apply takes instead.
func (s *session) savedPlan(file string) (*plan.Plan, error) {
	path := s.absolute(file)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no file %s: a saved plan is a file that \"okstra plan --out\" wrote; a run is a name without a slash or a dot", file)
	case err == nil && (info.IsDir() || strings.HasSuffix(path, ".hcl") || strings.HasSuffix(path, ".hcl.json")):
		return nil, usage(applyCommand(), "%s is a definition and no saved plan; to apply a run of it, write: %s", file, view.ShellQuote([]string{"okstra", "apply", "-f", file}))
	}
	p, err := readPlan(path)
	if _, malformed := errors.AsType[*json.SyntaxError](err); malformed {
		return nil, fmt.Errorf("%s is no saved plan, which is a JSON file that \"okstra plan --out\" wrote; a definition is given with -f: %w", file, err)
	}
	return p, err
}

// maxPlan bounds a plan file: 10,000 workers with long prompts stay below.
const maxPlan = 1 << 30

// readPlan reads a saved plan and checks its form.
func readPlan(path string) (*plan.Plan, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open plan: %w", err)
	}
	defer f.Close() // it is only read
	b, err := io.ReadAll(io.LimitReader(f, maxPlan))
	if err != nil {
		return nil, fmt.Errorf("read plan %s: %w", path, err)
	}
	p, err := runtime.DecodePlan(b, path)
	if err != nil {
		return nil, err
	}
	if err := schema.Validate(schema.Plan, b); err != nil {
		return nil, fmt.Errorf("plan %s: %w", path, err)
	}
	return p, nil
}

// savedVariables gives the compiler what the plan was compiled with: the files
// first, so that they are inputs again, then the values that --var gave, which
// stand nowhere else. The environment and files are read again, as inputs.
func savedVariables(p *plan.Plan) []lang.VarArg {
	var args []lang.VarArg
	for _, file := range p.VariableFiles {
		args = append(args, lang.VarArg{File: underRoot(p.ProjectRoot, file)})
	}
	for _, v := range p.Variables {
		if v.Source == "--var" && !v.Sensitive {
			args = append(args, lang.VarArg{Var: v.Name + "=" + argument(v.Value)})
		}
	}
	return args
}

// argument writes a value as --var takes it: text as it is, anything else as an
// expression, for which JSON serves once templates in it are escaped.
func argument(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	b, err := json.Marshal(value)
	if err != nil {
		panic(err) // it was read from JSON
	}
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(string(b))
}

// underRoot makes a path of a plan absolute.
func underRoot(root, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(root, path)
}

// drive runs the engine and always ends with a summary.
func (s *session) drive(ctx context.Context, env runtime.Env, o runtime.ApplyOptions) error {
	progress := s.view.Progress()
	o.Progress = progress
	if s.env.asks() && !s.view.JSON {
		run := paths.Run{Root: o.Plan.ProjectRoot, Task: o.Plan.Run.Task, TaskType: o.Plan.Run.TaskType}
		name, _, _ := strings.Cut(run.Ref(), "@")
		sel := runtime.Selector{ProjectRoot: run.Root, Name: name, Seq: o.Seq}
		o.Asker = &asker{in: s.env.Stdin, view: s.view, status: func(ctx context.Context) (*runtime.RunStatus, *record.State) {
			st, err := runtime.Status(ctx, env, sel)
			if err != nil {
				s.view.Note("status: " + err.Error())
				return nil, nil
			}
			rec, err := record.Load(st.Run.TeamState())
			if err != nil {
				s.view.Note("status: " + err.Error())
			}
			return st, rec
		}}
	}
	outcome, err := runtime.Apply(ctx, env, o)
	return s.finish(ctx, env, outcome, progress.Err, err)
}

// finish shows how a driven run stands and turns it into an exit code.
func (s *session) finish(ctx context.Context, env runtime.Env, o *runtime.Outcome, broken, err error) error {
	if o == nil {
		if err == nil {
			panic("a driven run without outcome and without error")
		}
		return err
	}
	if err != nil {
		o = stopped(o, exitCode(ctx, err))
	}
	var status *runtime.RunStatus
	if o.Run.Seq > 0 && o.State != nil {
		// The summary must come out even where the run was interrupted.
		st, statusErr := runtime.Status(context.WithoutCancel(ctx), env, runtime.Selector{ProjectRoot: o.Run.Root, Name: o.Run.Ref()})
		if statusErr != nil {
			s.view.Note("status: " + statusErr.Error())
		}
		status = st
	}
	if shown := s.view.Outcome(o, status, s.env.Now()); shown != nil {
		return shown
	}
	return ending(o, broken, err)
}

// ending is what a verb that drove a run returns for its outcome; broken is
// why progress could not be shown.
func ending(o *runtime.Outcome, broken, err error) error {
	switch {
	case err != nil:
		return err
	case broken != nil:
		return fmt.Errorf("show progress: %w", broken)
	case o.Exit != ExitDone:
		return exit(o.Exit)
	}
	return nil
}

// stopped is the outcome of a verb that an error ended. A signal detaches: the
// run can be taken up again, and whoever sent it is told how, by the engine if
// it got as far.
func stopped(o *runtime.Outcome, code int) *runtime.Outcome {
	out := *o
	out.Exit = code
	if code > 128 && len(out.Next) == 0 {
		out.Summary = "Interrupted: nothing more is started, and workers that run go on."
		out.Next = []string{"okstra apply " + o.RunName, "okstra stop " + o.RunName}
	}
	return &out
}
