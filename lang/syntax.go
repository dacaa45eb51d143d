package lang

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	hcljson "github.com/hashicorp/hcl/v2/json"
)

// Following is the Extra of a diagnostic that stands for so many further syntax
// errors of its file.
type Following int

// maxSyntax is how many syntax errors of one file are told one by one. After a
// missing quote the parser misreads everything, and only the first few help.
const maxSyntax = 3

// parseFile parses a file in the syntax that its name says. The file is nil, or
// a part, where there are errors.
func parseFile(src []byte, name string) (*hcl.File, hcl.Diagnostics) {
	if isJSON(name) {
		f, diags := hcljson.Parse(src, name)
		return f, firstErrors(diags)
	}
	f, diags := hclsyntax.ParseConfig(src, name, hcl.InitialPos)
	return f, firstErrors(diags)
}

// firstErrors keeps the first errors in the order of the file and lets one
// diagnostic stand for the rest.
func firstErrors(diags hcl.Diagnostics) hcl.Diagnostics {
	diags = tidy(diags)
	if len(diags) <= maxSyntax+1 {
		return diags
	}
	rest := diags[maxSyntax:]
	more := &hcl.Diagnostic{
		Severity: hcl.DiagError, Summary: SummarySyntax, Subject: rest[0].Subject, Extra: Following(len(rest)),
		Detail: fmt.Sprintf("%d more syntax errors of this file follow from these. Mend the first, and look again.", len(rest)),
	}
	return append(diags[:maxSyntax:maxSyntax], more)
}
