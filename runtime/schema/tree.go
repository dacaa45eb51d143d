package schema

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// tree is what okstra itself knows of a schema: where its parts are, what they
// refer to, and which of their formats it holds documents to.
type tree struct {
	root    *jsonschema.Schema
	parts   map[string]*jsonschema.Schema // by JSON pointer
	anchors map[string]*jsonschema.Schema
	keys    map[string]*regexp.Regexp // patterns of properties
	formats bool                      // some part names a format that is checked
}

// The dialects that the library knows.
var dialects = []string{
	"https://json-schema.org/draft/2020-12/schema",
	"https://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-07/schema#",
}

var kinds = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// newTree refuses what the library would follow out of the schema, for ever,
// or not at all.
func newTree(root *jsonschema.Schema) (*tree, error) {
	t := &tree{
		root: root, parts: map[string]*jsonschema.Schema{}, anchors: map[string]*jsonschema.Schema{},
		keys: map[string]*regexp.Regexp{},
	}
	if root.Schema != "" && !slices.Contains(dialects, root.Schema) {
		return nil, fmt.Errorf("$schema: the dialect %q is outside the schema; draft 2020-12 and draft-07 are built in", root.Schema)
	}
	if err := t.add("", root); err != nil {
		return nil, err
	}
	for at, s := range t.parts {
		for _, ref := range []string{s.Ref, s.DynamicRef} {
			if ref == "" {
				continue
			}
			if _, err := t.target(ref); err != nil {
				return nil, fmt.Errorf("%s: %w", orRoot(at), err)
			}
		}
	}
	return t, t.cycles()
}

func (t *tree) add(at string, s *jsonschema.Schema) error {
	if s == nil {
		return fmt.Errorf("%s is null where a schema is expected", orRoot(at))
	}
	t.parts[at] = s
	if s.ID != "" && s != t.root {
		return fmt.Errorf("%s: only the root of a schema may have an $id", at)
	}
	for _, anchor := range []string{s.Anchor, s.DynamicAnchor} {
		if anchor != "" {
			t.anchors[anchor] = s
		}
	}
	for _, kind := range append(slices.Clone(s.Types), s.Type) {
		if kind != "" && !slices.Contains(kinds, kind) {
			return fmt.Errorf("%s: type %q is none of %s", orRoot(at), kind, strings.Join(kinds, ", "))
		}
	}
	for pattern := range s.PatternProperties {
		re, err := regexp.Compile(pattern)
		if err != nil {
			return fmt.Errorf("%s: patternProperties: %w", orRoot(at), err)
		}
		t.keys[pattern] = re
	}
	t.formats = t.formats || formats[s.Format] != nil
	for name, child := range children(s) {
		if err := t.add(at+"/"+name, child); err != nil {
			return err
		}
	}
	return nil
}

func orRoot(at string) string {
	if at == "" {
		return "the root"
	}
	return at
}

// target finds the part that a reference means.
func (t *tree) target(ref string) (*jsonschema.Schema, error) {
	local, ok := strings.CutPrefix(ref, "#")
	if !ok && t.root.ID != "" {
		local, ok = strings.CutPrefix(ref, t.root.ID+"#")
	}
	if !ok {
		return nil, fmt.Errorf("the reference %q is outside the schema: put what it refers to under \"$defs\"", ref)
	}
	fragment, err := url.PathUnescape(local)
	if err != nil {
		return nil, fmt.Errorf("the reference %q: %w", ref, err)
	}
	in := t.anchors
	if fragment == "" || fragment[0] == '/' {
		in = t.parts
	}
	if s := in[fragment]; s != nil {
		return s, nil
	}
	return nil, fmt.Errorf("the reference %q leads to no part of the schema", ref)
}

// cycles refuses a schema that would be asked about one value for ever.
func (t *tree) cycles() error {
	const onPath, done = 1, 2
	state := map[*jsonschema.Schema]int{}
	var visit func(*jsonschema.Schema) error
	visit = func(s *jsonschema.Schema) error {
		switch state[s] {
		case onPath:
			return errors.New("a part of the schema refers to itself for one and the same value")
		case done:
			return nil
		}
		state[s] = onPath
		for next := range t.samePlace(s) {
			if err := visit(next); err != nil {
				return err
			}
		}
		state[s] = done
		return nil
	}
	for _, s := range t.parts {
		if err := visit(s); err != nil {
			return err
		}
	}
	return nil
}

// samePlace yields the parts that a part applies to the value that it is
// itself applied to.
func (t *tree) samePlace(s *jsonschema.Schema) iter.Seq[*jsonschema.Schema] {
	return func(yield func(*jsonschema.Schema) bool) {
		for _, ref := range []string{s.Ref, s.DynamicRef} {
			if target, err := t.target(ref); ref != "" && err == nil && !yield(target) {
				return
			}
		}
		here := slices.Concat(s.AllOf, s.AnyOf, s.OneOf, []*jsonschema.Schema{s.Not, s.If, s.Then, s.Else})
		here = slices.AppendSeq(here, maps.Values(s.DependentSchemas))
		here = slices.AppendSeq(here, maps.Values(s.DependencySchemas))
		for _, next := range here {
			if next != nil && !yield(next) {
				return
			}
		}
	}
}

// children yields the parts directly below a part, by their pointer from it.
func children(s *jsonschema.Schema) iter.Seq2[string, *jsonschema.Schema] {
	return func(yield func(string, *jsonschema.Schema) bool) {
		for name, child := range map[string]*jsonschema.Schema{
			"items": s.Items, "additionalItems": s.AdditionalItems, "contains": s.Contains, "unevaluatedItems": s.UnevaluatedItems,
			"additionalProperties": s.AdditionalProperties, "propertyNames": s.PropertyNames, "unevaluatedProperties": s.UnevaluatedProperties,
			"not": s.Not, "if": s.If, "then": s.Then, "else": s.Else, "contentSchema": s.ContentSchema,
		} {
			if child != nil && !yield(name, child) {
				return
			}
		}
		for name, list := range map[string][]*jsonschema.Schema{
			"prefixItems": s.PrefixItems, "items": s.ItemsArray, "allOf": s.AllOf, "anyOf": s.AnyOf, "oneOf": s.OneOf,
		} {
			for i, child := range list {
				if !yield(name+"/"+strconv.Itoa(i), child) {
					return
				}
			}
		}
		for name, group := range map[string]map[string]*jsonschema.Schema{
			"$defs": s.Defs, "definitions": s.Definitions, "properties": s.Properties, "patternProperties": s.PatternProperties,
			"dependentSchemas": s.DependentSchemas, "dependencies": s.DependencySchemas,
		} {
			for key, child := range group {
				if !yield(name+"/"+escape(key), child) {
					return
				}
			}
		}
	}
}

// escape makes a key a token of a JSON pointer.
func escape(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}
