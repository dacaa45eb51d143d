package lang

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

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
		Duty:  st.duty.name, Role: st.duty.role, RoleDescription: st.duty.about, Access: st.duty.access,
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
				place = keyPlace{key: at, value: at}
			}
			p := d.parameter(name)
			if p == nil {
				var known []string
				for _, p := range d.parameters {
					known = append(known, p.name)
				}
				hint := meant(name, known)
				if len(known) == 0 {
					hint = fmt.Sprintf(" It has none at all: write parameter %q { … } in it, or remove this.", name)
				}
				r.fault(place.key, SummaryUnknownParameter, "The duty %q has no parameter %q.%s", d.name, name, hint)
				good = false
				continue
			}
			v, err := p.typed.conform(elements[name])
			if err != nil {
				r.fault(place.value, SummaryWrongType, "The parameter %q of duty %q does not have the declared type: %s.", name, d.name, err)
				v = cty.DynamicVal
			} else if why := tooLarge(v); why != "" {
				r.fault(place.value, SummaryTooLarge, "The parameter %q of duty %q is too large: %s.", name, d.name, why)
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
