package function

import (
	"errors"
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// The limits of what one call returns.
const (
	// MaxString is the length of a string in bytes.
	MaxString = 4 << 20
	// MaxTotal is the length of all strings of a collection together, in bytes.
	MaxTotal = 16 << 20
	// MaxElements is how many values a collection holds, nested ones included.
	MaxElements = 100_000
	// MaxNesting is how deep decoded JSON and YAML may be nested.
	MaxNesting = 200
	// MaxPadding is the largest width or precision in a format, and the
	// largest indentation.
	MaxPadding = 10_000

	// maxBits is the size of a number in bits: about four hundred decimal
	// digits before or after the point.
	maxBits = 1400
)

// Limit is one row of docs/limits.md.
type Limit struct {
	Name  string
	Value string
	Why   string
}

// Limits lists what every call is held to.
func Limits() []Limit {
	return []Limit{
		{"string returned by a function", "4 MiB", "A prompt of this size is beyond every model."},
		{"all strings of a returned collection", "16 MiB", "Plans hold what functions return."},
		{"values in a returned collection", "100,000", "Ten times as many as a run may have workers."},
		{"range(…)", "1,024 values", "The bound of the go-cty library."},
		{"nesting of decoded JSON and YAML", "200 levels", "The decoders are recursive."},
		{"values that YAML aliases may stand for", "1,000,000", "A few lines of aliases in aliases can stand for billions of values."},
		{"width, precision and indentation", "10,000", "format(\"%0999999d\", 1) would be a megabyte of zeros."},
		{"size of a number, of operators and variables too", "about 400 digits before and after the point", "Larger ones cannot be written out in reasonable time."},
	}
}

// check looks at the arguments of a call that could make far more of them than
// they are, before it is made.
type check func(args []cty.Value) error

// bounded returns f with its result held to the limits. A null without a type,
// for which the library gives an unknown value, is an error.
func bounded(f function.Function, before check) function.Function {
	params := f.Params()
	for i := range params {
		params[i].AllowDynamicType = true
	}
	rest := f.VarParam()
	if rest != nil {
		rest.AllowDynamicType = true
	}
	return function.New(&function.Spec{
		Description: f.Description(),
		Params:      params,
		VarParam:    rest,
		Type: func(args []cty.Value) (cty.Type, error) {
			// A text is made a number where one is needed.
			for i, a := range args {
				if why := numberFault(a); why != "" {
					return cty.NilType, function.NewArgErrorf(i, "it %s", why)
				}
			}
			// Some functions compute their result to know its type.
			if before != nil && wholeArguments(args) {
				if err := before(args); err != nil {
					return cty.NilType, err
				}
			}
			t, err := f.ReturnTypeForValues(args)
			return t, Plain(err)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			v, err := f.Call(args)
			if err != nil {
				return cty.NilVal, Plain(err)
			}
			if !v.IsKnown() && wholeArguments(args) {
				return cty.NilVal, errors.New("an argument is null, and a value is needed")
			}
			var s size
			return v, s.add(v)
		},
	})
}

// wholeArguments reports whether checks can look at the arguments.
func wholeArguments(args []cty.Value) bool {
	for _, a := range args {
		if a.ContainsMarked() || !a.IsWhollyKnown() {
			return false
		}
	}
	return true
}

// size is how much was seen of a value.
type size struct {
	bytes    int
	elements int
}

// add counts a value and fails at the first limit that is passed.
func (s *size) add(v cty.Value) error {
	v, _ = v.Unmark()
	if v.IsNull() || !v.IsKnown() {
		return nil
	}
	switch t := v.Type(); {
	case t == cty.String:
		n := len(v.AsString())
		if n > MaxString {
			return fmt.Errorf("the result has %d bytes, and a string may have at most %d (4 MiB)", n, MaxString)
		}
		if s.bytes += n; s.bytes > MaxTotal {
			return fmt.Errorf("the strings of the result have more than %d bytes (16 MiB) together", MaxTotal)
		}
	case t == cty.Number:
		if why := numberFault(v); why != "" {
			return errors.New("the result " + why)
		}
	case v.CanIterateElements():
		for it := v.ElementIterator(); it.Next(); {
			k, e := it.Element()
			if s.elements++; s.elements > MaxElements {
				return tooMany()
			}
			if k.Type() == cty.String {
				if err := s.add(k); err != nil {
					return err
				}
			}
			if err := s.add(e); err != nil {
				return err
			}
		}
	}
	return nil
}

func tooMany() error {
	return fmt.Errorf("the result would hold more than %d values", MaxElements)
}

// fits fails where a string of n bytes would be too long.
func fits(n int64) error {
	if n > MaxString {
		return fmt.Errorf("the result would have about %d bytes, and a string may have at most %d (4 MiB)", n, MaxString)
	}
	return nil
}

// noNUL refuses text from outside that holds a NUL, which no name, argument or
// environment value can.
func noNUL(what, text string) error {
	if i := strings.IndexByte(text, 0); i >= 0 {
		return fmt.Errorf("%s holds a NUL character at byte %d", what, i)
	}
	return nil
}

// withoutNUL returns f refusing results that hold a NUL. It is for decoders.
func withoutNUL(f function.Function) function.Function {
	return function.New(&function.Spec{
		Description: f.Description(),
		Params:      f.Params(),
		VarParam:    f.VarParam(),
		Type:        f.ReturnTypeForValues,
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			v, err := f.Call(args)
			if err != nil {
				return cty.NilVal, err
			}
			err = cty.Walk(v, func(p cty.Path, v cty.Value) (bool, error) {
				if v.Type() == cty.String && v.IsKnown() && !v.IsNull() {
					return true, noNUL("the decoded text", v.AsString())
				}
				if v.Type().IsObjectType() || v.Type().IsMapType() {
					for it := v.ElementIterator(); it.Next(); {
						k, _ := it.Element()
						if err := noNUL("a decoded key", k.AsString()); err != nil {
							return false, err
						}
					}
				}
				return true, nil
			})
			return v, err
		},
	})
}
