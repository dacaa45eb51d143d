package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/okstra/okstra/lang/catalog"
)

// workerCLI is a provider of the catalog that has a program of its own.
type workerCLI struct {
	provider string
	command  []string // as far as it depends on no worker; never empty
	version  []string // argv that prints the version; may be empty
	env      []string // names of the variables that the provider sets
}

// catalogCLIs lists the worker CLIs of the catalog, in its order. Only plain
// values are read: what is evaluated per worker needs no looking at here.
func catalogCLIs() ([]workerCLI, error) {
	src, name := catalog.Source()
	f, diags := hclsyntax.ParseConfig(src, name, hcl.InitialPos)
	if diags.HasErrors() {
		return nil, fmt.Errorf("the built-in catalog: %w", diags)
	}
	var out []workerCLI
	for _, b := range f.Body.(*hclsyntax.Body).Blocks {
		if b.Type != "provider" {
			continue
		}
		command := plainList(b.Body.Attributes["command"])
		if len(command) == 0 {
			continue
		}
		out = append(out, workerCLI{provider: b.Labels[0], command: command, version: plainList(b.Body.Attributes["version_command"])})
	}
	return out, nil
}

// knownCLIs are those of the definition, where there is a sound one, else those
// of the catalog; definition is empty then, else its path.
func (s *session) knownCLIs() (clis []workerCLI, definition string, err error) {
	l := s.load(nil)
	if l.Definition == nil || l.diags.HasErrors() {
		clis, err = catalogCLIs()
		return clis, "", err
	}
	var out []workerCLI
	for _, p := range l.Providers() {
		if len(p.Command) > 0 {
			out = append(out, workerCLI{p.Name, p.Command, p.VersionCommand, p.Env})
		}
	}
	return out, l.Path, nil
}

// plainList returns the leading elements of a list that are plain strings.
func plainList(a *hclsyntax.Attribute) []string {
	if a == nil {
		return nil
	}
	items, diags := hcl.ExprList(a.Expr)
	if diags.HasErrors() {
		return nil
	}
	var out []string
	for _, item := range items {
		v, diags := item.Value(nil)
		if diags.HasErrors() || v.Type() != cty.String || v.IsNull() {
			break
		}
		out = append(out, v.AsString())
	}
	return out
}

// versionTimeout bounds a version command: some CLIs load all of themselves for
// it, which takes long on a busy machine.
const versionTimeout = 30 * time.Second

// versionOf runs a version command and returns the first line that it prints.
func versionOf(ctx context.Context, env Env, dir string, argv []string) (string, error) {
	out, err := query(ctx, versionTimeout, env, dir, argv, nil)
	line, _, _ := strings.Cut(out, "\n")
	return strings.TrimSpace(line), err
}
