package lang

import (
	"fmt"
	"strings"
	"testing"
)

// fanned is a definition with n workers: a fan-out over files for two
// participants, the way a large review is written.
func fanned(t testing.TB, n int) Source {
	var files strings.Builder
	for i := range n / 2 {
		fmt.Fprintf(&files, "    %q,\n", fmt.Sprintf("src/pkg%d/file%d.go", i%97, i))
	}
	return tree(t, map[string]string{
		"prompt.md": strings.Repeat("Look at it with care, and say what you saw, with evidence.\n", 40) + "\nThe file is ${file}.\n",
		"okstra.hcl": `
locals {
  files = [
` + files.String() + `  ]
}

provider "bert" {
  extends = provider.command
  command = ["bert", "--result", result.path]
  env     = { PROMPT = prompt.path }
}

duty "review" {
  instructions = "${templatefile("prompt.md", { file = param.file })} Write to ${result.path}."
  parameter "file" {
    type = string
  }
}

run "review" {
  round "files" {
    assign {
      duty     = duty.review
      to       = [provider.claude, provider.bert]
      for_each = local.files
      with     = { file = each.key }
    }
  }
}
`})
}

func BenchmarkCompile(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			src := fanned(b, n)
			b.ReportAllocs()
			for b.Loop() {
				if got := len(compile(b, src, "").Plan.Rounds[0].Workers); got != n {
					b.Fatalf("%d workers", got)
				}
			}
		})
	}
}
