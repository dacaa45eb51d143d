package lang

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// references are the kinds of references that an attribute takes; nil where it
// takes other values.
func (a *AttrDoc) references() []string {
	if a == nil {
		return nil
	}
	switch kind := strings.TrimSuffix(strings.TrimPrefix(a.Type, "list("), ")"); kind {
	case "participant":
		return []string{"participant", "provider"}
	case "provider", "role", "duty", "run", "task_type", "backend":
		return []string{kind}
	}
	return nil
}

// named returns the reference of one of kinds that a word stands for, with its
// kind or without it, or "".
func (d *Definition) named(word string, kinds []string) string {
	for _, kind := range kinds {
		if name := strings.TrimPrefix(word, kind+"."); slices.Contains(d.known(kind), name) {
			return kind + "." + name
		}
	}
	return ""
}

// near says which reference of one of kinds a word is most like, or what there
// is.
func (d *Definition) near(word string, kinds []string) string {
	var bare, forms []string
	for _, kind := range kinds {
		for _, name := range d.known(kind) {
			bare = append(bare, name)
			forms = append(forms, kind+"."+name)
		}
	}
	if len(forms) == 0 {
		return meantDefined(kinds[0], word, nil)
	}
	if n := nearest(word, bare); n != "" {
		return fmt.Sprintf(" Did you mean %s?", forms[slices.Index(bare, n)])
	}
	return meant(word, forms)
}

// bareWord reports a word that stands alone where a reference belongs.
func (l *loader) bareWord(at hcl.Range, attr, word string, kinds []string) {
	if ref := l.def.named(word, kinds); ref != "" {
		l.fault(at, SummaryUnknownReference, "There is nothing called %q. Did you mean %s?", word, ref)
		return
	}
	l.fault(at, SummaryUnknownReference, "There is nothing called %q; %s takes %s.%s", word, attr, formsOf(kinds), l.def.near(word, kinds))
}

// formsOf is how references of some kinds are written.
func formsOf(kinds []string) string {
	forms := make([]string, len(kinds))
	for i, k := range kinds {
		forms[i] = k + ".NAME"
	}
	return oneOf(forms)
}

// unknownRoot reports the first word of something that is not in scope.
func (l *loader) unknownRoot(u use, t hcl.Traversal, root string) {
	at := t[0].SourceRange()
	if len(t) == 1 {
		before, after := l.elsewhereNamed(u, root), ""
		if before == "" {
			after = " Values are named var.NAME or local.NAME."
		}
		l.fault(at, SummaryUnknownReference, "There is nothing called %q.%s If the text is meant, put it in quotes: %q.%s", root, before, root, after)
		return
	}
	if here, ok := foreignWord(root, nil); ok {
		l.fault(at, SummaryUnknownReference, "There is nothing called %q here. In okstra this is called %s.", root, here.word)
		return
	}
	if ref := l.def.named(root, referenceKinds); ref != "" {
		l.fault(at, SummaryUnknownReference, "There is nothing called %q. Did you mean %s?", root, ref)
		return
	}
	roots := append([]string{"var", "local", "path", "git"}, referenceKinds...)
	roots = append(roots, names(workerRoots)...)
	l.fault(at, SummaryUnknownReference, "There is nothing called %q.%s", root, meant(root, roots))
}

// elsewhereNamed asks for what is defined under a word that stands alone where
// any value may; "" where nothing is.
func (l *loader) elsewhereNamed(u use, word string) string {
	switch {
	case l.def.variables[word] != nil:
		return fmt.Sprintf(" Did you mean var.%s?", word)
	case l.def.locals[word] != nil:
		return fmt.Sprintf(" Did you mean local.%s?", word)
	}
	if a := u.owner.doc.attr(u.attr); a == nil || a.Type == "any" || a.Type == "map(any)" {
		if ref := l.def.named(word, referenceKinds); ref != "" {
			return fmt.Sprintf(" Did you mean %s?", ref)
		}
	}
	return ""
}

// quoted is the form of a reference in quotes.
var quoted = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(participant|provider|role|duty|task_type|backend|run)\.([A-Za-z][A-Za-z0-9_-]*)$`)
})

// markQuoted counts references in quotes as uses: in JSON they are right, and
// in native syntax the quotes are the mistake, and not what they name.
func (l *loader) markQuoted(u use) {
	if native, ok := u.expr.(hclsyntax.Expression); ok {
		kinds := u.owner.doc.attr(u.attr).references()
		_ = hclsyntax.VisitAll(native, func(n hclsyntax.Node) hcl.Diagnostics {
			if text, ok := n.(*hclsyntax.LiteralValueExpr); ok && !text.Val.IsNull() && text.Val.Type() == cty.String {
				l.markText(text.Val.AsString(), kinds)
			}
			return nil
		})
		return
	}
	if len(u.expr.Variables()) > 0 {
		return
	}
	v, diags := u.expr.Value(emptyContext)
	if diags.HasErrors() {
		return
	}
	_ = cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
		if !v.IsNull() && v.IsKnown() && v.Type() == cty.String {
			l.markText(v.AsString(), nil)
		}
		return true, nil
	})
}

func (l *loader) markText(text string, kinds []string) {
	if m := quoted().FindStringSubmatch(text); m != nil {
		l.def.use(m[1], m[2])
	}
	for _, kind := range kinds {
		l.def.use(kind, text)
	}
}
