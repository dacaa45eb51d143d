package lang

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"

	functions "github.com/okstra/okstra/lang/function"
	"github.com/okstra/okstra/lang/plan"
)

// reference is what participant.ada and its like evaluate to.
type reference struct{ kind, name string }

func (r reference) String() string { return r.kind + "." + r.name }

// referenceType carries references through locals, lists and conditionals.
var referenceType = cty.CapsuleWithOps("reference", reflect.TypeOf(reference{}), &cty.CapsuleOps{
	GoString:     func(v any) string { return v.(*reference).String() },
	TypeGoString: func(reflect.Type) string { return "reference" },
	Equals:       func(a, b any) cty.Value { return cty.BoolVal(*a.(*reference) == *b.(*reference)) },
	RawEquals:    func(a, b any) bool { return *a.(*reference) == *b.(*reference) },
	HashKey:      func(v any) string { return v.(*reference).String() },
})

func referenceVal(kind, name string) cty.Value {
	return cty.CapsuleVal(referenceType, &reference{kind, name})
}

// A symbolic value (a path that only an attempt knows, or a sensitive
// variable) is evaluated as a string that holds its token, and is marked with
// its reference. Interpolation keeps both; a function is refused by its mark;
// a decision that was made on one leaves a mark without a token behind.
type symbolMark plan.Ref

const tokenEdge = "\x00"

func symbol(ref plan.Ref) cty.Value {
	return cty.StringVal(tokenEdge + string(ref) + tokenEdge).Mark(symbolMark(ref))
}

// describe says what a mark stands for, for a sentence.
func (m symbolMark) describe() string {
	if name, ok := plan.Ref(m).SecretName(); ok {
		return fmt.Sprintf("the sensitive variable var.%s", name)
	}
	return string(m)
}

func (m symbolMark) secret() bool {
	_, ok := plan.Ref(m).SecretName()
	return ok
}

// marksOf returns the symbols that v depends on, sorted.
func marksOf(v cty.Value) []symbolMark {
	if !v.ContainsMarked() {
		return nil
	}
	_, marks := v.UnmarkDeep()
	var out []symbolMark
	for m := range marks {
		if s, ok := m.(symbolMark); ok {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return out
}

// split turns the text of an evaluated string into a template. Only the
// symbols among marks are symbols; any other NUL is the user's own, and ok is
// false.
func split(text string, marks []symbolMark) (t plan.Template, ok bool) {
	if !strings.Contains(text, tokenEdge) {
		return plan.Text(text), true
	}
	parts := strings.Split(text, tokenEdge)
	if len(parts)%2 == 0 {
		return nil, false
	}
	t = plan.Template{}
	for i, p := range parts {
		switch {
		case i%2 == 1:
			if !slices.Contains(marks, symbolMark(p)) {
				return nil, false
			}
			t = append(t, plan.Segment{Ref: plan.Ref(p)})
		case p != "":
			t = append(t, plan.Segment{Text: p})
		}
	}
	return t, true
}

// decided returns the marks that no template holds: something was decided by
// a value that is not known yet.
func decided(marks []symbolMark, templates ...plan.Template) []symbolMark {
	if len(marks) == 0 {
		return nil
	}
	held := map[plan.Ref]bool{}
	for _, t := range templates {
		for _, r := range t.Refs() {
			held[r] = true
		}
	}
	var out []symbolMark
	for _, m := range marks {
		if !held[plan.Ref(m)] {
			out = append(out, m)
		}
	}
	return out
}

// symbolFault is the diagnostic for symbols where none may be.
func symbolFault(at hcl.Range, marks []symbolMark) *hcl.Diagnostic {
	for _, m := range marks {
		if m.secret() {
			return fault(at, SummarySensitive, "This uses %s. Sensitive values may only go to env, as they are or inside a text; nothing may be computed or decided with them.", m.describe())
		}
	}
	return fault(at, SummarySymbolic, "This uses %s, which is only known when the worker is started. It may stand in command, args, model_args, env and instructions, as it is or inside a text; nothing may be computed or decided with it.", marks[0].describe())
}

// guardFunctions wraps every function so that a symbol that is handed to it is
// refused. Functions over expressions (try, can) stay as they are: what they
// return keeps its marks.
func guardFunctions(table map[string]function.Function) map[string]function.Function {
	out := make(map[string]function.Function, len(table))
	for name, f := range table {
		if name == "try" || name == "can" {
			out[name] = f
			continue
		}
		out[name] = guardFunction(f)
	}
	return out
}

func guardFunction(f function.Function) function.Function {
	refuse := func(args []cty.Value) error {
		for i, arg := range args {
			if marks := marksOf(arg); len(marks) > 0 {
				m := marks[0]
				if m.secret() {
					return function.NewArgErrorf(i, "sensitive values may only go to env as they are or inside a text; %s cannot be handed to a function", m.describe())
				}
				return function.NewArgErrorf(i, "%s is only known when the worker is started, and cannot be handed to a function; put it into a text with ${%s}", m.describe(), m.describe())
			}
		}
		return nil
	}
	params := slices.Clone(f.Params())
	for i := range params {
		params[i].AllowMarked = true
	}
	spec := &function.Spec{
		Description: f.Description(),
		Params:      params,
		Type: func(args []cty.Value) (cty.Type, error) {
			if err := refuse(args); err != nil {
				return cty.DynamicPseudoType, err
			}
			t, err := f.ReturnTypeForValues(args)
			return t, functions.Plain(err)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			v, err := f.Call(args)
			return v, functions.Plain(err)
		},
	}
	if v := f.VarParam(); v != nil {
		p := *v
		p.AllowMarked = true
		spec.VarParam = &p
	}
	return function.New(spec)
}

// toText converts a primitive to its text; ok is false for anything else.
func toText(v cty.Value) (cty.Value, bool) {
	if !v.IsKnown() || v.IsNull() || !v.Type().IsPrimitiveType() {
		return v, false
	}
	s, err := convert.Convert(v, cty.String)
	return s, err == nil
}

// typeWord names a value's type for a sentence.
func typeWord(v cty.Value) string {
	if v.IsNull() {
		return "null"
	}
	t := v.Type()
	switch {
	case t == referenceType:
		u, _ := v.Unmark()
		return u.EncapsulatedValue().(*reference).String()
	case t.IsTupleType(), t.IsListType():
		return "a list"
	case t.IsSetType():
		return "a set"
	case t.IsObjectType(), t.IsMapType():
		return "an object"
	case t == cty.String:
		return "a string"
	case t == cty.Number:
		return "a number"
	case t == cty.Bool:
		return "a bool"
	}
	return t.FriendlyName()
}
