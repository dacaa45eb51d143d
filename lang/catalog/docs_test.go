package catalog_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const catalogPage = "../../docs/catalog.md"

// TestCatalogPage holds docs/catalog.md to the catalog.
func TestCatalogPage(t *testing.T) {
	all := blocks(t)
	var b strings.Builder
	b.WriteString(`# The catalog

This page is made from the catalog; ` + "`OKSTRA_UPDATE=1 go test ./lang/catalog`" + ` writes it anew.

What okstra defines itself, roles, providers and task types, is written in the run-definition language, in one file. ` + "`okstra catalog`" + ` prints it.
A definition refers to it as to its own blocks (` + "`role.verifier`, `provider.claude`, `task_type.implementation`" + `) and changes it with an override, attribute by attribute:

    override provider "claude" {
      timeout = { idle = "10m" }
    }

    override task_type "implementation" {
      forbidden = ["Changing files below vendor/."]
    }

Lists and maps are replaced, except the forbidden actions, which can only be added to.

## Roles

| role | access | |
|---|---|---|
`)
	for _, name := range []string{"lead", "analyst", "executor", "verifier", "report-writer", "critic"} {
		access := "read"
		if v := value(t, all["role"][name], "access"); !v.IsNull() {
			access = v.AsString()
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, access, value(t, all["role"][name], "description").AsString())
	}
	b.WriteString("\n## Providers\n\nWith read access the final text of the worker is its result, since it cannot write one. M stands for the model, PROJECT for the project root (path.root); without one the program takes its own default.\n\n")
	b.WriteString("| provider | access | command line | result |\n|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(all["provider"])) {
		p := all["provider"][name]
		command := "what the definition says"
		for _, inner := range p.Blocks {
			if name != "command" {
				argv := list(t, p, "command")
				if inner.Body.Attributes["args"] != nil {
					argv = append(argv, list(t, inner.Body, "args")...)
				}
				argv = append(argv, list(t, p, "model_args")...)
				// The values are evaluated with /root for path.root.
				command = "`" + regexp.MustCompile(`(^|\s)/root\b`).ReplaceAllString(strings.Join(argv, " "), "${1}PROJECT") + "`"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", name, inner.Labels[0], command, value(t, inner.Body, "result").AsString())
		}
	}
	b.WriteString("\nModels that have names of their own:\n\n")
	for _, name := range slices.Sorted(maps.Keys(all["provider"])) {
		if models := value(t, all["provider"][name], "models"); !models.IsNull() {
			fmt.Fprintf(&b, "- `%s`: %s\n", name, "`"+strings.Join(slices.Sorted(maps.Keys(models.AsValueMap())), "`, `")+"`")
		}
	}
	b.WriteString("\n## Task types\n\nOne run is of one type. Its lists go into every prompt and into the lead's bundle. What may follow never starts by itself.\n")
	for _, name := range taskTypes {
		body := all["task_type"][name]
		fmt.Fprintf(&b, "\n### %s\n\n", name)
		said := func(what, attr string) {
			if items := list(t, body, attr); len(items) > 0 {
				fmt.Fprintf(&b, "%s: `%s`\n\n", what, strings.Join(items, "`, `"))
			}
		}
		said("Roles that it needs", "required_roles")
		said("Roles that may change the project", "writers")
		said("What may follow", "next")
		b.WriteString("Allowed:\n\n")
		for _, item := range list(t, body, "allowed") {
			fmt.Fprintf(&b, "- %s\n", item)
		}
		b.WriteString("\nForbidden:\n\n")
		for _, item := range list(t, body, "forbidden") {
			fmt.Fprintf(&b, "- %s\n", item)
		}
	}
	want := b.String()
	if os.Getenv("OKSTRA_UPDATE") != "" {
		if err := os.WriteFile(catalogPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(catalogPage)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the catalog gives; run OKSTRA_UPDATE=1 go test ./lang/catalog", catalogPage)
	}
}
