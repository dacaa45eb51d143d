package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Ref is a symbolic path in a template: it is known only when an attempt's
// files are. The zero value is invalid.
type Ref string

const (
	RefPromptPath      Ref = "prompt.path"
	RefPromptText      Ref = "prompt.text"
	RefPromptReference Ref = "prompt.reference"
	RefResultPath      Ref = "result.path"
	RefAuditPath       Ref = "audit.path"
	RefEmitPath        Ref = "emit.path"
	RefInputsIndex     Ref = "inputs.index"
)

// RefOutput returns the reference of a declared output's path.
func RefOutput(name string) Ref { return Ref("output." + name + ".path") }

// RefSecret returns the reference of a sensitive variable. It may stand in an
// environment value only, and is filled when a worker is dispatched, so that
// no plan, record or log ever holds the value.
func RefSecret(variable string) Ref { return Ref("var." + variable) }

// known reports whether r is one of the forms above, as a reference that was
// read may not be.
func (r Ref) known() bool {
	switch r {
	case RefPromptPath, RefPromptText, RefPromptReference, RefResultPath, RefAuditPath, RefEmitPath, RefInputsIndex:
		return true
	}
	secret, isSecret := r.SecretName()
	output, isOutput := r.OutputName()
	return isSecret && secret != "" || isOutput && output != ""
}

// SecretName returns the sensitive variable that r points at, and false where
// r is another reference.
func (r Ref) SecretName() (string, bool) { return strings.CutPrefix(string(r), "var.") }

// OutputName returns the output that r points at, and false where r is
// another reference.
func (r Ref) OutputName() (string, bool) {
	name, ok := strings.CutPrefix(string(r), "output.")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(name, ".path")
}

// Segment is literal text or one reference, never both.
type Segment struct {
	Text string `json:"text,omitempty"`
	Ref  Ref    `json:"ref,omitempty"`
}

// Template is text with symbolic paths in it. Its JSON form is a plain string
// where it holds no reference, else a list of strings and {"ref": …} objects.
type Template []Segment

// Text makes a template without references.
func Text(s string) Template {
	if s == "" {
		return Template{}
	}
	return Template{{Text: s}}
}

// Fill returns the text with every reference replaced by what lookup returns.
func (t Template) Fill(lookup func(Ref) string) string {
	var b strings.Builder
	for _, s := range t {
		if s.Ref != "" {
			b.WriteString(lookup(s.Ref))
			continue
		}
		b.WriteString(s.Text)
	}
	return b.String()
}

// Refs returns the references in order of appearance.
func (t Template) Refs() []Ref {
	var out []Ref
	for _, s := range t {
		if s.Ref != "" {
			out = append(out, s.Ref)
		}
	}
	return out
}

// String shows the template for people: references as ${ref}.
func (t Template) String() string {
	return t.Fill(func(r Ref) string { return "${" + string(r) + "}" })
}

// MarshalJSON writes the compact form described at Template.
func (t Template) MarshalJSON() ([]byte, error) {
	if len(t.Refs()) == 0 {
		return marshalPlain(t.String())
	}
	list := make([]any, 0, len(t))
	for _, s := range t {
		if s.Ref != "" {
			list = append(list, map[string]string{"ref": string(s.Ref)})
			continue
		}
		list = append(list, s.Text)
	}
	return marshalPlain(list)
}

// UnmarshalJSON reads the form that MarshalJSON writes and nothing else.
func (t *Template) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err == nil {
		*t = Text(s)
		return nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(b, &list); err != nil {
		return errors.New("a template is a string, or a list of strings and references")
	}
	out := make(Template, 0, len(list))
	for i, raw := range list {
		var s string
		if err := json.Unmarshal(raw, &s); err == nil {
			out = append(out, Segment{Text: s})
			continue
		}
		var ref struct {
			Ref Ref `json:"ref"`
		}
		if err := json.Unmarshal(raw, &ref); err != nil || ref.Ref == "" {
			return fmt.Errorf("template segment %d is neither text nor a reference", i)
		}
		if !ref.Ref.known() {
			return fmt.Errorf("template segment %d refers to %q, which no worker has", i, ref.Ref)
		}
		out = append(out, Segment{Ref: ref.Ref})
	}
	*t = out
	return nil
}
