package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
	"github.com/spf13/pflag"
)

// command is one verb as data: help, completions and docs are made from it.
type command struct {
	name     string // "plan", or "team dispatch"
	group    group
	operands []operand
	short    string // one line, no period
	long     string // paragraphs
	example  string // command lines, one a line
	hidden   bool
	bind     func(fs *pflag.FlagSet) run
}

// run is a verb with its flags parsed.
type run func(ctx context.Context, s *session, operands []string) error

// group is a heading of the overview.
type group string

const (
	groupWrite  group = "Write a definition"
	groupRun    group = "Run it"
	groupLook   group = "Look at what happened"
	groupLead   group = "For leads"
	groupOkstra group = "okstra itself"
)

var groups = []group{groupWrite, groupRun, groupLook, groupLead, groupOkstra}

// operand is one argument of a verb.
type operand struct {
	name     string // as help shows it: RUN
	kind     kind
	optional bool
	repeat   bool // the last one only
}

// kind says what completes an operand or a flag's value.
type kind int

const (
	kindNone     kind = iota + 1
	kindRun           // a run of the definition
	kindRecorded      // a run of the definition, or RUN@NUMBER of a recorded one
	kindRunFile       // the same, or a saved plan
	kindWorker        // a worker of a run
	kindGate          // a round of a recorded run that has a gate
	kindFile
	kindFolder
	kindVerb
	kindSchema
	kindWord // one of words
)

// commands is the table of verbs, in the order of the overview.
func commands() []*command {
	return []*command{
		initCommand(),
		listCommand(),
		validateCommand(),
		fmtCommand(),
		graphCommand(),
		catalogCommand(),
		schemaCommand(),

		planCommand(),
		applyCommand(),
		approveCommand(),
		stopCommand(),
		teardownCommand(),

		statusCommand(),
		logsCommand(),
		attachCommand(),
		whyCommand(),
		runsCommand(),
		usageCommand(),
		verifyCommand(),

		renderBundleCommand(),
		teamDispatchCommand(),
		teamAwaitCommand(),
		teamTeardownCommand(),
		eventCommand(),

		doctorCommand(),
		versionCommand(),
		helpCommand(),
		completionCommand(),
		completeCommand(),
		superviseCommand(),
	}
}

// find returns the verb at the head of args and what follows it. A verb of
// two words wins over one of one.
func find(args []string) (*command, []string, error) {
	table := commands()
	if len(args) > 1 {
		if c := named(table, args[0]+" "+args[1]); c != nil {
			return c, args[2:], nil
		}
	}
	if c := named(table, args[0]); c != nil {
		return c, args[1:], nil
	}
	var names []string
	family := false
	for _, c := range table {
		if c.hidden {
			continue
		}
		first, second, two := strings.Cut(c.name, " ")
		if two && first == args[0] {
			family = true
			names = append(names, second)
		}
	}
	if family {
		if len(args) == 1 || strings.HasPrefix(args[1], "-") {
			return nil, nil, usage(nil, "%s is followed by one of: %s", args[0], strings.Join(names, ", "))
		}
		return nil, nil, usage(nil, "unknown verb %q after %s%s", args[1], args[0], didYouMean(args[1], names))
	}
	for _, c := range table {
		if !c.hidden {
			names = append(names, c.name)
		}
	}
	return nil, nil, usage(nil, "unknown verb %q%s", args[0], didYouMean(args[0], names))
}

func named(table []*command, name string) *command {
	i := slices.IndexFunc(table, func(c *command) bool { return c.name == name })
	if i < 0 {
		return nil
	}
	return table[i]
}

// nearest returns the candidate that was probably meant, or "".
func nearest(given string, candidates []string) string {
	best, bestDistance := "", max(2, len(given)/3)+1
	for _, c := range candidates {
		if d := levenshtein.Distance(given, c, nil); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

func didYouMean(given string, candidates []string) string {
	if n := nearest(given, candidates); n != "" {
		return fmt.Sprintf("; did you mean %q?", n)
	}
	return ""
}

// count checks the number of operands.
func (c *command) count(n int) error {
	least, most := 0, len(c.operands)
	for _, o := range c.operands {
		if !o.optional {
			least++
		}
		if o.repeat {
			most = -1
		}
	}
	switch {
	case n < least:
		return usage(c, "%s needs %s", c.name, c.operandText())
	case most == 0 && n > 0:
		return usage(c, "%s takes no arguments", c.name)
	case most >= 0 && n > most:
		return usage(c, "%s takes %s and nothing more", c.name, c.operandText())
	}
	return nil
}

func (c *command) operandText() string {
	parts := make([]string, len(c.operands))
	for i, o := range c.operands {
		parts[i] = o.name
		if o.repeat {
			parts[i] += "..."
		}
		if o.optional {
			parts[i] = "[" + parts[i] + "]"
		}
	}
	return strings.Join(parts, " ")
}

// usageLine is the verb with its operands.
func (c *command) usageLine() string {
	l := "okstra " + c.name
	if len(c.operands) > 0 {
		l += " " + c.operandText()
	}
	return l
}

// newFlagSet returns a set that leaves all talking to us.
func newFlagSet(name string) *pflag.FlagSet {
	fs := pflag.NewFlagSet(name, pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	fs.SortFlags = false
	return fs
}

// parseError turns what pflag says into our words, and -h into help.
func (s *session) parseError(c *command, fs *pflag.FlagSet, err error) error {
	// What was parsed before the fault may hold --json; a wrong --color is
	// reported after this.
	_ = s.openView()
	if errors.Is(err, pflag.ErrHelp) {
		if c == nil {
			return s.view.Lines(overview(s.helpWidth())...)
		}
		return s.view.Lines(c.help(s.helpWidth())...)
	}
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		var names []string
		fs.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		given := unknown.GetSpecifiedName()
		dashes := "--"
		if len(given) == 1 {
			dashes = "-"
		}
		hint := ""
		if n := nearest(given, names); n != "" && len(given) > 1 {
			hint = fmt.Sprintf("; did you mean --%s?", n)
		}
		return usage(c, "unknown flag %s%s%s", dashes, given, hint)
	}
	return usage(c, "%s", err)
}

// globals are the flags of every verb; they may stand before or after it.
type globals struct {
	dir         string // absolute
	moved       bool   // by -C
	file        string
	projectRoot string
	json        bool
	color       string
}

// bind registers the flags with the present values as defaults, so that what
// stood before the verb holds after it.
func (g *globals) bind(fs *pflag.FlagSet) {
	fs.VarP(&dirFlag{&g.dir, &g.moved}, "directory", "C", "work in `DIR`; several are joined")
	fs.StringVarP(&g.file, "file", "f", g.file, "the run definition: a `FILE` or a folder")
	fs.StringVar(&g.projectRoot, "project-root", g.projectRoot, "the project's root `DIR`")
	fs.BoolVar(&g.json, "json", g.json, "results as JSON on standard output")
	fs.StringVar(&g.color, "color", g.color, "colour: `WHEN` is auto, always or never")
}

// dirFlag joins the folders of -C as make does.
type dirFlag struct {
	dir   *string
	moved *bool
}

func (d *dirFlag) String() string { return "" }
func (d *dirFlag) Type() string   { return "string" }
func (d *dirFlag) Set(v string) error {
	if v == "" {
		return errors.New("the folder has no name")
	}
	*d.moved = true
	if filepath.IsAbs(v) {
		*d.dir = filepath.Clean(v)
		return nil
	}
	*d.dir = filepath.Join(*d.dir, v)
	return nil
}
