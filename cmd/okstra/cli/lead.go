package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/okstra/okstra/lang"
	"github.com/okstra/okstra/runtime"
	"github.com/okstra/okstra/runtime/lead"
	"github.com/okstra/okstra/runtime/verify"
)

func renderBundleCommand() *command {
	return &command{
		name:     "render-bundle",
		group:    groupLead,
		operands: []operand{{name: "RUN", kind: kindRecorded, optional: true}},
		short:    "prepare a run and print its lead's launch prompt",
		long: `Makes the run ready for a lead that drives it with team commands: its number, plan, manifest and state. Nothing is started. The launch prompt that it prints holds the roster, what the phase allows and forbids, the exact commands of this run, and how to wait in the lead's host.

RUN is a run of the definition, or RUN@NUMBER for one that is recorded. A recorded run that is unfinished is taken as it is.`,
		example: `okstra render-bundle review --lead-runtime claude-code
okstra render-bundle review@002 --lead-runtime external`,
		bind: func(fs *pflag.FlagSet) run {
			var flags definitionFlags
			host := fs.String("lead-runtime", "", "the lead's `HOST`: claude-code, codex or external; without it the run's lead block says, else external")
			fresh := fs.Bool("new", false, "start the next run number, whatever is recorded")
			backend := fs.String("backend", "", "start the workers on this `BACKEND`: cmux, tmux or process")
			after := fs.String("after", "", "a new run that reads the report of the recorded `RUN`")
			flags.bind(fs)
			return func(ctx context.Context, s *session, operands []string) error {
				name := optional(operands, 0)
				var b *lead.Bundle
				if strings.Contains(name, "@") {
					sel, err := s.selector(name)
					if err != nil {
						return err
					}
					if b, err = runtime.BundleOf(ctx, s.engine(sel.ProjectRoot, nil), sel, *host); err != nil {
						return err
					}
				} else {
					if err := s.knownBackend(*backend); err != nil {
						return err
					}
					c, l, err := s.compileFirst(ctx, s.source(flags.vars), name, lang.CompileOptions{ProgramsRequired: true, After: *after})
					if err != nil {
						return err
					}
					s.view.Warnings(l.diags, l.files())
					o := runtime.ApplyOptions{Plan: c.Plan, New: *fresh, Backend: *backend, Again: s.again(c.Plan.Run.Name, c.Plan, flags.vars)}
					if b, err = runtime.Prepare(ctx, s.engine(c.Plan.ProjectRoot, c.Secrets), o, *host); err != nil {
						return err
					}
				}
				text, err := lead.Render(*b)
				if err != nil {
					return err
				}
				return s.view.Bundle(b, text)
			}
		},
	}
}

// teamFlags name the run of a team command.
type teamFlags struct {
	manifest string
	host     string
	run      string
}

func (t *teamFlags) bind(fs *pflag.FlagSet) {
	fs.StringVar(&t.manifest, "run-manifest", "", "the run's manifest `FILE`")
	fs.StringVar(&t.host, "lead-runtime", "", "refuse where the manifest names another lead `RUNTIME`")
	fs.StringVar(&t.run, "run-name", "", "refuse where the manifest names another run than `NAME`")
}

func (t *teamFlags) options(s *session, c *command, progress runtime.Progress) (runtime.TeamOptions, error) {
	if t.manifest == "" {
		return runtime.TeamOptions{}, usage(c, "--run-manifest is required")
	}
	o := runtime.TeamOptions{ManifestPath: s.absolute(t.manifest), LeadRuntime: t.host, RunName: t.run, Progress: progress}
	if s.globals.projectRoot != "" {
		o.ProjectRoot = s.absolute(s.globals.projectRoot)
	}
	return o, nil
}

func teamDispatchCommand() *command {
	return &command{
		name:  "team dispatch",
		group: groupLead,
		short: "start one batch of a run's workers",
		long: `Starts one batch: the workers of a jobs file, or those named, or the next round that is ready. All are recorded as planned, as many as parallelism allows are started, and the command returns; "okstra team await" brings them to their ends.

A batch that must not start is refused with exit 5: nothing is started and nothing written. With --dry-run it only says what would start, with every refusal.`,
		example: `okstra team dispatch --project-root . --run-manifest M --dry-run
okstra team dispatch --project-root . --run-manifest M --workers execute.do.ada
okstra team dispatch --project-root . --run-manifest M --dispatch-kind reverify-r1 --jobs-file J`,
		bind: func(fs *pflag.FlagSet) run {
			var t teamFlags
			var o runtime.DispatchOptions
			t.bind(fs)
			workers := fs.StringArray("workers", nil, "the `KEYS` or labels of the workers, comma-separated; repeatable")
			fs.StringVar(&o.Kind, "dispatch-kind", "", "the `KIND`: initial, retry, reverify-r<N> or report-writer")
			fs.StringVar(&o.JobsFile, "jobs-file", "", "a `FILE` that names the workers")
			fs.BoolVar(&o.DryRun, "dry-run", false, "say what would start, and start nothing")
			return func(ctx context.Context, s *session, _ []string) error {
				progress := s.view.LeadProgress()
				var err error
				if o.TeamOptions, err = t.options(s, teamDispatchCommand(), progress); err != nil {
					return err
				}
				if o.Workers = words(*workers); len(*workers) > 0 && len(o.Workers) == 0 {
					return usage(teamDispatchCommand(), "--workers names nobody")
				}
				if o.JobsFile != "" {
					o.JobsFile = s.absolute(o.JobsFile)
					if len(o.Workers) > 0 {
						return usage(teamDispatchCommand(), "--jobs-file and --workers do not go together")
					}
				}
				env, err := s.teamEngine(o.TeamOptions)
				if err != nil {
					return err
				}
				r, err := runtime.TeamDispatch(ctx, env, o)
				if r == nil {
					return err
				}
				if shown := s.view.Dispatched(r); shown != nil {
					return shown
				}
				return s.finishLead(r.Outcome, progress.Err, err)
			}
		},
	}
}

func teamAwaitCommand() *command {
	return &command{
		name:  "team await",
		group: groupLead,
		short: "wait until the dispatched workers have ended",
		long: `Brings every dispatched worker to its end: starts what waits for a free place, retries, settles, and writes what the next batch needs (inputs, round plan, prompts, jobs file). It prints the command that starts that batch.

The exit code is 0 only if all required workers completed. With --timeout it is 7 when the time has passed; workers go on, and the same command waits again.`,
		example: `okstra team await --project-root . --run-manifest M
okstra team await --project-root . --run-manifest M --heartbeat 30s --timeout 5m`,
		bind: func(fs *pflag.FlagSet) run {
			var t teamFlags
			t.bind(fs)
			heartbeat := fs.Duration("heartbeat", 0, "print a line every `DURATION`, for hosts that end silent commands")
			timeout := fs.Duration("timeout", 0, "wait for this `DURATION` at most; 0 is for ever")
			return func(ctx context.Context, s *session, _ []string) error {
				progress := s.view.LeadProgress()
				o, err := t.options(s, teamAwaitCommand(), progress)
				if err != nil {
					return err
				}
				if *heartbeat < 0 || *timeout < 0 {
					return usage(teamAwaitCommand(), "--heartbeat and --timeout are not negative")
				}
				env, err := s.teamEngine(o)
				if err != nil {
					return err
				}
				began := s.env.Now()
				o.Heartbeat = *heartbeat
				o.Beat = func(running, total int) {
					if err := s.view.Heartbeat(s.env.Now().Sub(began), running, total); err != nil && progress.Err == nil {
						progress.Err = err
					}
				}
				out, err := runtime.TeamAwait(ctx, env, o, *timeout)
				if out == nil {
					return err
				}
				if err != nil {
					out = stopped(out, exitCode(ctx, err))
				}
				return s.finishLead(out, progress.Err, err)
			}
		},
	}
}

func teamTeardownCommand() *command {
	return &command{
		name:  "team teardown",
		group: groupLead,
		short: "close the panes of a run",
		long:  `Closes the recorded, tagged panes of this run on the recorded server, never the caller's. It refuses while workers run; --force ends them first. What could not be closed is listed, and the exit code is 3.`,
		example: `okstra team teardown --project-root . --run-manifest M
okstra team teardown --project-root . --run-manifest M --force`,
		bind: func(fs *pflag.FlagSet) run {
			var t teamFlags
			t.bind(fs)
			force := fs.Bool("force", false, "end live workers first")
			return func(ctx context.Context, s *session, _ []string) error {
				o, err := t.options(s, teamTeardownCommand(), nil)
				if err != nil {
					return err
				}
				env, err := s.teamEngine(o)
				if err != nil {
					return err
				}
				r, err := runtime.TeamTeardown(ctx, env, o, *force)
				return s.tornDown(r, err)
			}
		},
	}
}

func eventCommand() *command {
	return &command{
		name:  "event",
		group: groupLead,
		short: "append an event to a run's log",
		long: "Appends one of the lead's own events and prints the PROGRESS: line, and the ACTIVITY: line where a worker is concerned, from the same fields. It needs no lock: a run that is driven elsewhere is not disturbed.\n\n" +
			eventTypes(),
		example: `okstra event --run-manifest M --type lead-checkpoint --message "reading"
okstra event --run-manifest M --type forbidden-action --invocation INVOCATION`,
		bind: func(fs *pflag.FlagSet) run {
			var t teamFlags
			t.bind(fs)
			kind := fs.String("type", "", "the event's `TYPE`")
			phase := fs.String("phase", "", "the `PHASE` it belongs to")
			invocation := fs.String("invocation", "", "the `INVOCATION` it concerns")
			message := fs.String("message", "", "one line of `TEXT`")
			return func(_ context.Context, s *session, _ []string) error {
				o, err := t.options(s, eventCommand(), nil)
				if err != nil {
					return err
				}
				if *kind == "" {
					return usage(eventCommand(), "--type is required")
				}
				run, err := runtime.TeamRun(o)
				if err != nil {
					return err
				}
				e, err := runtime.LeadEvent(s.engine(run.Root, nil), run, lead.Event{
					Type: lead.EventType(*kind), Phase: lead.Phase(*phase), InvocationRef: *invocation, Message: lead.OneLine(*message),
				})
				if err != nil {
					return err
				}
				return s.view.LeadEvent(e)
			}
		},
	}
}

// eventTypes lists types and phases for help.
func eventTypes() string {
	var b strings.Builder
	b.WriteString("Types:\n\n")
	for _, k := range lead.EventTypes {
		if k.Lead {
			fmt.Fprintf(&b, "  %-17s %s\n", k.Type, k.Description)
		}
	}
	b.WriteString("\nokstra's own, which nobody else appends:\n\n")
	for _, k := range lead.EventTypes {
		if !k.Lead {
			fmt.Fprintf(&b, "  %-17s %s\n", k.Type, k.Description)
		}
	}
	b.WriteString("\nPhases:\n\n")
	for _, p := range lead.Phases {
		fmt.Fprintf(&b, "  %-22s %s\n", p.Phase, p.Description)
	}
	return strings.TrimRight(b.String(), "\n")
}

func usageCommand() *command {
	return &command{
		name:     "usage",
		group:    groupLook,
		operands: []operand{{name: "RUN", kind: kindRecorded, optional: true}},
		short:    "show tokens and cost by worker, round and run",
		long:     `Shows what the workers' CLIs reported, and the source of each figure. What nobody reported is "unavailable", and is never guessed.`,
		example:  `okstra usage review`,
		bind: func(*pflag.FlagSet) run {
			return func(ctx context.Context, s *session, operands []string) error {
				sel, err := s.selector(optional(operands, 0))
				if err != nil {
					return err
				}
				r, err := runtime.Usage(ctx, s.engine(sel.ProjectRoot, nil), sel)
				if err != nil {
					return err
				}
				return s.view.Usage(r)
			}
		},
	}
}

func verifyCommand() *command {
	return &command{
		name:     "verify",
		group:    groupLook,
		operands: []operand{{name: "RUN", kind: kindRecorded, optional: true}},
		short:    "derive a run's record again from what is on disk",
		long:     `Derives every status again, offline, from sidecars, artifacts, digests and events, and names each place where the record and the facts disagree. The exit code is 0 only if all agree, else 3.`,
		example:  `okstra verify review`,
		bind: func(*pflag.FlagSet) run {
			return func(_ context.Context, s *session, operands []string) error {
				sel, err := s.selector(optional(operands, 0))
				if err != nil {
					return err
				}
				run, err := runtime.FindToVerify(sel)
				if err != nil {
					return err
				}
				r, err := verify.Verify(run, verify.Rules{Validate: runtime.Validate, Overlapping: runtime.Overlapping})
				if err != nil {
					return err
				}
				if err := s.view.Verified(r); err != nil {
					return err
				}
				if !r.Agree() {
					return exit(ExitUnmet)
				}
				return nil
			}
		},
	}
}

// teamEngine is the engine for the project of a manifest.
func (s *session) teamEngine(o runtime.TeamOptions) (runtime.Env, error) {
	run, err := lead.RunOf(o.ManifestPath, o.ProjectRoot)
	if err != nil {
		return runtime.Env{}, err
	}
	return s.engine(run.Root, nil), nil
}

// finishLead ends a team command: the outcome last, then the exit code.
func (s *session) finishLead(o *runtime.Outcome, broken, err error) error {
	if shown := s.view.Outcome(o, nil, s.env.Now()); shown != nil {
		return shown
	}
	return ending(o, broken, err)
}
