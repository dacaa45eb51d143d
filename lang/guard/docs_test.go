package guard_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/okstra/okstra/lang/function"
	"github.com/okstra/okstra/lang/guard"
)

const limitsPage = "../../docs/limits.md"

// values are the limits of package lang, after evaluation.
const values = `
## Values

Looked at when a value has been evaluated, before it goes into a plan.

| what | limit | why |
|---|---|---|
| workers of a run | 10,000 | More is a mistake, and a bill. |
| length of a string | 4 MiB | As for functions. |
| elements of a list, set or map | 10,000 | As many as a run may have workers. |
| length of one argument of a command line | 131,071 bytes | What Linux takes. |
| length of a whole command line | 1 MiB | What most systems take, with room for the environment. |
| NUL characters in a name, an argument or an environment value | none | None can hold one. |
`

// TestLimitsPage holds docs/limits.md to the tables of this package and of the
// functions.
func TestLimitsPage(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Limits\n\n")
	b.WriteString("This page is made from the code's own tables; `OKSTRA_UPDATE=1 go test ./lang/guard` writes it anew.\n\n")
	b.WriteString("A definition may come from anywhere. What it is held to is far above what people need, and each limit that is passed is a diagnostic at its place, never a crash.\n\n")
	b.WriteString("## Files\n\nLooked at before anything is parsed, in native syntax, JSON and templates alike.\n\n")
	row := table(&b)
	for _, l := range guard.Limits() {
		row(l.Name, l.Value, l.Why)
	}
	b.WriteString("\n## Functions\n\nLooked at in every call, before anything large is made.\n\n")
	row = table(&b)
	for _, l := range function.Limits() {
		row(l.Name, l.Value, l.Why)
	}
	b.WriteString(values)
	compare(t, limitsPage, b.String())
}

func table(b *strings.Builder) func(name, value, why string) {
	b.WriteString("| what | limit | why |\n|---|---|---|\n")
	return func(name, value, why string) { fmt.Fprintf(b, "| %s | %s | %s |\n", name, value, why) }
}

func compare(t *testing.T, path, want string) {
	t.Helper()
	if os.Getenv("OKSTRA_UPDATE") != "" {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the tables give; run OKSTRA_UPDATE=1 go test", path)
	}
}
