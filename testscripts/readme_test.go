package testscripts

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/okstra/okstra/testscripts/fakeworker"
)

// TestReadme keeps the table of fakeworker's steps in README.md as the code
// has it.
func TestReadme(t *testing.T) {
	const begin, end = "<!-- steps -->\n", "<!-- /steps -->\n"
	b, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(b), begin)
	if !ok {
		t.Fatalf("README.md has no line %q", begin)
	}
	_, tail, ok := strings.Cut(rest, end)
	if !ok {
		t.Fatalf("README.md has no line %q", end)
	}
	var table strings.Builder
	table.WriteString("| step | what it does |\n|---|---|\n")
	for _, s := range fakeworker.Steps() {
		fmt.Fprintf(&table, "| `%s` | %s |\n", strings.TrimSpace(s.Name+" "+s.Args), s.Does)
	}
	want := head + begin + table.String() + end + tail
	if os.Getenv("OKSTRA_UPDATE") == "1" {
		if err := os.WriteFile("README.md", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(b)); diff != "" {
		t.Errorf("README.md is stale; OKSTRA_UPDATE=1 go test ./testscripts writes it anew:\n%s", diff)
	}
}
