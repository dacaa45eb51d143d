package testscripts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/okstra/okstra/cmd/okstra/cli"
	"github.com/okstra/okstra/lang"
	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime/lead"
	"github.com/okstra/okstra/runtime/schema"
)

// root is the top of the tree, as seen from this package.
const root = ".."

// pages are the documents that people write. What is made as a whole from one
// package's tables is checked in that package.
func pages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(found) == 0 {
		t.Fatal("no pages in docs", err)
	}
	return append(found, filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md"))
}

// insert is a part of a page that is not written by hand:
//
//	<!-- KIND: ARGUMENT -->
//	…
//	<!-- end -->
var insert = regexp.MustCompile(`(?ms)^<!-- (file|screen|table): (\S+)(?: (\S+))? -->\n.*?^<!-- end -->\n`)

// TestDocsInserts holds the parts of the pages that repeat something (a file,
// a screen of a story, a table of the code) to what they repeat.
func TestDocsInserts(t *testing.T) {
	seen := 0
	for _, page := range pages(t) {
		got, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		want := insert.ReplaceAllFunc(got, func(old []byte) []byte {
			seen++
			m := insert.FindSubmatch(old)
			head, _, _ := bytes.Cut(old, []byte("\n"))
			return []byte(string(head) + "\n" + inserted(t, string(m[1]), string(m[2]), string(m[3])) + "<!-- end -->\n")
		})
		if os.Getenv("OKSTRA_UPDATE") == "1" {
			if err := os.WriteFile(page, want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is stale; OKSTRA_UPDATE=1 go test ./testscripts writes it anew:\n%s", page, diff)
		}
	}
	if seen < 7 {
		t.Errorf("only %d inserts were found; is their form the one that is looked for?", seen)
	}
}

func inserted(t *testing.T, kind, arg, section string) string {
	t.Helper()
	switch kind {
	case "file":
		b, err := os.ReadFile(filepath.Join(root, arg))
		if err != nil {
			t.Fatal(err)
		}
		return fenced(strings.TrimPrefix(filepath.Ext(arg), "."), string(b))
	case "screen":
		a, err := txtar.ParseFile(filepath.Join("examples", arg+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			if f.Name == section {
				return fenced("text", string(f.Data))
			}
		}
		t.Fatalf("story %s holds no file %s", arg, section)
	case "table":
		table, ok := tables[arg]
		if !ok {
			t.Fatalf("there is no table %s", arg)
		}
		return table()
	}
	panic("unknown insert " + kind)
}

func fenced(language, text string) string {
	return "```" + language + "\n" + strings.TrimRight(text, "\n") + "\n```\n"
}

var tables = map[string]func() string{
	"blocks":   blocksTable,
	"statuses": statusesTable,
	"reasons":  reasonsTable,
	"schemas":  schemasTable,
	"events":   eventsTable,
	// Package cli makes the page of commands.
	"exit-codes": func() string { return tableOf("docs/commands.md", "## Exit codes\n") },
}

// tableOf copies the first table below a heading of another page.
func tableOf(page, heading string) string {
	b, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		panic(err)
	}
	_, rest, found := strings.Cut(string(b), heading)
	_, rest, start := strings.Cut(rest, "\n|")
	table, _, end := strings.Cut("|"+rest, "\n\n")
	if !found || !start || !end {
		panic(page + " has no table below " + heading)
	}
	return table + "\n"
}

// blocksTable is the reference of the language, block by block.
func blocksTable() string {
	var b strings.Builder
	for _, block := range lang.Reference() {
		fmt.Fprintf(&b, "### %s\n\n", block.Path)
		head := block.Path[strings.LastIndex(block.Path, " ")+1:]
		for _, l := range block.Labels {
			if l == "kind" {
				head += " KIND" // a word of the language, written without quotes
				continue
			}
			head += fmt.Sprintf(" %q", strings.ToUpper(l))
		}
		fmt.Fprintf(&b, "`%s { … }`", head)
		if block.Many {
			b.WriteString(", any number of them")
		}
		if block.Catalog {
			b.WriteString(", in the catalog and in overrides only")
		}
		fmt.Fprintf(&b, ". %s\n\n", block.Description)
		if len(block.Attributes) > 0 {
			b.WriteString("| attribute | type | default | |\n|---|---|---|---|\n")
			for _, a := range block.Attributes {
				attributeRow(&b, "", a)
			}
			b.WriteString("\n")
		}
		if len(block.Blocks) > 0 {
			var names []string
			for _, n := range block.Blocks {
				names = append(names, "`"+n[strings.LastIndex(n, " ")+1:]+"`")
			}
			fmt.Fprintf(&b, "Blocks in it: %s.\n\n", strings.Join(names, ", "))
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func attributeRow(b *strings.Builder, prefix string, a lang.AttrDoc) {
	standard := ""
	switch {
	case a.Required:
		standard = "required"
	case a.Default != "":
		standard = "`" + a.Default + "`"
	}
	fmt.Fprintf(b, "| `%s%s` | %s | %s | %s |\n", prefix, a.Name, a.Type, standard, strings.ReplaceAll(a.Description, "|", `\|`))
	for _, k := range a.Keys {
		attributeRow(b, prefix+a.Name+".", k)
	}
}

// statusesTable is the closed list of terminal statuses and their reasons.
func statusesTable() string {
	var b strings.Builder
	b.WriteString("| status | reasons |\n|---|---|\n")
	for _, s := range plan.Statuses {
		if !s.Terminal() {
			continue
		}
		var reasons []string
		for _, r := range plan.StatusReasons[s] {
			reasons = append(reasons, "`"+string(r)+"`")
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", s, strings.Join(reasons, " "))
	}
	return b.String()
}

// reasonsTable is the list of reasons for which an attempt fails, with the
// status that each gives.
func reasonsTable() string {
	var b strings.Builder
	b.WriteString("| status | reasons |\n|---|---|\n")
	for _, s := range []plan.Status{plan.StatusError, plan.StatusTimeout} {
		var reasons []string
		for _, r := range plan.StatusReasons[s] {
			reasons = append(reasons, "`"+string(r)+"`")
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", s, strings.Join(reasons, " "))
	}
	return b.String()
}

// eventsTable lists the types of events and who appends them.
func eventsTable() string {
	var b strings.Builder
	b.WriteString("| type | by | |\n|---|---|---|\n")
	for _, k := range lead.EventTypes {
		by := "okstra"
		if k.Lead {
			by = "the lead"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.Type, by, k.Description)
	}
	return b.String()
}

// schemasTable lists the schemas with what their own text says of them.
func schemasTable() string {
	var b strings.Builder
	b.WriteString("| schema | |\n|---|---|\n")
	for _, name := range schema.Names() {
		src, err := schema.Source(name)
		if err != nil {
			panic(err) // Names gave it
		}
		var doc struct{ Description string }
		if err := json.Unmarshal(src, &doc); err != nil {
			panic(err) // it is compiled in, and tested
		}
		fmt.Fprintf(&b, "| [%s](schema/%s.json) | %s |\n", name, name, strings.ReplaceAll(doc.Description, "|", `\|`))
	}
	return b.String()
}

// TestDocsSchemas keeps docs/schema a copy of the schemas that are compiled in.
func TestDocsSchemas(t *testing.T) {
	dir := filepath.Join(root, "docs", "schema")
	update := os.Getenv("OKSTRA_UPDATE") == "1"
	if update {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]bool{}
	for _, name := range schema.Names() {
		want[name+".json"] = true
		src, err := schema.Source(name)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name+".json")
		if update {
			if err := os.WriteFile(path, src, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, src) {
			t.Errorf("%s is not the schema of that name; OKSTRA_UPDATE=1 go test ./testscripts writes it anew", path)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !want[e.Name()] {
			t.Errorf("%s belongs to no schema", filepath.Join(dir, e.Name()))
		}
	}
}

// TestDocsDependencies wants a row in docs/dependencies.md for every module
// that the code imports, and no other.
func TestDocsDependencies(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	var required []string
	for _, m := range regexp.MustCompile(`(?m)^\s*(?:require )?(\S+\.\S+/\S+) v\S+`).FindAllSubmatch(mod, -1) {
		required = append(required, string(m[1]))
	}
	used := map[string]string{} // module → a file that imports it
	walkGo(t, func(path string) {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, imp := range file.Imports {
			name := strings.Trim(imp.Path.Value, `"`)
			for _, m := range required {
				if name == m || strings.HasPrefix(name, m+"/") {
					used[m] = path
				}
			}
		}
	})
	page, err := os.ReadFile(filepath.Join(root, "docs", "dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	described := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| .+ \\|$").FindAllSubmatch(page, -1) {
		described[string(m[1])] = true
		if used[string(m[1])] == "" {
			t.Errorf("docs/dependencies.md describes %s, which nothing imports", m[1])
		}
	}
	for m, path := range used {
		if !described[m] {
			t.Errorf("docs/dependencies.md says nothing about %s, which %s imports", m, path)
		}
	}
}

func walkGo(t *testing.T, visit func(path string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && path != root && (strings.HasPrefix(e.Name(), ".") || e.Name() == "testdata" || e.Name() == "bin"):
			return filepath.SkipDir
		case !e.IsDir() && strings.HasSuffix(path, ".go"):
			visit(path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

var (
	link = regexp.MustCompile(`\]\(([^)#\s]+)(#[^)]*)?\)`)
	// code is a fenced block or an indented line.
	code = regexp.MustCompile("(?ms)^```.*?^```$|^    [^\n]*$")
	// shown is a line of code that calls okstra.
	shown = regexp.MustCompile(`(?m)^(?:    )?(?:\$ )?okstra ([a-z].*)$`)
	// inline is a call of okstra in running text.
	inline = regexp.MustCompile("`okstra ([a-z][^`\n]*)`")
)

// TestDocsLinks follows every link between the files of the tree.
func TestDocsLinks(t *testing.T) {
	for _, page := range pages(t) {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllSubmatch(b, -1) {
			target := string(m[1])
			if strings.Contains(target, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), target)); err != nil {
				t.Errorf("%s links to %s: %v", page, target, err)
			}
		}
	}
}

// TestDocsCommands looks up every verb and flag of okstra that a page shows in
// that verb's own help.
func TestDocsCommands(t *testing.T) {
	help := map[string]string{}
	ask := func(words ...string) (string, bool) {
		key := strings.Join(words, " ")
		if _, ok := help[key]; !ok {
			var out bytes.Buffer
			env := cli.Process()
			env.Stdout, env.Stderr, env.Environ = &out, io.Discard, []string{"COLUMNS=200"}
			if cli.Main(append([]string{"help"}, words...), env) == cli.ExitDone {
				help[key] = out.String()
			}
		}
		return help[key], help[key] != ""
	}
	checked := 0
	for _, page := range pages(t) {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range slices.Concat(shown.FindAllSubmatch(bytes.Join(code.FindAll(b, -1), []byte("\n")), -1), inline.FindAllSubmatch(b, -1)) {
			words := strings.Fields(strings.TrimSpace(string(m[1])))
			call := "okstra " + strings.Join(words, " ")
			if i := slices.IndexFunc(words, func(w string) bool { return w == "#" || w == "|" || w == "&&" }); i >= 0 {
				words = words[:i]
			}
			verb := []string{}
			for len(words) > 0 && len(verb) < 2 && regexp.MustCompile(`^[a-z][a-z-]*$`).MatchString(words[0]) {
				verb = append(verb, words[0])
				words = words[1:]
				if verb[0] != "team" {
					break
				}
			}
			if len(verb) == 0 || verb[0] == "supervise" || verb[0] == "help" {
				continue
			}
			text, ok := ask(verb...)
			if !ok {
				t.Errorf("%s shows %q, but there is no such verb", page, call)
				continue
			}
			checked++
			for _, w := range words {
				flag, _, _ := strings.Cut(strings.Trim(w, "[],;."), "=")
				if len(flag) > 2 && strings.HasPrefix(flag, "--") && !strings.Contains(text, flag) {
					t.Errorf("%s shows %q, but %s has no flag %s", page, call, strings.Join(verb, " "), flag)
				}
			}
		}
	}
	if checked < 30 {
		t.Errorf("only %d calls were found; is their form the one that is looked for?", checked)
	}
}
