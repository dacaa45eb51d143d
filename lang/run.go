package lang

import "github.com/hashicorp/hcl/v2"

// run is a declared run.
type run struct {
	decl
	lead   *decl
	panes  *decl
	rounds []*round // as written
}

func (l *loader) run(b *hcl.Block, name string) *run {
	doc := blockDocs["run"]
	c := l.content(b.Body, doc, true)
	r := &run{decl: l.declare(doc, name, b, c)}
	l.note(&r.decl, "")
	if inner := l.single(c, "lead"); inner != nil {
		r.lead = l.leaf("run > lead", inner)
	}
	if inner := l.single(c, "panes"); inner != nil {
		r.panes = l.leaf("panes", inner)
	}
	seen := map[string]hcl.Range{}
	for _, inner := range c.Blocks.OfType("round") {
		rd := l.round(inner)
		if l.checkName("round", rd.name, labelRange(inner, 0)) && l.distinct("round", rd.name, labelRange(inner, 0), seen) {
			r.rounds = append(r.rounds, rd)
		}
	}
	return r
}

// leaf declares a block without inner blocks.
func (l *loader) leaf(path string, b *hcl.Block) *decl {
	doc := blockDocs[path]
	d := l.declare(doc, doc.typeName(), b, l.content(b.Body, doc, true))
	l.note(&d, "")
	return &d
}

// put lays another run over r: attributes and pane policy key by key, rounds
// by name.
func (r *run) put(over *run) {
	r.decl.put(&over.decl)
	r.lead = overlay(r.lead, over.lead)
	r.panes = overlay(r.panes, over.panes)
	for _, rd := range over.rounds {
		r.rounds = replaceOrAdd(r.rounds, rd, func(x *round) string { return x.name })
	}
}

func overlay(base, over *decl) *decl {
	switch {
	case over == nil:
		return base
	case base == nil:
		return over
	}
	merged := base.copy()
	merged.put(over)
	merged.header = over.header
	return merged
}

func (r *run) copy() *run {
	return &run{decl: *r.decl.copy(), lead: r.lead, panes: r.panes, rounds: r.rounds}
}
