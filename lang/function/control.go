package function

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/customdecode"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

func controlFunctions() []entry {
	return []entry{
		{"can(expression)", "Whether the expression can be evaluated without an error.", can},
		{"tobool(value)", "The value as a bool.", bounded(stdlib.MakeToFunc(cty.Bool), nil)},
		{"tolist(value)", "The value as a list.", bounded(stdlib.MakeToFunc(cty.List(cty.DynamicPseudoType)), nil)},
		{"tomap(value)", "The value as a map.", bounded(stdlib.MakeToFunc(cty.Map(cty.DynamicPseudoType)), nil)},
		{"tonumber(value)", "The value as a number.", bounded(stdlib.MakeToFunc(cty.Number), nil)},
		{"toset(value)", "The value as a set.", bounded(stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)), nil)},
		{"tostring(value)", "The value as a string.", bounded(stdlib.MakeToFunc(cty.String), nil)},
		{"try(expressions...)", "The first expression that can be evaluated without an error.", try},
	}
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
