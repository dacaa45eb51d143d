package schema_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime"
	"github.com/okstra/okstra/runtime/converge"
	"github.com/okstra/okstra/runtime/launch"
	"github.com/okstra/okstra/runtime/lead"
	"github.com/okstra/okstra/runtime/record"
	"github.com/okstra/okstra/runtime/schema"
	"github.com/okstra/okstra/runtime/sidecar"
)

// typed is a schema with the Go type whose files it describes.
type typed struct {
	name string
	at   string // where in the schema the type stands; empty for the root
	goes reflect.Type
	// lenient lists properties, as Type.property, that the schema does not
	// require although okstra always writes them.
	lenient []string
}

var types = []typed{
	{schema.Plan, "", reflect.TypeFor[plan.Plan](), nil},
	{schema.Launch, "", reflect.TypeFor[launch.Record](), nil},
	{schema.Env, "", reflect.TypeFor[launch.Env](), nil},
	{schema.Go, "", reflect.TypeFor[launch.Go](), nil},
	{schema.Status, "", reflect.TypeFor[sidecar.Status](), nil},
	{schema.TeamState, "", reflect.TypeFor[record.State](), nil},
	{schema.RunManifest, "#/$defs/v2", reflect.TypeFor[lead.Manifest](), []string{"WorkerV1.role"}},
	{schema.Event, "", reflect.TypeFor[lead.Event](), nil},
	{schema.InputsIndex, "", reflect.TypeFor[runtime.Inputs](), nil},
	{schema.Approval, "", reflect.TypeFor[runtime.ApprovalFile](), nil},
	{schema.Findings, "", reflect.TypeFor[converge.Findings](), nil},
	{schema.Verdicts, "", reflect.TypeFor[converge.Verdicts](), nil},
	{schema.Verdict, "", reflect.TypeFor[converge.WorkVerdict](), nil},
	{schema.Convergence, "", reflect.TypeFor[converge.State](), nil},
	{schema.RoundPlan, "", reflect.TypeFor[converge.RoundPlan](), []string{
		"Item.author", "Item.title", "Item.severity", "Item.location", "Item.claim", "Item.evidence", "Item.said",
	}},
}

type node = map[string]any

// document is a schema's text with its references followed.
type document struct{ root node }

func open(t *testing.T, name string) *document {
	t.Helper()
	src, err := schema.Source(name)
	if err != nil {
		t.Fatal(err)
	}
	d := &document{}
	if err := json.Unmarshal(src, &d.root); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *document) follow(n node) node {
	if any, ok := n["anyOf"].([]any); ok { // a reference, or null
		return d.follow(any[0].(node))
	}
	ref, ok := n["$ref"].(string)
	if !ok {
		return n
	}
	return d.at(ref)
}

func (d *document) at(ref string) node {
	if ref == "" {
		return d.root
	}
	return d.root["$defs"].(node)[strings.TrimPrefix(ref, "#/$defs/")].(node)
}

// member is one JSON member that encoding/json writes for a struct.
type member struct {
	goes     reflect.Type
	required bool
}

func members(t reflect.Type) map[string]member {
	out := map[string]member{}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			maps.Copy(out, members(f.Type))
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		out[name] = member{f.Type, !strings.Contains(options, "omitempty")}
	}
	return out
}

var (
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[plan.Duration]()
	templateType = reflect.TypeFor[plan.Template]()
)

// TestTypes holds every schema to the Go type that reads and writes the file:
// the same properties, the same required ones, the same kinds.
func TestTypes(t *testing.T) {
	for _, tt := range types {
		t.Run(tt.name, func(t *testing.T) {
			d := open(t, tt.name)
			agree(t, d, d.at(tt.at), tt.goes, tt.goes.Name(), tt.lenient, map[reflect.Type]bool{})
		})
	}
}

func agree(t *testing.T, d *document, n node, goes reflect.Type, at string, lenient []string, seen map[reflect.Type]bool) {
	n = d.follow(n)
	if goes.Kind() == reflect.Pointer {
		goes = goes.Elem()
	}
	kind := func(want ...string) {
		t.Helper()
		if n["const"] != nil || n["enum"] != nil {
			return
		}
		var got []string
		switch k := n["type"].(type) {
		case string:
			got = []string{k}
		case []any:
			for _, v := range k {
				got = append(got, v.(string))
			}
		}
		got = slices.DeleteFunc(got, func(s string) bool { return s == "null" })
		if !slices.Equal(got, want) {
			t.Errorf("%s: type %v, want %v for Go's %s", at, got, want, goes)
		}
	}
	switch {
	case goes == timeType || goes == durationType:
		kind("string")
		return
	case goes == templateType:
		kind("string", "array")
		return
	}
	switch goes.Kind() {
	case reflect.String:
		kind("string")
	case reflect.Bool:
		kind("boolean")
	case reflect.Int, reflect.Int64, reflect.Uint64:
		kind("integer")
	case reflect.Float64:
		kind("number")
	case reflect.Interface:
	case reflect.Slice:
		kind("array")
		agree(t, d, n["items"].(node), goes.Elem(), at+"[]", lenient, seen)
	case reflect.Map:
		kind("object")
		if inner, ok := n["additionalProperties"].(node); ok {
			agree(t, d, inner, goes.Elem(), at+"{}", lenient, seen)
		}
	case reflect.Struct:
		if seen[goes] {
			return
		}
		seen[goes] = true
		kind("object")
		required := map[string]bool{}
		if list, ok := n["required"].([]any); ok {
			for _, r := range list {
				required[r.(string)] = true
			}
		}
		properties := n["properties"].(node)
		fields := members(goes)
		for name, f := range fields {
			p, ok := properties[name].(node)
			if !ok {
				t.Errorf("%s: the Go type writes %q, the schema has no such property", at, name)
				continue
			}
			if f.required && !required[name] && !slices.Contains(lenient, goes.Name()+"."+name) {
				t.Errorf("%s: %q is always written, but not required", at, name)
			}
			if !f.required && required[name] && p["const"] == nil {
				t.Errorf("%s: %q is required, but not always written", at, name)
			}
			agree(t, d, p, f.goes, at+"."+name, lenient, seen)
		}
		for name := range properties {
			if _, ok := fields[name]; !ok {
				t.Errorf("%s: the schema has %q, the Go type does not write it", at, name)
			}
		}
	default:
		t.Fatalf("%s: Go kind %s", at, goes.Kind())
	}
}

// TestFilled marshals a value of each type with every member set, and one with
// as little as possible, and expects both to be valid, and a further key and
// any member of another type not to be.
func TestFilled(t *testing.T) {
	for _, tt := range types {
		t.Run(tt.name, func(t *testing.T) {
			d := open(t, tt.name)
			n := d.at(tt.at)
			for _, whole := range []bool{true, false} {
				v := reflect.New(tt.goes).Elem()
				fill(d, n, v, whole)
				doc, err := json.Marshal(v.Interface())
				if err != nil {
					t.Fatal(err)
				}
				if err := schema.Validate(tt.name, doc); err != nil {
					t.Fatalf("all members %t: %s\n%s", whole, err, doc)
				}
				if !whole {
					continue
				}
				var tree any
				if err := json.Unmarshal(doc, &tree); err != nil {
					t.Fatal(err)
				}
				if n["additionalProperties"] == false {
					tree.(node)["surplus"] = 1
					if encoded := encode(t, tree); schema.Validate(tt.name, encoded) == nil {
						t.Error("a further key was accepted")
					}
					delete(tree.(node), "surplus")
				}
				spoil(t, tt.name, tree, tree, "")
			}
		})
	}
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// spoil replaces each member, at every depth, by a value of another type.
func spoil(t *testing.T, name string, root, tree any, at string) {
	t.Helper()
	wrong := func(v any) any {
		switch v.(type) {
		case string:
			return 7.5
		default:
			return "wrong"
		}
	}
	switch v := tree.(type) {
	case node:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			old := v[key]
			v[key] = wrong(old)
			if schema.Validate(name, encode(t, root)) == nil && !anything(at+"/"+key) {
				t.Errorf("%s/%s: %v was accepted for %v", at, key, v[key], old)
			}
			v[key] = old
			spoil(t, name, root, old, at+"/"+key)
		}
	case []any:
		for i, old := range v {
			if at == "/argv" || strings.HasSuffix(at, "/value") || strings.HasSuffix(at, "/instructions") {
				continue
			}
			spoil(t, name, root, old, fmt.Sprintf("%s/%d", at, i))
		}
	}
}

// anything lists the places that take every value: a variable's value, and the
// data of an event.
func anything(at string) bool {
	return strings.HasPrefix(at, "/variables/") && strings.HasSuffix(at, "/value") || strings.HasPrefix(at, "/data/") ||
		strings.HasSuffix(at, "/instructions") || strings.Contains(at, "/argv/") || strings.Contains(at, "/env/")
}

// fill sets v to something that its schema allows: everything, or only what
// the Go type always writes.
func fill(d *document, n node, v reflect.Value, whole bool) {
	n = d.follow(n)
	if c, ok := n["const"]; ok {
		if v.Kind() == reflect.Int {
			v.SetInt(int64(c.(float64)))
			return
		}
		v.SetString(c.(string))
		return
	}
	if list, ok := n["enum"].([]any); ok {
		e := list[0]
		if whole {
			e = list[len(list)-1]
		}
		v.SetString(e.(string))
		return
	}
	switch v.Type() {
	case timeType:
		v.Set(reflect.ValueOf(time.Date(2030, 1, 2, 3, 4, 5, 678, time.FixedZone("", 3600))))
		return
	case durationType:
		v.SetInt(int64(90*time.Second + 500*time.Microsecond))
		return
	case templateType:
		if whole {
			v.Set(reflect.ValueOf(plan.Template{{Text: "a "}, {Ref: plan.RefPromptPath}}))
		}
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
		if pattern, ok := n["pattern"].(string); ok && strings.Contains(pattern, "sha256") {
			v.SetString(digest)
		} else if ok && strings.Contains(pattern, "=") {
			v.SetString("A=b")
		}
	case reflect.Bool:
		v.SetBool(whole)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint64:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(0.25)
	case reflect.Interface:
		if whole {
			v.Set(reflect.ValueOf("v"))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(d, n, v.Elem(), whole)
	case reflect.Slice:
		if whole && n["maxItems"] == nil {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(d, n["items"].(node), v.Index(0), whole)
		} else if k, ok := n["type"].(string); ok && k == "array" {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0)) // null is not allowed
		}
	case reflect.Map:
		if whole {
			e := reflect.New(v.Type().Elem()).Elem()
			inner, _ := n["additionalProperties"].(node)
			fill(d, inner, e, whole)
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(reflect.ValueOf("k"), e)
		}
	case reflect.Struct:
		properties := n["properties"].(node)
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.Anonymous {
				fill(d, n, v.Field(i), whole)
				continue
			}
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			p, ok := properties[name].(node)
			optional := strings.Contains(options, "omitempty")
			if !ok || optional && !whole && p["const"] == nil || !whole && f.Type.Kind() == reflect.Pointer || p["maxItems"] != nil {
				continue
			}
			if name == "terminalBackend" && !whole {
				continue
			}
			fill(d, p, v.Field(i), whole)
		}
	}
}
