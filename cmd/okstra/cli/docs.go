package cli

import (
	"fmt"
	"strings"
)

// commandDocs is docs/commands.md, made from the table of verbs.
func commandDocs() string {
	var b strings.Builder
	b.WriteString("# Commands\n\nThis page is made from the table of verbs; `OKSTRA_UPDATE=1 go test ./cmd/okstra/cli` writes it anew.\n")
	b.WriteString("\nEvery verb takes these flags, before or after its name:\n\n")
	rowTable(&b, [2]string{"flag", "what it does"}, globalRows())
	b.WriteString("\nResults go to standard output, everything else to standard error. With `--json` standard output holds nothing but JSON: one document, or from `apply`, `stop`, `approve` and `status --watch` one object a line, the last of which is the outcome.\n")
	b.WriteString("\n## Exit codes\n\n")
	var codes [][2]string
	for _, e := range exitCodes {
		codes = append(codes, [2]string{e.Code, e.Meaning})
	}
	rowTable(&b, [2]string{"code", "meaning"}, codes)
	b.WriteString("\n## Environment\n\n")
	rowTable(&b, [2]string{"variable", "what it does"}, environment)
	for _, g := range groups {
		fmt.Fprintf(&b, "\n## %s\n", g)
		for _, c := range visible() {
			if c.group != g {
				continue
			}
			fmt.Fprintf(&b, "\n### okstra %s\n\n```\n%s\n```\n\n%s\n", c.name, c.usageLine(), c.long)
			if rows := c.flagRows(); len(rows) > 0 {
				b.WriteString("\n")
				rowTable(&b, [2]string{"flag", "what it does"}, rows)
			}
			fmt.Fprintf(&b, "\n```\n%s\n```\n", c.example)
		}
	}
	return b.String()
}

func rowTable(b *strings.Builder, head [2]string, rows [][2]string) {
	fmt.Fprintf(b, "| %s | %s |\n|---|---|\n", head[0], head[1])
	for _, r := range rows {
		fmt.Fprintf(b, "| `%s` | %s |\n", r[0], strings.ReplaceAll(r[1], "|", `\|`))
	}
}
