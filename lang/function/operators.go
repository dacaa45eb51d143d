package function

import (
	"sync"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// BoundOperators holds what + - * / % and the sign make to the size of numbers
// that functions are held to. Squaring 1e400 sixteen times gives a number that
// takes minutes to write out, and "1e20000000" becomes a number where one is
// needed. HCL parses the texts of JSON syntax anew whenever they are evaluated,
// so that its table of operators is the one place where the bound holds in both
// syntaxes; it is changed once, for the whole process. Call it before anything
// is evaluated.
func BoundOperators() { boundOperators() }

var boundOperators = sync.OnceFunc(func() {
	for _, op := range []*hclsyntax.Operation{
		hclsyntax.OpAdd, hclsyntax.OpSubtract, hclsyntax.OpMultiply, hclsyntax.OpDivide, hclsyntax.OpModulo, hclsyntax.OpNegate,
	} {
		op.Impl = boundedNumber(op.Impl)
	}
})

// boundedNumber returns f, which makes a number, with that held to the limit.
func boundedNumber(f function.Function) function.Function {
	return function.New(&function.Spec{
		Description: f.Description(),
		Params:      f.Params(),
		Type:        f.ReturnTypeForValues,
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			v, err := f.Call(args)
			if err != nil {
				return cty.NilVal, err
			}
			var s size
			return v, s.add(v)
		},
	})
}

// TooLong reports whether a number has more digits than any may have, before
// or after the point.
func TooLong(number cty.Value) bool {
	number, _ = number.Unmark()
	if number.Type() != cty.Number || number.IsNull() || !number.IsKnown() {
		return false
	}
	f := number.AsBigFloat()
	e := f.MantExp(nil)
	return !f.IsInf() && (e > maxBits || e < -maxBits)
}
