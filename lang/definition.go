package lang

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/okstra/okstra/lang/plan"
)

// head is what is known of a run before it is compiled.
type head struct {
	description string
	taskType    string
	task        plan.Task
	sound       bool
}

// reads is what was read up to some point.
type reads struct {
	files  map[string]plan.InputFile
	looked map[string]plan.InputFile
	env    map[string]plan.InputFile
}

// Runs describes the definition's own runs, in the order in which they are
// written (files by name).
func (d *Definition) Runs() []RunInfo {
	def, _ := d.DefaultRun()
	out := make([]RunInfo, 0, len(d.runOrder))
	for _, name := range d.runOrder {
		r, h := d.runs[name], d.heads[name]
		info := RunInfo{
			Name: name, Description: h.description, TaskType: h.taskType, Task: h.task,
			Default: name == def, Declared: d.position(r.header),
		}
		for _, rd := range r.rounds {
			info.Rounds = append(info.Rounds, rd.name)
		}
		out = append(out, info)
	}
	return out
}

// DefaultRun is the run that is meant where none is named: default_run of the
// okstra block, or the only run. ok is false where there is neither.
func (d *Definition) DefaultRun() (name string, ok bool) {
	switch {
	case d.defaultRun != "":
		return d.defaultRun, true
	case len(d.runOrder) == 1:
		return d.runOrder[0], true
	}
	return "", false
}

// Files are the parsed files by the name that ranges have, for the snippets of
// diagnostics. It holds no text of sensitive variables.
func (d *Definition) Files() map[string]*hcl.File { return d.files }

// ProviderInfo describes a provider for doctor and init.
type ProviderInfo struct {
	Name           string
	Command        []string // as far as it does not depend on a worker; empty where it does
	VersionCommand []string
	Models         map[string]string
	Env            []string // names of the variables that it sets, with any access; sorted
	Catalog        bool     // from the catalog, not of this definition
}

// Providers describes all providers in scope, sorted by name.
func (d *Definition) Providers() []ProviderInfo {
	if d.broken {
		return nil
	}
	var out []ProviderInfo
	for _, name := range names(d.providers) {
		p := d.providers[name]
		r := &resolver{eval: d.eval}
		info := ProviderInfo{Name: name, Catalog: p.unit.catalog}
		if a := p.attr("command"); a != nil && d.eval.look(a.Expr).variation == perDefinition {
			info.Command, _ = r.texts(a)
		}
		info.VersionCommand, _ = r.texts(p.attr("version_command"))
		info.Models, _ = r.textMap(p.attr("models"))
		for _, a := range []*hcl.Attribute{p.attr("env"), p.access[plan.AccessRead].attr("env"), p.access[plan.AccessWrite].attr("env")} {
			if a != nil {
				info.Env = append(info.Env, names(keyPlaces(a.Expr))...)
			}
		}
		slices.Sort(info.Env)
		info.Env = slices.Compact(info.Env)
		out = append(out, info)
	}
	return out
}

// TaskTypeInfo describes a task type with its overrides.
type TaskTypeInfo struct {
	Name      string
	Allowed   []string
	Forbidden []string
	Next      []string
	Writers   []string
	Required  []string

	unsure bool // a list of roles was written wrongly
}

// TaskTypes describes all task types, sorted by name.
func (d *Definition) TaskTypes() []TaskTypeInfo {
	if d.broken {
		return nil
	}
	var out []TaskTypeInfo
	for _, name := range names(d.taskTypes) {
		info, _ := d.taskType(name)
		out = append(out, info)
	}
	return out
}

// position turns a range into a plan's position: the file relative to the
// project root where it is inside.
func (d *Definition) position(at hcl.Range) plan.Position {
	file := at.Filename
	if p, ok := d.places[at.Filename]; ok && filepath.IsAbs(p.path) {
		file = relativeTo(d.ProjectRoot, p.path)
	}
	return plan.Position{File: file, Line: at.Start.Line, Column: at.Start.Column}
}

// heads works out what is known of every run before one is compiled.
func (l *loader) heads() {
	d := l.def
	d.heads = map[string]head{}
	r := &resolver{eval: d.eval}
	if a := d.settings.attr("default_run"); a != nil {
		d.defaultRun, _ = l.directName(a, "run")
	}
	type owner struct {
		run string
		at  hcl.Range
	}
	seen := map[string]owner{}
	for _, name := range d.runOrder {
		rn := d.runs[name]
		h := head{taskType: taskUnknown}
		h.description, _ = r.text(rn.attr("description"))
		if ref, ok := r.ref(rn.attr("task_type"), "task_type"); ok {
			h.taskType = ref.name
		}
		before := len(r.diags)
		h.task = d.task(r, rn)
		h.sound = len(r.diags) == before
		d.heads[name] = h
		if !h.sound {
			continue
		}
		key := strings.ToLower(h.task.Key() + "/" + h.taskType)
		if first, dup := seen[key]; dup {
			r.fault(rn.header, SummarySameTask, "The runs %q (%s) and %q have the same task %s and the same task type %s, so that their records could not be told apart. Give one another task id.", first.run, first.at, name, h.task.Key(), h.taskType)
			continue
		}
		seen[key] = owner{name, rn.header}
	}
	l.diags = append(l.diags, r.diags...)
	for _, name := range names(d.taskTypes) {
		_, diags := d.taskType(name)
		l.diags = append(l.diags, diags...)
	}
	l.diags = append(l.diags, d.eval.take()...)
	d.base = reads{files: maps.Clone(d.reader.read), looked: maps.Clone(d.reader.looked), env: maps.Clone(d.eval.env)}
}

// task works out the task of a run.
func (d *Definition) task(r *resolver, rn *run) plan.Task {
	t := plan.Task{Project: folderName(d.ProjectRoot), Group: "default", ID: rn.name}
	part := func(into *string, e entry, name string) {
		s, ok := r.asText(e.value, e.at, name)
		if !ok {
			return
		}
		if !form().task.MatchString(s) {
			r.fault(e.at, SummaryName, "%s is part of file names: %q must start with a letter or digit, go on with letters, digits, dot, _ and -, and have at most 64 characters.", upper(name), s)
			return
		}
		*into = s
	}
	fromSettings := func(into *string, name string) {
		if a := d.settings.attr(name); a != nil {
			if v, ok := r.value(a); ok {
				part(into, entry{value: v, at: a.Expr.Range()}, name)
			}
		}
	}
	fromSettings(&t.Project, "project")
	fromSettings(&t.Group, "group")
	keys := r.merged(chainOf("task", &rn.decl), taskKeys)
	for name, into := range map[string]*string{"project": &t.Project, "group": &t.Group, "id": &t.ID} {
		if e, ok := keys[name]; ok {
			part(into, e, name)
		}
	}
	return t
}

// folderName turns the project folder's name into part of a task.
func folderName(root string) string {
	var b strings.Builder
	for _, r := range filepath.Base(root) {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && (r == '.' || r == '_' || r == '-'):
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= 64 {
			break
		}
	}
	name := b.String()
	if name = strings.TrimRight(name[:min(len(name), 64)], "-"); name == "" {
		return "project"
	}
	return name
}

// taskType resolves a task type, whose mistakes Load reports. Its lists are what every prompt and bundle
// renders from, so that an empty one is a fault.
func (d *Definition) taskType(name string) (TaskTypeInfo, hcl.Diagnostics) {
	t := d.taskTypes[name]
	r := &resolver{eval: d.eval}
	info := TaskTypeInfo{Name: name}
	info.Allowed, _ = r.texts(t.attr("allowed"))
	info.Next, _ = r.namesOf(t.attr("next"), "task_type")
	writersOK, requiredOK := false, false
	info.Writers, writersOK = r.namesOf(t.attr("writers"), "role")
	info.Required, requiredOK = r.namesOf(t.attr("required_roles"), "role")
	info.unsure = t.misread || t.attr("writers") != nil && !writersOK || t.attr("required_roles") != nil && !requiredOK
	seen := map[string]bool{}
	for _, a := range t.forbidden {
		list, _ := r.texts(a)
		for _, action := range list {
			if !seen[action] {
				seen[action] = true
				info.Forbidden = append(info.Forbidden, action)
			}
		}
	}
	if len(info.Allowed) == 0 || len(info.Forbidden) == 0 {
		at := t.header
		if a := t.attr("allowed"); a != nil {
			at = a.Expr.Range()
		}
		r.fault(at, SummaryWrongValue, "The task type %q must say what is allowed and what is forbidden; neither list may be empty.", name)
	}
	return info, r.diags
}

// jsonTree decodes JSON into maps, lists and plain values.
func jsonTree(b []byte) any {
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		return nil
	}
	return v
}
