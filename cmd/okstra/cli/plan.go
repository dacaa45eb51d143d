package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/okstra/okstra/cmd/okstra/view"
	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime"
	"github.com/okstra/okstra/runtime/durable"
	"github.com/okstra/okstra/runtime/jobs"
)

type planOptions struct {
	definitionFlags
	out          string
	explain      string
	detailedExit bool
	fresh        bool
	replace      []string
	backend      string
	after        string
}

func planCommand() *command {
	return &command{
		name:     "plan",
		group:    groupRun,
		operands: []operand{{name: "RUN", kind: kindRecorded, optional: true}},
		short:    "show what apply would do; start nothing, write nothing",
		long: `Compiles the run, compares it with what is recorded, and shows the difference: for every worker what would happen to it and why, for every round what it waits for, where panes would stand, and what the whole can cost at worst.

plan only reads. It may ask git and the multiplexers for their lists; it starts no worker, pane or server, and writes no file but the one that --out names. A plan saved with --out is executed by "okstra apply FILE" exactly as it was shown, or refused with the thing that moved.

RUN@NUMBER plans how that recorded run goes on; without a number it is the latest, or the next.

+ dispatch  = done  > adopt  ^ retry  ~ redo  - dropped  ! blocked  ? wait`,
		example: `okstra plan review
okstra plan review --var base=develop --out review.plan.json
okstra plan review --explain analysis.find-defects.ada
okstra plan review --detailed-exitcode --json`,
		bind: func(fs *pflag.FlagSet) run {
			o := &planOptions{}
			o.bind(fs)
			return o.run
		},
	}
}

func (o *planOptions) bind(fs *pflag.FlagSet) {
	fs.StringVar(&o.out, "out", "", "save the plan to `FILE` for apply")
	fs.StringVar(&o.explain, "explain", "", "show everything that is settled of one `WORKER`")
	fs.BoolVar(&o.detailedExit, "detailed-exitcode", false, "exit with 2 where there is work to do, with 0 where there is none")
	fs.BoolVar(&o.fresh, "new", false, "plan the next run number, whatever is recorded")
	fs.StringArrayVar(&o.replace, "replace", nil, "redo this `WORKER`, by key or label; repeatable")
	fs.StringVar(&o.backend, "backend", "", "start the workers on this `BACKEND`: cmux, tmux or process")
	fs.StringVar(&o.after, "after", "", "a new run that reads the report of the recorded `RUN`")
	o.definitionFlags.bind(fs)
}

func (o *planOptions) run(ctx context.Context, s *session, operands []string) error {
	if o.out != "" && o.explain != "" {
		return usage(planCommand(), "--out and --explain do not go together")
	}
	if definitionName(o.out) {
		return remedied(usage(planCommand(), "--out %s: files of this name are read as definitions or values of variables", o.out),
			"Name it otherwise, such as review.plan.json.")
	}
	p, err := s.prepare(ctx, planRequest{
		run: optional(operands, 0), vars: o.vars, after: o.after,
		backend: o.backend, fresh: o.fresh, replace: words(o.replace),
	})
	if err != nil {
		return err
	}
	s.view.Warnings(p.diags, p.files())
	if o.explain != "" {
		return s.explainWorker(p.plan, o.explain)
	}
	if o.out != "" {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := savePlan(s.absolute(o.out), p.plan); err != nil {
			return fmt.Errorf("save plan %s: %w", o.out, err)
		}
	}
	if err := s.view.Plan(p.plan); err != nil {
		return err
	}
	if o.out != "" && !s.view.JSON {
		if err := s.view.Lines("", s.saved(o.out, p.plan)); err != nil {
			return err
		}
	}
	if o.detailedExit && p.plan.Difference.Work() {
		return exit(ExitWork)
	}
	return nil
}

// saved says what a saved plan is good for.
func (s *session) saved(file string, p *plan.Plan) string {
	if !p.Difference.Work() {
		return "Saved, though there is nothing to do in it."
	}
	if s.globals.moved {
		file = s.absolute(file)
	}
	return "Saved. To execute exactly this plan: okstra apply " + view.ShellQuote([]string{runOrFile(file)})
}

// words splits the values of a flag that takes several names, so that
// "--replace a,b" and "--replace a --replace b" are the same. Worker keys hold
// no commas.
func words(values []string) []string {
	var out []string
	for _, v := range values {
		for w := range strings.SplitSeq(v, ",") {
			if w = strings.TrimSpace(w); w != "" {
				out = append(out, w)
			}
		}
	}
	return out
}

// definitionName reports whether a file of this name is read as a part of a
// definition, or as values of its variables, wherever one looks for them.
func definitionName(path string) bool {
	name := strings.ToLower(filepath.Base(path))
	return strings.HasSuffix(name, ".hcl") || strings.HasSuffix(name, ".hcl.json")
}

// savePlan writes a plan so that a crash leaves the old file or the new one.
// Only a saved plan or an empty file is replaced: the name may be that of the
// definition.
func savePlan(path string, p *plan.Plan) error {
	b, err := plan.Indented(p)
	if err != nil {
		return err
	}
	if err := replaceable(path); err != nil {
		return err
	}
	if err := durable.WriteFile(path, b, 0o600); err != nil {
		return reason(err)
	}
	return nil
}

// replaceable says why a plan may not be put in the place of what is there.
func replaceable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("there is no folder %s", filepath.Dir(path))
		}
		return nil
	case err != nil:
		return reason(err)
	case info.IsDir():
		return errors.New("this is a folder; name a file in it")
	case !info.Mode().IsRegular():
		return errors.New("this is not a regular file")
	case info.Size() == 0:
		return nil
	}
	if _, err := readPlan(path); err != nil {
		return errors.New("there is a file of this name already that is no saved plan; name another, or remove it first")
	}
	return nil
}

// explainWorker shows one worker, however a person names it.
func (s *session) explainWorker(p *plan.Plan, name string) error {
	r, w, err := planWorker(p, name)
	if err != nil {
		return remedied(err, "The plan lists all of them: "+view.ShellQuote(append([]string{"okstra", "plan", p.Run.Name}, s.place()...)))
	}
	batch := paths.FirstBatch(r)
	e := view.Explanation{Worker: w, Round: r.Name}
	attempt := 1
	for i, a := range p.Difference.Workers {
		if a.Key == w.Key {
			e.Action = &p.Difference.Workers[i]
			attempt = max(1, a.Attempt)
		}
	}
	files := paths.Attempt{
		Run:    paths.Run{Root: p.ProjectRoot, Task: p.Run.Task, TaskType: p.Run.TaskType, Seq: p.State.Seq},
		Batch:  batch,
		Stem:   paths.Stem(w.Role, w.Duty, w.ParticipantRef, w.EachKey),
		Number: attempt,
		Report: r.Kind == plan.RoundReportWriter,
	}
	e.Prompt = runtime.Prompt(p, r, w, files, string(jobs.KindOf(batch, attempt)), "")
	return s.view.Explain(e)
}

// planWorker finds the worker that a person means, as logs and why find it: by
// its key, its label, an invocation reference, or any part of a key between
// dots that means only one. A name that several have or none is an error that
// lists what there is.
func planWorker(p *plan.Plan, name string) (*plan.Round, *plan.Worker, error) {
	assignment, _, invocation := strings.Cut(name, "@")
	var exact, partly, all []string
	for i := range p.Rounds {
		for _, w := range p.Rounds[i].Workers {
			all = append(all, w.Key)
			switch {
			case w.Key == name, w.Label == name, invocation && w.AssignmentRef == assignment:
				exact = append(exact, w.Key)
			case slices.Contains(strings.Split(w.Key, "."), name):
				partly = append(partly, w.Key)
			}
		}
	}
	meant := exact
	if len(meant) == 0 {
		meant = partly
	}
	var err error
	switch {
	case len(meant) == 1:
		r, w := p.Worker(meant[0])
		return r, w, nil
	case len(meant) > 1:
		err = usage(planCommand(), "%q means several workers; say which: %s", name, plan.Some(meant))
	case len(all) == 0:
		err = usage(planCommand(), "run %s has no workers", p.Run.Name)
	default:
		err = usage(planCommand(), "run %s has no worker %q; there are %s", p.Run.Name, name, plan.Some(plan.NearestFirst(name, all)))
	}
	return nil, nil, err
}
