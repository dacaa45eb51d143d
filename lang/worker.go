package lang

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
)

// work is one worker while it is made.
type work struct {
	st    *station
	el    *element             // nil without for_each
	scope map[string]cty.Value // of expressions
}

func (w *work) key() *string {
	if w.el == nil {
		return nil
	}
	return &w.el.key
}

// worker makes one worker and adds it to its round.
func (c *compiler) worker(st *station, el *element) {
	w := &work{st: st, el: el}
	ref := paths.AssignmentRef(st.round.Name, st.duty.name, st.ref, w.key())
	if first, dup := c.assigned[ref]; dup {
		c.fault(st.at, SummaryDuplicateWorker, "The duty %q is already given to %q in the round %q, at %s. Remove one, or tell them apart with keys of for_each that differ.", st.duty.name, st.ref, st.round.Name, first)
		return
	}
	c.assigned[ref] = st.at
	if stem := paths.Stem(st.duty.role, st.duty.name, st.ref, w.key()); len(stem) > paths.MaxStem {
		c.tooLong(st, stem)
		return
	}
	params := c.params(w)
	w.scope = maps.Clone(st.scope)
	w.scope["param"] = params
	if el != nil {
		w.scope["each"] = eachValue(el)
		w.scope["worker"] = st.workerValue(cty.StringVal(el.key))
	}
	out := plan.Worker{
		Key:            paths.WorkerKey(st.round.Name, st.duty.name, st.ref, w.key()),
		AssignmentRef:  ref,
		ParticipantRef: st.ref, RoleExecutionRef: st.duty.role + "/" + st.ref,
		Label: st.provider.name + "-" + st.duty.role,
		Duty:  st.duty.name, Role: st.duty.role, Access: st.duty.access,
		Provider: st.provider.name, Model: st.model, EachKey: w.key(),
		UnsetEnv: st.provider.unsetEnv, Prompt: st.provider.prompt, Result: st.result, Output: st.provider.output,
		Emits: st.duty.emits, Audit: st.audit, Outputs: st.duty.outputs,
		Limits: st.limits, Retry: st.retry, ExitCodes: st.provider.exits, Worst: st.provider.worst,
		Origins: st.origins,
	}
	instructions := c.instructions(w)
	out.Instructions = instructions.template
	out.Argv, out.Program = c.argv(w)
	out.Env = c.env(w)
	out.Dir = c.dir(w)
	out.Inputs = c.inputPaths(w)
	out.Title = c.title(w)
	out.Digests = plan.Digests{
		Catalog: c.plan.Catalog, Duty: st.dutyDigest, Instruction: instructions.digest,
		Assignment: plan.Digest(c.assignmentContent(w, &out, instructions.relative)),
	}
	st.round.Workers = append(st.round.Workers, out)
}

func eachValue(el *element) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal(el.key), "value": el.value})
}

// params works out the values of the duty's parameters; what depends on one
// that is faulty is not known, and says nothing.
func (c *compiler) params(w *work) cty.Value {
	d, a := w.st.duty, w.st.assign.attr("with")
	if len(d.parameters) == 0 && a == nil {
		return cty.EmptyObjectVal
	}
	values := maps.Clone(d.params)
	good := true
	at := w.st.assign.header
	if a != nil {
		at = a.Expr.Range()
		r := &resolver{eval: c.eval}
		if w.el != nil {
			r.scope = map[string]cty.Value{"each": eachValue(w.el)}
		}
		given, ok := r.value(a)
		switch {
		case !ok:
			good = !r.diags.HasErrors() && !c.eval.look(a.Expr).bad
			given = cty.EmptyObjectVal
		case !given.Type().IsObjectType() && !given.Type().IsMapType():
			r.wrong(at, "with", "an object: write { parameter = value, … }", given)
			good, given = false, cty.EmptyObjectVal
		}
		places := keyPlaces(a.Expr)
		elements := given.AsValueMap()
		for _, name := range names(elements) {
			place, ok := places[name]
			if !ok {
				place = keyPlace{at, at}
			}
			p := d.parameter(name)
			if p == nil {
				var known []string
				for _, p := range d.parameters {
					known = append(known, p.name)
				}
				r.fault(place.key, SummaryParameter, "The duty %q has no parameter %q.%s", d.name, name, meant(name, known))
				good = false
				continue
			}
			v, err := p.typed.conform(elements[name])
			if err != nil {
				r.fault(place.value, SummaryWrongType, "The parameter %q of duty %q does not have the declared type: %s.", name, d.name, err)
				v = cty.DynamicVal
			}
			values[name] = v
		}
		c.diags = append(c.diags, r.diags...)
	}
	for _, p := range d.parameters {
		if _, ok := values[p.name]; ok {
			continue
		}
		values[p.name] = cty.DynamicVal
		if good {
			c.fault(at, SummaryParameter, "The duty %q needs the parameter %q: write with = { %s = … }.", d.name, p.name, p.name)
		}
	}
	return cty.ObjectVal(values)
}

// shared returns f's result, worked out once for all workers for which it is
// the same.
func shared[T any](c *compiler, w *work, expr hcl.Expression, form string, f func() T) T {
	key := memoKey{expr: expr, form: form}
	switch c.eval.look(expr).variation {
	case perWorker:
		return f()
	case perStation:
		key.station = w.st
	}
	if v, ok := c.memo[key]; ok {
		return v.(T)
	}
	v := f()
	c.memo[key] = v
	return v
}

// evaluate evaluates an expression for one worker; symbols stay in it.
func (c *compiler) evaluate(w *work, expr hcl.Expression) (cty.Value, bool) {
	x := c.eval.look(expr)
	if x.bad {
		return cty.NilVal, false
	}
	if x.usesEach != nil && w.el == nil {
		c.fault(x.usesEach.SourceRange(), SummaryNotInScope, "each is only known with for_each, and an assign without it gives this work to %s. Add for_each there, or pass the value as a parameter.", w.st.ref)
		return cty.NilVal, false
	}
	v, diags := c.eval.value(expr, w.scope)
	c.diags = append(c.diags, diags...)
	if diags.HasErrors() {
		return cty.NilVal, false
	}
	bare, _ := v.UnmarkDeep()
	if !bare.IsWhollyKnown() || bare.IsNull() {
		return cty.NilVal, false
	}
	if why := tooLarge(v); why != "" {
		c.fault(expr.Range(), SummaryTooLarge, "This value is too large: %s.", why)
		return cty.NilVal, false
	}
	return v, true
}

// where says what may stand in a template.
type where int

const (
	whereArgument where = iota + 1 // symbolic paths
	whereEnv                       // and sensitive variables
	whereText                      // text only
)

// asTemplate turns an evaluated string into a template.
func (c *compiler) asTemplate(v cty.Value, at hcl.Range, name string, in where) (plan.Template, bool) {
	marks := marksOf(v)
	bare, _ := v.UnmarkDeep()
	s, ok := toText(bare)
	if !ok {
		c.wrong(at, name, "a string", bare)
		return nil, false
	}
	t, ok := split(s.AsString(), marks)
	if !ok {
		c.nul(at)
		return nil, false
	}
	if lost := decided(marks, t); len(lost) > 0 {
		c.diags = append(c.diags, symbolFault(at, lost))
		return nil, false
	}
	for _, ref := range t.Refs() {
		if _, secret := ref.SecretName(); in == whereText || secret && in != whereEnv {
			c.diags = append(c.diags, symbolFault(at, []symbolMark{symbolMark(ref)}))
			return nil, false
		}
	}
	return t, true
}

// outcome is a shared result and whether it could be made.
type outcome[T any] struct {
	value T
	ok    bool
}

// template evaluates a string attribute.
func (c *compiler) template(w *work, a *hcl.Attribute, in where) (plan.Template, bool) {
	if a == nil {
		return nil, false
	}
	o := shared(c, w, a.Expr, "template", func() outcome[plan.Template] {
		v, ok := c.evaluate(w, a.Expr)
		if !ok {
			return outcome[plan.Template]{}
		}
		t, ok := c.asTemplate(v, a.Expr.Range(), a.Name, in)
		return outcome[plan.Template]{t, ok}
	})
	return o.value, o.ok
}

// templates evaluates a list of strings; nulls are dropped.
func (c *compiler) templates(w *work, a *hcl.Attribute, in where) ([]plan.Template, bool) {
	if a == nil {
		return nil, false
	}
	o := shared(c, w, a.Expr, "templates", func() outcome[[]plan.Template] {
		v, ok := c.evaluate(w, a.Expr)
		if !ok {
			return outcome[[]plan.Template]{}
		}
		marks := marksOf(v)
		bare, outer := v.Unmark()
		var out []plan.Template
		good := c.elements(a, bare, func(e cty.Value, at hcl.Range) bool {
			t, ok := c.asTemplate(e.WithMarks(symbolsIn(e, outer)), at, "An element of "+a.Name, in)
			out = append(out, t)
			return ok
		})
		if good {
			if lost := decided(marks, out...); len(lost) > 0 {
				c.diags = append(c.diags, symbolFault(a.Expr.Range(), lost))
				good = false
			}
		}
		return outcome[[]plan.Template]{out, good}
	})
	return o.value, o.ok
}

// symbolsIn returns those marks of a whole list whose token stands in one of
// its elements: a conditional over lists marks the list, not what is in it.
func symbolsIn(e cty.Value, outer cty.ValueMarks) cty.ValueMarks {
	out := cty.ValueMarks{}
	bare, _ := e.UnmarkDeep()
	if len(outer) == 0 || bare.IsNull() || bare.Type() != cty.String {
		return out
	}
	for m := range outer {
		if s, ok := m.(symbolMark); ok && strings.Contains(bare.AsString(), tokenEdge+string(s)+tokenEdge) {
			out[m] = struct{}{}
		}
	}
	return out
}

// templateMap evaluates an object of strings.
func (c *compiler) templateMap(w *work, a *hcl.Attribute) map[string]envValue {
	if a == nil {
		return nil
	}
	return shared(c, w, a.Expr, "map", func() map[string]envValue {
		v, ok := c.evaluate(w, a.Expr)
		if !ok {
			return nil
		}
		marks := marksOf(v)
		bare, outer := v.Unmark()
		if t := bare.Type(); !t.IsObjectType() && !t.IsMapType() {
			c.wrong(a.Expr.Range(), a.Name, "an object: write { NAME = value, … }", bare)
			return nil
		}
		places := keyPlaces(a.Expr)
		out := map[string]envValue{}
		var all []plan.Template
		good := true
		elements := bare.AsValueMap()
		for _, name := range names(elements) {
			place, ok := places[name]
			if !ok {
				place = keyPlace{a.Expr.Range(), a.Expr.Range()}
			}
			if !c.envName(name, place.key) {
				good = false
				continue
			}
			e := elements[name]
			if plain, _ := e.Unmark(); plain.IsNull() {
				out[name] = envValue{dropped: true, at: place.value}
				continue
			}
			t, ok := c.asTemplate(e.WithMarks(symbolsIn(e, outer)), place.value, a.Name+"."+name, whereEnv)
			good = good && ok
			if ok && literalSize(t) > maxArg {
				c.fault(place.value, SummaryTooLarge, "The environment variable %s has %d bytes; the system takes at most %d.", name, literalSize(t), maxArg)
			}
			all = append(all, t)
			out[name] = envValue{value: t, at: place.value}
		}
		if lost := decided(marks, all...); good && len(lost) > 0 {
			c.diags = append(c.diags, symbolFault(a.Expr.Range(), lost))
		}
		return out
	})
}

// envValue is one variable of an env attribute.
type envValue struct {
	value   plan.Template
	dropped bool // null: left out, whatever a farther one says
	at      hcl.Range
}

var envForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (c *compiler) envName(name string, at hcl.Range) bool {
	switch {
	case !envForm.MatchString(name):
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
		d := caution(at, SummaryProgram, "%s: %s. Install it, correct command, or put its folder on PATH.", name, prog.Problem)
		if c.opts.ProgramsRequired {
			d.Severity = hcl.DiagError
		}
		c.diags = append(c.diags, d)
	}
	return prog
}

// dir resolves the working directory, the nearest first.
func (c *compiler) dir(w *work) string {
	for _, d := range []*decl{&w.st.assign.decl, &w.st.decl.decl, &c.run.decl} {
		a := d.attr("dir")
		t, ok := c.template(w, a, whereText)
		if !ok {
			continue
		}
		if _, known := w.st.origins["dir"]; !known {
			w.st.origins["dir"] = c.def.position(a.Expr.Range())
		}
		p, ok := c.projectPath(t.String(), a.Expr.Range())
		if ok {
			return p
		}
		break
	}
	return "."
}

// inputPaths resolves the declared inputs: the duty's, then the assign's.
func (c *compiler) inputPaths(w *work) []string {
	out := []string{}
	for _, a := range []*hcl.Attribute{w.st.duty.attr("inputs"), w.st.assign.attr("inputs")} {
		list, ok := c.templates(w, a, whereText)
		if !ok {
			continue
		}
		for _, t := range list {
			p, ok := c.projectPath(t.String(), a.Expr.Range())
			if !ok {
				continue
			}
			c.noteInput(p, a.Expr.Range(), len(w.st.round.After) == 0)
			if !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	return out
}

// projectPath makes a path relative to the project root. One that climbs out
// is a mistake; an absolute one outside is said on purpose.
func (c *compiler) projectPath(p string, at hcl.Range) (string, bool) {
	root := c.def.ProjectRoot
	switch {
	case p == "":
		c.fault(at, SummaryWrongValue, "A path may not be empty; the project root is \".\".")
		return "", false
	case filepath.IsAbs(p):
		return relativeTo(root, filepath.Clean(p)), true
	}
	full := filepath.Join(root, p)
	if !inside(root, full) {
		c.fault(at, SummaryLeavesRoot, "%q leaves the project root, to which it is relative. Name something inside, or write the absolute path where that is meant.", p)
		return "", false
	}
	if _, err := c.def.reader.follow(full, true); err != nil {
		c.fault(at, SummaryLeavesRoot, "%s.", upper(err.Error()))
		return "", false
	}
	return relativeTo(root, full), true
}

// noteInput records a declared input. One in a folder of definitions belongs
// to the definition; any other is pinned when its worker is dispatched.
func (c *compiler) noteInput(p string, at hcl.Range, first bool) {
	d := c.def
	full := p
	if !filepath.IsAbs(p) {
		full = filepath.Join(d.ProjectRoot, p)
	}
	key := memoKey{form: "input:" + full}
	if _, ok := c.memo[key]; ok {
		return
	}
	c.memo[key] = nil
	info, err := d.reader.fsys.Stat(full)
	if err != nil {
		if first {
			c.diags = append(c.diags, caution(at, SummaryInput, "%s is not there now, and no earlier round could write it.", p))
		}
		return
	}
	if !info.Mode().IsRegular() {
		return
	}
	b, err := d.reader.bytes(full)
	if err != nil {
		c.fault(at, SummaryUnreadable, "Reading %s: %s.", p, err)
		return
	}
	kind := plan.InputProject
	for _, p := range d.places {
		if p.unit != nil && !p.unit.catalog && p.unit.folder != "" && !inside(p.unit.folder, d.ProjectRoot) && inside(p.unit.folder, full) {
			kind = plan.InputDefinition
		}
	}
	d.reader.note(kind, full, b)
}

// maxTitle bounds a pane title, in bytes.
const maxTitle = 1024

// title evaluates the pane title; empty where none is written.
func (c *compiler) title(w *work) string {
	a := c.run.panes.attr("title")
	if a == nil {
		a = c.def.settings.panes.attr("title")
	}
	t, ok := c.template(w, a, whereText)
	if !ok {
		return ""
	}
	if n := literalSize(t); n > maxTitle {
		c.fault(a.Expr.Range(), SummaryTooLarge, "A pane title has at most %d bytes; this one has %d.", maxTitle, n)
		return ""
	}
	if _, known := w.st.origins["title"]; !known {
		w.st.origins["title"] = c.def.position(a.Expr.Range())
	}
	return t.String()
}
