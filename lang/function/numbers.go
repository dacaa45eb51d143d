package function

import (
	"errors"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

func numberFunctions() []entry {
	return []entry{
		{"abs(number)", "The number without its sign.", bounded(stdlib.AbsoluteFunc, nil)},
		{"ceil(number)", "The next whole number that is not smaller.", bounded(stdlib.CeilFunc, nil)},
		{"floor(number)", "The next whole number that is not larger.", bounded(stdlib.FloorFunc, nil)},
		{"log(number, base)", "The logarithm of the number to a base.", bounded(stdlib.LogFunc, nil)},
		{"max(numbers...)", "The largest of the numbers.", bounded(stdlib.MaxFunc, nil)},
		{"min(numbers...)", "The smallest of the numbers.", bounded(stdlib.MinFunc, nil)},
		{"parseint(text, base)", "The whole number that the text writes in a base from 2 to 62.", bounded(stdlib.ParseIntFunc, checkParseInt)},
		{"pow(number, power)", "The number raised to a power.", bounded(stdlib.PowFunc, nil)},
		{"signum(number)", "-1, 0 or 1: the sign of the number.", bounded(stdlib.SignumFunc, nil)},
		{"sum(list)", "The sum of the numbers of a list or set.", bounded(sum, nil)},
	}
}

func checkParseInt(args []cty.Value) error {
	if v := args[0]; !v.IsNull() && v.Type() == cty.String && len(v.AsString()) > maxBits {
		return function.NewArgErrorf(0, "has more than %d digits", maxBits)
	}
	return nil
}

var sum = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}},
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		values, err := elements(args[0])
		if err != nil {
			return cty.NilVal, function.NewArgError(0, err)
		}
		if len(values) == 0 {
			return cty.NilVal, function.NewArgErrorf(0, "an empty list has no sum")
		}
		total := cty.Zero
		for _, v := range values {
			n, err := toNumber(v)
			if err != nil {
				return cty.NilVal, function.NewArgError(0, err)
			}
			total = total.Add(n)
		}
		return total, nil
	},
})

func toNumber(v cty.Value) (cty.Value, error) {
	if v.IsNull() {
		return cty.NilVal, errors.New("an element is null, not a number")
	}
	return converted(v, cty.Number)
}
