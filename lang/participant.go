package lang

import "github.com/hashicorp/hcl/v2"

// participant is a declared participant: a provider with a model.
type participant struct{ decl }

func (l *loader) participant(b *hcl.Block, name string, override bool) *participant {
	doc := blockDocs["participant"]
	p := &participant{l.declare(doc, name, b, l.content(b.Body, doc, !override))}
	l.note(&p.decl, "")
	return p
}
