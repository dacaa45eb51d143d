package function

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/okstra/okstra/lang/guard"
)

// templateFile makes templatefile. Each file is read and parsed once for a
// table, however many workers it is filled for.
func templateFile(base string, files Files, env func(string) (string, bool)) entry {
	t := &templates{base: base, files: files, env: env, parsed: map[string]*parsedTemplate{}}
	return entry{
		"templatefile(path, variables)",
		"The text of a file with ${…} and %{…} filled in from the variables, and from nothing else.",
		bounded(function.New(&function.Spec{
			Params: []function.Parameter{{Name: "path", Type: cty.String}, {Name: "variables", Type: cty.DynamicPseudoType}},
			Type:   function.StaticReturnType(cty.String),
			Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
				return t.fill(args[0].AsString(), args[1])
			},
		}), nil),
	}
}

type templates struct {
	base  string
	files Files
	env   func(string) (string, bool)

	mu     sync.Mutex
	parsed map[string]*parsedTemplate // by path as seen from base
}

// parsedTemplate is a template with the functions that it may call. Its own
// relative paths are relative to its folder.
type parsedTemplate struct {
	expr      hclsyntax.Expression
	roots     []hcl.Traversal
	functions map[string]function.Function
	err       error
}

func (t *templates) fill(path string, variables cty.Value) (cty.Value, error) {
	if ty := variables.Type(); !(ty.IsObjectType() || ty.IsMapType()) || variables.IsNull() {
		return cty.NilVal, function.NewArgErrorf(1, "must be a map or an object, such as { name = \"value\" }")
	}
	p := t.parse(path)
	if p.err != nil {
		return cty.NilVal, function.NewArgError(0, p.err)
	}
	vars := map[string]cty.Value{}
	for it := variables.ElementIterator(); it.Next(); {
		k, v := it.Element()
		if !hclsyntax.ValidIdentifier(k.AsString()) {
			return cty.NilVal, function.NewArgErrorf(1, "%q cannot be the name of a variable", k.AsString())
		}
		vars[k.AsString()] = v
	}
	for _, root := range p.roots {
		if _, ok := vars[root.RootName()]; !ok {
			return cty.NilVal, function.NewArgErrorf(1, "has no %q, which %s needs at line %d", root.RootName(), path, root.SourceRange().Start.Line)
		}
	}
	v, diags := p.expr.Value(&hcl.EvalContext{Variables: vars, Functions: p.functions})
	if diags.HasErrors() {
		return cty.NilVal, function.NewArgError(0, first(diags))
	}
	return asText(v)
}

func (t *templates) parse(path string) *parsedTemplate {
	t.mu.Lock()
	defer t.mu.Unlock()
	whole := below(t.base, path)
	if p := t.parsed[whole]; p != nil {
		return p
	}
	p := t.read(path)
	t.parsed[whole] = p
	return p
}

func (t *templates) read(path string) *parsedTemplate {
	src, err := t.files.ReadFile(t.base, path)
	if err != nil {
		return &parsedTemplate{err: err}
	}
	if _, err := utf8Text(path, src); err != nil {
		return &parsedTemplate{err: err}
	}
	if diags := guard.Template(src, path); diags.HasErrors() {
		return &parsedTemplate{err: first(diags)}
	}
	expr, diags := hclsyntax.ParseTemplate(src, path, hcl.InitialPos)
	if diags.HasErrors() {
		return &parsedTemplate{err: first(diags)}
	}
	p := &parsedTemplate{expr: expr, roots: expr.Variables(), functions: map[string]function.Function{}}
	for _, e := range entries(filepath.Dir(below(t.base, path)), t.files, t.env) {
		p.functions[e.name()] = e.function
	}
	// A template that includes templates could include itself.
	p.functions["templatefile"] = function.New(&function.Spec{
		VarParam: &function.Parameter{Name: "arguments", Type: cty.DynamicPseudoType, AllowNull: true},
		Type: func([]cty.Value) (cty.Type, error) {
			return cty.NilType, errors.New("a template cannot fill other templates; fill it in the definition and pass the text as a variable")
		},
	})
	return p
}

// first turns the first error into one that names file and line.
func first(diags hcl.Diagnostics) error {
	for _, d := range diags {
		if d.Severity != hcl.DiagError {
			continue
		}
		if d.Subject == nil {
			return fmt.Errorf("%s: %s", d.Summary, d.Detail)
		}
		return fmt.Errorf("%s:%d,%d: %s: %s", d.Subject.Filename, d.Subject.Start.Line, d.Subject.Start.Column, d.Summary, d.Detail)
	}
	return errors.New("unknown error")
}
