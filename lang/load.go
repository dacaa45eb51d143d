package lang

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/spf13/afero"
	"github.com/zclconf/go-cty/cty"

	"github.com/okstra/okstra/lang/catalog"
	"github.com/okstra/okstra/lang/function"
	"github.com/okstra/okstra/lang/guard"
)

// maxFile is the most that is read of a definition file: one byte more than
// the guard lets through, so that it can say what is wrong.
const maxFile = 1<<20 + 1

// unit is what was loaded as one: the definition, one import, or the catalog.
type unit struct {
	path    string // absolute, of the file or folder
	folder  string // absolute
	library bool   // an import: its runs are not ours
	catalog bool
	files   []*hcl.File
	names   []string // of files, in order
}

// place is where a file is. Diagnostics show files as they are best found from
// the working directory; everything else goes by absolute paths.
type place struct {
	shown  string // the name in ranges
	path   string // absolute
	folder string // absolute
	unit   *unit
}

// loader turns a Source into a Definition.
type loader struct {
	src   Source
	def   *Definition
	main  *unit
	unit  *unit // whose files are being decoded
	units []*unit
	taken map[string]bool // files of units, by absolute path
	uses  []use
	diags hcl.Diagnostics
	// own are the okstra blocks of the definition itself, library those of imports.
	own, library []*settings
	declared     map[string]map[string]named // kind → lower-case name → first definition
	overrides    []*override
	misread      map[hcl.Body]bool  // bodies that hold what was not understood
	meant        map[[2]string]bool // kind and name of what was not understood; see notUnderstood
}

// named is the first definition of a name.
type named struct {
	name string
	at   hcl.Range
	unit *unit
}

// Load finds, reads, decodes and checks a definition with all its imports. It
// returns every diagnostic at once, sorted. The definition is never nil: with
// errors it holds at least the files for the snippets of diagnostics, and can
// be given to Compile for what is wrong with a run, but not for a plan.
func Load(src Source) (*Definition, hcl.Diagnostics) {
	function.BoundOperators()
	def := &Definition{
		files:        map[string]*hcl.File{},
		places:       map[string]place{},
		variables:    map[string]*variable{},
		locals:       map[string]*local{},
		providers:    map[string]*provider{},
		participants: map[string]*participant{},
		roles:        map[string]*role{},
		duties:       map[string]*duty{},
		taskTypes:    map[string]*taskType{},
		runs:         map[string]*run{},
		source:       src,
	}
	l := &loader{src: src, def: def, taken: map[string]bool{}, declared: map[string]map[string]named{}, misread: map[hcl.Body]bool{}, meant: map[[2]string]bool{}}
	def.broken = !l.load()
	def.failed = def.broken || l.diags.HasErrors()
	return def, tidy(clamp(l.diags, def.files))
}

// load reports whether a definition could be made.
func (l *loader) load() bool {
	if !l.locate() {
		return false
	}
	l.parseCatalog()
	if !l.stays(l.def.Path, filepath.Dir(l.def.Path)) {
		return false
	}
	l.main = l.parseUnit(l.def.Path, nil)
	if l.main == nil || l.diags.HasErrors() {
		return false
	}
	l.def.reader = newReader(l.src.Fs, l.def.ProjectRoot, l.folders())
	l.def.eval = newEvaluator(l.def)
	for _, u := range l.units {
		l.unit = u
		l.decode(u)
	}
	l.unit = l.main
	l.applyOverrides()
	l.checkOutputs()
	l.mergeSettings()
	l.extendProviders()
	l.extendRuns()
	l.checkUses()
	l.settleVariables()
	l.def.eval.ready()
	l.def.eval.settleLocals()
	l.diags = append(l.diags, l.def.eval.take()...)
	l.heads()
	l.unused()
	return true
}

// folders are where file functions may read besides the project root.
func (l *loader) folders() []string {
	var out []string
	for _, u := range l.units {
		if !u.catalog && !slices.Contains(out, u.folder) {
			out = append(out, u.folder)
		}
	}
	return out
}

func (l *loader) parseCatalog() {
	src, name := catalog.Source()
	u := &unit{catalog: true, library: true, path: name}
	l.def.catalogSource = src
	l.def.places[name] = place{shown: name, path: name, unit: u}
	f, diags := hclsyntax.ParseConfig(src, name, hcl.InitialPos)
	l.diags = append(l.diags, diags...)
	l.def.files[name] = f
	u.files, u.names = []*hcl.File{f}, []string{name}
	l.units = append(l.units, u)
}

// parseUnit reads a file or folder with everything that it imports, imports
// first. ring holds the units that are being read, to show a cycle.
func (l *loader) parseUnit(path string, ring []string) *unit {
	paths, folder, err := l.unitFiles(path)
	if err != nil {
		l.diags = append(l.diags, bare(SummaryUnreadable, "Reading %s: %s.", l.show(path), err))
		return nil
	}
	u := &unit{path: path, folder: folder, library: len(ring) > 0}
	ring = append(slices.Clone(ring), path)
	sound := true
	for _, p := range paths {
		if l.taken[p] {
			continue // a file that was imported by itself, and again with its folder
		}
		l.taken[p] = true
		if !l.stays(p, folder) {
			sound = false
			continue
		}
		f := l.parse(p, u)
		if f == nil {
			sound = false
			continue
		}
		if l.checkVersions(f) {
			u.files = append(u.files, f)
			u.names = append(u.names, l.show(p))
		} else {
			sound = false
		}
	}
	for _, f := range u.files {
		l.imports(f, u, ring)
	}
	if sound {
		l.units = append(l.units, u)
	}
	return u
}

// unitFiles lists the files of a unit, sorted, and its folder.
func (l *loader) unitFiles(path string) ([]string, string, error) {
	info, err := l.src.Fs.Stat(path)
	if err != nil {
		return nil, "", plainError(err)
	}
	if !info.IsDir() {
		return []string{path}, filepath.Dir(path), nil
	}
	out, err := definitionsIn(l.src.Fs, path)
	if err != nil {
		return nil, "", plainError(err)
	}
	if len(out) == 0 {
		return nil, "", errors.New("the folder holds no *.hcl or *.hcl.json file")
	}
	return out, path, nil
}

// definitionsIn lists the definition files of a folder, sorted.
func definitionsIn(fsys afero.Fs, folder string) ([]string, error) {
	entries, err := afero.ReadDir(fsys, folder)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if !e.IsDir() && isDefinition(e.Name()) && !strings.HasPrefix(e.Name(), ".") {
			out = append(out, filepath.Join(folder, e.Name()))
		}
	}
	slices.Sort(out)
	return out, nil
}

func isDefinition(name string) bool {
	return (strings.HasSuffix(name, ".hcl") || strings.HasSuffix(name, ".hcl.json")) &&
		!strings.HasSuffix(name, ".vars.hcl") && !strings.HasSuffix(name, ".vars.hcl.json")
}

func isJSON(name string) bool { return strings.HasSuffix(name, ".json") }

// parse reads, guards and parses one file; nil where that failed, which has
// been reported.
func (l *loader) parse(path string, u *unit) *hcl.File {
	shown := l.show(path)
	src, err := readAtMost(l.src.Fs, path, maxFile)
	if err != nil {
		l.diags = append(l.diags, bare(SummaryUnreadable, "Reading %s: %s.", shown, plainError(err)))
		return nil
	}
	folder := filepath.Dir(path)
	l.def.places[shown] = place{shown: shown, path: path, folder: folder, unit: u}
	l.def.definitionFiles = append(l.def.definitionFiles, definitionFile{path: path, src: src})
	if isJSON(path) {
		// Some editors begin a file with a byte order mark. The native parser
		// passes over it.
		src = bytes.TrimPrefix(src, []byte("\uFEFF"))
	}
	l.def.files[shown] = &hcl.File{Bytes: src, Body: hcl.EmptyBody()}
	if diags := guard.Check(src, shown); diags.HasErrors() {
		l.diags = append(l.diags, diags...)
		return nil
	}
	f, diags := parseFile(src, shown)
	l.diags = append(l.diags, diags...)
	if f == nil || diags.HasErrors() {
		return nil
	}
	l.def.files[shown] = f
	return f
}

// imports follows the import blocks of one file.
func (l *loader) imports(f *hcl.File, u *unit, ring []string) {
	root, _, _ := f.Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "import"}}})
	if root == nil {
		return
	}
	for _, b := range root.Blocks {
		c, _, _ := b.Body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "source"}}})
		if c == nil || c.Attributes["source"] == nil {
			continue // reported when the file is decoded
		}
		a := c.Attributes["source"]
		source, ok := l.literalString(a)
		if !ok {
			continue
		}
		if source == "" || strings.ContainsRune(source, 0) {
			l.fault(a.Expr.Range(), SummaryImport, "source is the path of a file or folder, relative to this file.")
			continue
		}
		path := source
		if !filepath.IsAbs(path) {
			path = filepath.Join(l.def.places[a.Range.Filename].folder, path)
		}
		path = filepath.Clean(path)
		if at := slices.Index(ring, path); at >= 0 {
			var steps []string
			for _, p := range append(slices.Clone(ring[at:]), path) {
				steps = append(steps, l.show(p))
			}
			l.fault(a.Expr.Range(), SummaryImportCycle, "These import each other: %s. Move what both need into a file of its own.", strings.Join(steps, " → "))
			continue
		}
		if slices.ContainsFunc(l.units, func(o *unit) bool { return o.path == path }) {
			continue // importing one place twice is once
		}
		if _, _, err := l.unitFiles(path); err != nil {
			l.fault(a.Expr.Range(), SummaryImport, "Importing %s: %s. The path is relative to the importing file.", source, err)
			continue
		}
		if info, err := l.src.Fs.Stat(path); err == nil && !info.IsDir() && !isDefinition(filepath.Base(path)) {
			l.fault(a.Expr.Range(), SummaryImport, "%s is not imported: source names a folder, or a file called *.hcl or *.hcl.json.", source)
			continue
		}
		l.parseUnit(path, ring)
	}
}

// decode decodes every block of a unit.
func (l *loader) decode(u *unit) {
	for _, f := range u.files {
		l.repeatedKeys(f.Body)
		c := l.content(f.Body, rootDoc, true)
		for _, b := range c.Blocks {
			l.block(b)
		}
	}
}

func (l *loader) block(b *hcl.Block) {
	switch b.Type {
	case "okstra":
		s := l.settings(b)
		if l.unit == l.main {
			l.own = append(l.own, s)
		} else {
			l.library = append(l.library, s)
		}
		return
	case "import":
		l.content(b.Body, blockDocs["import"], true)
		return
	case "override":
		l.override(b)
		return
	case "locals":
		l.locals(b)
		return
	}
	name, at := b.Labels[0], labelRange(b, 0)
	switch b.Type {
	case "variable":
		if v := l.variable(b, name, false); l.define("variable", name, at, &v.decl) {
			l.def.variables[name] = v
		}
	case "provider":
		if p := l.provider(b, name, false); l.define("provider", name, at, &p.decl) {
			l.def.providers[name] = p
		}
	case "participant":
		if p := l.participant(b, name, false); l.define("participant", name, at, &p.decl) {
			l.def.participants[name] = p
		}
	case "role":
		if r := l.role(b, name, false); l.define("role", name, at, &r.decl) {
			l.def.roles[name] = r
		}
	case "duty":
		if d := l.duty(b, name, false); l.define("duty", name, at, &d.decl) {
			l.def.duties[name] = d
		}
	case "task_type":
		if !l.unit.catalog {
			l.fault(b.DefRange, SummaryCatalogOnly, "Task types are the catalog's. To add to what one forbids, or to change it, write override \"task_type\" %q { … }.", name)
			return
		}
		if t := l.taskType(b, name, false); l.define("task_type", name, at, &t.decl) {
			l.def.taskTypes[name] = t
		}
	case "run":
		if l.unit.library {
			// Still decoded, so that a mistake in it shows where it is written,
			// but nobody's run.
			uses := len(l.uses)
			l.run(b, name)
			l.uses = l.uses[:uses]
			return
		}
		if r := l.run(b, name); l.define("run", name, at, &r.decl) {
			l.def.runs[name] = r
			l.def.runOrder = append(l.def.runOrder, name)
		}
	}
}

// define notes a name, or reports why it cannot be one.
func (l *loader) define(kind, name string, at hcl.Range, d *decl) bool {
	if !l.checkName(kind, name, at) {
		return false
	}
	known := l.declared[kind]
	if known == nil {
		known = map[string]named{}
		l.declared[kind] = known
	}
	key := strings.ToLower(name)
	first, dup := known[key]
	if !dup {
		known[key] = named{name: name, at: at, unit: d.unit}
		return true
	}
	switch {
	case first.name != name:
		l.fault(at, SummaryDuplicate, "The %s %q differs only in case from %q at %s. Choose another name.", kind, name, first.name, first.at)
	case first.unit != d.unit && slices.Contains(overridable, kind):
		l.fault(at, SummaryDuplicate, "The %s %q is already defined at %s. To change it, write override %q %q { … }; to have another one, choose another name.", kind, name, first.at, kind, name)
	default:
		l.fault(at, SummaryDuplicate, "The %s %q is already defined at %s.", kind, name, first.at)
	}
	return false
}

// mergeSettings lays the definition's okstra block over those of its imports.
func (l *loader) mergeSettings() {
	s := &settings{decl: decl{doc: blockDocs["okstra"], attrs: map[string]*hcl.Attribute{}}}
	for _, lib := range l.library {
		attrs := lib.copy()
		delete(attrs.attrs, "default_run") // its runs are not imported
		s.put(attrs)
		s.panes = overlay(s.panes, lib.panes)
	}
	for i, own := range l.own {
		if i > 0 {
			l.fault(own.header, SummaryDuplicate, "There may be one okstra block in a definition; the first stands at %s.", l.own[0].header)
			continue
		}
		s.put(&own.decl)
		s.panes = overlay(s.panes, own.panes)
	}
	l.def.settings = s
}

// literalString evaluates an attribute that must be a plain string; ok is
// false where there is none, or where it is not, which has been reported.
func (l *loader) literalString(a *hcl.Attribute) (string, bool) {
	if a == nil {
		return "", false
	}
	v, diags := a.Expr.Value(emptyContext)
	if diags.HasErrors() || v.IsNull() || !v.IsKnown() || v.Type() != cty.String {
		l.fault(a.Expr.Range(), SummaryWrongType, "%s is a plain string here: it is needed before anything can be evaluated.", a.Name)
		return "", false
	}
	return v.AsString(), true
}

func (l *loader) literalBool(a *hcl.Attribute) (bool, bool) {
	if a == nil {
		return false, false
	}
	v, diags := a.Expr.Value(emptyContext)
	if diags.HasErrors() || v.IsNull() || !v.IsKnown() || v.Type() != cty.Bool {
		l.fault(a.Expr.Range(), SummaryWrongType, "%s is true or false here, as a plain word: it is needed before anything can be evaluated.", a.Name)
		return false, false
	}
	return v.True(), true
}

// plainError takes the operation and the path out of a file error, which the
// message around it names in the user's terms.
func plainError(err error) error {
	var pe *fs.PathError
	switch {
	case errors.As(err, &pe) && errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrNotExist):
		return errors.New("there is no such file or folder")
	case errors.As(err, &pe):
		return pe.Err
	}
	return err
}

// show names an absolute path as it is best found from the working directory.
func (l *loader) show(path string) string {
	if rel, err := filepath.Rel(l.src.Dir, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}

func (l *loader) exists(path string) bool {
	_, err := l.src.Fs.Stat(path)
	return err == nil
}

// readAtMost reads the first bytes of a regular file. It looks before it opens:
// to open a named pipe is to wait for a writer.
func readAtMost(fsys afero.Fs, path string, most int64) ([]byte, error) {
	info, err := fsys.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("this is not a regular file")
	}
	f, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}
