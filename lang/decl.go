package lang

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// decl is what every declared block has: its name, where it is written, and
// its attributes, not evaluated.
type decl struct {
	doc    *BlockDoc
	name   string
	header hcl.Range
	attrs  map[string]*hcl.Attribute
	unit   *unit
	// replaced holds what overrides and extends put something else in place
	// of, the oldest first.
	replaced map[string][]*hcl.Attribute
	used     bool
	// misread says that something in the block was not understood, so that
	// nothing can be concluded from what it lacks.
	misread bool
}

// attr returns an attribute or nil.
func (d *decl) attr(name string) *hcl.Attribute {
	if d == nil {
		return nil
	}
	return d.attrs[name]
}

// all returns an attribute with everything that it was put in place of, the
// nearest last, for what is merged key by key.
func (d *decl) all(name string) []*hcl.Attribute {
	a := d.attr(name)
	if a == nil {
		return nil
	}
	return append(slices.Clip(d.replaced[name]), a)
}

// put lays over's attributes over d's.
func (d *decl) put(over *decl) {
	d.misread = d.misread || over.misread
	for name, a := range over.attrs {
		if old, ok := d.attrs[name]; ok {
			if d.replaced == nil {
				d.replaced = map[string][]*hcl.Attribute{}
			}
			d.replaced[name] = append(slices.Clip(d.replaced[name]), old)
		}
		if older := over.replaced[name]; len(older) > 0 {
			if d.replaced == nil {
				d.replaced = map[string][]*hcl.Attribute{}
			}
			d.replaced[name] = append(slices.Clip(d.replaced[name]), older...)
		}
		d.attrs[name] = a
	}
}

// copy returns a decl whose attributes can be laid over without changing d.
func (d *decl) copy() *decl {
	c := *d
	c.attrs = maps.Clone(d.attrs)
	c.replaced = maps.Clone(d.replaced)
	return &c
}

// term is what a word of another tool is called here.
type term struct {
	word   string   // an attribute or block, or a sentence about several
	blocks []string // the paths of the blocks that it stands in; nil at the top of a file, or where the word says it
}

// foreign are words of other tools.
var foreign = map[string]term{
	"depends_on": {"after", []string{"run > round"}},
	"needs":      {"after", []string{"run > round"}},
	"cwd":        {"dir", []string{"run", "run > round", "round > assign"}},
	"workdir":    {"dir", []string{"run", "run > round", "round > assign"}},
	"inherits":   {"extends", []string{"provider", "run"}},
	"matrix":     {"for_each", []string{"round > assign"}},
	"count":      {"for_each", []string{"round > assign"}},
	"job":        {"round", []string{"run"}},
	"target":     {"round", []string{"run"}},
	"stage":      {"round", []string{"run"}},
	"step":       {"duty (what is asked) or round (when)", nil},
	"include":    {"import", nil},
	"module":     {"import", nil},
	"secrets":    {"env with a sensitive variable", []string{"provider", "participant"}},
	"agent":      {"participant", nil},
	"worker":     {"participant", nil},
	"cmd":        {"command", []string{"provider"}},
	"entrypoint": {"command", []string{"provider"}},
}

func foreignWord(word string, doc *BlockDoc) (term, bool) {
	switch {
	case word == "prompt" && doc != nil && doc.Path == "duty":
		return term{word: "instructions", blocks: []string{"duty"}}, true
	case word == "task" && doc == rootDoc:
		return term{word: "duty (what is asked) or round (when)"}, true
	case (word == "job" || word == "target" || word == "stage") && (doc == nil || doc == rootDoc):
		return term{word: "run or round"}, true
	}
	t, ok := foreign[word]
	return t, ok
}

// whereIn says, for the end of a sentence, where the term belongs, if doc is
// not one of its blocks; else "".
func (t term) whereIn(doc *BlockDoc) string {
	if doc == nil || slices.Contains(t.blocks, doc.Path) {
		return ""
	}
	if len(t.blocks) == 0 {
		if doc != rootDoc && slices.Contains(rootDoc.Blocks, t.word) {
			return ", which belongs at the top of a file"
		}
		return ""
	}
	var titles []string
	for _, path := range t.blocks {
		titles = append(titles, blockDocs[path].title())
	}
	return ", which belongs in " + oneOf(titles)
}

// rootDoc describes the top level of a file.
var rootDoc = &BlockDoc{Blocks: []string{"okstra", "import", "override", "variable", "locals", "provider", "participant", "role", "duty", "task_type", "run"}}

// content closes a body with the one complete schema of its block. What HCL
// says of unknown and missing things is said again in okstra's words.
func (l *loader) content(body hcl.Body, doc *BlockDoc, required bool) *hcl.BodyContent {
	c, diags := body.Content(doc.schema(required))
	// An attribute that is there by another name is not missing as well.
	said := map[string]bool{}
	for _, d := range diags {
		if word := l.word(d); word != "" {
			if here, ok := foreignWord(word, doc); ok {
				said[here.word] = true
			} else {
				said[nearest(word, doc.names())] = true
			}
		}
	}
	l.notUnderstood(body, doc, diags)
	for _, d := range diags {
		if missing := doc.missing(d); missing != "" && said[missing] {
			continue
		}
		l.diags = append(l.diags, l.reword(d, doc))
	}
	if c == nil {
		c = &hcl.BodyContent{Attributes: hcl.Attributes{}}
	}
	return c
}

// notUnderstood notes a body that holds what its block does not know, and what
// a misspelt block at the top of a file would have defined: the word is the
// mistake, and not what follows from it.
func (l *loader) notUnderstood(body hcl.Body, doc *BlockDoc, diags hcl.Diagnostics) {
	for _, d := range diags {
		if d.Summary != "Missing required argument" {
			l.misread[body] = true
		}
	}
	native, ok := body.(*hclsyntax.Body)
	if !ok || doc != rootDoc {
		return
	}
	for _, b := range native.Blocks {
		inner := doc.inner(b.Type)
		if inner != nil && len(inner.Labels) <= len(b.Labels) {
			continue
		}
		kind := b.Type
		if inner == nil {
			kind = nearest(b.Type, referenceKinds)
			if here, ok := foreignWord(b.Type, doc); ok {
				kind = here.word
			}
		}
		// A block without a label may have been meant to define any name.
		name := ""
		if len(b.Labels) > 0 {
			name = b.Labels[0]
		}
		l.meant[[2]string{kind, name}] = true
	}
}

// meantHere reports whether a name that is not defined was meant to be, by a
// block with a mistake in its first words.
func (l *loader) meantHere(kind, name string) bool {
	return l.meant[[2]string{kind, name}] || l.meant[[2]string{kind, ""}]
}

// word is what stands at a diagnostic's place, without quotes.
func (l *loader) word(d *hcl.Diagnostic) string {
	if d.Subject == nil {
		return ""
	}
	f := l.def.files[d.Subject.Filename]
	if f == nil || !d.Subject.CanSliceBytes(f.Bytes) {
		return ""
	}
	return strings.Trim(string(d.Subject.SliceBytes(f.Bytes)), `"`)
}

// missing returns the attribute that a diagnostic of HCL misses, or "".
func (b *BlockDoc) missing(d *hcl.Diagnostic) string {
	if d.Summary == "Missing required argument" {
		for _, a := range b.Attributes {
			if a.Required && strings.Contains(d.Detail, `"`+a.Name+`"`) {
				return a.Name
			}
		}
	}
	return ""
}

func (b *BlockDoc) names() []string {
	var out []string
	for _, a := range b.Attributes {
		out = append(out, a.Name)
	}
	return out
}

func (l *loader) reword(d *hcl.Diagnostic, doc *BlockDoc) *hcl.Diagnostic {
	if d.Subject == nil {
		return d
	}
	word := l.word(d)
	where := "at the top of a file"
	if doc != rootDoc {
		where = "in " + doc.title()
	}
	attrs := doc.names()
	var blocks []string
	for _, b := range doc.Blocks {
		blocks = append(blocks, blockDocs[b].typeName())
	}
	summary, what, known := "", "", attrs
	switch {
	case d.Summary == "Unsupported argument":
		summary, what = SummaryUnknownAttribute, "attribute"
		if slices.Contains(blocks, word) {
			return fault(*d.Subject, SummaryUnknownAttribute, "%s is a block: write %s … }, without an equals sign.", word, doc.inner(word).opening())
		}
		known = append(known, blocks...)
	case d.Summary == "Unsupported block type":
		summary, what, known = SummaryUnknownBlock, "block", blocks
		if a := doc.attr(word); a != nil {
			return fault(*d.Subject, SummaryUnknownBlock, "%s is an attribute: write %s = …, with an equals sign.", word, word)
		}
	case d.Summary == "Extraneous JSON object property" && doc == rootDoc:
		summary, what, known = SummaryUnknownBlock, "block", blocks
	case d.Summary == "Extraneous JSON object property":
		summary, what, known = SummaryUnknownAttribute, "attribute", append(attrs, blocks...)
	case d.Summary == "Missing required argument":
		if a := doc.attr(doc.missing(d)); a != nil {
			d.Summary = SummaryMissingAttribute
			d.Detail = fmt.Sprintf("%s needs the attribute %s (%s): %s", upper(doc.title()), a.Name, a.Type, a.Description)
		}
		return d
	case labelFault(d) != "":
		typeName := labelFault(d)
		form := typeName + " { … }"
		if inner := doc.inner(typeName); inner != nil {
			form = inner.opening() + " … }"
		}
		if strings.HasPrefix(d.Summary, "Extraneous") && !strings.Contains(form, `"`) {
			return fault(*d.Subject, SummaryLabels, "%s has no name: write %s.", typeName, form)
		}
		return fault(*d.Subject, SummaryLabels, "Write %s.", form)
	case strings.HasPrefix(d.Summary, "Missing block label"):
		d.Summary = SummaryLabels
		return d
	default:
		return d
	}
	if word == "access" && doc.takesAccess() {
		return fault(*d.Subject, summary, "There is no %s %q %s: access comes from the role of the duty. Write role = role.executor in the duty, or a role of your own with access = \"write\".", what, word, where)
	}
	if here, ok := foreignWord(word, doc); ok {
		return fault(*d.Subject, summary, "There is no %s %q %s. In okstra this is called %s%s.", what, word, where, here.word, here.whereIn(doc))
	}
	return fault(*d.Subject, summary, "There is no %s %q %s.%s", what, word, where, meant(word, known))
}

// labelFault returns the type of the block that a diagnostic of HCL misses a
// label of, or finds one too many of; else "".
func labelFault(d *hcl.Diagnostic) string {
	if typeName, ok := strings.CutPrefix(d.Summary, "Extraneous label for "); ok {
		return typeName
	}
	if rest, ok := strings.CutPrefix(d.Summary, "Missing "); ok {
		if _, typeName, ok := strings.Cut(rest, " for "); ok {
			return typeName
		}
	}
	return ""
}

// opening is how the block begins, up to its brace.
func (b *BlockDoc) opening() string {
	out := b.typeName()
	for _, l := range b.Labels {
		switch l {
		case "access":
			out += ` "read"`
		default:
			out += fmt.Sprintf(" %q", strings.ToUpper(l))
		}
	}
	return out + " {"
}

// takesAccess reports whether a person may think that the block says who may
// write.
func (b *BlockDoc) takesAccess() bool {
	switch b.Path {
	case "participant", "duty", "run", "run > round", "round > assign":
		return true
	}
	return false
}

// title names the block for a sentence: "a round".
func (b *BlockDoc) title() string {
	name := b.typeName()
	if strings.ContainsRune("aeiou", rune(name[0])) {
		return "an " + name + " block"
	}
	return "a " + name + " block"
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// declare makes the decl of a block and notes its expressions for checking.
func (l *loader) declare(doc *BlockDoc, name string, b *hcl.Block, c *hcl.BodyContent) decl {
	d := decl{doc: doc, name: name, header: b.DefRange, attrs: map[string]*hcl.Attribute(c.Attributes), unit: l.unit, misread: l.misread[b.Body]}
	if d.attrs == nil {
		d.attrs = map[string]*hcl.Attribute{}
	}
	return d
}

// forms are what names must look like.
type forms struct{ name, task, reverify *regexp.Regexp }

var form = sync.OnceValue(func() forms {
	return forms{
		name:     regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`),
		task:     regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`),
		reverify: regexp.MustCompile(`^reverify-r[0-9]+$`),
	}
})

// checkName reports a name that may not be one; what is the kind of thing.
func (l *loader) checkName(what, name string, at hcl.Range) bool {
	switch {
	case !form().name.MatchString(name):
		l.fault(at, SummaryName, "The %s name %q must start with a letter, go on with letters, digits, _ and -, and have at most 64 characters.", what, name)
	case strings.Contains(name, "-worker-"):
		l.fault(at, SummaryName, "The %s name %q may not contain -worker-, which marks result files.", what, name)
	case what == "round" && (name == "initial" || name == "retry" || name == "report-writer" || form().reverify.MatchString(name)):
		l.fault(at, SummaryName, "A round may not be called %q: dispatches and batches of okstra's own are called that.", name)
	default:
		return true
	}
	return false
}

// labelRange is where the i-th label of a block stands.
func labelRange(b *hcl.Block, i int) hcl.Range {
	if i < len(b.LabelRanges) {
		return b.LabelRanges[i]
	}
	return b.DefRange
}

func (l *loader) fault(at hcl.Range, summary, detail string, args ...any) {
	l.diags = append(l.diags, fault(at, summary, detail, args...))
}

// said reports whether there is an error within a range.
func (l *loader) said(at hcl.Range) bool {
	return slices.ContainsFunc(l.diags, func(d *hcl.Diagnostic) bool {
		return d.Severity == hcl.DiagError && d.Subject != nil && at.Overlaps(*d.Subject)
	})
}

// distinct reports inner blocks (or rounds) of one name in one body; seen maps
// the lower-case name to the first place.
func (l *loader) distinct(what, name string, at hcl.Range, seen map[string]hcl.Range) bool {
	key := strings.ToLower(name)
	if first, ok := seen[key]; ok {
		l.fault(at, SummaryDuplicate, "The %s %q is defined twice here; the first stands at %s. Names must differ in more than case.", what, name, first)
		return false
	}
	seen[key] = at
	return true
}

// single returns the one inner block of a type, or nil, and reports more.
func (l *loader) single(c *hcl.BodyContent, typeName string) *hcl.Block {
	var first *hcl.Block
	for _, b := range c.Blocks.OfType(typeName) {
		if first != nil {
			l.fault(b.DefRange, SummaryDuplicate, "There may be one %s block here; the first stands at %s.", typeName, first.DefRange)
			continue
		}
		first = b
	}
	return first
}
