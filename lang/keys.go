package lang

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// repeatedKeys reports keys that stand twice in one object of a body or an
// expression, of which HCL would take the last without a word. In JSON syntax
// HCL reports them itself.
func (l *loader) repeatedKeys(of any) {
	node, ok := of.(hclsyntax.Node)
	if !ok {
		return
	}
	_ = hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
		object, ok := n.(*hclsyntax.ObjectConsExpr)
		if !ok {
			return nil
		}
		first := map[string]hcl.Range{}
		for _, item := range object.Items {
			key, diags := item.KeyExpr.Value(emptyContext)
			text, ok := toText(key)
			if diags.HasErrors() || !ok {
				continue // worked out later, and different then as far as anybody can tell
			}
			name, at := text.AsString(), item.KeyExpr.Range()
			if earlier, dup := first[name]; dup {
				l.fault(at, SummaryDuplicate, "The key %q stands in this object already, at %s. Remove one of them.", name, earlier)
				continue
			}
			first[name] = at
		}
		return nil
	})
}
