package function

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/customdecode"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

func controlFunctions() []entry {
	return []entry{
		{"can(expression)", "Whether the expression can be evaluated without an error.", can},
		{"tobool(value)", "The value as a bool.", bounded(stdlib.MakeToFunc(cty.Bool), nil)},
		{"tolist(value)", "The value as a list.", bounded(collect(cty.List), nil)},
		{"tomap(value)", "The value as a map.", bounded(stdlib.MakeToFunc(cty.Map(cty.DynamicPseudoType)), nil)},
		{"tonumber(value)", "The value as a number.", bounded(stdlib.MakeToFunc(cty.Number), nil)},
		{"toset(value)", "The value as a set.", bounded(collect(cty.Set), nil)},
		{"tostring(value)", "The value as a string.", bounded(stdlib.MakeToFunc(cty.String), nil)},
		{"try(expressions...)", "The first expression that can be evaluated without an error.", try},
	}
}

// collect makes tolist and toset. The library's own compares the types of all
// elements with each other, which takes seconds for a list of ten thousand;
// most lists are of one type, which is then that of the result.
func collect(of func(cty.Type) cty.Type) function.Function {
	library := stdlib.MakeToFunc(of(cty.DynamicPseudoType))
	return function.New(&function.Spec{
		Params: library.Params(),
		Type: func(args []cty.Value) (cty.Type, error) {
			if t, ok := uniform(args[0].Type()); ok {
				return of(t), nil
			}
			return library.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, t cty.Type) (cty.Value, error) {
			if _, ok := uniform(args[0].Type()); ok {
				return convert.Convert(args[0], t)
			}
			return library.Call(args)
		},
	})
}

// uniform tells the type of a tuple's elements where they have the same.
func uniform(tuple cty.Type) (cty.Type, bool) {
	if !tuple.IsTupleType() || tuple.Length() == 0 || tuple.HasDynamicTypes() {
		return cty.NilType, false
	}
	types := tuple.TupleElementTypes()
	for _, t := range types[1:] {
		if !t.Equals(types[0]) {
			return cty.NilType, false
		}
	}
	return types[0], true
}

// try and can differ from the library's in one point: these evaluate an
// expression once, in Impl, where those evaluate it for its type as well, so
// that every level of nesting doubles the work.

var try = function.New(&function.Spec{
	VarParam: &function.Parameter{Name: "expressions", Type: customdecode.ExpressionClosureType},
	Type:     function.StaticReturnType(cty.DynamicPseudoType),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if len(args) == 0 {
			return cty.NilVal, errors.New("at least one expression is needed")
		}
		var failed hcl.Diagnostics
		for _, arg := range args {
			v, diags := customdecode.ExpressionClosureFromVal(arg).Value()
			if !diags.HasErrors() {
				return v, nil
			}
			failed = append(failed, diags...)
		}
		var b strings.Builder
		b.WriteString("no expression could be evaluated:")
		for i, d := range failed {
			if i == 5 {
				fmt.Fprintf(&b, "\n- and %d more", len(failed)-i)
				break
			}
			fmt.Fprintf(&b, "\n- %s: %.200s", d.Summary, d.Detail)
		}
		return cty.NilVal, errors.New(b.String())
	},
})

var can = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "expression", Type: customdecode.ExpressionClosureType}},
	Type:   function.StaticReturnType(cty.Bool),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		_, diags := customdecode.ExpressionClosureFromVal(args[0]).Value()
		return cty.BoolVal(!diags.HasErrors()), nil
	},
})
