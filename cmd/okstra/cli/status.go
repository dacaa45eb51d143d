package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/okstra/okstra/cmd/okstra/view"
	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime"
	"github.com/okstra/okstra/runtime/record"
)

// watchInterval is how often status --watch reads the records.
const watchInterval = 500 * time.Millisecond

func statusCommand() *command {
	return &command{
		name:     "status",
		group:    groupLook,
		operands: []operand{{name: "RUN", kind: kindRecorded, optional: true}},
		short:    "show a recorded run, from disk alone",
		long: `Shows rounds, workers and what they wait for, from the records on disk; no multiplexer is asked and no definition is read. RUN is a name (its latest number), or NAME@NUMBER; it may be left out where only one run is recorded.

With --watch it goes on until the run ends or nobody drives it any more: on a terminal the table is redrawn, elsewhere one line is written per change.`,
		example: `okstra status review
okstra status review@002 --json
okstra status review --watch`,
		bind: func(fs *pflag.FlagSet) run {
			watch := fs.Bool("watch", false, "go on showing changes until the run ends")
			return func(ctx context.Context, s *session, operands []string) error {
				sel, err := s.selector(optional(operands, 0))
				if err != nil {
					return err
				}
				env := s.engine(sel.ProjectRoot, nil)
				if *watch {
					return s.watchStatus(ctx, env, sel, optional(operands, 0))
				}
				st, err := runtime.Status(ctx, env, sel)
				if err != nil {
					return err
				}
				answers, err := s.answers(st, optional(operands, 0))
				if err != nil {
					return err
				}
				return s.view.Status(st, answers, s.env.Now())
			}
		},
	}
}

// watchStatus shows a run until it is still: ended, or neither driven nor
// with a live worker.
func (s *session) watchStatus(ctx context.Context, env runtime.Env, sel runtime.Selector, named string) error {
	w := s.view.Watch()
	return poll(ctx, watchInterval, func() (bool, error) {
		st, err := runtime.Status(ctx, env, sel)
		if err != nil {
			return false, err
		}
		// The number is kept: a run that starts meanwhile is another one.
		sel.Seq = st.Seq
		answers, err := s.answers(st, named)
		if err != nil {
			return false, err
		}
		if err := w.Show(st, answers, s.env.Now()); err != nil {
			return false, err
		}
		return still(st), nil
	})
}

// answers are the commands that answer the gate at which a recorded run waits,
// a denial last; none where it waits for something else. named is how the
// command line names the run.
func (s *session) answers(st *runtime.RunStatus, named string) ([]string, error) {
	if st.Waiting == "" || s.view.JSON {
		return nil, nil
	}
	p, err := recordedPlan(st.Run)
	if err != nil {
		return nil, err
	}
	r := view.WaitingRound(p, st.Waiting)
	if r == nil {
		return nil, nil
	}
	if named == "" {
		named = st.RunName
	}
	command := func(more ...string) string {
		return view.ShellQuote(append(append([]string{"okstra", "approve", named, r.Name}, more...), s.place()...))
	}
	var out []string
	for _, c := range r.Gate.Choices {
		out = append(out, command("--choice", c))
	}
	if len(out) == 0 {
		out = append(out, command())
	}
	return append(out, command("--deny")), nil
}

// recordedPlan is the plan that a recorded run follows.
func recordedPlan(run paths.Run) (*plan.Plan, error) {
	rec, err := record.Load(run.TeamState())
	if err != nil {
		return nil, err
	}
	return readPlan(run.Plan(rec.PlanNumber))
}

// place are the flags of this command line that say where it works, for a
// command that is to be typed in the same folder.
func (s *session) place() []string {
	var out []string
	if s.globals.moved {
		out = append(out, "-C", s.globals.dir)
	}
	if s.globals.file != "" {
		out = append(out, "-f", s.globals.file)
	}
	if s.globals.projectRoot != "" {
		out = append(out, "--project-root", s.globals.projectRoot)
	}
	return out
}

func still(st *runtime.RunStatus) bool {
	if st.Ended != "" {
		return true
	}
	if st.Driven {
		return false
	}
	for _, w := range st.Workers {
		if w.Live {
			return false
		}
	}
	return true
}

// poll calls f at once and then at every interval until it is done, fails, or
// the context ends.
func poll(ctx context.Context, interval time.Duration, f func() (done bool, err error)) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		done, err := f()
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

func runsCommand() *command {
	return &command{
		name:  "runs",
		group: groupLook,
		short: "list all recorded runs, what lives and what is left over",
		long:  `Lists every run recorded under the project root, with the workers that still live and the panes or servers that ended runs have left. "okstra teardown --all" removes left-overs.`,
		example: `okstra runs
okstra runs --json`,
		bind: func(*pflag.FlagSet) run {
			return func(ctx context.Context, s *session, _ []string) error {
				root, err := s.projectRoot()
				if err != nil {
					return err
				}
				runs, err := runtime.Runs(ctx, s.engine(root, nil), root)
				if err != nil {
					return err
				}
				return s.view.Runs(runs)
			}
		},
	}
}

func whyCommand() *command {
	return &command{
		name:     "why",
		group:    groupLook,
		operands: []operand{{name: "RUN", kind: kindRecorded, optional: true}, {name: "WORKER", kind: kindWorker}},
		short:    "show the rule and the evidence behind a worker's status",
		long:     `Says in one sentence which rule gave the worker its status, which files and records it rests on, how the earlier attempts ended, and what to do. WORKER is a worker key, a label, or an invocation reference.`,
		example: `okstra why analysis.find-defects.ada
okstra why review@002 codex-verifier`,
		bind: func(*pflag.FlagSet) run {
			return func(ctx context.Context, s *session, operands []string) error {
				sel, worker, err := s.runAnd(operands)
				if err != nil {
					return err
				}
				e, err := runtime.Why(ctx, s.engine(sel.ProjectRoot, nil), sel, worker)
				if err != nil {
					return err
				}
				return s.view.Why(e)
			}
		},
	}
}

// runAnd reads "[RUN] X", where X is a worker or a round.
func (s *session) runAnd(operands []string) (runtime.Selector, string, error) {
	name := ""
	if len(operands) == 2 {
		name, operands = operands[0], operands[1:]
	}
	sel, err := s.selector(name)
	return sel, operands[0], err
}

func logsCommand() *command {
	return &command{
		name:     "logs",
		group:    groupLook,
		operands: []operand{{name: "RUN", kind: kindRecorded, optional: true}, {name: "WORKER", kind: kindWorker}},
		short:    "show what a worker printed",
		long:     `Shows the log of a worker's latest attempt. Control sequences are made harmless; --raw gives the bytes as they came. WORKER is a worker key, a label, or an invocation reference.`,
		example: `okstra logs analysis.find-defects.ada --follow
okstra logs review codex-verifier --stderr --tail 50`,
		bind: func(fs *pflag.FlagSet) run {
			o := runtime.LogOptions{}
			fs.BoolVar(&o.Follow, "follow", false, "go on until the worker has ended")
			fs.BoolVar(&o.Stderr, "stderr", false, "standard error instead of standard output")
			fs.IntVar(&o.Tail, "tail", 0, "only the last `N` lines; 0 is all")
			fs.BoolVar(&o.Raw, "raw", false, "bytes as they came")
			return func(ctx context.Context, s *session, operands []string) error {
				if o.Tail < 0 {
					return usage(logsCommand(), "--tail is a number of lines, not %d", o.Tail)
				}
				if s.view.JSON {
					return usage(logsCommand(), "a log has no JSON form; use --raw for its bytes")
				}
				sel, worker, err := s.runAnd(operands)
				if err != nil {
					return err
				}
				if err := runtime.Logs(ctx, s.engine(sel.ProjectRoot, nil), sel, worker, o, s.view.Out); err != nil {
					return fmt.Errorf("logs of %s: %w", worker, err)
				}
				return nil
			}
		},
	}
}
