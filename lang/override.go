package lang

import (
	"slices"

	"github.com/hashicorp/hcl/v2"

	"github.com/okstra/okstra/lang/plan"
)

// overridable are the kinds that an override may name.
var overridable = []string{"variable", "provider", "participant", "role", "duty", "task_type"}

// override is a declared override; one of its blocks is set.
type override struct {
	decl        *decl
	kind        string
	at          hcl.Range
	variable    *variable
	provider    *provider
	participant *participant
	role        *role
	duty        *duty
	taskType    *taskType
}

func (l *loader) override(b *hcl.Block) {
	kind, name := b.Labels[0], b.Labels[1]
	o := &override{kind: kind, at: labelRange(b, 1)}
	switch kind {
	case "variable":
		o.variable = l.variable(b, name, true)
		o.decl = &o.variable.decl
	case "provider":
		o.provider = l.provider(b, name, true)
		o.decl = &o.provider.decl
	case "participant":
		o.participant = l.participant(b, name, true)
		o.decl = &o.participant.decl
	case "role":
		o.role = l.role(b, name, true)
		o.decl = &o.role.decl
	case "duty":
		o.duty = l.duty(b, name, true)
		o.decl = &o.duty.decl
	case "task_type":
		o.taskType = l.taskType(b, name, true)
		o.decl = &o.taskType.decl
	default:
		l.fault(labelRange(b, 0), SummaryOverride, "An override names a kind and a name; %q is not a kind that can be overridden.%s", kind, meant(kind, overridable))
		return
	}
	l.overrides = append(l.overrides, o)
}

// applyOverrides lays overrides over what they name, those of imports first.
func (l *loader) applyOverrides() {
	seen := map[[2]string]*override{}
	for _, o := range l.overrides {
		name := o.decl.name
		target, ok := l.declared[o.kind][lower(name)]
		if !ok || target.name != name {
			var known []string
			for _, n := range l.declared[o.kind] {
				known = append(known, n.name)
			}
			l.fault(o.at, SummaryOverride, "Neither an import nor the catalog defines a %s %q.%s", o.kind, name, meant(name, known))
			continue
		}
		if target.unit == o.decl.unit {
			l.fault(o.at, SummaryOverrideOwn, "The %s %q is defined in the same definition, at %s: change it there.", o.kind, name, target.at)
			continue
		}
		key := [2]string{o.kind, name}
		if first := seen[key]; first != nil && first.decl.unit == o.decl.unit {
			l.fault(o.at, SummaryDuplicate, "The %s %q is overridden twice here; the first override stands at %s.", o.kind, name, first.decl.header)
			continue
		}
		seen[key] = o
		l.lay(o)
		l.def.overrides = append(l.def.overrides, plan.Override{
			Kind: o.kind, Name: name, Attributes: o.attributes(), Declared: l.def.position(o.decl.header),
		})
	}
}

func (l *loader) lay(o *override) {
	name := o.decl.name
	switch o.kind {
	case "variable":
		l.def.variables[name].put(o.variable)
	case "provider":
		l.def.providers[name].put(o.provider)
	case "participant":
		l.def.participants[name].put(&o.participant.decl)
	case "role":
		l.def.roles[name].put(&o.role.decl)
	case "duty":
		l.def.duties[name].put(o.duty)
	case "task_type":
		l.def.taskTypes[name].put(o.taskType)
	}
}

// attributes lists what an override says, inner blocks as "access.read.args".
func (o *override) attributes() []string {
	out := names(o.decl.attrs)
	if o.provider != nil {
		for access, a := range o.provider.access {
			for _, n := range names(a.attrs) {
				out = append(out, "access."+string(access)+"."+n)
			}
		}
	}
	if o.duty != nil {
		for _, p := range o.duty.parameters {
			out = append(out, "parameter."+p.name)
		}
		for _, p := range o.duty.outputs {
			out = append(out, "output."+p.name)
		}
	}
	if o.variable != nil && len(o.variable.validations) > 0 {
		out = append(out, "validation")
	}
	slices.Sort(out)
	return out
}
