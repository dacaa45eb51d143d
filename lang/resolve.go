package lang

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/gocty"

	"github.com/okstra/okstra/lang/plan"
)

// resolver turns attributes into Go values, and collects what is wrong with
// them. Every method takes a nil attribute for one that was not written, and
// returns ok false where there is no value: none written, null, or faulty.
type resolver struct {
	eval  *evaluator
	scope map[string]cty.Value // names beyond those in scope everywhere
	diags hcl.Diagnostics
}

func (r *resolver) fault(at hcl.Range, summary, detail string, args ...any) {
	r.diags = append(r.diags, fault(at, summary, detail, args...))
}

// value evaluates an attribute that may not depend on a symbol.
func (r *resolver) value(a *hcl.Attribute) (cty.Value, bool) {
	if a == nil {
		return cty.NilVal, false
	}
	return r.plain(a.Expr)
}

func (r *resolver) plain(expr hcl.Expression) (cty.Value, bool) {
	v, diags := r.eval.value(expr, r.scope)
	r.diags = append(r.diags, diags...)
	if diags.HasErrors() {
		return cty.NilVal, false
	}
	return r.settled(expr, v)
}

// settled refuses an evaluated value that is not there to be used: symbolic,
// unknown, null or too large.
func (r *resolver) settled(expr hcl.Expression, v cty.Value) (cty.Value, bool) {
	if marks := marksOf(v); len(marks) > 0 {
		r.diags = append(r.diags, symbolFault(expr.Range(), marks))
		return cty.NilVal, false
	}
	if !v.IsWhollyKnown() || v.IsNull() {
		return cty.NilVal, false // quiet: it depends on what failed, or was left out
	}
	if why := tooLarge(v); why != "" {
		r.fault(expr.Range(), SummaryTooLarge, "This value is too large: %s.", why)
		return cty.NilVal, false
	}
	return v, true
}

func (r *resolver) wrong(at hcl.Range, name, want string, v cty.Value) {
	r.fault(at, SummaryWrongType, "%s is %s, not %s.", name, want, typeWord(v))
}

// text resolves a string.
func (r *resolver) text(a *hcl.Attribute) (string, bool) {
	v, ok := r.value(a)
	if !ok {
		return "", false
	}
	return r.asText(v, a.Expr.Range(), a.Name)
}

func (r *resolver) asText(v cty.Value, at hcl.Range, name string) (string, bool) {
	s, ok := toText(v)
	if !ok {
		r.wrong(at, name, "a string", v)
		return "", false
	}
	if strings.Contains(s.AsString(), tokenEdge) {
		r.nul(at)
		return "", false
	}
	return s.AsString(), true
}

func (r *resolver) nul(at hcl.Range) {
	r.fault(at, SummaryNUL, "This text holds a NUL character, which no name, argument or environment value can. Remove it.")
}

// texts resolves a list of strings. A single string is refused, so that there
// is one way to write it.
func (r *resolver) texts(a *hcl.Attribute) ([]string, bool) {
	v, ok := r.value(a)
	if !ok {
		return nil, false
	}
	out := []string{}
	ok = r.elements(a, v, func(v cty.Value, at hcl.Range) bool {
		s, ok := r.asText(v, at, "An element of "+a.Name)
		out = append(out, s)
		return ok
	})
	return out, ok
}

// elements calls f for each element of a list value, nulls left out, with the
// place where it is written if that can be told.
func (r *resolver) elements(a *hcl.Attribute, v cty.Value, f func(cty.Value, hcl.Range) bool) bool {
	t := v.Type()
	if !t.IsTupleType() && !t.IsListType() && !t.IsSetType() {
		r.wrong(a.Expr.Range(), a.Name, "a list: write [ … ]", v)
		return false
	}
	written, diags := hcl.ExprList(a.Expr)
	i, good := 0, true
	for it := v.ElementIterator(); it.Next(); i++ {
		_, e := it.Element()
		at := a.Expr.Range()
		if !diags.HasErrors() && t.IsTupleType() && len(written) == v.LengthInt() {
			at = written[i].Range()
		}
		if bare, _ := e.Unmark(); bare.IsNull() {
			continue
		}
		if !f(e, at) {
			good = false
		}
	}
	return good
}

func (r *resolver) flag(a *hcl.Attribute) (bool, bool) {
	v, ok := r.value(a)
	if !ok {
		return false, false
	}
	b, err := convert.Convert(v, cty.Bool)
	if err != nil {
		r.wrong(a.Expr.Range(), a.Name, "true or false", v)
		return false, false
	}
	return b.True(), true
}

// whole resolves a whole number in a range.
func (r *resolver) whole(a *hcl.Attribute, least, most int64) (int64, bool) {
	v, ok := r.value(a)
	if !ok {
		return 0, false
	}
	return r.asWhole(v, a.Expr.Range(), a.Name, least, most)
}

func (r *resolver) asWhole(v cty.Value, at hcl.Range, name string, least, most int64) (int64, bool) {
	n, err := convert.Convert(v, cty.Number)
	if err != nil {
		r.wrong(at, name, "a number", v)
		return 0, false
	}
	var i int64
	if gocty.FromCtyValue(n, &i) != nil || i < least || i > most {
		r.fault(at, SummaryOutOfRange, "%s is a whole number from %d to %d.", name, least, most)
		return 0, false
	}
	return i, true
}

// choice resolves a string that must be one of a few.
func (r *resolver) choice(a *hcl.Attribute, options ...string) (string, bool) {
	s, ok := r.text(a)
	if !ok {
		return "", false
	}
	if !slices.Contains(options, s) {
		r.fault(a.Expr.Range(), SummaryWrongValue, "%s is %s, not %q.", a.Name, oneOf(options), s)
		return "", false
	}
	return s, true
}

// longest is the longest duration that means anything: a year.
const longest = plan.Duration(366 * 24 * time.Hour)

func (r *resolver) asDuration(v cty.Value, at hcl.Range, name string, zero bool) (plan.Duration, bool) {
	if v.Type() != cty.String {
		r.fault(at, SummaryWrongType, "%s is a duration in quotes, such as \"90s\", \"15m\" or \"1h30m\", not %s.", name, typeWord(v))
		return 0, false
	}
	d, err := time.ParseDuration(v.AsString())
	switch {
	case err != nil:
		r.fault(at, SummaryWrongValue, "%q is not a duration. Write a number with a unit, such as \"90s\", \"15m\" or \"1h30m\".", v.AsString())
	case d < 0, d == 0 && !zero, d > longest.D(), d > 0 && d < time.Millisecond:
		r.fault(at, SummaryOutOfRange, "%s is at least 1ms and at most %s.", name, shortly(longest))
	default:
		return plan.Duration(d), true
	}
	return 0, false
}

// shortly writes a duration as a person would: 3m, not 3m0s.
func shortly(d plan.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func (r *resolver) asAmount(v cty.Value, at hcl.Range, name string) (float64, bool) {
	n, err := convert.Convert(v, cty.Number)
	if err != nil {
		r.wrong(at, name, "a number", v)
		return 0, false
	}
	f, _ := n.AsBigFloat().Float64()
	if n.AsBigFloat().Cmp(big.NewFloat(0)) < 0 || f > 1e12 {
		r.fault(at, SummaryOutOfRange, "%s is a number from 0 to 10¹².", name)
		return 0, false
	}
	return f, true
}

// entry is one key of an object attribute.
type entry struct {
	value cty.Value
	at    hcl.Range      // of the value, or the whole attribute
	expr  hcl.Expression // of the value; nil where that cannot be told
}

// elements are the places of the elements of a list that is written out in an
// entry; nil where it is not.
func (e entry) elements() []hcl.Range {
	if e.expr == nil || !e.value.Type().IsTupleType() {
		return nil
	}
	written, diags := hcl.ExprList(e.expr)
	if diags.HasErrors() || len(written) != e.value.LengthInt() {
		return nil
	}
	out := make([]hcl.Range, len(written))
	for i, w := range written {
		out[i] = w.Range()
	}
	return out
}

// object resolves an object whose keys are checked as strictly as a block's.
func (r *resolver) object(a *hcl.Attribute, keys []AttrDoc) (map[string]entry, bool) {
	v, ok := r.value(a)
	if !ok {
		return nil, false
	}
	var known []string
	for _, k := range keys {
		known = append(known, k.Name)
	}
	t := v.Type()
	if !t.IsObjectType() && !t.IsMapType() {
		form := a.Name + " = { " + strings.Join(known, " = …, ") + " = … }"
		r.wrong(a.Expr.Range(), a.Name, "an object: write "+form+" (or some of these keys)", v)
		return nil, false
	}
	places := keyPlaces(a.Expr)
	out := map[string]entry{}
	elements := v.AsValueMap()
	for _, name := range names(elements) {
		at, ok := places[name]
		if !ok {
			at = keyPlace{key: a.Expr.Range(), value: a.Expr.Range()}
		}
		if !slices.Contains(known, name) {
			r.fault(at.key, SummaryUnknownAttribute, "%s has no key %q.%s", a.Name, name, meant(name, known))
			continue
		}
		if !elements[name].IsNull() {
			out[name] = entry{elements[name], at.value, at.expr}
		}
	}
	return out, true
}

// keyPlace is where a key of an object stands, with its value.
type keyPlace struct {
	key, value hcl.Range
	expr       hcl.Expression // the value; nil where that cannot be told
}

// keyPlaces tells where the keys of an object are written, where that can be told.
func keyPlaces(expr hcl.Expression) map[string]keyPlace {
	pairs, diags := hcl.ExprMap(expr)
	if diags.HasErrors() {
		return nil
	}
	out := map[string]keyPlace{}
	for _, p := range pairs {
		k, diags := p.Key.Value(emptyContext)
		if s, ok := toText(k); ok && !diags.HasErrors() {
			out[s.AsString()] = keyPlace{p.Key.Range(), p.Value.Range(), p.Value}
		}
	}
	return out
}

// ref resolves a reference to one of kinds.
func (r *resolver) ref(a *hcl.Attribute, kinds ...string) (reference, bool) {
	v, ok := r.value(a)
	if !ok {
		return reference{}, false
	}
	return r.asRef(v, a.Expr.Range(), a.Name, kinds)
}

func (r *resolver) asRef(v cty.Value, at hcl.Range, name string, kinds []string) (reference, bool) {
	forms := formsOf(kinds)
	switch {
	case v.Type() == referenceType:
		ref := *v.EncapsulatedValue().(*reference)
		if slices.Contains(kinds, ref.kind) {
			return ref, true
		}
		r.fault(at, SummaryWrongType, "%s is %s, not %s.", name, forms, ref)
	case v.Type() == cty.String && isJSON(at.Filename):
		m := quoted().FindStringSubmatch(v.AsString())
		if m == nil || !slices.Contains(kinds, m[1]) {
			if ref := r.eval.def.named(v.AsString(), kinds); ref != "" {
				forms = strconv.Quote(ref)
			}
			r.fault(at, SummaryWrongType, "%s is %s, not %q.", name, forms, v.AsString())
			break
		}
		known := r.eval.def.known(m[1])
		if slices.Contains(known, m[2]) {
			return reference{m[1], m[2]}, true
		}
		r.fault(at, SummaryUnknownReference, "There is no %s %q.%s", strings.ReplaceAll(m[1], "_", " "), m[2], meantDefined(m[1], m[2], known))
	case v.Type() == cty.String:
		if ref := r.eval.def.named(v.AsString(), kinds); ref != "" {
			r.fault(at, SummaryWrongType, "%s is a reference: write %s, without quotes.", name, ref)
			break
		}
		r.fault(at, SummaryWrongType, "%s is a reference: write %s, without quotes.%s", name, forms, r.eval.def.near(v.AsString(), kinds))
	default:
		r.fault(at, SummaryWrongType, "%s is %s, not %s.", name, forms, typeWord(v))
	}
	return reference{}, false
}

// placedRef is a reference with the place where it is written.
type placedRef struct {
	reference
	at hcl.Range
}

// refs resolves one reference or a list of them.
func (r *resolver) refs(a *hcl.Attribute, kinds ...string) ([]placedRef, bool) {
	v, ok := r.value(a)
	if !ok {
		return nil, false
	}
	if t := v.Type(); !t.IsTupleType() && !t.IsListType() && !t.IsSetType() {
		ref, ok := r.asRef(v, a.Expr.Range(), a.Name, kinds)
		return []placedRef{{ref, a.Expr.Range()}}, ok
	}
	var out []placedRef
	ok = r.elements(a, v, func(v cty.Value, at hcl.Range) bool {
		ref, ok := r.asRef(v, at, "An element of "+a.Name, kinds)
		out = append(out, placedRef{ref, at})
		return ok
	})
	return out, ok
}

// namesOf resolves a list of what is called by its name in quotes or by a
// reference, role.NAME for a role. A name that there is not is a fault.
func (r *resolver) namesOf(a *hcl.Attribute, kind string) ([]string, bool) {
	v, ok := r.value(a)
	if !ok {
		return nil, false
	}
	out := []string{}
	ok = r.elements(a, v, func(v cty.Value, at hcl.Range) bool {
		if v.Type() == referenceType || isJSON(at.Filename) && v.Type() == cty.String && strings.HasPrefix(v.AsString(), kind+".") {
			ref, ok := r.asRef(v, at, "An element of "+a.Name, []string{kind})
			if ok {
				out = append(out, ref.name)
			}
			return ok
		}
		name, ok := r.asText(v, at, "An element of "+a.Name)
		if !ok {
			return false
		}
		if known := r.eval.def.known(kind); !slices.Contains(known, name) {
			r.fault(at, SummaryUnknownReference, "There is no %s %q.%s", strings.ReplaceAll(kind, "_", " "), name, r.eval.def.near(name, []string{kind}))
			return false
		}
		out = append(out, name)
		return true
	})
	return out, ok
}

// textMap resolves an object of strings, nulls left out.
func (r *resolver) textMap(a *hcl.Attribute) (map[string]string, bool) {
	v, ok := r.value(a)
	if !ok {
		return nil, false
	}
	if t := v.Type(); !t.IsObjectType() && !t.IsMapType() {
		r.wrong(a.Expr.Range(), a.Name, "an object: write { key = value, … }", v)
		return nil, false
	}
	places := keyPlaces(a.Expr)
	out, good := map[string]string{}, true
	elements := v.AsValueMap()
	for _, name := range names(elements) {
		if elements[name].IsNull() {
			continue
		}
		at := a.Expr.Range()
		if p, ok := places[name]; ok {
			at = p.value
		}
		s, ok := r.asText(elements[name], at, a.Name+"."+name)
		out[name], good = s, good && ok
	}
	return out, good
}

// require resolves how many of a round's workers must complete.
func (r *resolver) require(a *hcl.Attribute) (plan.Require, bool) {
	v, ok := r.value(a)
	if !ok {
		return plan.Require{All: true}, false
	}
	s, isText := toText(v)
	if isText {
		text := s.AsString()
		if text == "all" {
			return plan.Require{All: true}, true
		}
		if digits, ok := strings.CutSuffix(text, "%"); ok {
			if n, err := strconv.Atoi(digits); err == nil && n >= 0 && n <= 100 {
				return plan.Require{Percent: &n}, true
			}
			r.fault(a.Expr.Range(), SummaryOutOfRange, "A percentage is a whole number from 0%% to 100%%.")
			return plan.Require{All: true}, false
		}
		if n, err := strconv.Atoi(text); err == nil {
			if n < 0 || n > maxWorkers {
				r.fault(a.Expr.Range(), SummaryOutOfRange, "require counts workers: from 0 to as many as the round has.")
				return plan.Require{All: true}, false
			}
			return plan.Require{Count: n}, true
		}
	}
	shown := typeWord(v)
	if isText {
		shown = fmt.Sprintf("%q", s.AsString())
	}
	r.fault(a.Expr.Range(), SummaryWrongValue, "require is \"all\", a count, or a percentage such as \"50%%\", not %s.", shown)
	return plan.Require{All: true}, false
}
