// Package schema holds the JSON Schema (draft 2020-12) of every file of the
// contract, and checks documents against them and against the schemas that a
// duty declares for its outputs. It reads bytes and returns what is wrong; it
// opens no file and follows no reference out of a schema.
package schema

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

//go:embed schemas/*.json
var files embed.FS

// The names of the schemas, as `okstra schema NAME` takes them.
const (
	Approval    = "approval"
	Convergence = "convergence"
	Env         = "env"
	Event       = "event"
	Findings    = "findings"
	Go          = "go"
	InputsIndex = "inputs-index"
	Jobs        = "jobs"
	Launch      = "launch"
	Plan        = "plan"
	RoundPlan   = "round-plan"
	RunManifest = "run-manifest"
	Status      = "status"
	TeamState   = "team-state"
	Verdict     = "verdict"
	Verdicts    = "verdicts"
)

// Names lists the schemas, sorted.
func Names() []string {
	return []string{
		Approval, Convergence, Env, Event, Findings, Go, InputsIndex, Jobs, Launch, Plan, RoundPlan,
		RunManifest, Status, TeamState, Verdict, Verdicts,
	}
}

// Source returns a schema's text.
func Source(name string) ([]byte, error) {
	if !slices.Contains(Names(), name) {
		return nil, fmt.Errorf("no schema named %q; there are %s", name, strings.Join(Names(), ", "))
	}
	return files.ReadFile("schemas/" + name + ".json")
}

// compiled keeps what was compiled once in this process, by name. Compiling
// costs milliseconds, so nothing is compiled before it is asked for.
var compiled sync.Map // string → func() (*Schema, error)

// Validate checks a document against the schema with this name. What is wrong
// with the document comes back as *Invalid.
func Validate(name string, doc []byte) error {
	once, _ := compiled.LoadOrStore(name, sync.OnceValues(func() (*Schema, error) {
		src, err := Source(name)
		if err != nil {
			return nil, err
		}
		return CompileFile(src, name)
	}))
	s, err := once.(func() (*Schema, error))()
	if err != nil {
		return err
	}
	return s.Validate(doc)
}

// Schema is a compiled JSON Schema. It may be used by many goroutines.
type Schema struct {
	name     string
	tree     *tree
	resolved *jsonschema.Resolved
}

// CompileFile compiles a schema's text; name appears in errors. The schema may
// refer to its own parts and to nothing else.
func CompileFile(src []byte, name string) (*Schema, error) {
	s, err := compile(src)
	if err != nil {
		return nil, fmt.Errorf("schema %s: %s", name, harmless(err.Error()))
	}
	s.name = name
	return s, nil
}

func compile(src []byte) (*Schema, error) {
	if _, err := decode(src); err != nil {
		return nil, err
	}
	root := new(jsonschema.Schema)
	if err := json.Unmarshal(src, root); err != nil {
		return nil, err
	}
	t, err := newTree(root)
	if err != nil {
		return nil, err
	}
	// The base is one of our own, or relative references would be an error of
	// the library's and not of newTree's.
	resolved, err := root.Resolve(&jsonschema.ResolveOptions{BaseURI: "okstra://schema/root"})
	if err != nil {
		return nil, err
	}
	return &Schema{tree: t, resolved: resolved}, nil
}

// Validate checks a document. What is wrong with it comes back as *Invalid.
func (s *Schema) Validate(doc []byte) error {
	value, err := decode(doc)
	if err != nil {
		return &Invalid{Name: s.name, Places: []Place{{Problem: err.Error()}}}
	}
	err = s.resolved.Validate(value)
	if err == nil && !s.tree.formats {
		return nil
	}
	found := s.tree.look(value)
	if err == nil {
		// The library takes a format for a remark.
		found = slices.DeleteFunc(found, func(f fault) bool { return !f.format })
		if len(found) == 0 {
			return nil
		}
	}
	if len(found) == 0 {
		found = []fault{{Place: Place{Problem: "unevaluated items or properties: " + problem(err)}}}
	}
	return invalid(s.name, found)
}

// decode reads one JSON value and refuses what would cost more to look at than
// it took to write.
func decode(doc []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, notJSON(doc, err)
	}
	if rest := bytes.TrimLeft(doc[dec.InputOffset():], " \t\r\n"); len(rest) > 0 {
		line, column := position(doc, len(doc)-len(rest))
		return nil, fmt.Errorf("not JSON: something follows the value at line %d, column %d", line, column)
	}
	return numbers(value)
}

// maxNumber is the longest number literal in bytes, and maxExponent the
// largest exponent: what a schema compares exactly must stay small.
const (
	maxNumber   = 400
	maxExponent = 300
)

// numbers turns every number into an int64 or, where it is none, a float64.
func numbers(value any) (any, error) {
	var err error
	switch v := value.(type) {
	case json.Number:
		return number(string(v))
	case []any:
		for i, e := range v {
			if v[i], err = numbers(e); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for k, e := range v {
			if v[k], err = numbers(e); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

func number(literal string) (any, error) {
	if n, err := strconv.ParseInt(literal, 10, 64); err == nil {
		return n, nil
	}
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil || tooLarge(literal) {
		return nil, fmt.Errorf("the number %.40s… is too long or too large", literal)
	}
	return f, nil
}

func tooLarge(number string) bool {
	if len(number) > maxNumber {
		return true
	}
	_, exponent, found := strings.Cut(strings.ToLower(number), "e")
	if !found {
		return false
	}
	exponent = strings.TrimLeft(strings.TrimLeft(exponent, "+-"), "0")
	if len(exponent) > 3 {
		return true
	}
	n := 0
	for _, c := range exponent {
		n = n*10 + int(c-'0')
	}
	return n > maxExponent
}
