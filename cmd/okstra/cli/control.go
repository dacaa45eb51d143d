package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/okstra/okstra/cmd/okstra/view"
	"github.com/okstra/okstra/runtime"
)

func approveCommand() *command {
	return &command{
		name:     "approve",
		group:    groupRun,
		operands: []operand{{name: "RUN", kind: kindRecorded, optional: true}, {name: "ROUND", kind: kindGate}},
		short:    "answer the gate before a round",
		long:     `Records the answer to a gate. It holds for the results that are there now and is void when they change. A denial finishes the run. "okstra apply" goes on from it. RUN may be left out where only one run is recorded.`,
		example: `okstra approve report
okstra approve review report
okstra approve release publish --choice staged --note "after the demo"
okstra approve review report --deny --note "the findings are not settled"`,
		bind: func(fs *pflag.FlagSet) run {
			a := runtime.Answer{}
			deny := fs.Bool("deny", false, "deny: the run is finished")
			fs.StringVar(&a.Choice, "choice", "", "one of the gate's `CHOICES`")
			fs.StringVar(&a.Note, "note", "", "a `TEXT` for the record")
			return func(ctx context.Context, s *session, operands []string) error {
				if *deny && a.Choice != "" {
					return usage(approveCommand(), "--deny and --choice do not go together")
				}
				sel, round, err := s.runAnd(operands)
				if err != nil {
					return err
				}
				a.Approved, a.By = !*deny, userName()
				env := s.engine(sel.ProjectRoot, nil)
				o, err := runtime.Approve(ctx, env, sel, round, a)
				return s.finish(ctx, env, o, nil, err)
			}
		},
	}
}

func stopCommand() *command {
	return &command{
		name:     "stop",
		group:    groupRun,
		operands: []operand{{name: "RUN", kind: kindRecorded, optional: true}},
		short:    "end a run's workers",
		long:     `Ends every live worker of the run, whoever drives it, and records them as cancelled. Nothing more is started until the next apply, which goes on with the run.`,
		example:  `okstra stop review`,
		bind: func(*pflag.FlagSet) run {
			return func(ctx context.Context, s *session, operands []string) error {
				sel, err := s.selector(optional(operands, 0))
				if err != nil {
					return err
				}
				env := s.engine(sel.ProjectRoot, nil)
				progress := s.view.Progress()
				o, err := runtime.Stop(ctx, env, sel, progress)
				return s.finish(ctx, env, o, progress.Err, err)
			}
		},
	}
}

func teardownCommand() *command {
	return &command{
		name:     "teardown",
		group:    groupRun,
		operands: []operand{{name: "RUN", kind: kindRecorded, optional: true}},
		short:    "close a run's panes",
		long: `Closes the panes that this run made and nothing else: each is proven by its tag and its server before it is closed, and looked for again after. While workers run it refuses; --force ends them first. What could not be closed is listed, and the exit code is 3.

With --all it does so for the left-overs of every run that nobody goes on with (ended, stopped, or replaced by a later number), and ends okstra's own servers that hold nothing any more.`,
		example: `okstra teardown review
okstra teardown review --force
okstra teardown --all`,
		bind: func(fs *pflag.FlagSet) run {
			force := fs.Bool("force", false, "end live workers first")
			all := fs.Bool("all", false, "the left-overs of all ended runs")
			return func(ctx context.Context, s *session, operands []string) error {
				if *all && (*force || len(operands) > 0) {
					return usage(teardownCommand(), "--all is for ended runs: it takes no RUN and no --force")
				}
				sel, err := s.selector(optional(operands, 0))
				if err != nil {
					return err
				}
				env := s.engine(sel.ProjectRoot, nil)
				var r *runtime.TeardownReport
				if *all {
					r, err = runtime.TeardownAll(ctx, env, sel.ProjectRoot)
				} else {
					r, err = runtime.Teardown(ctx, env, sel, *force)
				}
				return s.tornDown(r, err)
			}
		},
	}
}

// tornDown shows what was closed; what is left makes the exit code 3.
func (s *session) tornDown(r *runtime.TeardownReport, err error) error {
	if r != nil {
		if shown := s.view.Teardown(r); shown != nil {
			return shown
		}
	}
	switch {
	case err != nil:
		return err
	case len(r.Left) > 0:
		return exit(ExitUnmet)
	}
	return nil
}

func attachCommand() *command {
	return &command{
		name:     "attach",
		group:    groupLook,
		operands: []operand{{name: "RUN", kind: kindRecorded, optional: true}, {name: "WORKER", kind: kindWorker, optional: true}},
		short:    "show a run's panes in this terminal",
		long: `Becomes the command that shows the run's panes, at WORKER's where it is named. The workers do not notice.

With --print, or with --json, the command is printed and not executed. Without a terminal there is nothing to show panes in: the command stands in the error, and the exit code is 1.`,
		example: `okstra attach review
okstra attach review codex-verifier
okstra attach review --print`,
		bind: func(fs *pflag.FlagSet) run {
			printOnly := fs.Bool("print", false, "print the command and do not execute it")
			return func(ctx context.Context, s *session, operands []string) error {
				sel, err := s.selector(optional(operands, 0))
				if err != nil {
					return err
				}
				argv, err := runtime.AttachCommand(ctx, s.engine(sel.ProjectRoot, nil), sel, optional(operands, 1))
				if err != nil {
					return err
				}
				if *printOnly || s.view.JSON {
					return s.view.Command(argv)
				}
				in, ok := s.env.Stdin.(*os.File)
				if !ok || !term.IsTerminal(int(in.Fd())) || !s.view.Out.Terminal() {
					return fmt.Errorf("there is no terminal to show panes in; in one, run: %s", view.ShellQuote(argv))
				}
				return s.become(argv)
			}
		},
	}
}

// become replaces this process. It returns only if that failed.
func (s *session) become(argv []string) error {
	if len(argv) == 0 {
		panic("attach: empty command")
	}
	p := lookProgram(s.env, argv[0])
	if p.Problem != "" {
		return errors.New(p.Problem)
	}
	if err := syscall.Exec(p.Path, argv, s.env.Environ); err != nil {
		return fmt.Errorf("execute %s: %w", p.Path, err)
	}
	return nil
}
