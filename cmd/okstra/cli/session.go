package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/spf13/afero"
	"github.com/spf13/pflag"

	"github.com/okstra/okstra/cmd/okstra/view"
	"github.com/okstra/okstra/lang"
	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime"
	"github.com/okstra/okstra/runtime/launch"
)

// session is one command line while it runs.
type session struct {
	env     Env
	globals *globals
	view    *view.View
}

// definitionFlags are the flags of verbs that evaluate a definition.
type definitionFlags struct {
	vars []lang.VarArg // in command-line order
}

func (d *definitionFlags) bind(fs *pflag.FlagSet) {
	fs.Var(&varFlag{args: &d.vars}, "var", "set a variable: `NAME=VALUE`; repeatable")
	fs.Var(&varFlag{args: &d.vars, file: true}, "var-file", "set variables from a `FILE`; repeatable")
}

// varFlag keeps --var and --var-file in their common order.
type varFlag struct {
	args *[]lang.VarArg
	file bool
}

func (v *varFlag) String() string { return "" }
func (v *varFlag) Type() string   { return "string" }

func (v *varFlag) Set(s string) error {
	if v.file {
		if s == "" {
			return errors.New("the file has no name")
		}
		*v.args = append(*v.args, lang.VarArg{File: s})
		return nil
	}
	if !regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*=`).MatchString(s) {
		// What was given may hold a secret.
		return errors.New("write NAME=VALUE, with the name of a variable before the first =")
	}
	*v.args = append(*v.args, lang.VarArg{Var: s})
	return nil
}

// source says where the definition of this command line is.
func (s *session) source(vars []lang.VarArg) lang.Source {
	return lang.Source{
		Fs:          afero.NewReadOnlyFs(afero.NewOsFs()),
		Dir:         s.globals.dir,
		File:        s.globals.file,
		ProjectRoot: s.globals.projectRoot,
		Vars:        vars,
		World:       newWorld(s.env),
		Version:     release,
	}
}

// loaded is a definition with what was said about it so far.
type loaded struct {
	*lang.Definition
	diags hcl.Diagnostics
}

// err returns the diagnostics as an error if one of them is an error.
func (l loaded) err() error {
	if !l.diags.HasErrors() {
		return nil
	}
	return &definitionError{l.diags, l.files()}
}

func (l loaded) files() map[string]*hcl.File {
	if l.Definition == nil {
		return nil
	}
	return l.Files()
}

// load reads the definition. A definition with errors comes back as well, as
// far as it could be made.
func (s *session) load(vars []lang.VarArg) loaded { return loadSource(s.source(vars)) }

func loadSource(src lang.Source) loaded {
	def, diags := lang.Load(src)
	return loaded{def, diags}
}

// compile loads the definition and compiles one run, whatever loading found,
// so that all mistakes show at once. Warnings are shown only by the caller,
// once everything is known.
func compile(src lang.Source, run string, o lang.CompileOptions) (*lang.Compiled, loaded, error) {
	l := loadSource(src)
	c, diags := lang.Compile(l.Definition, run, o)
	l.diags = append(l.diags, diags...)
	if err := l.err(); err != nil {
		return nil, l, err
	}
	return c, l, nil
}

// compileFirst compiles what a verb is about to execute. Nothing is written or
// started yet, so a signal ends this as it ends a verb that only reads.
func (s *session) compileFirst(ctx context.Context, src lang.Source, run string, o lang.CompileOptions) (*lang.Compiled, loaded, error) {
	defer s.endSoon(ctx)()
	c, l, err := compile(src, run, o)
	if ctx.Err() != nil {
		return nil, l, context.Cause(ctx)
	}
	return c, l, err
}

// prepared is a plan that shows what apply would do.
type prepared struct {
	plan *plan.Plan
	env  runtime.Env
	loaded
}

// planRequest is what plan is asked for.
type planRequest struct {
	run     string // RUN or RUN@NUMBER
	vars    []lang.VarArg
	after   string
	backend string
	fresh   bool // --new
	replace []string
}

// prepare compiles a run and compares it with what is recorded. It only reads.
func (s *session) prepare(ctx context.Context, r planRequest) (*prepared, error) {
	name, seq, err := numberedRun(r.run)
	if err != nil {
		return nil, err
	}
	if err := s.knownBackend(r.backend); err != nil {
		return nil, err
	}
	c, l, err := compile(s.source(r.vars), name, lang.CompileOptions{ProgramsRequired: true, After: r.after})
	if err != nil {
		return nil, err
	}
	p := &prepared{plan: c.Plan, env: s.engine(c.Plan.ProjectRoot, c.Secrets), loaded: l}
	rec, err := runtime.ObserveRun(ctx, p.env, c.Plan, seq)
	if err != nil {
		return nil, err
	}
	if err := plan.Diff(c.Plan, rec, plan.DiffOptions{New: r.fresh, Replace: r.replace}); err != nil {
		return nil, usage(nil, "%s", err)
	}
	if err := runtime.ChooseBackend(ctx, p.env, c.Plan, rec, r.backend); err != nil {
		return nil, err
	}
	return p, nil
}

// engine is what the runtime takes from this process.
func (s *session) engine(projectRoot string, secret lang.Secrets) runtime.Env {
	return runtime.Env{
		Okstra:   s.env.Executable,
		Version:  release,
		Environ:  s.env.Environ,
		Backends: s.env.Backends(s.env, projectRoot),
		Now:      s.env.Now,
		Ours:     outputFiles(s.env.Stdout, s.env.Stderr),
		Secret:   secret,
		Catalog:  s.catalogWorkers,
	}
}

// outputFiles are the files that output was redirected to.
func outputFiles(streams ...io.Writer) []launch.FileID {
	var out []launch.FileID
	for _, w := range streams {
		f, ok := w.(*os.File)
		if !ok {
			continue
		}
		if info, err := f.Stat(); err == nil {
			if id, regular := launch.IDOf(info); regular {
				out = append(out, id)
			}
		}
	}
	return out
}

// knownBackend refuses the value of --backend that no backend is called.
func (s *session) knownBackend(name string) error {
	if name == "" || slices.Contains(backendOrder, name) {
		return nil
	}
	return usage(nil, "there is no backend %q; there are %s", name, strings.Join(backendOrder, ", "))
}

// again is what stands after "okstra apply" to go on with what this command
// line begins, from any folder: the operand, then pairs of flag and value.
// Values of sensitive variables are not in it.
func (s *session) again(operand string, p *plan.Plan, vars []lang.VarArg) []string {
	out := []string{operand}
	if s.globals.moved {
		out = append(out, "-C", s.globals.dir)
	}
	if s.globals.file != "" {
		out = append(out, "-f", s.absolute(s.globals.file))
	}
	if s.globals.projectRoot != "" {
		out = append(out, "--project-root", s.absolute(s.globals.projectRoot))
	}
	open := map[string]bool{}
	for _, v := range p.Variables {
		open[v.Name] = !v.Sensitive
	}
	for _, v := range vars {
		name, _, _ := strings.Cut(v.Var, "=")
		switch {
		case v.File != "":
			out = append(out, "--var-file", s.absolute(v.File))
		case open[name]:
			out = append(out, "--var", v.Var)
		}
	}
	return out
}

// selector reads RUN or RUN@NUMBER; empty means the only recorded run.
func (s *session) selector(name string) (runtime.Selector, error) {
	root, err := s.projectRoot()
	if err != nil {
		return runtime.Selector{}, err
	}
	sel, err := runtime.ParseSelector(root, name)
	if err != nil {
		return sel, usage(nil, "%s", err)
	}
	return sel, nil
}

// projectRoot finds the project for verbs that read records only, so that they
// work whatever state the definition is in.
func (s *session) projectRoot() (string, error) {
	if s.globals.projectRoot != "" {
		root := s.absolute(s.globals.projectRoot)
		if info, err := os.Stat(root); err != nil {
			return "", fmt.Errorf("project root: %w", err)
		} else if !info.IsDir() {
			return "", fmt.Errorf("project root %s is not a folder", root)
		}
		return filepath.EvalSymlinks(root)
	}
	// Without -f the definition would lie in the working directory, and a path
	// named okstra stands for every name that it may have there.
	definition := filepath.Join(s.globals.dir, "okstra")
	if s.globals.file != "" {
		definition = s.absolute(s.globals.file)
	}
	return lang.ProjectRoot(s.source(nil).Fs, definition), nil
}

// optional returns the i-th operand or "".
func optional(operands []string, i int) string {
	if i < len(operands) {
		return operands[i]
	}
	return ""
}
