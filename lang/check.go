package lang

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/okstra/okstra/lang/function"
)

// scopeKind says what an expression may use besides what is in scope
// everywhere. The zero value is invalid.
type scopeKind int

const (
	scopeLiteral    scopeKind = iota + 1 // nothing at all; read while decoding
	scopeDefault                         // files and git only
	scopeValidation                      // one variable
	scopePlain                           // what is in scope everywhere
	scopeEach                            // and each
	scopeLead                            // and the task
	scopeWorker                          // and everything of one worker
)

// scopeOf says in which scope a block's attribute is evaluated.
func scopeOf(path, attr string) scopeKind {
	switch path {
	case "variable":
		if attr == "default" {
			return scopeDefault
		}
		return scopeLiteral
	case "variable > validation":
		return scopeValidation
	case "run > lead":
		if attr != "runtime" {
			return scopeLead
		}
	case "round > assign":
		if attr == "with" {
			return scopeEach
		}
	case "import":
		return scopeLiteral
	}
	switch attr {
	case "type", "required_version", "extends":
		return scopeLiteral
	case "command", "args", "model_args", "env", "title", "instructions", "dir":
		return scopeWorker
	case "inputs":
		return scopeWorker
	}
	return scopePlain
}

// workerRoots are the names that one worker has, with their attributes; nil
// where those are checked elsewhere.
var workerRoots = map[string][]string{
	"worker": {"provider", "model", "role", "access", "participant", "key"},
	"prompt": {"path", "text", "reference"},
	"result": {"path"},
	"audit":  {"path"},
	"emit":   {"path"},
	"inputs": {"index"},
	"output": nil,
	"round":  {"name", "kind", "index"},
	"task":   taskAttrs,
	"param":  nil,
	"each":   eachAttrs,
}

var (
	taskAttrs     = []string{"project", "group", "id", "key"}
	eachAttrs     = []string{"key", "value"}
	pathAttrs     = []string{"here", "root"}
	gitAttrs      = []string{"head", "branch", "base"}
	taskTypeAttrs = []string{"name", "allowed", "forbidden"}
	backendNames  = []string{"cmux", "tmux", "process"}
)

// referenceKinds are the kinds that references name.
var referenceKinds = []string{"participant", "provider", "role", "duty", "task_type", "backend", "run"}

// use is an expression that is checked once all names are known.
type use struct {
	expr  hcl.Expression
	scope scopeKind
	owner *decl
	attr  string // of owner
	duty  string // whose parameters and outputs are meant, where that is known
}

// note remembers the expressions of a block for checking.
func (l *loader) note(d *decl, duty string) {
	for _, name := range names(d.attrs) {
		if scope := scopeOf(d.doc.Path, name); scope != scopeLiteral {
			l.uses = append(l.uses, use{expr: d.attrs[name].Expr, scope: scope, owner: d, attr: name, duty: duty})
		}
	}
}

// checkUses checks every reference and function name before anything is
// evaluated. An expression with a mistake is not evaluated later.
func (l *loader) checkUses() {
	l.def.functionNames = names(function.Table("", l.def.reader, l.def.eval.lookupEnv))
	for _, u := range l.uses {
		before := len(l.diags)
		for _, t := range u.expr.Variables() {
			l.checkTraversal(u, t)
		}
		l.checkCalls(u)
		l.markQuoted(u)
		if len(l.diags) > before {
			l.def.eval.look(u.expr).bad = true
		}
	}
}

// checkCalls reports unknown functions. JSON syntax does not show its calls
// before they are evaluated; they are reported then.
func (l *loader) checkCalls(u use) {
	native, ok := u.expr.(hclsyntax.Expression)
	if !ok {
		return
	}
	_ = hclsyntax.VisitAll(native, func(n hclsyntax.Node) hcl.Diagnostics {
		if call, ok := n.(*hclsyntax.FunctionCallExpr); ok && !slices.Contains(l.def.functionNames, call.Name) {
			l.fault(call.NameRange, SummaryUnknownFunction, "There is no function %q.%s", call.Name, meant(call.Name, l.def.functionNames))
		}
		return nil
	})
}

func (l *loader) checkTraversal(u use, t hcl.Traversal) {
	root := t.RootName()
	second, at, isName := secondStep(t)
	switch u.scope {
	case scopeValidation:
		if root != "var" || second != u.owner.name {
			l.fault(t.SourceRange(), SummaryNotInScope, "A validation may use its own variable only: var.%s.", u.owner.name)
			return
		}
		return
	case scopeDefault:
		if root != "path" && root != "git" {
			l.fault(t.SourceRange(), SummaryNotInScope, "A default may use functions, path and git only. Put what is worked out from other values into locals.")
			return
		}
	}
	if kinds := u.owner.doc.attr(u.attr).references(); kinds != nil && len(t) == 1 {
		l.bareWord(t.SourceRange(), u.attr, root, kinds)
		return
	}
	need := func(kind string, known []string) bool {
		if !isName {
			l.fault(t.SourceRange(), SummaryUnknownReference, "%s stands before a name written out, as in %s.%s; a name cannot be worked out.", root, root, example(known))
			return false
		}
		if !slices.Contains(known, second) {
			l.fault(at, SummaryUnknownReference, "There is no %s %q.%s", kind, second, meantDefined(kind, second, known))
			return false
		}
		return true
	}
	switch root {
	case "var":
		if need("variable", names(l.def.variables)) {
			l.def.variables[second].used = true
		}
	case "local":
		if need("local", names(l.def.locals)) {
			l.def.locals[second].used = true
		}
	case "path":
		need("attribute of path", pathAttrs)
	case "git":
		if need("attribute of git", gitAttrs) {
			l.def.usesGit = true
		}
	case "task_type":
		if u.scope >= scopeLead && slices.Contains(taskTypeAttrs, second) {
			return
		}
		l.checkReference(u, root, second, t, need)
	case "participant", "provider", "role", "duty", "backend", "run":
		l.checkReference(u, root, second, t, need)
	default:
		l.checkWorkerRoot(u, t, root, second, at, isName, need)
	}
}

func (l *loader) checkReference(u use, kind, name string, t hcl.Traversal, need func(string, []string) bool) {
	if l.meantHere(kind, name) && !slices.Contains(l.def.known(kind), name) {
		l.def.eval.look(u.expr).bad = true
		return
	}
	if !need(strings.ReplaceAll(kind, "_", " "), l.def.known(kind)) {
		return
	}
	l.def.use(kind, name)
	if len(t) > 2 {
		l.fault(t[2:].SourceRange(), SummaryUnknownReference, "%s.%s is a reference and has no attributes of its own.", kind, name)
	}
}

func (l *loader) checkWorkerRoot(u use, t hcl.Traversal, root, second string, at hcl.Range, isName bool, need func(string, []string) bool) {
	attrs, known := workerRoots[root]
	if !known {
		l.unknownRoot(u, t, root)
		return
	}
	inScope := u.scope == scopeWorker || u.scope == scopeEach && root == "each" || u.scope == scopeLead && root == "task"
	if !inScope && root == "round" && u.attr == "after" && isName {
		l.fault(t.SourceRange(), SummaryNotInScope, "after names rounds as texts: write %q.", second)
		return
	}
	if !inScope {
		l.fault(t.SourceRange(), SummaryNotInScope, "%s is only known for one worker. It may be used in command, args, model_args, env, title, instructions, inputs and dir.", root)
		return
	}
	d := l.def.duties[u.duty]
	switch root {
	case "param":
		if d == nil {
			return // of a provider or the like: known when a worker is made
		}
		var params []string
		for _, p := range d.parameters {
			params = append(params, p.name)
		}
		if isName && len(params) == 0 {
			l.fault(at, SummaryUnknownReference, "The duty %q has no parameters; write parameter %q { … } in it.", d.name, second)
			return
		}
		need("parameter", params)
	case "output":
		if d == nil {
			return
		}
		var outputs []string
		for _, o := range d.outputs {
			outputs = append(outputs, o.name)
		}
		if isName && len(outputs) == 0 {
			l.fault(at, SummaryUnknownReference, "The duty %q has no outputs; write output %q { … } in it.", d.name, second)
			return
		}
		if need("output", outputs) && len(t) != 3 {
			l.fault(t.SourceRange(), SummaryUnknownReference, "Of an output the path is known: output.%s.path.", second)
		}
	case "each":
		if u.owner.doc.Path == "round > assign" && u.owner.attr("for_each") == nil {
			l.fault(t.SourceRange(), SummaryNotInScope, "each is only known with for_each, which this assign does not have.")
			return
		}
		need("attribute of each", attrs)
	default:
		need("attribute of "+root, attrs)
	}
}

// secondStep returns the name after the root, as in var.NAME or var["NAME"].
func secondStep(t hcl.Traversal) (string, hcl.Range, bool) {
	if len(t) < 2 {
		return "", hcl.Range{}, false
	}
	switch s := t[1].(type) {
	case hcl.TraverseAttr:
		r := s.SrcRange
		// The range of a step begins with its dot, which is not the mistake.
		if r.End.Byte-r.Start.Byte == len(s.Name)+1 {
			r.Start.Byte++
			r.Start.Column++
		}
		return s.Name, r, true
	case hcl.TraverseIndex:
		if s.Key.Type() == cty.String && s.Key.IsKnown() && !s.Key.IsNull() {
			return s.Key.AsString(), s.SrcRange, true
		}
	}
	return "", hcl.Range{}, false
}

func example(known []string) string {
	if len(known) > 0 {
		return known[0]
	}
	return "NAME"
}

func lower(s string) string { return strings.ToLower(s) }

// known lists the names of a reference kind.
func (d *Definition) known(kind string) []string {
	switch kind {
	case "participant":
		return names(d.participants)
	case "provider":
		return names(d.providers)
	case "role":
		return names(d.roles)
	case "duty":
		return names(d.duties)
	case "task_type":
		return names(d.taskTypes)
	case "run":
		return names(d.runs)
	case "backend":
		return backendNames
	}
	panic("lang: no such kind of reference: " + kind)
}

// use notes that something is referred to.
func (d *Definition) use(kind, name string) {
	switch kind {
	case "participant":
		if x := d.participants[name]; x != nil {
			x.used = true
		}
	case "provider":
		if x := d.providers[name]; x != nil {
			x.used = true
		}
	case "role":
		if x := d.roles[name]; x != nil {
			x.used = true
		}
	case "duty":
		if x := d.duties[name]; x != nil {
			x.used = true
		}
	}
}

// unused warns of what the definition itself defines and nothing refers to.
func (l *loader) unused() {
	if l.diags.HasErrors() {
		return // a use may stand in what could not be read
	}
	warn := func(kind string, d *decl) {
		if d.unit == l.main && !d.used {
			l.diags = append(l.diags, caution(d.header, SummaryUnused, "Nothing refers to the %s %q. Remove it, or use it.", kind, d.name))
		}
	}
	for _, n := range names(l.def.variables) {
		warn("variable", &l.def.variables[n].decl)
	}
	for _, n := range names(l.def.locals) {
		warn("local", &l.def.locals[n].decl)
	}
	for _, n := range names(l.def.providers) {
		warn("provider", &l.def.providers[n].decl)
	}
	for _, n := range names(l.def.participants) {
		warn("participant", &l.def.participants[n].decl)
	}
	for _, n := range names(l.def.roles) {
		warn("role", &l.def.roles[n].decl)
	}
	for _, n := range names(l.def.duties) {
		warn("duty", &l.def.duties[n].decl)
	}
}
