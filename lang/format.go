package lang

import (
	"bytes"
	"encoding/json"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/okstra/okstra/lang/guard"
)

// Format returns a definition file in canonical form: HCL's own for native
// syntax, two spaces for JSON. A file that does not parse is not touched: the
// result is nil then.
func Format(src []byte, filename string) ([]byte, hcl.Diagnostics) {
	if diags := guard.Check(src, filename); diags.HasErrors() {
		return nil, tidy(diags)
	}
	if f, diags := parseFile(src, filename); diags.HasErrors() {
		return nil, tidy(clamp(diags, map[string]*hcl.File{filename: f}))
	}
	if isJSON(filename) {
		var b bytes.Buffer
		if err := json.Indent(&b, bytes.TrimSpace(src), "", "  "); err != nil {
			return nil, hcl.Diagnostics{bare(SummaryUnreadable, "%s: %s.", filename, err)}
		}
		b.WriteByte('\n')
		return b.Bytes(), nil
	}
	return hclwrite.Format(src), nil
}
