package runtime

import (
	"context"
	"fmt"
	"slices"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/record"
)

// Teardown closes the panes that are recorded for a run, and nothing else. It
// refuses while workers run; with force it ends them first.
func Teardown(ctx context.Context, env Env, sel Selector, force bool) (*TeardownReport, error) {
	run, _, err := find(sel)
	if err != nil {
		return nil, err
	}
	report := &TeardownReport{Closed: []string{}, Ended: []string{}, Left: []string{}}
	if err := teardown(ctx, env, run, force, report); err != nil {
		return nil, err
	}
	return report, sweep(ctx, env, run.Root, report)
}

// TeardownAll closes what runs left behind that nobody goes on with, and ends okstra's own
// servers that hold nothing any more.
func TeardownAll(ctx context.Context, env Env, projectRoot string) (*TeardownReport, error) {
	all, err := recorded(projectRoot)
	if err != nil {
		return nil, err
	}
	report := &TeardownReport{Closed: []string{}, Ended: []string{}, Left: []string{}}
	for _, run := range all {
		st, err := record.Load(run.TeamState())
		if err != nil {
			report.Left = append(report.Left, fmt.Sprintf("%s: %v", run.Ref(), err))
			continue
		}
		if !behind(run, st) || driven(run) {
			if slices.ContainsFunc(st.WorkerDispatches, onScreen) {
				report.Kept = append(report.Kept, run.Ref())
			}
			continue
		}
		if err := teardown(ctx, env, run, false, report); err != nil {
			report.Left = append(report.Left, fmt.Sprintf("%s: %v", run.Ref(), err))
		}
	}
	return report, sweep(ctx, env, projectRoot, report)
}

func teardown(ctx context.Context, env Env, run paths.Run, force bool, report *TeardownReport) error {
	lock, err := acquire(run)
	if err != nil {
		return err
	}
	s, err := takeRun(env, run, lock, nil)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.reconcile(); err != nil {
		return err
	}
	if len(s.live) > 0 {
		var names []string
		for _, f := range s.live {
			names = append(names, f.d.WorkerKey)
		}
		if !force {
			return &Refusal{What: fmt.Sprintf("workers of %s still run", run.Ref()), Moved: names,
				Remedy: "wait for them with okstra apply, end them with okstra stop, or use --force"}
		}
		if err := s.terminate(ctx, func(*record.Dispatch) bool { return true }); err != nil {
			return err
		}
		report.Ended = append(report.Ended, names...)
	}
	open := screensOf(s.state)
	gone := goneOf(ctx, env.Backends, open)
	if s.closePanes(open) > 0 {
		s.retract()
	}
	if err := s.settleAll(ctx, nil); err != nil {
		return err
	}
	for i, d := range open {
		name := paneName(d)
		switch err := s.unclosed[d]; {
		case d.Closed && gone[i]:
			report.Closed = append(report.Closed, name+", which was gone already")
		case d.Closed:
			report.Closed = append(report.Closed, name)
		case err != nil:
			report.Left = append(report.Left, fmt.Sprintf("%s: %v", name, err))
		default:
			report.Left = append(report.Left, name)
		}
	}
	return nil
}

// paneName names a pane for people. That of a call whose answer was lost has
// no id.
func paneName(d *record.Dispatch) string {
	if d.Handle.Pane == "" {
		return "the pane of " + d.ExecutionLabel + " that may have been made"
	}
	return fmt.Sprintf("pane %s of %s", d.Handle.Pane, d.ExecutionLabel)
}

// behind reports whether nobody goes on with a run: it has ended, was stopped,
// or a later number took its place. What it left on a screen is a left-over.
func behind(run paths.Run, st *record.State) bool {
	if st.Ended != "" || exists(run.Stop()) {
		return true
	}
	latest, err := latestState(run)
	return err == nil && latest > run.Seq
}

// closeEarlier closes what earlier runs of the same task type left on the
// screen, so that a new one gets their space: the panes of a run stay until the
// next round starts, and this is the next. What cannot be closed stays for
// teardown, which says why.
func closeEarlier(ctx context.Context, env Env, run paths.Run) {
	all, err := recorded(run.Root)
	if err != nil {
		return
	}
	for _, old := range all {
		if old.Dir() != run.Dir() || old.Seq >= run.Seq {
			continue
		}
		st, err := record.Load(old.TeamState())
		if err != nil || !slices.ContainsFunc(st.WorkerDispatches, onScreen) {
			continue
		}
		_ = teardown(ctx, env, old, false, &TeardownReport{})
	}
}

// onScreen reports whether something of a dispatch may still be on a screen.
func onScreen(d *record.Dispatch) bool { return d.Handle != nil && d.Handle.Shown() && !d.Closed }

// screensOf are the dispatches of a run of which something may still be on a
// screen.
func screensOf(st *record.State) []*record.Dispatch {
	var open []*record.Dispatch
	for _, d := range st.WorkerDispatches {
		if onScreen(d) {
			open = append(open, d)
		}
	}
	return open
}

// sweep ends servers of okstra's own that no recorded pane needs any more.
func sweep(ctx context.Context, env Env, root string, report *TeardownReport) error {
	all, err := recorded(root)
	if err != nil {
		return err
	}
	keep := map[string][]backends.Handle{}
	for _, run := range all {
		st, err := record.Load(run.TeamState())
		if err != nil {
			return nil // what a damaged state refers to cannot be known: nothing is swept
		}
		for _, d := range st.WorkerDispatches {
			if onScreen(d) {
				keep[d.Handle.Backend] = append(keep[d.Handle.Backend], *d.Handle)
			}
			if d.Status == plan.StatusSpawning {
				return nil // a server may just be in use
			}
		}
	}
	for name, b := range env.Backends {
		sweeper, ok := b.(backends.Sweeper)
		if !ok {
			continue
		}
		ended, err := sweeper.Sweep(ctx, keep[name])
		if err != nil {
			report.Left = append(report.Left, fmt.Sprintf("%s: %v", name, err))
		}
		report.Closed = append(report.Closed, ended...)
	}
	return nil
}
