package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/okstra/okstra/lang"
	"github.com/okstra/okstra/lang/catalog"
	"github.com/okstra/okstra/lang/plan"
)

// workerCLI is a provider of the catalog that has a program of its own.
type workerCLI struct {
	provider string
	command  []string // as far as it depends on no worker; empty where no run tells
	version  []string // argv that prints the version; may be empty
	env      []string // names of the variables that the provider sets
	use      use
}

// use says what a CLI is to the definition.
type use int

const (
	useOpen   use = iota + 1 // there is no definition that could tell
	useWanted                // a run needs it
	useNone                  // no run does
)

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
		out = append(out, workerCLI{provider: b.Labels[0], command: command, version: plainList(b.Body.Attributes["version_command"]), use: useOpen})
	}
	return out, nil
}

// knownCLIs are those of the definition, where there is a sound one, else those
// of the catalog; definition is empty then, else its path. Those that a run
// needs come first.
func (s *session) knownCLIs() (clis []workerCLI, definition string, err error) {
	l := s.load(nil)
	if l.Definition == nil || l.diags.HasErrors() {
		clis, err = catalogCLIs()
		return clis, "", err
	}
	used := usedCommands(l.Definition)
	var out []workerCLI
	for _, p := range l.Providers() {
		c := workerCLI{p.Name, p.Command, p.VersionCommand, p.Env, useOf(used, p.Name)}
		switch {
		case len(c.command) > 0:
			out = append(out, c)
		case len(used[p.Name]) > 0:
			// Its command depends on the worker: there may be several programs.
			for _, command := range used[p.Name] {
				c.command = command
				out = append(out, c)
			}
		case !p.Catalog:
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b workerCLI) int { return cmp.Compare(a.use, b.use) })
	return out, l.Path, nil
}

// usedCommands are the commands of all runs' workers by provider, one for each
// program; nil where a run cannot be compiled, so that nobody can tell.
func usedCommands(d *lang.Definition) map[string][][]string {
	used := map[string][][]string{}
	for _, r := range d.Runs() {
		c, _ := lang.Compile(d, r.Name, lang.CompileOptions{})
		if c == nil {
			return nil
		}
		for _, round := range c.Plan.Rounds {
			for _, w := range round.Workers {
				used[w.Provider] = addCommand(used[w.Provider], w)
			}
		}
	}
	return used
}

// addCommand adds a worker's command unless its program is in the list.
func addCommand(list [][]string, w plan.Worker) [][]string {
	if len(w.Argv) == 0 {
		return list
	}
	command := make([]string, len(w.Argv))
	for i, a := range w.Argv {
		command[i] = a.String()
	}
	if w.Program.Path != "" {
		command[0] = w.Program.Path
	}
	if slices.ContainsFunc(list, func(c []string) bool { return c[0] == command[0] }) {
		return list
	}
	return append(list, command)
}

func useOf(used map[string][][]string, provider string) use {
	switch {
	case used == nil:
		return useOpen
	case len(used[provider]) > 0:
		return useWanted
	}
	return useNone
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
