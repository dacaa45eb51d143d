package lang

import "github.com/hashicorp/hcl/v2"

// Roles that rules are written for.
const (
	roleAnalyst      = "analyst"
	roleExecutor     = "executor"
	roleVerifier     = "verifier"
	roleLead         = "lead"
	roleCritic       = "critic"
	roleReportWriter = "report-writer"
)

// role is a declared role: what a worker may touch.
type role struct{ decl }

func (l *loader) role(b *hcl.Block, name string, override bool) *role {
	doc := blockDocs["role"]
	r := &role{l.declare(doc, name, b, l.content(b.Body, doc, !override))}
	l.note(&r.decl, "")
	return r
}
