package lang

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// nullInText says of a null inside a text what is null, why, and what to write
// instead. What is null can be told where the text holds nothing but its name.
func nullInText(d *hcl.Diagnostic) {
	d.Summary = SummaryNull
	const instead = "say what stands in its place, such as ${coalesce(%s, \"none\")}, or leave the text out with a conditional."
	if d.Expression == nil {
		return
	}
	t, diags := hcl.AbsTraversalForExpr(d.Expression)
	if diags.HasErrors() {
		d.Detail = "This is null, and a text cannot hold it. " + upper(fmt.Sprintf(instead, "…"))
		return
	}
	var name strings.Builder
	name.WriteString(t.RootName())
	for _, step := range t[1:] {
		attr, ok := step.(hcl.TraverseAttr)
		if !ok {
			name.WriteString("[…]")
			continue
		}
		name.WriteString("." + attr.Name)
	}
	why, what := "", upper(fmt.Sprintf(instead, name.String()))
	switch name.String() {
	case "worker.key":
		why = fmt.Sprintf(": %s is given its duty by an assign without for_each", scoped(d.EvalContext, "worker", "participant"))
		what = "Write for_each there, or " + fmt.Sprintf(instead, name.String())
	case "worker.model":
		why = fmt.Sprintf(": neither %s nor its provider names a model", scoped(d.EvalContext, "worker", "participant"))
	case "git.head", "git.branch", "git.base":
		why = ": git does not tell it for this project"
	}
	d.Detail = fmt.Sprintf("%s is null here%s, and a text cannot hold it. %s", name.String(), why, what)
}

// scoped looks a text up in an evaluation's scope, innermost first; it is for
// sentences.
func scoped(ctx *hcl.EvalContext, root, attr string) string {
	for ; ctx != nil; ctx = ctx.Parent() {
		v, ok := ctx.Variables[root]
		if !ok || !v.IsKnown() || v.IsNull() || !v.Type().IsObjectType() || !v.Type().HasAttribute(attr) {
			continue
		}
		if a, _ := v.GetAttr(attr).Unmark(); a.Type() == cty.String && a.IsKnown() && !a.IsNull() {
			return fmt.Sprintf("%q", a.AsString())
		}
	}
	return "this worker"
}
