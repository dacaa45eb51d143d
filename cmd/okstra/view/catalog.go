package view

import (
	"encoding/json"
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// Catalog shows the catalog as JSON: every block under its type and name.
// Plain values are values; what is evaluated per worker is the text of its
// expression, under "expression".
func (v *View) Catalog(src []byte, filename string) error {
	f, diags := hclsyntax.ParseConfig(src, filename, hcl.InitialPos)
	if diags.HasErrors() {
		return fmt.Errorf("the built-in catalog: %w", diags)
	}
	doc := map[string]map[string]any{}
	for _, b := range f.Body.(*hclsyntax.Body).Blocks {
		if doc[b.Type] == nil {
			doc[b.Type] = map[string]any{}
		}
		content, err := catalogBody(b.Body, src)
		if err != nil {
			return err
		}
		doc[b.Type][b.Labels[0]] = content
	}
	return v.document(doc)
}

func catalogBody(body *hclsyntax.Body, src []byte) (map[string]any, error) {
	out := map[string]any{}
	for name, a := range body.Attributes {
		value, diags := a.Expr.Value(nil)
		if diags.HasErrors() {
			out[name] = map[string]string{"expression": string(a.Expr.Range().SliceBytes(src))}
			continue
		}
		b, err := ctyjson.Marshal(value, value.Type())
		if err != nil {
			return nil, fmt.Errorf("catalog %s: %w", name, err)
		}
		out[name] = json.RawMessage(b)
	}
	for _, b := range body.Blocks {
		inner, err := catalogBody(b.Body, src)
		if err != nil {
			return nil, err
		}
		blocks, _ := out[b.Type].(map[string]any)
		if blocks == nil {
			blocks = map[string]any{}
			out[b.Type] = blocks
		}
		label := ""
		if len(b.Labels) > 0 {
			label = b.Labels[0]
		}
		blocks[label] = inner
	}
	return out, nil
}
