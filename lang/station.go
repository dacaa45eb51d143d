package lang

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
)

// resolvedProvider is what of a provider is the same for every worker.
type resolvedProvider struct {
	*provider
	prompt   plan.PromptDelivery
	output   plan.OutputFormat
	result   plan.ResultSource // where the access block says nothing
	model    string
	models   map[string]string
	unsetEnv []string
	exits    map[string]plan.Reason
	worst    *plan.Worst
}

// resolvedDuty is what of a duty is the same for every worker.
type resolvedDuty struct {
	*duty
	role    string
	about   string // the role's description
	access  plan.Access
	emits   plan.Emits
	unsure  bool // what it emits was written wrongly
	audit   bool
	outputs []plan.Output
	schemas map[string]string // output → digest of its schema
	params  map[string]cty.Value
}

// station is one assign given to one participant: all that its workers share.
type station struct {
	round       *plan.Round
	decl        *round
	assign      *assign
	duty        *resolvedDuty
	provider    *resolvedProvider
	participant *participant // nil where to names a provider
	ref         string       // participantRef
	at          hcl.Range    // where to names it
	model       string
	result      plan.ResultSource
	limits      plan.Limits
	retry       plan.Retry
	audit       bool
	dutyDigest  string
	origins     map[string]plan.Position
	scope       map[string]cty.Value // without key, each and param
}

func (c *compiler) provider(name string) *resolvedProvider {
	if p := c.providers[name]; p != nil {
		return p
	}
	d := c.def.providers[name]
	p := &resolvedProvider{provider: d, prompt: plan.PromptPath, output: plan.OutputText, result: plan.ResultFile, unsetEnv: []string{}, exits: map[string]plan.Reason{}}
	c.providers[name] = p
	if s, ok := c.choice(d.attr("prompt"), "path", "stdin", "argument"); ok {
		p.prompt = plan.PromptDelivery(s)
	}
	if s, ok := c.choice(d.attr("output"), "text", "claude-stream-json", "codex-json", "gemini-stream-json"); ok {
		p.output = plan.OutputFormat(s)
	}
	if s, ok := c.choice(d.attr("result"), "file", "stdout"); ok {
		p.result = plan.ResultSource(s)
	}
	p.model, _ = c.text(d.attr("model"))
	p.models, _ = c.textMap(d.attr("models"))
	if list, ok := c.texts(d.attr("unset_env")); ok {
		for _, name := range list {
			if c.envName(name, d.attr("unset_env").Expr.Range()) {
				p.unsetEnv = append(p.unsetEnv, name)
			}
		}
		slices.Sort(p.unsetEnv)
		p.unsetEnv = slices.Compact(p.unsetEnv)
	}
	exits, _ := c.textMap(d.attr("exit_codes"))
	for _, code := range names(exits) {
		at := d.attr("exit_codes").Expr.Range()
		if place, ok := keyPlaces(d.attr("exit_codes").Expr)[code]; ok {
			at = place.value
		}
		if n, err := strconv.Atoi(code); err != nil || n < 1 || n > 255 || strconv.Itoa(n) != code {
			c.fault(at, SummaryOutOfRange, "An exit code is a number from 1 to 255, not %q.", code)
			continue
		}
		reason := plan.Reason(exits[code])
		if !failure(reason) {
			c.notReason(at, string(reason))
			continue
		}
		p.exits[code] = reason
	}
	p.worst = c.worst(chainOf("worst", &d.decl))
	return p
}

func (c *compiler) duty(name string) *resolvedDuty {
	if d := c.duties[name]; d != nil {
		return d
	}
	decl := c.def.duties[name]
	d := &resolvedDuty{duty: decl, role: roleAnalyst, access: plan.AccessRead, outputs: []plan.Output{}, schemas: map[string]string{}, params: map[string]cty.Value{}}
	c.duties[name] = d
	if ref, ok := c.ref(decl.attr("role"), "role"); ok {
		d.role = ref.name
	}
	if role := c.def.roles[d.role]; role != nil {
		if s, ok := c.choice(role.attr("access"), "read", "write"); ok {
			d.access = plan.Access(s)
		}
		d.about, _ = c.text(role.attr("description"))
	}
	if s, ok := c.choice(decl.attr("emits"), "findings", "verdicts", "verdict"); ok {
		d.emits = plan.Emits(s)
	}
	d.unsure = decl.misread || decl.attr("emits") != nil && d.emits == plan.EmitsNone
	d.audit, _ = c.flag(decl.attr("audit"))
	for _, o := range decl.outputs {
		out := plan.Output{Name: o.name, Required: true}
		out.Description, _ = c.text(o.attr("description"))
		if b, ok := c.flag(o.attr("required")); ok {
			out.Required = b
		}
		if s, ok := c.text(o.attr("schema")); ok {
			out.Schema, d.schemas[o.name] = c.schemaFile(o.attr("schema"), s)
		}
		d.outputs = append(d.outputs, out)
	}
	for _, p := range decl.parameters {
		if v, ok := c.value(p.attr("default")); ok {
			conformed, err := p.typed.conform(v)
			if err != nil {
				c.fault(p.attr("default").Expr.Range(), SummaryWrongType, "The default of parameter %q does not have the declared type: %s.", p.name, err)
				conformed = cty.DynamicVal
			} else if why := tooLarge(conformed); why != "" {
				c.fault(p.attr("default").Expr.Range(), SummaryTooLarge, "The default of parameter %q is too large: %s.", p.name, why)
				conformed = cty.DynamicVal
			}
			d.params[p.name] = conformed
		} else if a := p.attr("default"); a != nil {
			d.params[p.name] = cty.NullVal(p.typed.ty)
		}
	}
	return d
}

// schemaFile reads a JSON Schema, relative to the file that names it.
func (c *compiler) schemaFile(a *hcl.Attribute, path string) (string, string) {
	folder := c.def.places[a.Expr.Range().Filename].folder
	src, err := c.def.reader.ReadFile(folder, path)
	if err != nil {
		c.fault(a.Expr.Range(), SummaryUnreadable, "The schema cannot be read: %s.", err)
		return "", ""
	}
	if !isJSONText(src) {
		c.fault(a.Expr.Range(), SummaryWrongValue, "%s is not JSON. A schema is a JSON Schema file.", path)
		return "", ""
	}
	full, _ := c.def.reader.resolve(folder, path)
	return c.def.reader.relative(full), plan.DigestBytes(src)
}

// assign makes the workers of one assign. It returns why there are none, where
// that is legal.
func (c *compiler) assign(out *plan.Round, rd *round, a *assign) string {
	dutyRef, dutyOK := c.ref(a.attr("duty"), "duty")
	to := a.attr("to")
	refs, toOK := c.refs(to, "participant", "provider")
	if toOK && len(refs) == 0 {
		c.fault(to.Expr.Range(), SummaryEmptyTo, "to names nobody. Write to = participant.NAME, provider.NAME, or a list of them.")
	}
	elements, forEach, eachOK := c.forEach(a.attr("for_each"))
	if !dutyOK || !toOK || !eachOK {
		c.unsure = true
		return ""
	}
	duty := c.duty(dutyRef.name)
	c.unsure = c.unsure || duty.misread
	if forEach && len(elements) == 0 {
		return fmt.Sprintf("for_each of duty %s is empty (%s:%d)", duty.name, a.header.Filename, a.header.Start.Line)
	}
	count := max(1, len(elements)) * len(refs)
	if c.workers += count; c.workers > maxWorkers {
		if c.workers-count <= maxWorkers {
			c.fault(a.header, SummaryTooMany, "With this the run has %d workers; it may have at most %d. Split it into several runs, or give each worker more.", c.workers, maxWorkers)
		}
		return ""
	}
	for _, ref := range refs {
		st := c.station(out, rd, a, duty, ref)
		if st == nil {
			c.unsure = true
			continue
		}
		c.stations = append(c.stations, st)
		if !forEach {
			c.worker(st, nil)
			continue
		}
		for i := range elements {
			c.worker(st, &elements[i])
		}
	}
	return ""
}

// element is one element of for_each.
type element struct {
	key   string
	value cty.Value
}

// maxEachKey bounds a key of for_each, in bytes.
const maxEachKey = 4096

// forEach resolves the elements of a for_each, sorted by key.
func (c *compiler) forEach(a *hcl.Attribute) (list []element, given, ok bool) {
	if a == nil {
		return nil, false, true
	}
	v, diags := c.eval.value(a.Expr, nil)
	c.diags = append(c.diags, diags...)
	if bare, _ := v.Unmark(); bare.IsKnown() && bare.IsNull() {
		c.fault(a.Expr.Range(), SummaryForEach, "for_each is null. Write an empty set, [], where there may be nothing to do.")
		return nil, true, false
	}
	if v, ok = c.settled(a.Expr, v); !ok {
		return nil, true, false
	}
	t := v.Type()
	ok = true
	switch {
	case t.IsObjectType(), t.IsMapType():
		values := v.AsValueMap()
		for _, k := range names(values) {
			list = append(list, element{k, values[k]})
		}
	case t.IsTupleType(), t.IsListType(), t.IsSetType():
		seen := map[string]bool{}
		for it := v.ElementIterator(); it.Next(); {
			_, e := it.Element()
			if e.IsNull() || e.Type() != cty.String {
				c.fault(a.Expr.Range(), SummaryForEach, "A list for for_each holds strings, not %s: what a worker is called by must not depend on a position. Write a map of names to values.", typeWord(e))
				return nil, true, false
			}
			k := e.AsString()
			if seen[k] {
				c.fault(a.Expr.Range(), SummaryForEach, "%q stands twice in the list for for_each. Every element makes one worker: write distinct(…) around the list, or a map.", k)
				ok = false
				continue
			}
			seen[k] = true
			list = append(list, element{k, e})
		}
		slices.SortFunc(list, func(x, y element) int { return strings.Compare(x.key, y.key) })
	default:
		c.fault(a.Expr.Range(), SummaryForEach, "for_each takes a map or a set of strings, not %s.", typeWord(v))
		return nil, true, false
	}
	for _, e := range list {
		if strings.Contains(e.key, tokenEdge) {
			c.nul(a.Expr.Range())
			return nil, true, false
		}
		if len(e.key) > maxEachKey {
			c.fault(a.Expr.Range(), SummaryTooLarge, "A key of for_each may have at most %d bytes; one has %d.", maxEachKey, len(e.key))
			return nil, true, false
		}
	}
	return list, true, ok
}

// station resolves what the workers of one assign and one participant share.
func (c *compiler) station(out *plan.Round, rd *round, a *assign, duty *resolvedDuty, to placedRef) *station {
	st := &station{round: out, decl: rd, assign: a, duty: duty, ref: to.name, at: to.at, origins: map[string]plan.Position{}}
	if first, ok := c.identities[st.ref]; ok && first.reference != to.reference {
		c.fault(to.at, SummaryDuplicateWorker, "In this run %q already stands for %s (%s), so that workers of %s could not be told apart. Rename the participant.", st.ref, first.reference, first.at, to.reference)
		return nil
	}
	c.identities[st.ref] = to
	providerName := to.name
	if to.kind == "participant" {
		st.participant = c.def.participants[to.name]
		ref, ok := c.ref(st.participant.attr("provider"), "provider")
		if !ok {
			return nil
		}
		providerName = ref.name
	}
	st.provider = c.provider(providerName)
	p, part := st.provider, st.participantDecl()
	origin := func(name string, at hcl.Range) { st.origins[name] = c.def.position(at) }
	originOf := func(name string, a *hcl.Attribute) {
		if a != nil {
			origin(name, a.Expr.Range())
		}
	}
	st.limits = c.limits(chainOf("timeout", &c.def.settings.decl, &c.run.decl, &p.decl, part, &duty.decl, &a.decl), origin)
	st.retry = c.retry(chainOf("retry", &c.def.settings.decl, &c.run.decl, &p.decl, part, &duty.decl, &a.decl), origin)
	st.model = c.model(st, part, originOf)
	st.audit = duty.audit
	if out.Kind == plan.RoundReportWriter {
		if at := duty.attr("audit"); at != nil && !duty.audit {
			c.fault(at.Expr.Range(), SummaryWrongValue, "A report-writer always writes an audit file: remove this line, or write true.")
		}
		st.audit = true
	}
	access := p.access[duty.access]
	st.result = c.result(st, access, originOf)
	originOf("instructions", duty.attr("instructions"))
	originOf("role", duty.attr("role"))
	originOf("emits", duty.attr("emits"))
	originOf("audit", duty.attr("audit"))
	for _, name := range []string{"command", "model_args", "prompt", "output", "unset_env", "exit_codes", "worst"} {
		originOf(name, p.attr(name))
	}
	originOf("args", p.attr("args"))
	originOf("access.args", access.attr("args"))
	originOf("participant.args", part.attr("args"))
	if role := c.def.roles[duty.role]; role != nil {
		originOf("access", role.attr("access"))
	}
	origin("assign", a.header)
	if len(paths.Stem(duty.role, duty.name, st.ref, nil)) > paths.MaxStem {
		c.tooLong(st, paths.Stem(duty.role, duty.name, st.ref, nil))
		return nil
	}
	st.dutyDigest = plan.Digest(dutyContent(duty))
	st.scope = c.stationScope(st)
	return st
}

func (c *compiler) tooLong(st *station, stem string) {
	c.fault(st.at, SummaryTooLong, "The names of role, duty and participant together make the file name %q, which has %d bytes; %d are the most. Shorten one of them.", stem, len(stem), paths.MaxStem)
}

func (st *station) participantDecl() *decl {
	if st.participant == nil {
		return nil
	}
	return &st.participant.decl
}

// model resolves the model that is passed to the CLI.
func (c *compiler) model(st *station, part *decl, originOf func(string, *hcl.Attribute)) string {
	p := st.provider
	name, at := p.model, p.attr("model")
	if s, ok := c.text(part.attr("model")); ok {
		name, at = s, part.attr("model")
	}
	if name == "" {
		return ""
	}
	originOf("model", at)
	if full, ok := p.models[name]; ok {
		return full
	}
	if len(p.models) > 0 && !slices.Contains(slices.Collect(maps.Values(p.models)), name) {
		c.diags = append(c.diags, caution(at.Expr.Range(), SummaryModel, "The provider %q does not know the model %q, and will be asked for it as it is.%s", p.name, name, meant(name, names(p.models))))
	}
	return name
}

// result resolves who writes the result. A worker that reads only, because its
// command line says so, cannot write a file.
func (c *compiler) result(st *station, access *decl, originOf func(string, *hcl.Attribute)) plan.ResultSource {
	p := st.provider
	result := p.result
	a := p.attr("result")
	if s, ok := c.choice(access.attr("result"), "file", "stdout"); ok {
		result, a = plan.ResultSource(s), access.attr("result")
	}
	originOf("result", a)
	if st.duty.access != plan.AccessRead || result != plan.ResultFile || access == nil {
		return result
	}
	said := access.attr("result") != nil
	wasStdout := false
	for _, old := range access.replaced["result"] {
		if s, _ := c.text(old); s == string(plan.ResultStdout) && len(access.replaced["args"]) == 0 {
			wasStdout = true
		}
	}
	if wasStdout || !said && access.attr("args") != nil {
		at := access.header
		if a != nil {
			at = a.Expr.Range()
		}
		c.fault(at, SummaryResultRead, "With read access the provider %q is started with arguments that keep it from writing, so that it cannot write a result file. Write result = \"stdout\" in its access \"read\" block (or result = \"file\" there together with args under which it can).", p.name)
	}
	return result
}

// stationScope is what expressions of the station's workers may use, but for
// what differs between them.
func (c *compiler) stationScope(st *station) map[string]cty.Value {
	scope := c.taskScope()
	pathOf := func(ref plan.Ref) cty.Value { return cty.ObjectVal(map[string]cty.Value{"path": symbol(ref)}) }
	scope["prompt"] = cty.ObjectVal(map[string]cty.Value{
		"path": symbol(plan.RefPromptPath), "text": symbol(plan.RefPromptText), "reference": symbol(plan.RefPromptReference),
	})
	scope["result"] = pathOf(plan.RefResultPath)
	scope["audit"] = pathOf(plan.RefAuditPath)
	scope["emit"] = pathOf(plan.RefEmitPath)
	scope["inputs"] = cty.ObjectVal(map[string]cty.Value{"index": symbol(plan.RefInputsIndex)})
	outputs := map[string]cty.Value{}
	for _, o := range st.duty.outputs {
		outputs[o.Name] = pathOf(plan.RefOutput(o.Name))
	}
	scope["output"] = cty.ObjectVal(outputs)
	scope["round"] = cty.ObjectVal(map[string]cty.Value{
		"name": cty.StringVal(st.round.Name), "kind": cty.StringVal(string(st.round.Kind)), "index": cty.NumberIntVal(int64(st.round.Index)),
	})
	scope["worker"] = st.workerValue(cty.NullVal(cty.String))
	return scope
}

func (st *station) workerValue(key cty.Value) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{
		"provider":    cty.StringVal(st.provider.name),
		"model":       orNull(st.model),
		"role":        cty.StringVal(st.duty.role),
		"access":      cty.StringVal(string(st.duty.access)),
		"participant": cty.StringVal(st.ref),
		"key":         key,
	})
}

// programPath turns argv[0] into what the World is asked for.
func (c *compiler) programPath(name string, at hcl.Range) string {
	if filepath.IsAbs(name) || !strings.Contains(name, "/") {
		return name
	}
	p := c.def.places[at.Filename]
	if p.unit != nil && p.unit.library && !p.unit.catalog && strings.HasPrefix(name, "./") {
		return filepath.Join(p.folder, name)
	}
	return filepath.Join(c.def.ProjectRoot, name)
}
