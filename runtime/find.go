package runtime

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/record"
)

var stateName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^team-state-(.+)-(\d{3,})\.json$`)
})

// recorded lists every run of a project that has a team-state, oldest first
// within its task type. A project without runs gives none.
func recorded(root string) ([]paths.Run, error) {
	if _, err := os.ReadDir(paths.TasksDir(root)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list runs: %w", err) // what cannot be read is not nothing
	}
	// The pattern is matched below the folder, so that no character of the
	// project's own path means anything in it.
	files, err := fs.Glob(os.DirFS(paths.TasksDir(root)), "*/*/*/runs/*/state/team-state-*.json")
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	var out []paths.Run
	for _, f := range files {
		if r, ok := runOf(root, filepath.Join(paths.TasksDir(root), filepath.FromSlash(f))); ok {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b paths.Run) int {
		return cmp.Or(cmp.Compare(a.Dir(), b.Dir()), cmp.Compare(a.Seq, b.Seq))
	})
	return out, nil
}

// runOf reads a run's identity off the path of its team-state.
func runOf(root, file string) (paths.Run, bool) {
	m := stateName().FindStringSubmatch(filepath.Base(file))
	rel, err := filepath.Rel(paths.TasksDir(root), file)
	if m == nil || err != nil {
		return paths.Run{}, false
	}
	parts := strings.Split(filepath.ToSlash(rel), "/")
	seq, err := strconv.Atoi(m[2])
	if len(parts) != 7 || err != nil || parts[4] != m[1] {
		return paths.Run{}, false
	}
	return paths.Run{Root: root, Task: plan.Task{Project: parts[0], Group: parts[1], ID: parts[2]}, TaskType: parts[4], Seq: seq}, true
}

// latestSeq returns the highest run number that was given out for the task and
// task type of a run, 0 if none. A run whose creation was cut short has a manifest and no
// state; its number is not given out again.
func latestSeq(run paths.Run) (int, error) {
	state, err := latestState(run)
	if err != nil {
		return 0, err
	}
	manifest, err := highest(run.Manifest())
	return max(state, manifest), err
}

// latestState returns the highest run number that has a state, 0 if none.
func latestState(run paths.Run) (int, error) { return highest(run.TeamState()) }

// highest returns the highest run number among the files that are called as
// the given one but for that number, 0 if there is none.
func highest(path string) (int, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // no run has been recorded here
	}
	if err != nil {
		return 0, fmt.Errorf("look for the latest run: %w", err)
	}
	base := filepath.Base(path)
	prefix := base[:strings.LastIndexByte(base, '-')+1]
	n := 0
	for _, e := range entries {
		number, ok := strings.CutPrefix(strings.TrimSuffix(e.Name(), ".json"), prefix)
		if seq, err := strconv.Atoi(number); ok && err == nil {
			n = max(n, seq)
		}
	}
	return n, nil
}

// find returns the one recorded run that a selector names, with its state.
func find(s Selector) (paths.Run, *record.State, error) {
	all, err := recorded(s.ProjectRoot)
	if err != nil {
		return paths.Run{}, nil, err
	}
	type hit struct {
		run   paths.Run
		state *record.State
	}
	byTask := map[string][]hit{}
	var names []string
	for _, r := range all {
		st, err := record.Load(r.TeamState())
		if err != nil {
			if s.Name == "" || strings.HasPrefix(r.Ref(), s.Name) {
				return paths.Run{}, nil, err
			}
			continue // another run's damaged state is that run's own trouble
		}
		name := fmt.Sprintf("%s@%03d", st.RunName, r.Seq)
		if slices.Contains(names, name) {
			name = r.Ref()
		}
		names = append(names, name)
		if s.Name != "" && s.Name != st.RunName && s.Name != r.Ref() && s.Name != strings.TrimSuffix(r.Ref(), fmt.Sprintf("@%03d", r.Seq)) {
			continue
		}
		if s.Seq != 0 && s.Seq != r.Seq {
			continue
		}
		byTask[r.Dir()] = append(byTask[r.Dir()], hit{r, st})
	}
	switch {
	case len(byTask) == 0 && len(names) == 0:
		return paths.Run{}, nil, fmt.Errorf("%w: nothing is recorded under %s", ErrNotFound, paths.Home(s.ProjectRoot))
	case len(byTask) == 0:
		return paths.Run{}, nil, fmt.Errorf("%w: %s; recorded are %s", ErrNotFound, s, plan.Some(names))
	case len(byTask) > 1:
		var refs []string
		for _, hits := range byTask {
			refs = append(refs, hits[len(hits)-1].run.Ref())
		}
		slices.Sort(refs)
		if s.Name == "" {
			return paths.Run{}, nil, fmt.Errorf("several runs are recorded; say which: %s", strings.Join(refs, ", "))
		}
		return paths.Run{}, nil, fmt.Errorf("%s names more than one run; say which: %s", s, strings.Join(refs, ", "))
	}
	for _, hits := range byTask {
		h := hits[len(hits)-1]
		return h.run, h.state, nil
	}
	panic("unreachable")
}

// ambiguous reports whether another task of the project has a run of this name,
// so that the name alone is not enough.
func ambiguous(run paths.Run, name string) bool {
	all, err := recorded(run.Root)
	if err != nil {
		return false
	}
	for i, other := range all {
		latest := i+1 == len(all) || all[i+1].Dir() != other.Dir()
		if !latest || other.Dir() == run.Dir() {
			continue
		}
		if st, err := record.Load(other.TeamState()); err == nil && st.RunName == name {
			return true
		}
	}
	return false
}

// Find returns the one recorded run that a selector names.
func Find(s Selector) (paths.Run, error) {
	run, _, err := find(s)
	return run, err
}

func (s Selector) String() string {
	name := s.Name
	if name == "" {
		name = "the run"
	}
	if s.Seq != 0 {
		name += fmt.Sprintf("@%03d", s.Seq)
	}
	return name
}

// worker finds the dispatches that a person means by a worker key, a label, an
// invocation reference, or any part of a key between dots that means only one:
// all of one worker, oldest first.
func worker(st *record.State, name string) ([]*record.Dispatch, error) {
	exact, partly := map[string]bool{}, map[string]bool{}
	var known []string
	for _, d := range st.WorkerDispatches {
		if d.InvocationRef == name {
			return []*record.Dispatch{d}, nil
		}
		if d.WorkerKey == name || d.ExecutionLabel == name {
			exact[d.WorkerKey] = true
		}
		if slices.Contains(strings.Split(d.WorkerKey, "."), name) {
			partly[d.WorkerKey] = true
		}
		if !slices.Contains(known, d.WorkerKey) {
			known = append(known, d.WorkerKey)
		}
	}
	meant := exact
	if len(meant) == 0 {
		meant = partly
	}
	switch {
	case len(meant) == 1:
		var out []*record.Dispatch
		for _, d := range st.WorkerDispatches {
			if meant[d.WorkerKey] {
				out = append(out, d)
			}
		}
		return out, nil
	case len(meant) > 1:
		return nil, fmt.Errorf("%q means several workers; say which: %s", name, plan.Some(slices.Sorted(maps.Keys(meant))))
	case len(known) == 0:
		return nil, errors.New("the run has no workers yet")
	}
	return nil, fmt.Errorf("no worker %q is recorded; there are %s", name, plan.Some(plan.NearestFirst(name, known)))
}

// recordedWorker is worker, for a run whose plan may name workers that were not
// begun yet.
func recordedWorker(run paths.Run, st *record.State, name string) ([]*record.Dispatch, error) {
	ds, err := worker(st, name)
	if err == nil {
		return ds, nil
	}
	p, planErr := loadPlan(run, st)
	if planErr != nil {
		return nil, err
	}
	for _, r := range p.Rounds {
		for _, w := range r.Workers {
			if w.Key == name || w.Label == name {
				return nil, fmt.Errorf("%s has not been started: %s", w.Key, notBegun(run, st, p, r.Name))
			}
		}
	}
	return nil, err
}

// notBegun says why a round has not begun: the first gate up to it that nobody
// has answered, where there is one.
func notBegun(run paths.Run, st *record.State, p *plan.Plan, round string) string {
	for i := range p.Rounds {
		r := &p.Rounds[i]
		rec := st.FindRound(r.Name)
		if r.Gate != nil && st.Ended == "" && (rec == nil || rec.Approval == nil) && !exists(run.Approval(r.Name)) {
			return fmt.Sprintf("round %s waits for an approval (%s)", r.Name, following{run: run, st: st}.answers(r)[0])
		}
		if r.Name == round {
			break
		}
	}
	return fmt.Sprintf("its round %s has not begun", round)
}

// exists reports whether a path is there; an error other than absence counts
// as there, so that nothing is overwritten on a doubt.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
