package lang

import (
	"github.com/hashicorp/hcl/v2"

	"github.com/okstra/okstra/lang/plan"
)

// provider is a declared worker CLI.
type provider struct {
	decl
	access map[plan.Access]*decl
}

func (l *loader) provider(b *hcl.Block, name string, override bool) *provider {
	doc := blockDocs["provider"]
	c := l.content(b.Body, doc, false) // command may come from extends: checked where a worker needs it
	p := &provider{decl: l.declare(doc, name, b, c), access: map[plan.Access]*decl{}}
	l.note(&p.decl, "")
	accessDoc := blockDocs["provider > access"]
	seen := map[string]hcl.Range{}
	for _, inner := range c.Blocks.OfType("access") {
		label := inner.Labels[0]
		ic := l.content(inner.Body, accessDoc, true)
		a := l.declare(accessDoc, label, inner, ic)
		switch access := plan.Access(label); access {
		case plan.AccessRead, plan.AccessWrite:
			if l.distinct("access block", label, labelRange(inner, 0), seen) {
				p.access[access] = &a
			}
		default:
			l.fault(labelRange(inner, 0), SummaryLabels, "Access is \"read\" or \"write\", not %q.", label)
		}
		l.note(&a, "")
	}
	if !override && !l.unit.catalog && !p.misread && p.attr("command") == nil && p.attr("extends") == nil {
		l.fault(b.DefRange, SummaryMissingAttribute, "A provider block needs the attribute command (a list of the program and its first arguments), or extends another provider.")
	}
	return p
}

// put lays another provider's attributes and access blocks over p's. A result
// that over names for any access is nearer than one that p names for a single
// one.
func (p *provider) put(over *provider) {
	p.decl.put(&over.decl)
	if over.attr("result") != nil {
		for access, a := range p.access {
			less := a.copy()
			delete(less.attrs, "result")
			p.access[access] = less
		}
	}
	for access, a := range over.access {
		if old := p.access[access]; old != nil {
			merged := old.copy()
			merged.put(a)
			p.access[access] = merged
			continue
		}
		p.access[access] = a
	}
}

func (p *provider) copy() *provider {
	c := &provider{decl: *p.decl.copy(), access: map[plan.Access]*decl{}}
	for k, a := range p.access {
		c.access[k] = a
	}
	return c
}
