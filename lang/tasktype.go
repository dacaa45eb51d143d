package lang

import "github.com/hashicorp/hcl/v2"

// Task types that rules are written for.
const (
	taskUnknown        = "unknown"
	taskImplementation = "implementation"
)

// taskType is a declared task type. forbidden holds the attributes of all
// overrides, the catalog's first, since forbidden actions can only be added to.
type taskType struct {
	decl
	forbidden []*hcl.Attribute
}

func (l *loader) taskType(b *hcl.Block, name string, override bool) *taskType {
	doc := blockDocs["task_type"]
	t := &taskType{decl: l.declare(doc, name, b, l.content(b.Body, doc, !override))}
	l.note(&t.decl, "")
	if a := t.attr("forbidden"); a != nil {
		t.forbidden = []*hcl.Attribute{a}
	}
	return t
}

func (t *taskType) put(over *taskType) {
	t.decl.put(&over.decl)
	t.forbidden = append(t.forbidden, over.forbidden...)
}
