package schema

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// fault is a place with what is wrong there.
type fault struct {
	Place
	format bool // nothing but a format is wrong
}

// look finds the places of a document that a schema objects to. The library
// judges documents, and names one part of the schema; an author needs the
// place in what they wrote. So look goes down schema and document together,
// and has the library judge each part on its own.
//
// unevaluatedItems and unevaluatedProperties are not looked into: what they
// object to has no place but the document.
func (t *tree) look(value any) []fault {
	l := &looker{tree: t, own: map[*jsonschema.Schema]*jsonschema.Resolved{}}
	return l.part(t.root, value, "")
}

type looker struct {
	*tree
	own map[*jsonschema.Schema]*jsonschema.Resolved // parts without what is below them
}

func (l *looker) part(s *jsonschema.Schema, value any, at string) []fault {
	if never(s) {
		return []fault{here(at, "nothing is allowed here")}
	}
	if f := kind(s, value, at); f != nil {
		return f
	}
	var found []fault
	if err := l.itself(s).Validate(value); err != nil {
		found = append(found, here(at, problem(err)))
	}
	if text, ok := value.(string); ok {
		if check := formats[s.Format]; check != nil && !check(text) {
			found = append(found, fault{Place{at, fmt.Sprintf("format: %q is not a valid %s", text, s.Format)}, true})
		}
	}
	found = append(found, l.combined(s, value, at)...)
	switch v := value.(type) {
	case []any:
		found = append(found, l.array(s, v, at)...)
	case map[string]any:
		found = append(found, l.object(s, v, at)...)
	}
	return found
}

// combined looks into the parts that apply to the same value.
func (l *looker) combined(s *jsonschema.Schema, value any, at string) []fault {
	var found []fault
	for _, ref := range []string{s.Ref, s.DynamicRef} {
		if target, err := l.target(ref); ref != "" && err == nil {
			found = append(found, l.part(target, value, at)...)
		}
	}
	for _, part := range s.AllOf {
		found = append(found, l.part(part, value, at)...)
	}
	if len(s.AnyOf) > 0 {
		faults, fits := l.alternatives(s.AnyOf, value, at)
		if fits == 0 {
			found = append(found, faults...)
		}
	}
	if len(s.OneOf) > 0 {
		switch faults, fits := l.alternatives(s.OneOf, value, at); {
		case fits == 0:
			found = append(found, faults...)
		case fits > 1:
			found = append(found, here(at, "oneOf: more than one alternative fits"))
		}
	}
	if s.Not != nil && len(l.part(s.Not, value, at)) == 0 {
		found = append(found, here(at, "not: this is what must not be"))
	}
	if s.If != nil {
		then := s.Then
		if len(l.part(s.If, value, at)) > 0 {
			then = s.Else
		}
		if then != nil {
			found = append(found, l.part(then, value, at)...)
		}
	}
	return found
}

// alternatives returns how many fit and, where none does, what is wrong with
// the one that is meant: alternatives that fail here already, as a null does
// for an object, say nothing while another one fails further down.
func (l *looker) alternatives(parts []*jsonschema.Schema, value any, at string) (faults []fault, fits int) {
	for _, part := range parts {
		found := l.part(part, value, at)
		if len(found) == 0 {
			fits++
		}
		faults = append(faults, found...)
	}
	deeper := slices.DeleteFunc(slices.Clone(faults), func(f fault) bool { return f.Pointer == at })
	if len(deeper) > 0 {
		faults = deeper
	}
	return faults, fits
}

func (l *looker) array(s *jsonschema.Schema, value []any, at string) []fault {
	var found []fault
	first, rest := s.PrefixItems, s.Items
	if s.ItemsArray != nil {
		first, rest = s.ItemsArray, s.AdditionalItems
	}
	matches := 0
	for i, e := range value {
		place := at + "/" + strconv.Itoa(i)
		if i < len(first) {
			found = append(found, l.part(first[i], e, place)...)
		} else if rest != nil {
			found = append(found, l.part(rest, e, place)...)
		}
		if s.Contains != nil && len(l.part(s.Contains, e, place)) == 0 {
			matches++
		}
	}
	if s.Contains != nil {
		least := 1
		if s.MinContains != nil {
			least = *s.MinContains
		}
		if matches < least {
			found = append(found, here(at, fmt.Sprintf("contains: %d items match, fewer than %d", matches, least)))
		}
		if s.MaxContains != nil && matches > *s.MaxContains {
			found = append(found, here(at, fmt.Sprintf("contains: %d items match, more than %d", matches, *s.MaxContains)))
		}
	}
	return found
}

func (l *looker) object(s *jsonschema.Schema, value map[string]any, at string) []fault {
	var found []fault
	var surplus []string
	for _, key := range slices.Sorted(maps.Keys(value)) {
		place := at + "/" + escape(key)
		known := false
		if part := s.Properties[key]; part != nil {
			known = true
			found = append(found, l.part(part, value[key], place)...)
		}
		for pattern, part := range s.PatternProperties {
			if l.keys[pattern].MatchString(key) {
				known = true
				found = append(found, l.part(part, value[key], place)...)
			}
		}
		if s.AdditionalProperties != nil && !known {
			if never(s.AdditionalProperties) {
				surplus = append(surplus, key)
			} else {
				found = append(found, l.part(s.AdditionalProperties, value[key], place)...)
			}
		}
		if s.PropertyNames != nil {
			found = append(found, l.part(s.PropertyNames, key, place)...)
		}
		for _, dependent := range []map[string]*jsonschema.Schema{s.DependentSchemas, s.DependencySchemas} {
			if part := dependent[key]; part != nil {
				found = append(found, l.part(part, value, at)...)
			}
		}
	}
	if surplus != nil {
		found = append(found, here(at, fmt.Sprintf("additionalProperties: %q are not known", surplus)))
	}
	return found
}

// kind tells that a value is of another type than a part wants.
func kind(s *jsonschema.Schema, value any, at string) []fault {
	want := s.Types
	if s.Type != "" {
		want = []string{s.Type}
	}
	got := typeOf(value)
	if want == nil || slices.Contains(want, got) || got == "integer" && slices.Contains(want, "number") {
		return nil
	}
	return []fault{here(at, fmt.Sprintf("type: got %s, want %s", got, strings.Join(want, " or ")))}
}

func typeOf(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case int64:
		return "integer"
	case float64:
		if v == float64(int64(v)) || v >= 1<<63 || v <= -1<<63 {
			return "integer"
		}
		return "number"
	}
	panic(fmt.Sprintf("value of type %T", value)) // decode makes no other
}

// itself is a part of a schema without type, format and other parts.
func (l *looker) itself(s *jsonschema.Schema) *jsonschema.Resolved {
	if r := l.own[s]; r != nil {
		return r
	}
	r, err := (&jsonschema.Schema{
		Schema: l.root.Schema,
		Enum:   s.Enum, Const: s.Const,
		MultipleOf: s.MultipleOf, Minimum: s.Minimum, Maximum: s.Maximum,
		ExclusiveMinimum: s.ExclusiveMinimum, ExclusiveMaximum: s.ExclusiveMaximum,
		MinLength: s.MinLength, MaxLength: s.MaxLength, Pattern: s.Pattern,
		MinItems: s.MinItems, MaxItems: s.MaxItems, UniqueItems: s.UniqueItems,
		MinProperties: s.MinProperties, MaxProperties: s.MaxProperties, Required: s.Required,
		DependentRequired: s.DependentRequired, DependencyStrings: s.DependencyStrings,
	}).Resolve(nil)
	if err != nil {
		panic(err) // the whole was resolved
	}
	l.own[s] = r
	return r
}

// never tells the schema false, which the library reads as {"not": {}}.
func never(s *jsonschema.Schema) bool {
	return s.Not != nil && empty(s.Not)
}

func empty(s *jsonschema.Schema) bool {
	src, err := s.MarshalJSON()
	return err == nil && string(src) == "true"
}

func here(at, problem string) fault { return fault{Place: Place{at, problem}} }

// problem is the library's message without the path through the schema.
func problem(err error) string {
	text := err.Error()
	for strings.HasPrefix(text, "validating ") {
		_, rest, found := strings.Cut(text, ": ")
		if !found {
			break
		}
		text = rest
	}
	return text
}
