package lang

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/okstra/okstra/lang/plan"
)

// content types are what digests are made of; their JSON form is part of the
// contract, and a change of it makes every recorded worker a changed one.

// dutyForm is what dutyDigest covers: what a duty asks for, apart from its text.
type dutyForm struct {
	Duty       string       `json:"duty"`
	Role       string       `json:"role"`
	Emits      plan.Emits   `json:"emits"`
	Audit      bool         `json:"audit"`
	Outputs    []outputForm `json:"outputs"`
	Parameters []string     `json:"parameters"`
}

type outputForm struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
	Schema      string `json:"schema"` // digest
}

// assignmentForm is what assignmentDigest covers (contract section 1), and
// nothing else: a difference in it is what "changed" means.
type assignmentForm struct {
	Duty         string              `json:"duty"` // dutyDigest
	Role         string              `json:"role"`
	Access       plan.Access         `json:"access"`
	Command      []plan.Template     `json:"command"`
	Prompt       plan.PromptDelivery `json:"prompt"`
	Result       plan.ResultSource   `json:"result"`
	Output       plan.OutputFormat   `json:"output"`
	Model        string              `json:"model"`
	Env          []plan.EnvVar       `json:"env"`
	UnsetEnv     []string            `json:"unsetEnv"`
	Outputs      []outputForm        `json:"outputs"`
	Audit        bool                `json:"audit"`
	Instructions string              `json:"instructions"` // digest
	Inputs       []inputForm         `json:"inputs"`
}

// inputForm is a declared input. Only one that belongs to the definition has a
// digest: others are pinned when the worker is first dispatched.
type inputForm struct {
	Path   string `json:"path"`
	Digest string `json:"digest"`
}

func outputForms(d *resolvedDuty) []outputForm {
	out := []outputForm{}
	for _, o := range d.outputs {
		out = append(out, outputForm{Name: o.Name, Description: o.Description, Required: o.Required, Schema: d.schemas[o.Name]})
	}
	return out
}

func dutyContent(d *resolvedDuty) dutyForm {
	f := dutyForm{Duty: d.name, Role: d.role, Emits: d.emits, Audit: d.audit, Outputs: outputForms(d), Parameters: []string{}}
	for _, p := range d.parameters {
		f.Parameters = append(f.Parameters, p.name)
	}
	return f
}

func (c *compiler) assignmentContent(w *work, out *plan.Worker, instructions string) assignmentForm {
	st := w.st
	f := assignmentForm{
		Duty: st.dutyDigest, Role: out.Role, Access: out.Access,
		Prompt: out.Prompt, Result: out.Result, Output: out.Output, Model: out.Model,
		Env: []plan.EnvVar{}, UnsetEnv: out.UnsetEnv, Outputs: outputForms(st.duty), Audit: out.Audit,
		Instructions: instructions, Inputs: []inputForm{},
	}
	for _, t := range out.Argv {
		t, _ = c.relativeTemplate(t)
		f.Command = append(f.Command, t)
	}
	for _, e := range out.Env {
		e.Value, _ = c.relativeTemplate(e.Value)
		f.Env = append(f.Env, e)
	}
	for _, p := range out.Inputs {
		in := inputForm{Path: p}
		if read, ok := c.def.reader.read[p]; ok && read.Kind == plan.InputDefinition {
			in.Digest = read.Digest
		}
		f.Inputs = append(f.Inputs, in)
	}
	return f
}

// relativeTemplate takes the place of the project out of a template.
func (c *compiler) relativeTemplate(t plan.Template) (moved plan.Template, changed bool) {
	root := c.def.ProjectRoot
	if len(root) < 2 {
		return t, false
	}
	for i, s := range t {
		if !strings.Contains(s.Text, root) {
			continue
		}
		out := append(plan.Template{}, t...)
		for j := i; j < len(out); j++ {
			out[j].Text = strings.ReplaceAll(out[j].Text, root, "${path.root}")
		}
		return out, true
	}
	return t, false
}

// digestTemplate is plan.Digest for a template, which has no keys to sort, so
// that one pass over a long prompt is enough.
func digestTemplate(t plan.Template) string {
	for _, s := range t {
		if !utf8.ValidString(s.Text) {
			return plan.Digest(t) // which settles what broken text stands for
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(t); err != nil {
		panic(err) // text has a JSON form
	}
	return plan.DigestBytes(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

func isJSONText(b []byte) bool { return json.Valid(b) }
