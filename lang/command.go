package lang

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"

	"github.com/okstra/okstra/lang/plan"
)

// envValue is one variable of an env attribute.
type envValue struct {
	value   plan.Template
	dropped bool // null: left out, whatever a farther one says
	at      hcl.Range
}

var envForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
})

func (c *compiler) envName(name string, at hcl.Range) bool {
	switch {
	case !envForm().MatchString(name):
		c.fault(at, SummaryName, "An environment variable is named with letters, digits and _, not %q.", name)
	case strings.HasPrefix(name, "OKSTRA_"):
		c.fault(at, SummaryName, "%s: names that begin with OKSTRA_ are okstra's own, and set for every worker.", name)
	default:
		return true
	}
	return false
}

func (c *compiler) env(w *work) []plan.EnvVar {
	p := w.st.provider
	merged := map[string]envValue{}
	for _, a := range []*hcl.Attribute{p.attr("env"), p.access[w.st.duty.access].attr("env"), w.st.participantDecl().attr("env")} {
		for name, v := range c.templateMap(w, a) {
			merged[name] = v
		}
	}
	out := []plan.EnvVar{}
	for _, name := range names(merged) {
		v := merged[name]
		if v.dropped {
			continue
		}
		out = append(out, plan.EnvVar{Name: name, Value: v.value})
		if _, ok := w.st.origins["env."+name]; !ok {
			w.st.origins["env."+name] = c.def.position(v.at)
		}
	}
	return out
}

func literalSize(t plan.Template) int {
	n := 0
	for _, s := range t {
		n += len(s.Text)
	}
	return n
}

// argv puts the command line together and looks its program up.
func (c *compiler) argv(w *work) ([]plan.Template, plan.Program) {
	p := w.st.provider
	command := p.attr("command")
	if command == nil && p.misread {
		return nil, plan.Program{}
	}
	if command == nil {
		c.fault(w.st.at, SummaryCommand, "The provider %q has no command. Write a provider that extends it and says what to run: provider \"NAME\" { extends = provider.%s, command = [ … ] }, an attribute a line.", p.name, p.name)
		return nil, plan.Program{}
	}
	argv, ok := c.templates(w, command, whereArgument)
	if !ok {
		return nil, plan.Program{}
	}
	if len(argv) == 0 || len(argv[0]) != 1 || argv[0][0].Ref != "" {
		c.fault(command.Expr.Range(), SummaryCommand, "command is a list that begins with a program: its name on PATH, or a path.")
		return nil, plan.Program{}
	}
	argv = slices.Clip(argv)
	add := func(a *hcl.Attribute) {
		more, _ := c.templates(w, a, whereArgument)
		argv = append(argv, more...)
	}
	add(p.access[w.st.duty.access].attr("args"))
	add(p.attr("args"))
	if w.st.model != "" {
		add(p.attr("model_args"))
	}
	add(w.st.participantDecl().attr("args"))
	total := 0
	for _, t := range argv {
		n := literalSize(t)
		total += n + 1
		if n > maxArg {
			c.fault(command.Expr.Range(), SummaryTooLarge, "An argument of the command line has %d bytes; the system takes at most %d. Give long texts in the prompt.", n, maxArg)
			return argv, plan.Program{}
		}
	}
	if total > maxArgv || len(argv) > maxList {
		c.fault(command.Expr.Range(), SummaryTooLarge, "The command line has %d arguments and %d bytes; %d and %d are the most.", len(argv), total, maxList, maxArgv)
	}
	return argv, c.program(argv[0][0].Text, command.Expr.Range())
}

// program looks argv[0] up, once for each name.
func (c *compiler) program(name string, at hcl.Range) plan.Program {
	path := c.programPath(name, at)
	prog, ok := c.programs[path]
	if !ok {
		prog = c.def.source.World.Program(path)
		c.programs[path] = prog
	}
	if prog.Problem != "" {
		d := caution(at, SummaryProgram, "%s. %s.", prog.Problem, upper(prog.Remedy))
		if c.opts.ProgramsRequired {
			d.Severity = hcl.DiagError
		}
		c.diags = append(c.diags, d)
	}
	return prog
}
