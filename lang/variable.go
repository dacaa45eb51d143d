package lang

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/okstra/okstra/lang/guard"
	"github.com/okstra/okstra/lang/plan"
)

// envPrefix starts the environment variables that give variables.
const envPrefix = "OKSTRA_VAR_"

// varsFile is read where it stands beside the definition.
const varsFile = "okstra.vars.hcl"

// typed is a type constraint with the defaults of optional object attributes.
type typed struct {
	ty       cty.Type
	defaults *typeexpr.Defaults
}

// conform converts a value, the defaults of its optional attributes filled in.
func (t typed) conform(v cty.Value) (cty.Value, error) {
	if t.defaults != nil && !v.IsNull() {
		v = t.defaults.Apply(v)
	}
	return convert.Convert(v, t.ty)
}

// typeOf reads a type attribute; without one any type will do.
func (l *loader) typeOf(a *hcl.Attribute) typed {
	if a == nil {
		return typed{ty: cty.DynamicPseudoType}
	}
	ty, defaults, diags := typeexpr.TypeConstraintWithDefaults(a.Expr)
	if v, bad := a.Expr.Value(emptyContext); diags.HasErrors() && !bad.HasErrors() && !isJSON(a.Range.Filename) {
		if text, ok := toText(v); ok && simpleType(text.AsString()) {
			l.fault(a.Expr.Range(), SummaryWrongType, "A type stands without quotes: write type = %s.", text.AsString())
			return typed{ty: cty.DynamicPseudoType}
		}
	}
	if diags.HasErrors() && l.said(a.Expr.Range()) {
		return typed{ty: cty.DynamicPseudoType}
	}
	if diags.HasErrors() {
		l.fault(a.Expr.Range(), SummaryWrongType, "This is not a type. Write string, number, bool, any, or list(…), set(…), map(…), object({…}), tuple([…]) of types.")
		return typed{ty: cty.DynamicPseudoType}
	}
	return typed{ty: ty, defaults: defaults}
}

// simpleType reports whether a text would be a type without its quotes.
func simpleType(text string) bool {
	expr, diags := hclsyntax.ParseExpression([]byte(text), "", hcl.InitialPos)
	if diags.HasErrors() {
		return false
	}
	_, _, diags = typeexpr.TypeConstraintWithDefaults(expr)
	return !diags.HasErrors()
}

// variable is a declared variable, with its value once that is settled.
type variable struct {
	decl
	typed       typed
	sensitive   bool
	description string
	validations []*decl

	value  cty.Value // the real one; DynamicVal where it failed
	source string    // as in plan.Variable
}

func (l *loader) variable(b *hcl.Block, name string, override bool) *variable {
	doc := blockDocs["variable"]
	c := l.content(b.Body, doc, true)
	v := &variable{decl: l.declare(doc, name, b, c), value: cty.DynamicVal}
	v.typed = l.typeOf(v.attr("type"))
	v.sensitive, _ = l.literalBool(v.attr("sensitive"))
	v.description, _ = l.literalString(v.attr("description"))
	l.note(&v.decl, "")
	for _, inner := range c.Blocks.OfType("validation") {
		val := l.leaf("variable > validation", inner)
		val.name = name // whose variable the condition may use
		v.validations = append(v.validations, val)
	}
	if v.sensitive && v.attr("type") != nil && !v.typed.ty.IsPrimitiveType() {
		l.fault(v.attr("type").Expr.Range(), SummaryWrongType, "A sensitive variable is a string, a number or a bool, since it can only become part of an environment value.")
		v.typed = typed{ty: cty.String}
	} else if v.sensitive && v.attr("type") == nil {
		v.typed = typed{ty: cty.String}
	}
	return v
}

func (v *variable) put(over *variable) {
	v.decl.put(&over.decl)
	if over.attr("type") != nil {
		v.typed = over.typed
	}
	if over.attr("sensitive") != nil {
		v.sensitive = over.sensitive
	}
	if over.attr("description") != nil {
		v.description = over.description
	}
	v.validations = append(v.validations, over.validations...)
}

// given is one value that somebody gave for a variable, not evaluated: either
// text or an expression of a values file.
type given struct {
	source string
	text   string
	expr   hcl.Expression // nil: text
	at     hcl.Range      // of the expression, or zero
}

// gather collects what is given for variables, weakest first, the strongest
// of each name left standing.
func (l *loader) gather() map[string]given {
	out := map[string]given{}
	for _, entry := range l.src.World.Environ() {
		name, value, ok := strings.Cut(entry, "=")
		if name, isVar := strings.CutPrefix(name, envPrefix); ok && isVar {
			out[name] = given{source: envPrefix + name, text: value}
		}
	}
	if auto := filepath.Join(l.def.folder, varsFile); l.exists(auto) && l.stays(auto, l.def.folder) {
		l.gatherFile(auto, out)
	}
	for _, arg := range l.src.Vars {
		if arg.File != "" {
			path := arg.File
			if !filepath.IsAbs(path) {
				path = filepath.Join(l.src.Dir, path)
			}
			l.gatherFile(path, out)
			l.def.valuesFiles = append(l.def.valuesFiles, path)
			continue
		}
		name, value, ok := strings.Cut(arg.Var, "=")
		if !ok {
			l.diags = append(l.diags, bare(SummaryVariableInvalid, "--var takes NAME=VALUE; %q has no equals sign.", arg.Var))
			continue
		}
		if l.def.variables[name] == nil {
			l.diags = append(l.diags, bare(SummaryVariableUndeclared, "--var gives %q, which this definition does not declare.%s", name, meant(name, names(l.def.variables))))
			continue
		}
		out[name] = given{source: "--var", text: value}
	}
	return out
}

// gatherFile adds the values of one values file.
func (l *loader) gatherFile(path string, out map[string]given) {
	said := len(l.diags)
	f := l.parse(path, l.main)
	l.concealSyntax(said, l.def.files[l.show(path)])
	// A values file may hold what must not be shown: no snippet comes from it
	// before it is known which parts those are.
	delete(l.def.files, l.show(path))
	if f == nil {
		return
	}
	shown := blanked(f.Bytes)
	l.def.files[l.show(path)] = &hcl.File{Bytes: shown, Body: hcl.EmptyBody()}
	blocks, _, _ := f.Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "variable", LabelNames: []string{"name"}}}})
	if blocks != nil && !isJSON(path) {
		for _, b := range blocks.Blocks {
			reveal(shown, f.Bytes, b.DefRange)
			l.fault(b.DefRange, SummaryVariableInvalid, "A values file gives values: write %s = …; a variable block belongs in the definition.", b.Labels[0])
			return
		}
	}
	attrs, diags := f.Body.JustAttributes()
	if body, native := f.Body.(*hclsyntax.Body); native {
		diags = nil
		for _, b := range body.Blocks {
			reveal(shown, f.Bytes, b.TypeRange)
			l.fault(b.TypeRange, SummaryVariableInvalid, "A values file gives values, and no blocks: write %s = …, or %[1]s = { … } where it is an object.", b.Type)
		}
	}
	l.diags = append(l.diags, diags...)
	for _, name := range names(attrs) {
		a := attrs[name]
		reveal(shown, f.Bytes, hcl.Range{Start: a.NameRange.Start, End: a.Expr.Range().Start})
		if v := l.def.variables[name]; v != nil && !v.sensitive {
			reveal(shown, f.Bytes, a.Expr.Range())
			l.repeatedKeys(a.Expr)
		}
		if l.def.variables[name] == nil {
			l.diags = append(l.diags, caution(a.NameRange, SummaryVariableUndeclared, "This definition does not declare a variable %q.%s", name, meant(name, names(l.def.variables))))
			continue
		}
		out[name] = given{source: l.def.places[a.Range.Filename].shown, expr: a.Expr, at: a.Expr.Range()}
	}
}

// concealSyntax takes what is quoted of a values file out of the diagnostics
// after the first so many, where it may be of a sensitive value: which part of a
// file that is cannot be told where the file cannot be read.
func (l *loader) concealSyntax(from int, f *hcl.File) {
	for i, d := range l.diags[from:] {
		if d.Subject == nil || guard.Check(f.Bytes, d.Subject.Filename).HasErrors() {
			return // it could not be opened, or was not parsed
		}
		for _, v := range l.def.variables {
			if v.sensitive {
				l.diags[from+i] = fault(*d.Subject, d.Summary, "This cannot be read. It may be a part of a sensitive value, so it is not shown. A values file holds lines such as NAME = \"text\"; a text stands in quotes.")
				l.diags = l.diags[:from+i+1]
				return
			}
		}
	}
}

// blanked is a text of spaces with the lines of src.
func blanked(src []byte) []byte {
	out := make([]byte, len(src))
	for i, b := range src {
		if out[i] = ' '; b == '\n' || b == '\r' {
			out[i] = b
		}
	}
	return out
}

// reveal copies a range of src into what is shown of it.
func reveal(shown, src []byte, at hcl.Range) {
	if at.CanSliceBytes(src) {
		copy(shown[at.Start.Byte:at.End.Byte], at.SliceBytes(src))
	}
}

// settleVariables gives every variable its value, and checks it.
func (l *loader) settleVariables() {
	all := l.gather()
	for _, name := range names(l.def.variables) {
		v := l.def.variables[name]
		value, ok := l.settle(v, all)
		if !ok {
			continue
		}
		v.value = value
		if !l.validate(v) {
			v.value = cty.DynamicVal
		}
	}
}

// settle returns a variable's value; ok is false where there is none, which
// has been reported.
func (l *loader) settle(v *variable, all map[string]given) (cty.Value, bool) {
	g, isGiven := all[v.name]
	def := v.attr("default")
	var raw cty.Value
	at := v.header
	switch {
	case isGiven:
		v.source = g.source
		value, ok := l.read(v, g)
		if !ok {
			return cty.DynamicVal, false
		}
		raw = value
		if g.expr != nil && !v.sensitive {
			at = g.at
		}
	case def != nil:
		v.source = "default"
		value, diags := l.def.eval.value(def.Expr, nil)
		l.diags = append(l.diags, diags...)
		if diags.HasErrors() || !value.IsWhollyKnown() {
			return cty.DynamicVal, false
		}
		raw = value
		if !v.sensitive {
			at = def.Expr.Range()
		}
	default:
		about := ""
		if v.description != "" {
			about = " " + sentence(v.description)
		}
		l.fault(v.header, SummaryVariableMissing, "The variable %q has no default, so it needs a value: --var %s=…, %s%s=…, or a line in %s.%s", v.name, v.name, envPrefix, v.name, varsFile, about)
		return cty.DynamicVal, false
	}
	value, err := v.typed.conform(raw)
	if err != nil {
		l.fault(at, SummaryVariableInvalid, "The value of var.%s (from %s) does not have the declared type: %s.", v.name, v.source, err)
		return cty.DynamicVal, false
	}
	if why := tooLarge(value); why != "" {
		l.fault(at, SummaryTooLarge, "The value of var.%s is too large: %s.", v.name, why)
		return cty.DynamicVal, false
	}
	return value, true
}

// read evaluates a given value. The text of a sensitive variable is never
// parsed, so that no diagnostic can hold a piece of it.
func (l *loader) read(v *variable, g given) (cty.Value, bool) {
	if g.expr != nil {
		value, diags := g.expr.Value(emptyContext)
		if diags.HasErrors() {
			if v.sensitive {
				l.fault(v.header, SummaryVariableInvalid, "The value of var.%s in %s cannot be read. A values file holds plain values, and a text stands in quotes: %[1]s = \"…\".", v.name, g.source)
				return cty.DynamicVal, false
			}
			l.diags = append(l.diags, plainOnly(g.expr, diags)...)
			return cty.DynamicVal, false
		}
		return value, true
	}
	if v.sensitive || v.typed.ty.IsPrimitiveType() || v.attr("type") == nil {
		return cty.StringVal(g.text), true
	}
	name := fmt.Sprintf("<value for var.%s>", v.name)
	src := []byte(g.text)
	l.def.places[name] = place{shown: g.source, folder: l.def.folder, unit: l.main}
	l.def.files[name] = &hcl.File{Bytes: src, Body: hcl.EmptyBody()}
	diags := guard.Check(src, name)
	if !diags.HasErrors() {
		var expr hclsyntax.Expression
		expr, diags = hclsyntax.ParseExpression(src, name, hcl.InitialPos)
		if !diags.HasErrors() {
			value, more := expr.Value(emptyContext)
			if !more.HasErrors() {
				return value, true
			}
			diags = plainOnly(expr, more)
		}
	}
	for _, d := range diags {
		d.EvalContext = nil
	}
	l.diags = append(l.diags, diags...)
	return cty.DynamicVal, false
}

// plainOnly says of the value of a variable, which holds neither names nor
// calls, what to write instead.
func plainOnly(expr hcl.Expression, diags hcl.Diagnostics) hcl.Diagnostics {
	var out hcl.Diagnostics
	for _, t := range expr.Variables() {
		if len(t) == 1 {
			out = append(out, fault(t.SourceRange(), SummaryNotInScope, "A variable is given a plain value. If the text is meant, put it in quotes: %q.", t.RootName()))
			continue
		}
		out = append(out, fault(t.SourceRange(), SummaryNotInScope, "A variable is given a plain value: names such as %s may not be used here. What is worked out belongs into the definition.", t.RootName()))
	}
	if len(out) > 0 {
		return out
	}
	for _, d := range diags {
		d.EvalContext = nil
	}
	return diags
}

// emptyContext has neither variables nor functions, but makes JSON strings
// templates, as they are everywhere else.
var emptyContext = &hcl.EvalContext{}

// validate runs a variable's validations on its real value.
func (l *loader) validate(v *variable) bool {
	ok := true
	real := map[string]cty.Value{"var": cty.ObjectVal(map[string]cty.Value{v.name: v.value})}
	for _, val := range v.validations {
		cond, diags := l.def.eval.value(val.attr("condition").Expr, real)
		if diags.HasErrors() {
			l.diags = append(l.diags, l.discreet(v, val.attr("condition").Expr, diags)...)
			ok = false
			continue
		}
		if !cond.IsKnown() {
			ok = false // quiet: the condition was reported when references were checked
			continue
		}
		pass, err := convert.Convert(cond, cty.Bool)
		if err != nil || pass.IsNull() {
			l.fault(val.attr("condition").Expr.Range(), SummaryWrongType, "A condition is true or false, not %s.", typeWord(cond))
			ok = false
			continue
		}
		if pass.True() {
			continue
		}
		ok = false
		shown := real
		if v.sensitive {
			shown = v.concealed()
		}
		message, diags := l.def.eval.value(val.attr("error_message").Expr, shown)
		l.diags = append(l.diags, diags...)
		text, isText := toText(message)
		if !isText {
			if !diags.HasErrors() {
				l.fault(val.attr("error_message").Expr.Range(), SummaryWrongType, "An error message is a string.")
			}
			continue
		}
		l.fault(val.attr("condition").Expr.Range(), SummaryVariableInvalid, "%s The value of var.%s comes from %s.", sentence(text.AsString()), v.name, v.source)
	}
	return ok
}

// concealed is what is in scope in the place of a sensitive value.
func (v *variable) concealed() map[string]cty.Value {
	return map[string]cty.Value{"var": cty.ObjectVal(map[string]cty.Value{v.name: cty.StringVal("(sensitive)")})}
}

// discreet takes what may be a part of a sensitive value out of the diagnostics
// of an expression: all that are not the same with another value.
func (l *loader) discreet(v *variable, expr hcl.Expression, diags hcl.Diagnostics) hcl.Diagnostics {
	if !v.sensitive {
		return diags
	}
	_, same := l.def.eval.value(expr, v.concealed())
	for _, d := range diags {
		d.EvalContext, d.Expression = nil, nil
		if !slices.ContainsFunc(same, func(o *hcl.Diagnostic) bool { return o.Summary == d.Summary && o.Detail == d.Detail }) {
			d.Detail = fmt.Sprintf("This cannot be worked out with the value of var.%s. What is wrong with it is not shown, since it is sensitive.", v.name)
		}
	}
	return diags
}

func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" || strings.HasSuffix(s, ".") || strings.HasSuffix(s, "!") || strings.HasSuffix(s, "?") {
		return s
	}
	return s + "."
}

// secretText is the text that stands for a sensitive value in an environment.
func secretText(v cty.Value) (string, bool) {
	s, ok := toText(v)
	if !ok {
		return "", false
	}
	return s.AsString(), true
}

// scopeValue is what var.NAME evaluates to.
func (v *variable) scopeValue() cty.Value {
	if v.sensitive && v.value.IsKnown() && !v.value.IsNull() {
		return symbol(plan.RefSecret(v.name))
	}
	return v.value
}

// planned is the variable's line in a plan.
func (v *variable) planned() plan.Variable {
	out := plan.Variable{Name: v.name, Source: v.source, Sensitive: v.sensitive}
	if !v.sensitive && v.value.IsWhollyKnown() {
		if b, err := ctyjson.Marshal(v.value, v.value.Type()); err == nil {
			out.Value = jsonTree(b)
		}
	}
	return out
}

func plannedVariables(all map[string]*variable) []plan.Variable {
	var out []plan.Variable
	for _, name := range names(all) {
		out = append(out, all[name].planned())
	}
	return out
}

// names returns the keys of a map, sorted.
func names[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
