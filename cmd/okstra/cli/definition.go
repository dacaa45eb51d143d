package cli

import (
	"context"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/spf13/pflag"

	"github.com/okstra/okstra/cmd/okstra/view"
	"github.com/okstra/okstra/lang"
	"github.com/okstra/okstra/lang/catalog"
	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime/schema"
)

func listCommand() *command {
	return &command{
		name:  "list",
		group: groupWrite,
		short: "list the runs of the definition",
		long:  `Shows the runs that the definition holds, with their task types, rounds and descriptions. Runs of imported libraries are not among them.`,
		example: `okstra list
okstra list -f team.hcl --json`,
		bind: func(fs *pflag.FlagSet) run {
			o := &definitionFlags{}
			o.bind(fs)
			return func(_ context.Context, s *session, _ []string) error {
				l := s.load(o.vars)
				if err := l.err(); err != nil {
					return err
				}
				s.view.Warnings(l.diags, l.files())
				return s.view.List(l.Runs())
			}
		},
	}
}

func validateCommand() *command {
	return &command{
		name:     "validate",
		group:    groupWrite,
		operands: []operand{{name: "RUN", kind: kindRun, optional: true}},
		short:    "check the definition, everything at once",
		long:     `Reads and evaluates the definition, all of its runs or the one that is named, and reports every mistake and warning with its place and what to write instead. A worker program that is not installed here is a warning.`,
		example: `okstra validate
okstra validate review --json`,
		bind: func(fs *pflag.FlagSet) run {
			o := &definitionFlags{}
			o.bind(fs)
			return func(_ context.Context, s *session, operands []string) error {
				return s.validate(o.vars, operands)
			}
		},
	}
}

func (s *session) validate(vars []lang.VarArg, runs []string) error {
	l := s.load(vars)
	if len(runs) == 0 {
		for _, r := range l.Runs() {
			runs = append(runs, r.Name)
		}
	}
	// What is wrong outside of runs is found again with every run.
	seen := map[string]bool{}
	for _, d := range l.diags {
		seen[d.Error()] = true
	}
	if len(runs) == 0 {
		// A library is sound without a run; a definition is probably not what was meant.
		_, none := lang.Compile(l.Definition, "", lang.CompileOptions{})
		for _, d := range none {
			d.Severity = hcl.DiagWarning
			l.diags = append(l.diags, d)
		}
	}
	for _, r := range runs {
		_, diags := lang.Compile(l.Definition, r, lang.CompileOptions{})
		for _, d := range diags {
			if !seen[d.Error()] {
				seen[d.Error()] = true
				l.diags = append(l.diags, d)
			}
		}
	}
	if err := l.err(); err != nil {
		return err
	}
	if s.view.JSON || len(l.diags) > 0 {
		if err := s.view.Diagnostics(l.diags, l.files()); err != nil || s.view.JSON {
			return err
		}
	}
	return s.view.Lines("The definition is valid: " + plan.Count(len(runs), "run") + ".")
}

func graphCommand() *command {
	return &command{
		name:     "graph",
		group:    groupWrite,
		operands: []operand{{name: "RUN", kind: kindRun, optional: true}},
		short:    "draw a run's rounds and workers",
		long:     `Writes the rounds of a run, their workers and what comes after what, as DOT (for Graphviz) or Mermaid (for Markdown). It reads the definition alone, not what is recorded.`,
		example: `okstra graph review | dot -Tsvg > review.svg
okstra graph review --format mermaid`,
		bind: func(fs *pflag.FlagSet) run {
			o := &definitionFlags{}
			format := fs.String("format", string(view.GraphDOT), "`FORMAT` is dot or mermaid")
			o.bind(fs)
			return func(_ context.Context, s *session, operands []string) error {
				f, err := view.ParseGraphFormat(*format)
				if err != nil {
					return usage(graphCommand(), "%s", err)
				}
				c, l, err := compile(s.source(o.vars), optional(operands, 0), lang.CompileOptions{})
				if err != nil {
					return err
				}
				s.view.Warnings(l.diags, l.files())
				return s.view.Graph(c.Plan, f)
			}
		},
	}
}

func catalogCommand() *command {
	return &command{
		name:  "catalog",
		group: groupWrite,
		short: "print the built-in roles, providers and task types",
		long:  `Prints the catalog that every definition starts from, in the language of definitions. What it defines can be changed in a definition with an override block.`,
		example: `okstra catalog
okstra catalog --json`,
		bind: func(*pflag.FlagSet) run {
			return func(_ context.Context, s *session, _ []string) error {
				src, name := catalog.Source()
				if s.view.JSON {
					return s.view.Catalog(src, name)
				}
				return s.view.Raw(src)
			}
		},
	}
}

func schemaCommand() *command {
	return &command{
		name:     "schema",
		group:    groupWrite,
		operands: []operand{{name: "NAME", kind: kindSchema, optional: true}},
		short:    "print the JSON Schema of a file that okstra reads or writes",
		long:     `Without a name, lists the schemas. With one, prints it (JSON Schema, draft 2020-12).`,
		example: `okstra schema
okstra schema findings`,
		bind: func(*pflag.FlagSet) run {
			return func(_ context.Context, s *session, operands []string) error {
				names := schema.Names()
				name := optional(operands, 0)
				if name == "" {
					return s.view.Names("schemas", names)
				}
				src, err := schema.Source(name)
				if err != nil {
					return usage(schemaCommand(), "there is no schema %q%s", name, orList(name, names))
				}
				return s.view.Raw(src)
			}
		},
	}
}

// orList suggests the nearest name, or lists all of them.
func orList(given string, names []string) string {
	if hint := didYouMean(given, names); hint != "" {
		return hint
	}
	return "; there are " + strings.Join(names, ", ")
}
