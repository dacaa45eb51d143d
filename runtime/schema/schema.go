// Package schema holds the JSON Schema (draft 2020-12) of every file of the
// contract, and checks documents against them and against the schemas that a
// duty declares for its outputs. It reads bytes and returns what is wrong; it
// opens no file and follows no reference out of a schema.
package schema

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
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
	compiled *jsonschema.Schema
}

// CompileFile compiles a schema's text; name appears in errors. The schema may
// refer to its own parts and to the published meta-schemas, which are built
// in, and to nothing else.
func CompileFile(src []byte, name string) (*Schema, error) {
	doc, err := decode(src)
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", name, err)
	}
	// A base of our own keeps the library from resolving relative references
	// against the working directory.
	const base = "okstra://schema/root"
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(refuse{})
	if err := c.AddResource(base, doc); err != nil {
		return nil, fmt.Errorf("schema %s: %w", name, err)
	}
	s, err := c.Compile(base)
	if err != nil {
		return nil, fmt.Errorf("schema %s: %s", name, harmless(err.Error()))
	}
	return &Schema{name: name, compiled: s}, nil
}

// refuse is the loader of references that leave a schema.
type refuse struct{}

func (refuse) Load(url string) (any, error) {
	return nil, fmt.Errorf("%q is outside the schema: put what it refers to under \"$defs\"", url)
}

// Validate checks a document. What is wrong with it comes back as *Invalid.
func (s *Schema) Validate(doc []byte) error {
	value, err := decode(doc)
	if err != nil {
		return &Invalid{Name: s.name, Places: []Place{{Problem: err.Error()}}}
	}
	err = s.compiled.Validate(value)
	if err == nil {
		return nil
	}
	var v *jsonschema.ValidationError
	if !errors.As(err, &v) {
		return fmt.Errorf("validate %s: %w", s.name, err)
	}
	return invalid(s.name, v)
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
	if err := checkNumbers(value); err != nil {
		return nil, err
	}
	return value, nil
}

// maxNumber is the longest number literal in bytes, and maxExponent the
// largest exponent. The schema library computes with exact fractions, where
// 1e20000000 takes minutes and gigabytes.
const (
	maxNumber   = 400
	maxExponent = 400
)

func checkNumbers(value any) error {
	switch v := value.(type) {
	case json.Number:
		if tooLarge(string(v)) {
			return fmt.Errorf("the number %.40s… is too long or too large", string(v))
		}
	case []any:
		for _, e := range v {
			if err := checkNumbers(e); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, e := range v {
			if err := checkNumbers(e); err != nil {
				return err
			}
		}
	}
	return nil
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
