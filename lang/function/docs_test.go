package function_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/okstra/okstra/lang/function"
)

const functionsPage = "../../docs/functions.md"

// TestFunctionsPage holds docs/functions.md to the table of functions.
func TestFunctionsPage(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Functions\n\n")
	b.WriteString("This page is made from the table of functions; `OKSTRA_UPDATE=1 go test ./lang/function` writes it anew.\n\n")
	b.WriteString("They are the functions of Terraform that fit, under the same names, and a few of okstra's own. None of them knows the time, draws a random number or reaches a network. ")
	b.WriteString("What they return is bounded (see limits.md). A path that is known only when a worker starts, such as `result.path`, cannot be handed to one.\n\n")
	b.WriteString("| function | gives |\n|---|---|\n")
	for _, d := range function.Docs() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", d.Signature, strings.ReplaceAll(d.Description, "|", "\\|"))
	}
	want := b.String()
	if os.Getenv("OKSTRA_UPDATE") != "" {
		if err := os.WriteFile(functionsPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(functionsPage)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the table gives; run OKSTRA_UPDATE=1 go test ./lang/function", functionsPage)
	}
}
