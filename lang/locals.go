package lang

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// colour is the state of a local while values are worked out.
type colour int

const (
	white colour = iota // not looked at
	grey                // being worked out: meeting it again is a cycle
	black               // settled; DynamicVal where it failed
)

// local is a declared local with its value once that is settled.
type local struct {
	decl
	expr  hcl.Expression
	state colour
	ring  bool // it is part of a cycle, which was reported
	value cty.Value
}

func (l *loader) locals(b *hcl.Block) {
	attrs, diags := b.Body.JustAttributes()
	l.diags = append(l.diags, diags...)
	written := slices.SortedFunc(maps.Values(attrs), func(a, b *hcl.Attribute) int {
		return cmp.Compare(a.NameRange.Start.Byte, b.NameRange.Start.Byte)
	})
	for _, a := range written {
		name := a.Name
		lo := &local{
			decl:  decl{doc: blockDocs["locals"], name: name, header: a.NameRange, attrs: map[string]*hcl.Attribute{name: a}, unit: l.unit},
			expr:  a.Expr,
			value: cty.DynamicVal,
		}
		l.note(&lo.decl, "")
		if l.define("local", name, a.NameRange, &lo.decl) {
			l.def.locals[name] = lo
		}
	}
}

// local settles one local and what it needs. path holds the locals that are
// being worked out, to show a cycle as a ring.
func (e *evaluator) local(name string, path []string) {
	lo := e.def.locals[name]
	if lo == nil || lo.state == black {
		return // an unknown one was reported when references were checked
	}
	path = append(path, name)
	if lo.state == grey {
		e.ring(path)
		return
	}
	lo.state = grey
	for _, needed := range e.look(lo.expr).locals {
		e.local(needed, path)
	}
	if lo.ring {
		lo.state = black // what else is wrong with it cannot be told
		return
	}
	value, diags := e.value(lo.expr, nil)
	if !diags.HasErrors() {
		if why := tooLarge(value); why != "" {
			diags = append(diags, fault(lo.expr.Range(), SummaryTooLarge, "The value of local.%s is too large: %s.", name, why))
			value = cty.DynamicVal
		}
	}
	e.diags = append(e.diags, diags...)
	lo.value, lo.state = value, black
}

// ring reports a cycle once, at its first local, with every place.
func (e *evaluator) ring(path []string) {
	last := path[len(path)-1]
	start := 0
	for path[start] != last {
		start++
	}
	ring := path[start:]
	var steps []string
	for _, name := range ring {
		e.def.locals[name].ring = true
		r := e.def.locals[name].header
		steps = append(steps, fmt.Sprintf("local.%s (%s:%d)", name, r.Filename, r.Start.Line))
	}
	e.diags = append(e.diags, fault(e.def.locals[last].expr.Range(), SummaryCycle, "These need each other, so none of them can be worked out: %s. Break the ring.", strings.Join(steps, " → ")))
}

// settleLocals works out every local, used or not, so that each mistake shows.
func (e *evaluator) settleLocals() {
	for _, name := range names(e.def.locals) {
		e.local(name, nil)
	}
}
