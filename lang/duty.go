package lang

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// duty is a declared duty: what is asked of a worker.
type duty struct {
	decl
	parameters []*parameter // as written
	outputs    []*decl      // as written
}

// parameter is a declared parameter of a duty.
type parameter struct {
	decl
	typed typed
}

func (l *loader) duty(b *hcl.Block, name string, override bool) *duty {
	doc := blockDocs["duty"]
	c := l.content(b.Body, doc, !override)
	d := &duty{decl: l.declare(doc, name, b, c)}
	seen := map[string]hcl.Range{}
	for _, inner := range c.Blocks.OfType("parameter") {
		d.parameters = append(d.parameters, l.parameter(inner, seen))
	}
	outputDoc := blockDocs["duty > output"]
	seen = map[string]hcl.Range{}
	for _, inner := range c.Blocks.OfType("output") {
		n := inner.Labels[0]
		o := l.declare(outputDoc, n, inner, l.content(inner.Body, outputDoc, true))
		l.note(&o, "")
		if l.checkName("output", n, labelRange(inner, 0)) && l.distinct("output", n, labelRange(inner, 0), seen) {
			d.outputs = append(d.outputs, &o)
		}
	}
	l.note(&d.decl, name)
	return d
}

func (l *loader) parameter(b *hcl.Block, seen map[string]hcl.Range) *parameter {
	doc := blockDocs["duty > parameter"]
	n := b.Labels[0]
	p := &parameter{decl: l.declare(doc, n, b, l.content(b.Body, doc, true))}
	p.typed = l.typeOf(p.attr("type"))
	l.note(&p.decl, "")
	if l.checkName("parameter", n, labelRange(b, 0)) {
		l.distinct("parameter", n, labelRange(b, 0), seen)
	}
	return p
}

func (d *duty) put(over *duty) {
	d.decl.put(&over.decl)
	for _, p := range over.parameters {
		d.parameters = replaceOrAdd(d.parameters, p, func(x *parameter) string { return x.name })
	}
	for _, o := range over.outputs {
		d.outputs = replaceOrAdd(d.outputs, o, func(x *decl) string { return x.name })
	}
}

// checkOutputs reports outputs of a duty that a worker could not tell apart:
// each becomes a variable OKSTRA_OUTPUT_NAME, in capitals and with dashes as
// underscores. An override may bring the second one.
func (l *loader) checkOutputs() {
	for _, name := range names(l.def.duties) {
		first := map[string]string{}
		for _, o := range l.def.duties[name].outputs {
			variable := "OKSTRA_OUTPUT_" + strings.ToUpper(strings.ReplaceAll(o.name, "-", "_"))
			if other, ok := first[variable]; ok {
				l.fault(o.header, SummaryDuplicate, "The outputs %q and %q of the duty %q both become the variable %s. Rename one of them.", other, o.name, name, variable)
				continue
			}
			first[variable] = o.name
		}
	}
}

func (d *duty) parameter(name string) *parameter {
	for _, p := range d.parameters {
		if p.name == name {
			return p
		}
	}
	return nil
}

// replaceOrAdd returns list with x in the place of the element of its name, or
// at the end.
func replaceOrAdd[T any](list []T, x T, name func(T) string) []T {
	out := make([]T, 0, len(list)+1)
	replaced := false
	for _, old := range list {
		if name(old) == name(x) {
			old, replaced = x, true
		}
		out = append(out, old)
	}
	if !replaced {
		out = append(out, x)
	}
	return out
}
