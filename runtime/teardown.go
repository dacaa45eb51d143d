package runtime

import (
	"context"
	"fmt"

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
	if err := teardown(env, run, force, report); err != nil {
		return nil, err
	}
	return report, sweep(ctx, env, run.Root, report)
}

// TeardownAll closes what ended runs left behind, and ends okstra's own
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
		if st.Ended == "" || driven(run) {
			continue
		}
		if err := teardown(env, run, false, report); err != nil {
			report.Left = append(report.Left, fmt.Sprintf("%s: %v", run.Ref(), err))
		}
	}
	return report, sweep(ctx, env, projectRoot, report)
}

func teardown(env Env, run paths.Run, force bool, report *TeardownReport) error {
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
			return &Refusal{What: fmt.Sprintf("%d workers of %s still run", len(names), run.Ref()), Moved: names,
				Remedy: "wait for them with okstra apply, end them with okstra stop, or use --force"}
		}
		if err := s.terminate(func(*record.Dispatch) bool { return true }); err != nil {
			return err
		}
		report.Ended = append(report.Ended, names...)
	}
	var open []*record.Dispatch
	for _, d := range s.state.WorkerDispatches {
		if d.Handle != nil && d.Handle.Shown() && !d.Closed {
			open = append(open, d)
		}
	}
	if s.closePanes(open) > 0 {
		s.retract()
	}
	if err := s.settleAll(nil); err != nil {
		return err
	}
	for _, d := range open {
		name := paneName(d)
		if d.Closed {
			report.Closed = append(report.Closed, name)
		} else {
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
			if d.Handle != nil && !d.Closed && d.Handle.Shown() {
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
