package lang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// directName reads an attribute that must name one thing of a kind as it
// stands, since merging comes before evaluating: kind.NAME, or for runs the
// name in quotes.
func (l *loader) directName(a *hcl.Attribute, kind string) (string, bool) {
	if l.def.eval.look(a.Expr).bad {
		return "", false
	}
	known := l.def.known(kind)
	name, at := "", a.Expr.Range()
	if v, diags := a.Expr.Value(emptyContext); !diags.HasErrors() && v.Type() == cty.String && v.IsKnown() && !v.IsNull() {
		name = v.AsString()
		if m := quoted().FindStringSubmatch(name); m != nil && m[1] == kind {
			name = m[2]
		} else if kind != "run" {
			form := kind + ".NAME"
			if ref := l.def.named(name, []string{kind}); ref != "" {
				form = ref
			}
			l.fault(a.Expr.Range(), SummaryWrongType, "%s is a reference: write %s, without quotes.", a.Name, form)
			return "", false
		}
	} else if t, diags := hcl.AbsTraversalForExpr(a.Expr); !diags.HasErrors() && len(t) == 2 && t.RootName() == kind {
		name, at, _ = secondStep(t)
	} else if !diags.HasErrors() && len(t) == 1 {
		l.bareWord(at, a.Name, t.RootName(), []string{kind})
		return "", false
	} else {
		l.fault(a.Expr.Range(), SummaryWrongType, "%s names one %s as it stands: write %s.NAME.", a.Name, kind, kind)
		return "", false
	}
	if !slices.Contains(known, name) {
		l.fault(at, SummaryUnknownReference, "There is no %s %q.%s", kind, name, meantDefined(kind, name, known))
		return "", false
	}
	l.def.use(kind, name)
	return name, true
}

// inherit resolves extends among the things of one kind: base is called for
// each with what it extends, after that was itself resolved.
func inherit[T any](l *loader, kind string, all map[string]T, declOf func(T) *decl, onto func(base, over T) T) {
	state := map[string]colour{}
	var visit func(name string, path []string)
	visit = func(name string, path []string) {
		path = append(path, name)
		switch state[name] {
		case black:
			return
		case grey:
			start := slices.Index(path, name)
			var steps []string
			for _, n := range path[start:] {
				r := declOf(all[n]).header
				steps = append(steps, fmt.Sprintf("%s (%s:%d)", n, r.Filename, r.Start.Line))
			}
			l.fault(declOf(all[name]).attr("extends").Expr.Range(), SummaryCycle, "These extend each other: %s. Break the ring.", strings.Join(steps, " → "))
			return
		}
		state[name] = grey
		if a := declOf(all[name]).attr("extends"); a != nil {
			if base, ok := l.directName(a, kind); ok {
				visit(base, path)
				if state[base] == black {
					all[name] = onto(all[base], all[name])
				}
			}
		}
		state[name] = black
	}
	for _, name := range names(all) {
		visit(name, nil)
	}
}

func (l *loader) extendProviders() {
	inherit(l, "provider", l.def.providers, func(p *provider) *decl { return &p.decl }, func(base, over *provider) *provider {
		merged := base.copy()
		merged.put(over)
		merged.name, merged.header, merged.unit, merged.used = over.name, over.header, over.unit, over.used
		return merged
	})
}

func (l *loader) extendRuns() {
	inherit(l, "run", l.def.runs, func(r *run) *decl { return &r.decl }, func(base, over *run) *run {
		merged := base.copy()
		merged.put(over)
		merged.name, merged.header, merged.unit = over.name, over.header, over.unit
		return merged
	})
}
