package cli

import (
	"context"
	"embed"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/okstra/okstra/cmd/okstra/view"
	"github.com/okstra/okstra/runtime/lead"
)

// The scripts know no verb: they ask "okstra __complete", which reads the
// table.
//
//go:embed completions
var completionScripts embed.FS

var shells = []string{"bash", "zsh", "fish"}

func completionCommand() *command {
	return &command{
		name:     "completion",
		group:    groupOkstra,
		operands: []operand{{name: "SHELL", kind: kindWord}},
		short:    "print the completion script of a shell",
		long:     `Prints the script that makes bash, zsh or fish complete verbs, flags, runs, workers and files.`,
		example: `source <(okstra completion bash)
source <(okstra completion zsh)
okstra completion fish | source`,
		bind: func(*pflag.FlagSet) run {
			return func(_ context.Context, s *session, operands []string) error {
				if !slices.Contains(shells, operands[0]) {
					return usage(completionCommand(), "okstra completes in %s, not in %q", strings.Join(shells, ", "), operands[0])
				}
				script, err := completionScripts.ReadFile("completions/okstra." + operands[0])
				if err != nil {
					return err
				}
				return s.view.Raw(script)
			}
		},
	}
}

// completeCommand answers the scripts: its operands are the words of the
// command line after okstra, the last one is being written. It prints one
// candidate a line, with a description after a tab, or one of the directives
// ":file" and ":dir". Whatever goes wrong, it offers nothing and says nothing:
// a person is in the middle of a line.
func completeCommand() *command {
	return &command{
		name:     "__complete",
		group:    groupOkstra,
		hidden:   true,
		operands: []operand{{name: "WORD", kind: kindNone, optional: true, repeat: true}},
		short:    "offer completions (for the scripts of okstra completion)",
		long:     `Prints the words that can stand in the place of the last one given.`,
		example:  `okstra __complete -- plan ""`,
		bind: func(*pflag.FlagSet) run {
			return func(ctx context.Context, s *session, words []string) error {
				return s.view.Raw([]byte(strings.Join(append(s.complete(ctx, words), ""), "\n")))
			}
		},
	}
}

// flagKinds says what completes the value of a flag; what is not here
// completes to nothing.
var flagKinds = map[string]kind{
	"directory":    kindFolder,
	"file":         kindFile,
	"project-root": kindFolder,
	"var-file":     kindFile,
	"out":          kindFile,
	"jobs-file":    kindFile,
	"run-manifest": kindFile,
	"explain":      kindWorker,
	"replace":      kindWorker,
	"workers":      kindWorker,
	"after":        kindRecorded,
}

// flagWords are the values of flags that take one of a few words.
var flagWords = map[string][]string{
	"color":         {"auto", "always", "never"},
	"format":        {string(view.GraphDOT), string(view.GraphMermaid)},
	"backend":       backendOrder,
	"dispatch-kind": {"initial", "retry", "report-writer"},
	"lead-runtime":  leadRuntimes(),
	"phase":         phaseNames(),
	"type":          eventTypeNames(),
}

func leadRuntimes() []string {
	return []string{string(lead.RuntimeClaudeCode), string(lead.RuntimeCodex), string(lead.RuntimeExternal)}
}

func phaseNames() []string {
	var out []string
	for _, p := range lead.Phases {
		out = append(out, string(p.Phase))
	}
	return out
}

// eventTypeNames are those that a lead may append.
func eventTypeNames() []string {
	var out []string
	for _, k := range lead.EventTypes {
		if k.Lead {
			out = append(out, string(k.Type))
		}
	}
	return out
}

// complete returns the lines for these words.
func (s *session) complete(ctx context.Context, words []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	before, current := words[:len(words)-1], words[len(words)-1]

	c, verbWords, operands := split(before)
	fs := newFlagSet("complete")
	s.globals.bind(fs)
	if c != nil {
		c.bind(fs)
	}
	fs.ParseErrorsAllowlist.UnknownFlags = true
	// What can be parsed of an unfinished line is enough.
	_ = fs.Parse(slices.Clone(before[:max(0, len(before)-trailingFlag(fs, before))]))

	if name, value, ok := strings.Cut(current, "="); ok && strings.HasPrefix(name, "--") {
		return prefixed(name+"=", s.flagValues(ctx, strings.TrimPrefix(name, "--"), value, c, operands))
	}
	if len(before) > 0 {
		if f := flagOf(fs, before[len(before)-1]); f != nil && f.Value.Type() != "bool" {
			return s.flagValues(ctx, f.Name, current, c, operands)
		}
	}
	switch {
	case strings.HasPrefix(current, "-"):
		return flagNames(fs, current)
	case c == nil:
		return verbNames(verbWords, current)
	}
	var out []string
	for _, o := range operandsAt(c, len(operands)) {
		if o.name == "SHELL" {
			return match(shells, current)
		}
		out = append(out, s.values(ctx, o.kind, current, operands)...)
	}
	return out
}

// split finds the verb in an unfinished line, and its operands. Without a verb
// it returns the words that may be the first half of one.
func split(before []string) (*command, []string, []string) {
	var plainWords []string
	skip := false
	fs := newFlagSet("globals")
	(&globals{}).bind(fs)
	for _, c := range commands() {
		// A flag of any verb may stand here; what matters is whether it takes a value.
		sub := newFlagSet(c.name)
		c.bind(sub)
		sub.VisitAll(func(f *pflag.Flag) {
			if fs.Lookup(f.Name) == nil {
				fs.AddFlag(f)
			}
		})
	}
	for _, w := range before {
		switch {
		case skip:
			skip = false
		case strings.HasPrefix(w, "-") && w != "-":
			f := flagOf(fs, w)
			skip = f != nil && f.Value.Type() != "bool"
		default:
			plainWords = append(plainWords, w)
		}
	}
	table := commands()
	if len(plainWords) > 1 {
		if c := named(table, plainWords[0]+" "+plainWords[1]); c != nil {
			return c, nil, plainWords[2:]
		}
	}
	if len(plainWords) > 0 {
		if c := named(table, plainWords[0]); c != nil {
			return c, nil, plainWords[1:]
		}
	}
	return nil, plainWords, nil
}

// flagOf returns the flag that a word without a value of its own names.
func flagOf(fs *pflag.FlagSet, word string) *pflag.Flag {
	switch {
	case strings.Contains(word, "="):
		return nil
	case strings.HasPrefix(word, "--") && len(word) > 2:
		return fs.Lookup(word[2:])
	case strings.HasPrefix(word, "-") && len(word) == 2:
		return fs.ShorthandLookup(word[1:])
	}
	return nil
}

// trailingFlag is 1 where the last word is a flag that still waits for its
// value, which must not be parsed.
func trailingFlag(fs *pflag.FlagSet, before []string) int {
	if len(before) == 0 {
		return 0
	}
	if f := flagOf(fs, before[len(before)-1]); f != nil && f.Value.Type() != "bool" {
		return 1
	}
	return 0
}

func (s *session) flagValues(ctx context.Context, flag, current string, c *command, operands []string) []string {
	if list, ok := flagWords[flag]; ok {
		return match(list, current)
	}
	switch flag {
	case "choice":
		return match(s.choices(operands), current)
	case "var":
		return match(s.variables(), current)
	}
	k, ok := flagKinds[flag]
	if !ok || c == nil && k != kindFile && k != kindFolder {
		return nil
	}
	return s.values(ctx, k, current, operands)
}

func flagNames(fs *pflag.FlagSet, current string) []string {
	var out []string
	fs.VisitAll(func(f *pflag.Flag) {
		if w := "--" + f.Name; !f.Hidden && strings.HasPrefix(w, current) {
			_, text := pflag.UnquoteUsage(f)
			out = append(out, w+"\t"+text)
		}
	})
	return out
}

// verbNames offers verbs, or the second words of a family of verbs.
func verbNames(typed []string, current string) []string {
	var out []string
	for _, c := range visible() {
		first, second, two := strings.Cut(c.name, " ")
		switch {
		case len(typed) == 0 && strings.HasPrefix(first, current):
			text := c.short
			if two {
				text = "a family of verbs"
			}
			out = append(out, first+"\t"+text)
		case len(typed) == 1 && two && first == typed[0] && strings.HasPrefix(second, current):
			out = append(out, second+"\t"+c.short)
		}
	}
	return slices.Compact(out)
}

// operandsAt returns what the i-th operand may be. With "[RUN] WORKER" both may
// stand in the first place.
func operandsAt(c *command, i int) []operand {
	if i >= len(c.operands) {
		if n := len(c.operands); n > 0 && c.operands[n-1].repeat {
			return c.operands[n-1:]
		}
		return nil
	}
	if o := c.operands[i]; o.optional && i+1 < len(c.operands) && !c.operands[i+1].optional {
		return []operand{c.operands[i+1], o}
	}
	return c.operands[i : i+1]
}

func match(candidates []string, current string) []string {
	var out []string
	for _, c := range candidates {
		if strings.HasPrefix(c, current) {
			out = append(out, c)
		}
	}
	return out
}

func prefixed(prefix string, lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		if !strings.HasPrefix(l, ":") {
			l = prefix + l
		}
		out[i] = l
	}
	return out
}
