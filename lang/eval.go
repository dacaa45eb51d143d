package lang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/okstra/okstra/lang/function"
	"github.com/okstra/okstra/lang/plan"
)

// Bounds of evaluated values.
const (
	maxString  = 4 << 20 // bytes of one string
	maxList    = 10_000  // elements of one list, set or map
	maxArg     = 128<<10 - 1
	maxArgv    = 1 << 20 // bytes of a whole argv
	maxWorkers = 10_000  // of one run
)

// variation says how often an expression has to be evaluated.
type variation int

const (
	perDefinition variation = iota + 1 // once
	perStation                         // once per participant of an assign
	perWorker                          // for each element of for_each
)

// expression is what is known of an expression without evaluating it.
type expression struct {
	bad       bool // it was reported already
	folder    string
	locals    []string
	variation variation
	usesEach  hcl.Traversal // the first use of each
}

// evaluator evaluates the expressions of one definition.
type evaluator struct {
	def   *Definition
	info  map[hcl.Expression]*expression
	diags hcl.Diagnostics

	root     *hcl.EvalContext // what does not depend on the folder; nil until asked for
	contexts map[string]*hcl.EvalContext
	settled  bool // variables and locals have their values
	git      *plan.GitState
	env      map[string]plan.InputFile
}

func newEvaluator(def *Definition) *evaluator {
	return &evaluator{def: def, info: map[hcl.Expression]*expression{}, contexts: map[string]*hcl.EvalContext{}, env: map[string]plan.InputFile{}}
}

// take returns the diagnostics that were collected since the last time.
func (e *evaluator) take() hcl.Diagnostics {
	d := e.diags
	e.diags = nil
	return d
}

// ready says that variables have their values.
func (e *evaluator) ready() { e.root, e.settled, e.contexts = nil, true, map[string]*hcl.EvalContext{} }

// fresh forgets function tables, so that what the next evaluation reads is
// recorded for it.
func (e *evaluator) fresh() { e.root, e.contexts = nil, map[string]*hcl.EvalContext{} }

// look analyses an expression, once.
func (e *evaluator) look(expr hcl.Expression) *expression {
	if x := e.info[expr]; x != nil {
		return x
	}
	x := &expression{folder: e.def.places[expr.Range().Filename].folder, variation: perDefinition}
	for _, t := range expr.Variables() {
		second, _, isName := secondStep(t)
		switch root := t.RootName(); root {
		case "local":
			if isName && !slices.Contains(x.locals, second) {
				x.locals = append(x.locals, second)
			}
		case "each", "param":
			x.variation = perWorker
			if root == "each" && x.usesEach == nil {
				x.usesEach = t
			}
		case "worker":
			if !isName || second == "key" {
				x.variation = perWorker
			}
			x.variation = max(x.variation, perStation)
		case "task_type":
			x.variation = max(x.variation, perStation)
		default:
			if _, ok := workerRoots[root]; ok {
				x.variation = max(x.variation, perStation)
			}
		}
	}
	slices.Sort(x.locals)
	e.info[expr] = x
	return x
}

// value evaluates an expression with extra names in scope. Where it fails, or
// depends on what failed, the value is not known; the latter says nothing.
func (e *evaluator) value(expr hcl.Expression, extra map[string]cty.Value) (cty.Value, hcl.Diagnostics) {
	x := e.look(expr)
	if x.bad {
		return cty.DynamicVal, nil
	}
	ctx := e.context(x.folder)
	vars := extra
	if len(x.locals) > 0 {
		needed := make(map[string]cty.Value, len(x.locals))
		for _, name := range x.locals {
			needed[name] = cty.DynamicVal
			if lo := e.def.locals[name]; lo != nil {
				needed[name] = lo.value
			}
		}
		vars = make(map[string]cty.Value, len(extra)+1)
		for k, v := range extra {
			vars[k] = v
		}
		vars["local"] = cty.ObjectVal(needed)
	}
	if len(vars) > 0 {
		ctx = ctx.NewChild()
		ctx.Variables = vars
	}
	v, diags := expr.Value(ctx)
	if diags.HasErrors() {
		return cty.DynamicVal, reshape(diags)
	}
	return v, reshape(diags)
}

// reshape gives evaluation diagnostics okstra's summaries, and takes out what
// depends on a failed value.
func reshape(diags hcl.Diagnostics) hcl.Diagnostics {
	for _, d := range diags {
		switch {
		case d.Summary == "Call to unknown function":
			d.Summary = SummaryUnknownFunction
		case strings.Contains(d.Detail, "sensitive values may only go to env"):
			d.Summary = SummarySensitive
		case strings.Contains(d.Detail, "is only known when the worker is started"):
			d.Summary = SummarySymbolic
		case strings.Contains(d.Detail, "digits after the point"), strings.Contains(d.Detail, "is infinite, or too large"):
			d.Summary = SummaryOutOfRange
		case strings.Contains(d.Detail, "number of more than 400 digits"):
			d.Summary = SummaryTooLarge
		case strings.HasPrefix(d.Detail, "The expression result is null."):
			nullInText(d)
		}
		d.EvalContext = nil // values in it may be tokens, and the detail names the fault
	}
	return diags
}

// context is what is in scope everywhere, for expressions of one folder.
func (e *evaluator) context(folder string) *hcl.EvalContext {
	if ctx := e.contexts[folder]; ctx != nil {
		return ctx
	}
	if e.root == nil {
		e.root = &hcl.EvalContext{Variables: e.everywhere()}
	}
	ctx := e.root.NewChild()
	here := cty.NullVal(cty.String)
	if folder != "" {
		here = cty.StringVal(folder)
	}
	ctx.Variables = map[string]cty.Value{"path": cty.ObjectVal(map[string]cty.Value{
		"here": here,
		"root": cty.StringVal(e.def.ProjectRoot),
	})}
	ctx.Functions = guardFunctions(function.Table(folder, e.def.reader, e.lookupEnv))
	e.contexts[folder] = ctx
	return ctx
}

func (e *evaluator) everywhere() map[string]cty.Value {
	d := e.def
	vars := make(map[string]cty.Value, len(d.variables))
	for name, v := range d.variables {
		vars[name] = cty.DynamicVal
		if e.settled {
			vars[name] = v.scopeValue()
		}
	}
	var git plan.GitState
	if d.usesGit {
		git = e.gitState()
	}
	all := map[string]cty.Value{
		"var": cty.ObjectVal(vars),
		"git": cty.ObjectVal(map[string]cty.Value{"head": orNull(git.Head), "branch": orNull(git.Branch), "base": orNull(git.Base)}),
	}
	for _, kind := range referenceKinds {
		refs := map[string]cty.Value{}
		for _, name := range d.known(kind) {
			refs[name] = referenceVal(kind, name)
		}
		all[kind] = cty.ObjectVal(refs)
	}
	return all
}

func (e *evaluator) gitState() plan.GitState {
	if e.git == nil {
		state := e.def.source.World.Git(e.def.ProjectRoot)
		e.git = &state
	}
	return *e.git
}

// lookupEnv reads the environment for the function env, and records it.
func (e *evaluator) lookupEnv(name string) (string, bool) {
	value, ok := e.def.source.World.Env(name)
	in := plan.InputFile{Kind: plan.InputEnv, Path: name}
	if ok {
		in.Digest = plan.DigestBytes([]byte(value))
	}
	e.env[name] = in
	return value, ok
}

func orNull(s string) cty.Value {
	if s == "" {
		return cty.NullVal(cty.String)
	}
	return cty.StringVal(s)
}

// tooLarge says why a value is larger than anything may be, or "".
func tooLarge(v cty.Value) string {
	why := ""
	v, _ = v.UnmarkDeep()
	total := 0
	_ = cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
		if why != "" || v.IsNull() || !v.IsKnown() {
			return false, nil
		}
		t := v.Type()
		switch {
		case function.Infinite(v):
			why = "it is infinite, or holds a number that is"
		case function.TooLong(v):
			why = "a number may have at most about 400 digits before and after the point"
		case t == cty.String:
			n := len(v.AsString())
			if total += n; n > maxString || total > 4*maxString {
				why = fmt.Sprintf("text may have at most %d MiB", maxString>>20)
			}
		case t.IsCollectionType(), t.IsTupleType(), t.IsObjectType():
			if n := v.LengthInt(); n > maxList {
				why = fmt.Sprintf("it has %d elements, and a list, set or map may have at most %d", n, maxList)
				return false, nil
			}
		}
		return true, nil
	})
	return why
}
