package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mitchellh/go-wordwrap"
	"github.com/spf13/pflag"
)

// widestHelp is the width of help where the screen has room: longer lines are
// hard to read.
const widestHelp = 80

// helpWidth is the width of help on this screen.
func (s *session) helpWidth() int { return min(widestHelp, s.view.Out.Width()) }

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
				width := s.helpWidth()
				switch topic := strings.Join(operands, " "); topic {
				case "":
					return s.view.Lines(overview(width)...)
				default:
					for _, t := range topics {
						if t.name == topic {
							return s.view.Lines(t.help(width)...)
						}
					}
					c, rest, err := find(operands)
					if err != nil {
						return err
					}
					if len(rest) > 0 {
						return usage(helpCommand(), "there is no help on %q", topic)
					}
					return s.view.Lines(c.help(width)...)
				}
			}
		},
	}
}

// topics are what help tells of beside the verbs.
var topics = []struct {
	name, short string
	help        func(width int) []string
}{
	{"exit-codes", "what okstra's exit codes mean", exitCodeHelp},
	{"environment", "the variables that okstra reads", environmentHelp},
}

// overview lists the verbs by group.
func overview(width int) []string {
	out := append(prose("okstra runs teams of AI worker CLIs from a written run definition.", width), "", "  okstra [flags] VERB [arguments]")
	for _, g := range groups {
		var rows [][2]string
		for _, c := range commands() {
			if c.group == g && !c.hidden {
				rows = append(rows, [2]string{c.name, c.short})
			}
		}
		if len(rows) > 0 {
			out = append(out, "", string(g)+":")
			out = append(out, columns(rows, width)...)
		}
	}
	out = append(out, "", "Flags of every verb, before or after it:")
	out = append(out, columns(globalRows(), width)...)
	out = append(out, "")
	return append(out, prose(`"okstra help VERB" tells more; so do "okstra help exit-codes" and "okstra help environment".`, width)...)
}

// help is the whole help of one verb.
func (c *command) help(width int) []string {
	out := []string{c.usageLine(), ""}
	for paragraph := range strings.SplitSeq(c.long, "\n\n") {
		out = append(append(out, prose(paragraph, width)...), "")
	}
	if rows := c.flagRows(); len(rows) > 0 {
		out = append(out, "Flags:")
		out = append(out, columns(rows, width)...)
		out = append(out, "")
	}
	out = append(out, "Flags of every verb:")
	out = append(out, columns(globalRows(), width)...)
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

// prose wraps a paragraph.
func prose(text string, width int) []string {
	return strings.Split(wordwrap.WrapString(text, uint(width)), "\n")
}

// columns aligns two columns and wraps the second. What is long for the first
// stands on a line of its own, and on a narrow screen more does.
func columns(rows [][2]string, screen int) []string {
	widest := min(26, screen/3)
	width := 0
	for _, r := range rows {
		if len(r[0]) <= widest {
			width = max(width, len(r[0]))
		}
	}
	width = max(width, 4)
	var out []string
	for _, r := range rows {
		text := prose(r[1], max(screen-width-4, 10))
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

func exitCodeHelp(width int) []string {
	var rows [][2]string
	for _, e := range exitCodes {
		rows = append(rows, [2]string{e.Code, e.Meaning})
	}
	return append([]string{"Exit codes:"}, columns(rows, width)...)
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

func environmentHelp(width int) []string {
	return append([]string{"Environment variables:"}, columns(environment, width)...)
}

// visible are the verbs that help and completion show.
func visible() []*command {
	return slices.DeleteFunc(commands(), func(c *command) bool { return c.hidden })
}
