package lang

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/okstra/okstra/lang/plan"
)

// compiler turns one run of a definition into a plan.
type compiler struct {
	*resolver // in the scope of the run, for diagnostics of all
	def       *Definition
	opts      CompileOptions
	run       *run
	head      head
	rules     TaskTypeInfo
	plan      *plan.Plan
	budgetAt  map[string]entry

	providers  map[string]*resolvedProvider
	duties     map[string]*resolvedDuty
	programs   map[string]plan.Program
	memo       map[memoKey]any
	stations   []*station // in plan order
	unsure     bool       // an assign was wrong in itself: stations are not all that was meant
	workers    int
	assigned   map[string]hcl.Range // assignmentRef → where
	identities map[string]placedRef // participantRef → what it stands for
}

// memoKey names a result that is shared: by expression, and by station where
// it depends on one.
type memoKey struct {
	expr    hcl.Expression
	station *station
	form    string
}

// Compile turns a run into the plan of everything that it asks for. It asks
// the World for git and programs. The result is nil where there are errors,
// those of loading included. These are not repeated, and a run that is not
// there is no further mistake then: its block may be the one that is wrong.
func Compile(def *Definition, name string, opts CompileOptions) (*Compiled, hcl.Diagnostics) {
	if def.broken || def.failed && def.runs[name] == nil && name != "" {
		return nil, nil
	}
	if name == "" {
		var ok bool
		if name, ok = def.DefaultRun(); !ok && def.failed {
			return nil, nil
		} else if !ok {
			return nil, hcl.Diagnostics{bare(SummaryNoRun, "%s", noDefault(def))}
		}
	}
	if def.runs[name] == nil {
		return nil, hcl.Diagnostics{bare(SummaryNoRun, "There is no run %q in this definition.%s", name, meant(name, names(def.runs)))}
	}
	def.reader.read = maps.Clone(def.base.files)
	def.reader.looked = maps.Clone(def.base.looked)
	def.eval.env = maps.Clone(def.base.env)
	def.eval.fresh()
	c := &compiler{
		resolver: &resolver{eval: def.eval}, def: def, opts: opts, run: def.runs[name], head: def.heads[name],
		providers: map[string]*resolvedProvider{}, duties: map[string]*resolvedDuty{}, programs: map[string]plan.Program{},
		memo: map[memoKey]any{}, assigned: map[string]hcl.Range{}, identities: map[string]placedRef{},
	}
	c.compile()
	diags := tidy(clamp(c.diags, def.files))
	if diags.HasErrors() || def.failed {
		return nil, diags
	}
	return &Compiled{Plan: c.plan, Secrets: def.secret}, diags
}

func noDefault(def *Definition) string {
	if len(def.runOrder) == 0 {
		return "This definition holds no run. Write run \"NAME\" { … } with a round in it."
	}
	return fmt.Sprintf("This definition holds several runs: name one (%s), or set default_run in the okstra block.", strings.Join(def.runOrder, ", "))
}

// secret implements Secrets.
func (d *Definition) secret(name string) (string, bool) {
	v := d.variables[name]
	if v == nil || !v.sensitive {
		return "", false
	}
	return secretText(v.value)
}

func (c *compiler) compile() {
	c.rules, _ = c.def.taskType(c.head.taskType)
	rules := c.rules
	r, d := c.run, c.def
	p := &plan.Plan{
		Format: plan.Format, Okstra: d.source.Version, ProjectRoot: d.ProjectRoot,
		Definition: d.reader.relative(d.Path), Catalog: plan.Digest(string(d.catalogSource)),
		Rounds: []plan.Round{}, Overrides: slices.Clone(d.overrides), Variables: plannedVariables(d.variables),
	}
	for _, path := range d.valuesFiles {
		p.VariableFiles = append(p.VariableFiles, d.reader.relative(path))
	}
	c.plan = p
	p.Run = plan.Run{
		Name: r.name, Description: c.head.description, Task: c.head.task, TaskType: c.head.taskType,
		Allowed: rules.Allowed, Forbidden: rules.Forbidden, Next: rules.Next,
		Backend: c.backends(r.attr("backend")), Parallelism: 8, Fingerprint: []string{},
		Panes: c.panes(d.settings.panes, r.panes), After: c.opts.After, Declared: d.position(r.header),
	}
	if n, ok := c.whole(r.attr("parallelism"), 1, maxWorkers); ok {
		p.Run.Parallelism = int(n)
	}
	if f, ok := c.texts(r.attr("fingerprint")); ok {
		p.Run.Fingerprint = f
	}
	p.Run.Budget, c.budgetAt = c.budget(chainOf("budget", &r.decl))
	p.Run.Lead = c.lead(r.lead)
	// Where extends could not be followed, that was said.
	inherits := r.attr("extends") != nil && d.failed
	if len(r.rounds) == 0 && r.lead.attr("instructions") == nil && !inherits && !r.misread {
		c.fault(r.header, SummaryRunEmpty, "The run %q has no rounds. Write round \"NAME\" { assign { … } } in it, or a lead with instructions.", r.name)
	}
	c.unsure = r.misread
	for i, rd := range r.rounds {
		p.Rounds = append(p.Rounds, c.round(i, rd))
	}
	c.checkRun()
	c.label()
	p.Observed.Git = d.eval.gitState()
	p.Inputs = c.inputs()
}

func (c *compiler) backends(a *hcl.Attribute) []string {
	if a == nil {
		return slices.Clone(backendNames)
	}
	refs, ok := c.refs(a, "backend")
	if !ok {
		return slices.Clone(backendNames)
	}
	out := []string{}
	for _, ref := range refs {
		if slices.Contains(out, ref.name) {
			c.fault(ref.at, SummaryDuplicate, "backend.%s stands twice in the list.", ref.name)
			continue
		}
		out = append(out, ref.name)
	}
	if len(out) == 0 {
		c.fault(a.Expr.Range(), SummaryWrongValue, "backend names at least one of backend.cmux, backend.tmux and backend.process.")
	}
	return out
}

// taskScope is what task and task_type are in the scope of a run.
func (c *compiler) taskScope() map[string]cty.Value {
	t := c.head.task
	rules := map[string]cty.Value{}
	for _, name := range c.def.known("task_type") {
		rules[name] = referenceVal("task_type", name)
	}
	rules["name"] = cty.StringVal(c.rules.Name)
	rules["allowed"] = textList(c.rules.Allowed)
	rules["forbidden"] = textList(c.rules.Forbidden)
	return map[string]cty.Value{
		"task": cty.ObjectVal(map[string]cty.Value{
			"project": cty.StringVal(t.Project), "group": cty.StringVal(t.Group), "id": cty.StringVal(t.ID), "key": cty.StringVal(t.Key()),
		}),
		"task_type": cty.ObjectVal(rules),
	}
}

func textList(list []string) cty.Value {
	if len(list) == 0 {
		return cty.ListValEmpty(cty.String)
	}
	vals := make([]cty.Value, len(list))
	for i, s := range list {
		vals[i] = cty.StringVal(s)
	}
	return cty.ListVal(vals)
}

func (c *compiler) lead(d *decl) plan.Lead {
	var lead plan.Lead
	if d == nil {
		return lead
	}
	r := &resolver{eval: c.eval, scope: c.taskScope()}
	lead.Runtime, _ = r.choice(d.attr("runtime"), "claude-code", "codex", "external")
	if text, ok := r.text(d.attr("instructions")); ok {
		lead.Instructions = text
		if filled, ok := c.placeholders(plan.Text(text), d.attr("instructions")); ok {
			lead.Instructions = filled.String()
		}
	}
	if a := d.attr("inputs"); a != nil {
		v, ok := r.value(a)
		if ok {
			r.elements(a, v, func(v cty.Value, at hcl.Range) bool {
				s, ok := r.asText(v, at, "An element of inputs")
				if ok {
					if p, ok := c.projectPath(s, at); ok {
						c.noteInput(p, at, true)
						lead.Inputs = append(lead.Inputs, p)
					}
				}
				return ok
			})
		}
	}
	c.diags = append(c.diags, r.diags...)
	return lead
}

// round resolves one round with its workers.
func (c *compiler) round(index int, rd *round) plan.Round {
	out := plan.Round{
		Name: rd.name, Kind: plan.RoundWork, Index: index, After: []string{}, Parallelism: c.plan.Run.Parallelism,
		Workers: []plan.Worker{}, Declared: c.def.position(rd.header),
	}
	if k, ok := c.choice(rd.attr("kind"), "work", "reverify", "report-writer"); ok {
		out.Kind = plan.RoundKind(k)
	}
	out.After = c.after(index, rd)
	out.Require, _ = c.require(rd.attr("require"))
	if n, ok := c.whole(rd.attr("parallelism"), 1, maxWorkers); ok {
		out.Parallelism = int(n)
	}
	if rd.gate != nil {
		g := &plan.Gate{}
		g.Reason, _ = c.text(rd.gate.attr("reason"))
		g.Choices, _ = c.texts(rd.gate.attr("choices"))
		out.Gate = g
	}
	switch {
	case out.Kind == plan.RoundReverify:
		out.Convergence = c.convergence(rd.convergence)
	case rd.convergence != nil:
		c.fault(rd.convergence.header, SummaryConvergence, "Only a round of kind \"reverify\" has a convergence block. Remove it, or write kind = \"reverify\".")
	}
	c.unsure = c.unsure || rd.misread
	if len(rd.assigns) == 0 && !rd.misread {
		c.fault(rd.header, SummaryRunEmpty, "The round %q assigns nothing. Write assign { duty = duty.NAME, to = participant.NAME } in it, an attribute a line.", rd.name)
	}
	var empties []string
	for _, a := range rd.assigns {
		if empty := c.assign(&out, rd, a); empty != "" {
			empties = append(empties, empty)
		}
	}
	switch {
	case len(empties) == 0:
	case len(out.Workers) == 0:
		out.Empty = strings.Join(empties, "; ")
	default:
		c.plan.Observed.Notes = append(c.plan.Observed.Notes, fmt.Sprintf("round %s: %s", rd.name, strings.Join(empties, "; ")))
	}
	if out.Empty == "" && !out.Require.All && out.Require.Percent == nil && out.Require.Count > len(out.Workers) && len(out.Workers) > 0 {
		c.fault(rd.attr("require").Expr.Range(), SummaryOutOfRange, "require asks for %s, and the round has %d.", plan.Count(out.Require.Count, "worker"), len(out.Workers))
	}
	return out
}

// after resolves what a round waits for: all rounds before it, or some of them.
func (c *compiler) after(index int, rd *round) []string {
	out := []string{}
	earlier := c.run.rounds[:index]
	a := rd.attr("after")
	v, ok := c.value(a)
	if !ok {
		for _, e := range earlier {
			out = append(out, e.name)
		}
		return out
	}
	c.elements(a, v, func(v cty.Value, at hcl.Range) bool {
		name, ok := c.asText(v, at, "An element of after")
		if !ok {
			return false
		}
		isIt := func(r *round) bool { return r.name == name }
		var known []string
		for _, e := range earlier {
			known = append(known, e.name)
		}
		switch {
		case slices.Contains(out, name):
			c.fault(at, SummaryDuplicate, "The round %q stands twice in after.", name)
		case name == rd.name:
			c.fault(at, SummaryAfter, "The round %q cannot wait for itself.", name)
		case slices.ContainsFunc(earlier, isIt):
			out = append(out, name)
			return true
		case slices.ContainsFunc(c.run.rounds, isIt):
			c.fault(at, SummaryAfter, "The round %q stands after this one. Rounds run as written: move it up, or wait for an earlier one.", name)
		default:
			c.fault(at, SummaryAfter, "There is no round %q before this one.%s", name, meant(name, known))
		}
		return false
	})
	// In the order of the run, however they were written.
	slices.SortFunc(out, func(x, y string) int { return c.roundIndex(x) - c.roundIndex(y) })
	return out
}

func (c *compiler) roundIndex(name string) int {
	return slices.IndexFunc(c.run.rounds, func(r *round) bool { return r.name == name })
}

// Task types with defaults of their own for convergence.
var (
	oneRound    = []string{"requirements-discovery"}
	adversarial = []string{"requirements-discovery", "error-analysis", "implementation-planning"}
)

const (
	modeLightweight = "lightweight"
	modeFull        = "full-reanalysis"
)

func (c *compiler) convergence(d *decl) *plan.Convergence {
	out := &plan.Convergence{Enabled: true, MaxRounds: 2, Mode: modeLightweight, Source: "core"}
	if slices.Contains(oneRound, c.head.taskType) {
		out.MaxRounds = 1
	}
	out.Adversarial = slices.Contains(adversarial, c.head.taskType)
	mode, modeGiven := c.choice(d.attr("mode"), modeLightweight, modeFull)
	explicit, advGiven := c.flag(d.attr("adversarial"))
	switch {
	case advGiven:
		out.Adversarial = explicit
	case mode == modeLightweight && modeGiven:
		out.Adversarial = false
	}
	if out.Adversarial {
		out.Mode = modeFull
	}
	if modeGiven {
		if out.Adversarial && mode == modeLightweight {
			c.fault(d.attr("mode").Expr.Range(), SummaryWrongValue, "An adversarial round reads the cited evidence again: mode is \"full-reanalysis\". Change it, or write adversarial = false.")
		}
		out.Mode = mode
	}
	if b, ok := c.flag(d.attr("enabled")); ok {
		out.Enabled = b
	}
	if n, ok := c.whole(d.attr("max_rounds"), 1, 3); ok {
		out.MaxRounds = int(n)
	}
	if b, ok := c.flag(d.attr("critic")); ok {
		out.Critic = b
	}
	if s, ok := c.choice(d.attr("source"), "core", "lead"); ok {
		out.Source = s
	}
	return out
}

// inputs lists all that was read, sorted.
func (c *compiler) inputs() []plan.InputFile {
	for _, f := range c.def.definitionFiles {
		c.def.reader.note(plan.InputDefinition, f.path, f.src)
	}
	out := c.def.reader.inputs()
	for _, name := range names(c.def.eval.env) {
		out = append(out, c.def.eval.env[name])
	}
	slices.SortStableFunc(out, func(a, b plan.InputFile) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// label numbers execution labels where several workers would have the same.
func (c *compiler) label() {
	count := map[string]int{}
	taken := map[string]bool{}
	for i := range c.plan.Rounds {
		for _, w := range c.plan.Rounds[i].Workers {
			count[w.Label]++
			taken[w.Label] = true
		}
	}
	next := map[string]int{}
	for i := range c.plan.Rounds {
		for j := range c.plan.Rounds[i].Workers {
			w := &c.plan.Rounds[i].Workers[j]
			base := w.Label
			if count[base] > 1 {
				for {
					next[base]++
					if l := fmt.Sprintf("%s-%d", base, next[base]); !taken[l] {
						w.Label, taken[l] = l, true
						break
					}
				}
			}
			if w.Title == "" {
				w.Title = w.Label
			}
		}
	}
}
