package lang

import (
	"github.com/Masterminds/semver/v3"
	"github.com/hashicorp/hcl/v2"
)

// settings are what okstra blocks say: those of imports first, the
// definition's own laid over them.
type settings struct {
	decl  // nil attrs where no block was written
	panes *decl
}

func (l *loader) settings(b *hcl.Block) *settings {
	doc := blockDocs["okstra"]
	c := l.content(b.Body, doc, true)
	s := &settings{decl: l.declare(doc, "okstra", b, c)}
	l.note(&s.decl, "")
	if inner := l.single(c, "panes"); inner != nil {
		s.panes = l.leaf("panes", inner)
	}
	return s
}

// checkVersions looks at required_version before anything else of a file, so
// that a newer file is called that and not a row of unknown words.
func (l *loader) checkVersions(f *hcl.File) bool {
	ok := true
	root, _, _ := f.Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "okstra"}}})
	if root == nil {
		return true
	}
	for _, b := range root.Blocks {
		c, _, _ := b.Body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "required_version"}}})
		if c == nil || c.Attributes["required_version"] == nil {
			continue
		}
		a := c.Attributes["required_version"]
		want, isText := l.literalString(a)
		if !isText {
			ok = false
			continue
		}
		constraint, err := semver.NewConstraint(want)
		if err != nil {
			l.fault(a.Expr.Range(), SummaryVersion, "%q is not a version constraint. Write one such as \">= 0.1\" or \"~> 1.2\".", want)
			ok = false
			continue
		}
		have, err := semver.NewVersion(l.src.Version)
		if err != nil {
			l.fault(a.Expr.Range(), SummaryVersion, "This okstra calls itself %q, which is no version that %s could be held against. Install a release of okstra, or leave required_version out.", l.src.Version, want)
			ok = false
			continue
		}
		// A pre-release of the wanted version is close enough to be tried.
		plain, err := have.SetPrerelease("")
		if err != nil {
			plain = *have
		}
		if !constraint.Check(have) && !constraint.Check(&plain) {
			l.fault(a.Expr.Range(), SummaryVersion, "This definition needs okstra %s; this is %s. Install a version that fits, or change required_version.", want, l.src.Version)
			ok = false
		}
	}
	return ok
}
