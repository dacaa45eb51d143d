package function

import (
	"errors"
	"fmt"
	"sort"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

func collectionFunctions() []entry {
	return []entry{
		{"alltrue(list)", "Whether every element is true; true for an empty list.", quantifier(true)},
		{"anytrue(list)", "Whether an element is true; false for an empty list.", quantifier(false)},
		{"chunklist(list, size)", "The list cut into lists of at most size elements.", bounded(stdlib.ChunklistFunc, nil)},
		{"coalesce(values...)", "The first value that is neither null nor an empty string.", bounded(coalesce, nil)},
		{"coalescelist(lists...)", "The first list that is neither null nor empty.", bounded(stdlib.CoalesceListFunc, nil)},
		{"compact(list)", "The list of strings without null and empty ones.", bounded(stdlib.CompactFunc, nil)},
		{"concat(lists...)", "The elements of all lists, one after the other.", bounded(stdlib.ConcatFunc, nil)},
		{"contains(list, value)", "Whether the list or set holds the value.", bounded(stdlib.ContainsFunc, nil)},
		{"distinct(list)", "The list without repeated elements; the first of equal ones stays.", bounded(distinct, nil)},
		{"element(list, index)", "The element at an index, which wraps around at the end.", bounded(stdlib.ElementFunc, nil)},
		{"flatten(list)", "The list with the lists inside it replaced by their elements.", bounded(stdlib.FlattenFunc, nil)},
		{"index(list, value)", "The position of the first element that equals the value, from 0. An error where there is none.", bounded(index, nil)},
		{"keys(map)", "The keys of a map or object, sorted.", bounded(stdlib.KeysFunc, nil)},
		{"length(value)", "The number of elements of a collection, or of characters of a string.", bounded(length, nil)},
		{"lookup(map, key, default...)", "The value at a key; the default, or without one an error, where there is none.", bounded(lookup, nil)},
		{"matchkeys(values, keys, search)", "The values at the positions at which keys holds an element of search.", bounded(matchKeys, nil)},
		{"merge(maps...)", "One map or object with the entries of all; the last of equal keys wins.", bounded(stdlib.MergeFunc, nil)},
		{"one(list)", "The only element of a list, set or tuple; null where it is empty. An error where there are more.", bounded(one, nil)},
		{"range(start, limit, step...)", "Numbers from start up to limit, which is left out; with one argument, from 0 up to it.", bounded(stdlib.RangeFunc, nil)},
		{"reverse(list)", "The list in reverse order.", bounded(stdlib.ReverseListFunc, nil)},
		{"setintersection(set, sets...)", "The elements that all sets hold.", bounded(stdlib.SetIntersectionFunc, nil)},
		{"setproduct(sets...)", "Every combination of one element of each set or list.", bounded(stdlib.SetProductFunc, checkSetProduct)},
		{"setsubtract(a, b)", "The elements of set a that set b does not hold.", bounded(stdlib.SetSubtractFunc, nil)},
		{"setunion(set, sets...)", "The elements that any of the sets holds.", bounded(stdlib.SetUnionFunc, nil)},
		{"slice(list, start, end)", "The elements from index start up to index end, which is left out.", bounded(stdlib.SliceFunc, nil)},
		{"sort(list)", "The strings of the list in order of their code points.", bounded(stdlib.SortFunc, nil)},
		{"transpose(map)", "A map of lists of strings turned around: every string with the keys that hold it.", bounded(transpose, nil)},
		{"values(map)", "The values of a map or object, in the order of the keys.", bounded(stdlib.ValuesFunc, nil)},
		{"zipmap(keys, values)", "A map from the keys to the values at the same positions.", bounded(stdlib.ZipmapFunc, nil)},
	}
}

// elements returns the elements of a list, set or tuple.
func elements(v cty.Value) ([]cty.Value, error) {
	t := v.Type()
	if v.IsNull() || !(t.IsListType() || t.IsSetType() || t.IsTupleType()) {
		return nil, fmt.Errorf("a list, set or tuple is needed, not %s", t.FriendlyName())
	}
	return v.AsValueSlice(), nil
}

func converted(v cty.Value, t cty.Type) (cty.Value, error) {
	out, err := convert.Convert(v, t)
	if err != nil {
		return cty.NilVal, fmt.Errorf("%s is needed, not %s", t.FriendlyName(), v.Type().FriendlyName())
	}
	return out, nil
}

// quantifier makes alltrue and anytrue. Null counts as false.
func quantifier(all bool) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "list", Type: cty.List(cty.Bool)}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if !args[0].IsWhollyKnown() {
				return cty.UnknownVal(cty.Bool), nil
			}
			for _, v := range args[0].AsValueSlice() {
				if holds := !v.IsNull() && v.True(); holds != all {
					return cty.BoolVal(!all), nil
				}
			}
			return cty.BoolVal(all), nil
		},
	})
}

var coalesce = function.New(&function.Spec{
	VarParam: &function.Parameter{Name: "values", Type: cty.DynamicPseudoType, AllowNull: true, AllowDynamicType: true},
	Type: func(args []cty.Value) (cty.Type, error) {
		types := make([]cty.Type, len(args))
		for i, a := range args {
			types[i] = a.Type()
		}
		t, _ := convert.UnifyUnsafe(types)
		if t == cty.NilType {
			return cty.NilType, errors.New("all arguments must be of one type")
		}
		return t, nil
	},
	Impl: func(args []cty.Value, t cty.Type) (cty.Value, error) {
		for _, a := range args {
			v, err := converted(a, t)
			if err != nil {
				return cty.NilVal, err
			}
			if v.IsNull() || t == cty.String && v.AsString() == "" {
				continue
			}
			return v, nil
		}
		return cty.NilVal, errors.New("every argument is null or an empty string")
	},
})

var distinct = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "list", Type: cty.List(cty.DynamicPseudoType)}},
	Type:   func(args []cty.Value) (cty.Type, error) { return args[0].Type(), nil },
	Impl: func(args []cty.Value, t cty.Type) (cty.Value, error) {
		// The library's own compares each element with all before it.
		seen := cty.NewValueSet(t.ElementType())
		var out []cty.Value
		for _, v := range args[0].AsValueSlice() {
			if !seen.Has(v) {
				seen.Add(v)
				out = append(out, v)
			}
		}
		if len(out) == 0 {
			return cty.ListValEmpty(t.ElementType()), nil
		}
		return cty.ListVal(out), nil
	},
})

var index = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}, {Name: "value", Type: cty.DynamicPseudoType}},
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if t := args[0].Type(); !(t.IsListType() || t.IsTupleType()) {
			return cty.NilVal, function.NewArgErrorf(0, "a list or tuple is needed, not %s", t.FriendlyName())
		}
		for i, v := range args[0].AsValueSlice() {
			if eq, err := stdlib.Equal(v, args[1]); err == nil && !eq.IsNull() && eq.True() {
				return cty.NumberIntVal(int64(i)), nil
			}
		}
		return cty.NilVal, function.NewArgErrorf(1, "the list does not hold it")
	},
})

var length = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType}},
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		switch v := args[0]; {
		case v.Type() == cty.String:
			return stdlib.Strlen(v)
		case v.CanIterateElements():
			return cty.NumberIntVal(int64(v.LengthInt())), nil
		default:
			return cty.NilVal, function.NewArgErrorf(0, "a collection or a string is needed, not %s", v.Type().FriendlyName())
		}
	},
})

var lookup = function.New(&function.Spec{
	Params:   []function.Parameter{{Name: "map", Type: cty.DynamicPseudoType}, {Name: "key", Type: cty.String}},
	VarParam: &function.Parameter{Name: "default", Type: cty.DynamicPseudoType, AllowNull: true, AllowDynamicType: true},
	Type:     function.StaticReturnType(cty.DynamicPseudoType),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if len(args) > 3 {
			return cty.NilVal, function.NewArgErrorf(3, "there can be only one default")
		}
		m, key := args[0], args[1].AsString()
		switch t := m.Type(); {
		case t.IsObjectType():
			if t.HasAttribute(key) {
				return m.GetAttr(key), nil
			}
		case t.IsMapType():
			if m.HasIndex(args[1]).True() {
				return m.Index(args[1]), nil
			}
		default:
			return cty.NilVal, function.NewArgErrorf(0, "a map or object is needed, not %s", t.FriendlyName())
		}
		if len(args) == 3 {
			return args[2], nil
		}
		return cty.NilVal, function.NewArgErrorf(1, "there is no key %q; give a default as third argument", key)
	},
})

var matchKeys = function.New(&function.Spec{
	Params: []function.Parameter{
		{Name: "values", Type: cty.List(cty.DynamicPseudoType)},
		{Name: "keys", Type: cty.List(cty.DynamicPseudoType)},
		{Name: "search", Type: cty.List(cty.DynamicPseudoType)},
	},
	Type: func(args []cty.Value) (cty.Type, error) { return args[0].Type(), nil },
	Impl: func(args []cty.Value, t cty.Type) (cty.Value, error) {
		values, keys := args[0].AsValueSlice(), args[1].AsValueSlice()
		if len(values) != len(keys) {
			return cty.NilVal, function.NewArgErrorf(1, "has %d elements, but there are %d values", len(keys), len(values))
		}
		search, err := convert.Convert(args[2], args[1].Type())
		if err != nil {
			return cty.NilVal, function.NewArgErrorf(2, "must have elements of the type of the keys")
		}
		wanted := cty.NewValueSet(args[1].Type().ElementType())
		for _, v := range search.AsValueSlice() {
			wanted.Add(v)
		}
		var out []cty.Value
		for i, k := range keys {
			if wanted.Has(k) {
				out = append(out, values[i])
			}
		}
		if len(out) == 0 {
			return cty.ListValEmpty(t.ElementType()), nil
		}
		return cty.ListVal(out), nil
	},
})

var one = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}},
	Type:   function.StaticReturnType(cty.DynamicPseudoType),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		values, err := elements(args[0])
		switch {
		case err != nil:
			return cty.NilVal, function.NewArgError(0, err)
		case len(values) == 0:
			return cty.NullVal(cty.DynamicPseudoType), nil
		case len(values) > 1:
			return cty.NilVal, function.NewArgErrorf(0, "has %d elements, and may have one at most", len(values))
		}
		return values[0], nil
	},
})

func checkSetProduct(args []cty.Value) error {
	total := 1
	for _, a := range args {
		if a.IsNull() || !a.CanIterateElements() {
			return nil // the function says it better
		}
		n := a.LengthInt()
		if n == 0 {
			return nil
		}
		if total *= n; total*(len(args)+1) > MaxElements {
			return tooMany()
		}
	}
	return nil
}

var transpose = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "map", Type: cty.Map(cty.List(cty.String))}},
	Type:   function.StaticReturnType(cty.Map(cty.List(cty.String))),
	Impl: func(args []cty.Value, t cty.Type) (cty.Value, error) {
		turned := map[string][]string{}
		for it := args[0].ElementIterator(); it.Next(); {
			k, list := it.Element()
			if list.IsNull() {
				continue
			}
			for _, v := range list.AsValueSlice() {
				if v.IsNull() {
					return cty.NilVal, function.NewArgErrorf(0, "the list at %q holds null", k.AsString())
				}
				turned[v.AsString()] = append(turned[v.AsString()], k.AsString())
			}
		}
		if len(turned) == 0 {
			return cty.MapValEmpty(t.ElementType()), nil
		}
		out := make(map[string]cty.Value, len(turned))
		for k, list := range turned {
			sort.Strings(list)
			values := make([]cty.Value, len(list))
			for i, s := range list {
				values[i] = cty.StringVal(s)
			}
			out[k] = cty.ListVal(values)
		}
		return cty.MapVal(out), nil
	},
})
