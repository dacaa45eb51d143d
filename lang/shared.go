package lang

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/okstra/okstra/lang/plan"
)

// shared returns f's result, worked out once for all workers for which it is
// the same.
func shared[T any](c *compiler, w *work, expr hcl.Expression, form string, f func() T) T {
	key := memoKey{expr: expr, form: form}
	switch c.eval.look(expr).variation {
	case perWorker:
		return f()
	case perStation:
		key.station = w.st
	}
	if v, ok := c.memo[key]; ok {
		return v.(T)
	}
	v := f()
	c.memo[key] = v
	return v
}

// evaluate evaluates an expression for one worker; symbols stay in it.
func (c *compiler) evaluate(w *work, expr hcl.Expression) (cty.Value, bool) {
	x := c.eval.look(expr)
	if x.bad {
		return cty.NilVal, false
	}
	if x.usesEach != nil && w.el == nil {
		c.fault(x.usesEach.SourceRange(), SummaryNotInScope, "each is only known with for_each, and an assign without it gives this work to %s. Add for_each there, or pass the value as a parameter.", w.st.ref)
		return cty.NilVal, false
	}
	v, diags := c.eval.value(expr, w.scope)
	c.diags = append(c.diags, diags...)
	if diags.HasErrors() {
		return cty.NilVal, false
	}
	bare, _ := v.UnmarkDeep()
	if !bare.IsWhollyKnown() || bare.IsNull() {
		return cty.NilVal, false
	}
	if why := tooLarge(v); why != "" {
		c.fault(expr.Range(), SummaryTooLarge, "This value is too large: %s.", why)
		return cty.NilVal, false
	}
	return v, true
}

// where says what may stand in a template.
type where int

const (
	whereArgument where = iota + 1 // symbolic paths
	whereEnv                       // and sensitive variables
	whereText                      // text only
)

// asTemplate turns an evaluated string into a template.
func (c *compiler) asTemplate(v cty.Value, at hcl.Range, name string, in where) (plan.Template, bool) {
	marks := marksOf(v)
	bare, _ := v.UnmarkDeep()
	s, ok := toText(bare)
	if !ok {
		c.wrong(at, name, "a string", bare)
		return nil, false
	}
	t, ok := split(s.AsString(), marks)
	if !ok {
		c.nul(at)
		return nil, false
	}
	if lost := decided(marks, t); len(lost) > 0 {
		c.diags = append(c.diags, symbolFault(at, lost))
		return nil, false
	}
	for _, ref := range t.Refs() {
		if _, secret := ref.SecretName(); in == whereText || secret && in != whereEnv {
			c.diags = append(c.diags, symbolFault(at, []symbolMark{symbolMark(ref)}))
			return nil, false
		}
	}
	return t, true
}

// outcome is a shared result and whether it could be made.
type outcome[T any] struct {
	value T
	ok    bool
}

// template evaluates a string attribute.
func (c *compiler) template(w *work, a *hcl.Attribute, in where) (plan.Template, bool) {
	if a == nil {
		return nil, false
	}
	o := shared(c, w, a.Expr, "template", func() outcome[plan.Template] {
		v, ok := c.evaluate(w, a.Expr)
		if !ok {
			return outcome[plan.Template]{}
		}
		t, ok := c.asTemplate(v, a.Expr.Range(), a.Name, in)
		return outcome[plan.Template]{t, ok}
	})
	return o.value, o.ok
}

// templates evaluates a list of strings; nulls are dropped.
func (c *compiler) templates(w *work, a *hcl.Attribute, in where) ([]plan.Template, bool) {
	if a == nil {
		return nil, false
	}
	o := shared(c, w, a.Expr, "templates", func() outcome[[]plan.Template] {
		v, ok := c.evaluate(w, a.Expr)
		if !ok {
			return outcome[[]plan.Template]{}
		}
		marks := marksOf(v)
		bare, outer := v.Unmark()
		var out []plan.Template
		good := c.elements(a, bare, func(e cty.Value, at hcl.Range) bool {
			t, ok := c.asTemplate(e.WithMarks(symbolsIn(e, outer)), at, "An element of "+a.Name, in)
			out = append(out, t)
			return ok
		})
		if good {
			if lost := decided(marks, out...); len(lost) > 0 {
				c.diags = append(c.diags, symbolFault(a.Expr.Range(), lost))
				good = false
			}
		}
		return outcome[[]plan.Template]{out, good}
	})
	return o.value, o.ok
}

// symbolsIn returns those marks of a whole list whose token stands in one of
// its elements: a conditional over lists marks the list, not what is in it.
func symbolsIn(e cty.Value, outer cty.ValueMarks) cty.ValueMarks {
	out := cty.ValueMarks{}
	bare, _ := e.UnmarkDeep()
	if len(outer) == 0 || bare.IsNull() || bare.Type() != cty.String {
		return out
	}
	for m := range outer {
		if s, ok := m.(symbolMark); ok && strings.Contains(bare.AsString(), tokenEdge+string(s)+tokenEdge) {
			out[m] = struct{}{}
		}
	}
	return out
}

// templateMap evaluates an object of strings.
func (c *compiler) templateMap(w *work, a *hcl.Attribute) map[string]envValue {
	if a == nil {
		return nil
	}
	return shared(c, w, a.Expr, "map", func() map[string]envValue {
		v, ok := c.evaluate(w, a.Expr)
		if !ok {
			return nil
		}
		marks := marksOf(v)
		bare, outer := v.Unmark()
		if t := bare.Type(); !t.IsObjectType() && !t.IsMapType() {
			c.wrong(a.Expr.Range(), a.Name, "an object: write { NAME = value, … }", bare)
			return nil
		}
		places := keyPlaces(a.Expr)
		out := map[string]envValue{}
		var all []plan.Template
		good := true
		elements := bare.AsValueMap()
		for _, name := range names(elements) {
			place, ok := places[name]
			if !ok {
				place = keyPlace{key: a.Expr.Range(), value: a.Expr.Range()}
			}
			if !c.envName(name, place.key) {
				good = false
				continue
			}
			e := elements[name]
			if plain, _ := e.Unmark(); plain.IsNull() {
				out[name] = envValue{dropped: true, at: place.value}
				continue
			}
			t, ok := c.asTemplate(e.WithMarks(symbolsIn(e, outer)), place.value, a.Name+"."+name, whereEnv)
			good = good && ok
			if ok && literalSize(t) > maxArg {
				c.fault(place.value, SummaryTooLarge, "The environment variable %s has %d bytes; the system takes at most %d.", name, literalSize(t), maxArg)
			}
			all = append(all, t)
			out[name] = envValue{value: t, at: place.value}
		}
		if lost := decided(marks, all...); good && len(lost) > 0 {
			c.diags = append(c.diags, symbolFault(a.Expr.Range(), lost))
		}
		return out
	})
}
