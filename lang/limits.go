package lang

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/okstra/okstra/lang/plan"
)

// chain is a row of attributes of which the nearest wins, key by key; the
// nearest stands last.
type chain []*hcl.Attribute

// chainOf collects an attribute from declarations, the nearest last.
func chainOf(name string, decls ...*decl) chain {
	var c chain
	for _, d := range decls {
		if d != nil {
			c = append(c, d.all(name)...)
		}
	}
	return c
}

// merged resolves a chain into the winning entry of each key.
func (r *resolver) merged(c chain, keys []AttrDoc) map[string]entry {
	out := map[string]entry{}
	for _, a := range c {
		entries, _ := r.object(a, keys)
		for k, e := range entries {
			out[k] = e
		}
	}
	return out
}

// limits resolves timeouts; origins gets the place of each value.
func (r *resolver) limits(c chain, origin func(string, hcl.Range)) plan.Limits {
	l := plan.DefaultLimits()
	got := r.merged(c, timeoutKeys)
	for _, k := range []struct {
		name string
		into *plan.Duration
	}{{"start", &l.Start}, {"wall", &l.Wall}, {"idle", &l.Idle}, {"grace", &l.Grace}} {
		e, ok := got[k.name]
		if !ok {
			continue
		}
		if d, ok := r.asDuration(e.value, e.at, "timeout."+k.name, k.name == "grace"); ok {
			*k.into = d
			origin("timeout."+k.name, e.at)
		}
	}
	return l
}

// retry resolves what is tried again.
func (r *resolver) retry(c chain, origin func(string, hcl.Range)) plan.Retry {
	out := plan.DefaultRetry()
	got := r.merged(c, retryKeys)
	if e, ok := got["attempts"]; ok {
		if n, ok := r.asWhole(e.value, e.at, "retry.attempts", 1, 100); ok {
			out.Attempts = int(n)
			origin("retry.attempts", e.at)
		}
	}
	if e, ok := got["backoff"]; ok {
		if d, ok := r.asDuration(e.value, e.at, "retry.backoff", true); ok {
			out.Backoff = d
			origin("retry.backoff", e.at)
		}
	}
	if e, ok := got["on"]; ok {
		if on, ok := r.reasons(e); ok {
			out.On = on
			origin("retry.on", e.at)
		}
	}
	return out
}

// reasons resolves the reasons of retry.on: those of an attempt that failed.
func (r *resolver) reasons(e entry) ([]plan.Reason, bool) {
	t := e.value.Type()
	if !t.IsTupleType() && !t.IsListType() && !t.IsSetType() {
		r.wrong(e.at, "retry.on", "a list: write [ … ]", e.value)
		return nil, false
	}
	out, good := []plan.Reason{}, true
	places := e.elements()
	for it, i := e.value.ElementIterator(), 0; it.Next(); i++ {
		_, v := it.Element()
		at := e.at
		if i < len(places) {
			at = places[i]
		}
		s, ok := r.asText(v, at, "An element of retry.on")
		if !ok {
			good = false
			continue
		}
		if !failure(plan.Reason(s)) {
			r.notReason(at, s)
			good = false
			continue
		}
		out = append(out, plan.Reason(s))
	}
	return out, good
}

// notReason reports a text that is no reason for which an attempt fails.
func (r *resolver) notReason(at hcl.Range, text string) {
	hint := ""
	if n := nearest(text, failures()); n != "" {
		hint = fmt.Sprintf(" Did you mean %q?", n)
	}
	r.fault(at, SummaryWrongValue, "%q is not a reason for which an attempt fails.%s The reasons are %s.", text, hint, strings.Join(failures(), ", "))
}

// failure reports whether an attempt can fail for this reason.
func failure(reason plan.Reason) bool {
	status, ok := plan.StatusOf(reason)
	return ok && (status == plan.StatusError || status == plan.StatusTimeout)
}

func failures() []string {
	var out []string
	for _, status := range []plan.Status{plan.StatusError, plan.StatusTimeout} {
		for _, reason := range plan.StatusReasons[status] {
			out = append(out, string(reason))
		}
	}
	return out
}

// panes resolves the pane policy; the title is evaluated for each worker.
func (r *resolver) panes(policies ...*decl) plan.Panes {
	p := plan.DefaultPanes()
	for _, d := range policies {
		if d == nil {
			continue
		}
		if s, ok := r.choice(d.attr("placement"), "beside-lead", "window", "session"); ok {
			p.Placement = plan.Placement(s)
		}
		if s, ok := r.choice(d.attr("layout"), "tiled", "columns", "rows"); ok {
			p.Layout = plan.Layout(s)
		}
		if s, ok := r.choice(d.attr("keep"), "round", "on-failure", "never"); ok {
			p.Keep = plan.Keep(s)
		}
		for _, k := range []struct {
			name        string
			into        *int
			least, most int64
		}{{"lead_share", &p.LeadShare, 10, 90}, {"min_columns", &p.MinColumns, 2, 1000}, {"min_rows", &p.MinRows, 1, 1000}, {"per_window", &p.PerWindow, 1, 64}} {
			if n, ok := r.whole(d.attr(k.name), k.least, k.most); ok {
				*k.into = int(n)
			}
		}
	}
	return p
}

// budget resolves the bounds of a run; nil where there are none.
func (r *resolver) budget(c chain) (*plan.Budget, map[string]entry) {
	got := r.merged(c, budgetKeys)
	if len(got) == 0 {
		return nil, nil
	}
	b := &plan.Budget{}
	if e, ok := got["dispatches"]; ok {
		if n, ok := r.asWhole(e.value, e.at, "budget.dispatches", 1, 1_000_000); ok {
			i := int(n)
			b.Dispatches = &i
		}
	}
	if e, ok := got["wall"]; ok {
		if d, ok := r.asDuration(e.value, e.at, "budget.wall", false); ok {
			b.Wall = &d
		}
	}
	if e, ok := got["tokens"]; ok {
		if n, ok := r.asWhole(e.value, e.at, "budget.tokens", 1, 1_000_000_000_000); ok {
			b.Tokens = &n
		}
	}
	if e, ok := got["usd"]; ok {
		if f, ok := r.asAmount(e.value, e.at, "budget.usd"); ok {
			b.USD = &f
		}
	}
	return b, got
}

// worst resolves the most that one start is taken to use; nil where unsaid.
func (r *resolver) worst(c chain) *plan.Worst {
	got := r.merged(c, worstKeys)
	if len(got) == 0 {
		return nil
	}
	w := &plan.Worst{}
	if e, ok := got["tokens"]; ok {
		if n, ok := r.asWhole(e.value, e.at, "worst.tokens", 0, 1_000_000_000_000); ok {
			w.Tokens = &n
		}
	}
	if e, ok := got["usd"]; ok {
		if f, ok := r.asAmount(e.value, e.at, "worst.usd"); ok {
			w.USD = &f
		}
	}
	return w
}
