package lang

import "github.com/hashicorp/hcl/v2"

// round is a declared round of a run.
type round struct {
	decl
	assigns     []*assign // as written
	gate        *decl
	convergence *decl
}

// assign is a declared assign: a duty given to participants.
type assign struct{ decl }

func (l *loader) round(b *hcl.Block) *round {
	doc := blockDocs["run > round"]
	c := l.content(b.Body, doc, true)
	r := &round{decl: l.declare(doc, b.Labels[0], b, c)}
	l.note(&r.decl, "")
	for _, inner := range c.Blocks.OfType("assign") {
		a := &assign{*l.leaf("round > assign", inner)}
		r.assigns = append(r.assigns, a)
	}
	if inner := l.single(c, "gate"); inner != nil {
		r.gate = l.leaf("round > gate", inner)
	}
	if inner := l.single(c, "convergence"); inner != nil {
		r.convergence = l.leaf("round > convergence", inner)
	}
	return r
}
