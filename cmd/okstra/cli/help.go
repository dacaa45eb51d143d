package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mitchellh/go-wordwrap"
	"github.com/spf13/pflag"
)

// helpWidth is fixed, so that help is the same everywhere and in the docs.
const helpWidth = 80

func helpCommand() *command {
	return &command{
		name:     "help",
		group:    groupOkstra,
		operands: []operand{{name: "VERB", kind: kindVerb, optional: true, repeat: true}},
		short:    "show help on okstra, a verb, or exit-codes",
		long:     `Shows what a verb does, its flags and an example. "okstra help exit-codes" lists the exit codes, "okstra help environment" the variables that okstra reads.`,
		example: `okstra help plan
okstra help exit-codes`,
		bind: func(*pflag.FlagSet) run {
			return func(_ context.Context, s *session, operands []string) error {
				switch topic := strings.Join(operands, " "); topic {
				case "":
					return s.view.Lines(overview()...)
				case "exit-codes":
					return s.view.Lines(exitCodeHelp()...)
				case "environment":
					return s.view.Lines(environmentHelp()...)
				default:
					c, rest, err := find(operands)
					if err != nil {
						return err
					}
					if len(rest) > 0 {
						return usage(helpCommand(), "there is no help on %q", topic)
					}
					return s.view.Lines(c.help()...)
				}
			}
		},
	}
}

// overview lists the verbs by group.
func overview() []string {
	out := []string{
		"okstra runs teams of AI worker CLIs from a written run definition.",
		"",
		"  okstra [flags] VERB [arguments]",
	}
	for _, g := range groups {
		var rows [][2]string
		for _, c := range commands() {
			if c.group == g && !c.hidden {
				rows = append(rows, [2]string{c.name, c.short})
			}
		}
		if len(rows) > 0 {
			out = append(out, "", string(g)+":")
			out = append(out, columns(rows)...)
		}
	}
	out = append(out, "", "Flags of every verb, before or after it:")
	out = append(out, columns(globalRows())...)
	return append(out, "", `"okstra help VERB" tells more; so do "okstra help exit-codes" and`, `"okstra help environment".`)
}

// help is the whole help of one verb.
func (c *command) help() []string {
	out := []string{c.usageLine(), ""}
	for paragraph := range strings.SplitSeq(c.long, "\n\n") {
		for l := range strings.SplitSeq(wordwrap.WrapString(paragraph, helpWidth), "\n") {
			out = append(out, l)
		}
		out = append(out, "")
	}
	if rows := c.flagRows(); len(rows) > 0 {
		out = append(out, "Flags:")
		out = append(out, columns(rows)...)
		out = append(out, "")
	}
	out = append(out, "Flags of every verb:")
	out = append(out, columns(globalRows())...)
	out = append(out, "", "Example:")
	for l := range strings.SplitSeq(c.example, "\n") {
		out = append(out, "  "+l)
	}
	return out
}

// flagRows are the verb's own flags, as written and what they do.
func (c *command) flagRows() [][2]string {
	fs := newFlagSet(c.name)
	c.bind(fs)
	return flagRows(fs)
}

func globalRows() [][2]string {
	fs := newFlagSet("okstra")
	(&globals{color: "auto"}).bind(fs)
	return append(flagRows(fs), [2]string{"-h, --help", "show help"})
}

func flagRows(fs *pflag.FlagSet) [][2]string {
	var rows [][2]string
	fs.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name, text := pflag.UnquoteUsage(f)
		written := "--" + f.Name
		if f.Shorthand != "" {
			written = "-" + f.Shorthand + ", " + written
		}
		// Booleans need no value, and are shown without the one they could take.
		if f.Value.Type() != "bool" && name != "" {
			written += " " + name
		}
		rows = append(rows, [2]string{written, text})
	})
	return rows
}

// columns aligns two columns and wraps the second.
func columns(rows [][2]string) []string {
	const widest = 26
	width := 0
	for _, r := range rows {
		if len(r[0]) <= widest {
			width = max(width, len(r[0]))
		}
	}
	var out []string
	for _, r := range rows {
		text := strings.Split(wordwrap.WrapString(r[1], uint(helpWidth-width-4)), "\n")
		if len(r[0]) > width {
			out = append(out, "  "+r[0])
		} else {
			out = append(out, fmt.Sprintf("  %-*s  %s", width, r[0], text[0]))
			text = text[1:]
		}
		for _, l := range text {
			out = append(out, strings.Repeat(" ", width+4)+l)
		}
	}
	return out
}

func exitCodeHelp() []string {
	var rows [][2]string
	for _, e := range exitCodes {
		rows = append(rows, [2]string{e.Code, e.Meaning})
	}
	return append([]string{"Exit codes:"}, columns(rows)...)
}

// environment lists the variables that okstra itself reads.
var environment = [][2]string{
	{"OKSTRA_VAR_name", "the value of the definition's variable of that name"},
	{"NO_COLOR", "with any value: no colour"},
	{"CLICOLOR_FORCE", "with any value but 0: colour, terminal or not"},
	{"TERM", "dumb: no colour"},
	{"COLUMNS", "the width for tables and text, instead of the terminal's"},
	{"PATH", "where worker programs, git and tmux are looked for"},
	{"TMUX, TMUX_PANE", "that okstra runs inside tmux, and in which pane"},
}

func environmentHelp() []string {
	return append([]string{"Environment variables:"}, columns(environment)...)
}

// visible are the verbs that help and completion show.
func visible() []*command {
	return slices.DeleteFunc(commands(), func(c *command) bool { return c.hidden })
}
