package function

import (
	"errors"
	"math/big"
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
	for _, op := range []*hclsyntax.Operation{hclsyntax.OpAdd, hclsyntax.OpSubtract, hclsyntax.OpMultiply, hclsyntax.OpNegate} {
		op.Impl = boundedNumber(op.Impl, nil)
	}
	for _, op := range []*hclsyntax.Operation{hclsyntax.OpDivide, hclsyntax.OpModulo} {
		op.Impl = boundedNumber(op.Impl, divisor)
	}
})

// divisor refuses zero: the library divides by it, into infinity.
func divisor(args []cty.Value) error {
	if args[1].AsBigFloat().Sign() == 0 {
		return errors.New("divided by zero")
	}
	return nil
}

// boundedNumber returns f, which makes a number, with that and what it is made
// of held to the limit.
func boundedNumber(f function.Function, before check) function.Function {
	return function.New(&function.Spec{
		Description: f.Description(),
		Params:      f.Params(),
		Type:        f.ReturnTypeForValues,
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			var s size
			for _, a := range args {
				if why := numberFault(a); why != "" {
					return cty.NilVal, errors.New("an operand " + why)
				}
			}
			if before != nil {
				if err := before(args); err != nil {
					return cty.NilVal, err
				}
			}
			v, err := f.Call(args)
			if err != nil {
				return cty.NilVal, Plain(err)
			}
			return v, s.add(v)
		},
	})
}

// The faults of numbers, as they go on after what the number is.
const (
	faultInfinite = "is infinite, or too large to be worked out"
	faultLarge    = "is a number of more than 400 digits"
	faultSmall    = "is a number of more than 400 digits after the point"
)

// TooLong reports whether a number has more digits than any may have, before
// or after the point, or is infinite.
func TooLong(number cty.Value) bool { return numberFault(number) != "" }

// Infinite reports whether a value is an infinite number.
func Infinite(number cty.Value) bool { return numberFault(number) == faultInfinite }

// numberFault says why no number may be like this one, or "".
func numberFault(number cty.Value) string {
	number, _ = number.Unmark()
	if number.Type() != cty.Number || number.IsNull() || !number.IsKnown() {
		return ""
	}
	f := number.AsBigFloat()
	e := f.MantExp(nil)
	switch {
	case f.IsInf():
		return faultInfinite
	case e > maxBits:
		return faultLarge
	case e < -maxBits:
		return faultSmall
	}
	return ""
}

// Plain is the error of a call without what the library tells of a panic in it:
// the stack of the program.
func Plain(err error) error {
	failed, ok := errors.AsType[function.PanicError](err)
	if !ok {
		return err
	}
	if _, ok := failed.Value.(big.ErrNaN); ok {
		return errors.New("the result is not a number")
	}
	return errors.New("these values are more than it can deal with")
}
