package lang

import (
	"regexp"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"

	"github.com/okstra/okstra/lang/plan"
)

// instructed is the text of a prompt with its digest.
type instructed struct {
	template plan.Template
	digest   string
	// relative is the digest with the project root taken out, so that a
	// project that was moved is not a changed one.
	relative string
}

// instructions evaluates a duty's instructions for one worker.
func (c *compiler) instructions(w *work) instructed {
	a := w.st.duty.attr("instructions")
	if a == nil {
		return instructed{template: plan.Template{}}
	}
	return shared(c, w, a.Expr, "instructions", func() instructed {
		t, ok := c.template(w, a, whereArgument)
		if !ok {
			if v, diags := c.eval.value(a.Expr, w.scope); !diags.HasErrors() && v.IsKnown() && v.IsNull() {
				c.fault(a.Expr.Range(), SummaryWrongType, "instructions is a string, not null.")
			}
			return instructed{template: plan.Template{}}
		}
		if strings.TrimSpace(t.String()) == "" {
			c.fault(a.Expr.Range(), SummaryWrongValue, "The instructions of duty %q are empty: say what is asked.", w.st.duty.name)
		}
		t, _ = c.placeholders(t, a)
		done := instructed{template: t, digest: digestTemplate(t)}
		done.relative = done.digest
		if moved, changed := c.relativeTemplate(t); changed {
			done.relative = digestTemplate(moved)
		}
		return done
	})
}

var placeholder = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\{\{([A-Z][A-Z0-9_]*)\}\}`)
})

// placeholders fills in what a task type allows and forbids, and warns of
// other placeholders, which a worker would read as they are.
func (c *compiler) placeholders(t plan.Template, a *hcl.Attribute) (plan.Template, bool) {
	filled := false
	out := make(plan.Template, 0, len(t))
	for _, s := range t {
		if s.Ref == "" && strings.Contains(s.Text, "{{") {
			s.Text = placeholder().ReplaceAllStringFunc(s.Text, func(found string) string {
				switch found {
				case "{{PHASE_FORBIDDEN_ACTIONS}}":
					filled = true
					return bullets(c.rules.Forbidden)
				case "{{PHASE_ALLOWED_ACTIONS}}":
					filled = true
					return bullets(c.rules.Allowed)
				}
				c.diags = append(c.diags, caution(a.Expr.Range(), SummaryPlaceholder, "%s is not a placeholder of okstra, and will reach the worker as it is. Write ${…} for values; {{PHASE_FORBIDDEN_ACTIONS}} and {{PHASE_ALLOWED_ACTIONS}} are filled in.", found))
				return found
			})
		}
		out = append(out, s)
	}
	return out, filled
}

func bullets(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return "- " + strings.Join(list, "\n- ")
}
