package runtime

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/lead"
)

// FindToVerify is Find, and finds also a run that was driven and has lost its
// record: nothing but verify has anything to say of one.
func FindToVerify(s Selector) (paths.Run, error) {
	run, err := Find(s)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return run, err
	}
	lost, lostErr := lostRuns(s.ProjectRoot)
	if lostErr != nil {
		return run, errors.Join(err, lostErr)
	}
	for _, l := range lost {
		switch {
		case err != nil && l.is(s): // the last one counts
			run, err = l.run, nil
		case err == nil && s.Seq == 0 && l.run.Dir() == run.Dir() && l.run.Seq > run.Seq:
			run = l.run
		}
	}
	return run, err
}

// lostRun is a run with manifest and events and without a record.
type lostRun struct {
	run  paths.Run
	name string
}

func (l lostRun) is(s Selector) bool {
	if s.Seq != 0 && s.Seq != l.run.Seq {
		return false
	}
	return s.Name == "" || s.Name == l.name || s.Name == l.run.Ref() || s.Name == strings.TrimSuffix(l.run.Ref(), fmt.Sprintf("@%03d", l.run.Seq))
}

// lostRuns lists them, oldest first within a task type. A run whose creation
// was cut short has no events and is none of them.
func lostRuns(root string) ([]lostRun, error) {
	files, err := fs.Glob(os.DirFS(paths.TasksDir(root)), "*/*/*/runs/*/manifests/run-manifest-*.json")
	if err != nil {
		return nil, fmt.Errorf("list manifests: %w", err)
	}
	var out []lostRun
	for _, f := range files {
		path := filepath.Join(paths.TasksDir(root), filepath.FromSlash(f))
		m, err := lead.ReadManifest(path)
		if err != nil {
			continue // it tells nothing
		}
		run, err := lead.RunOf(path, root)
		if err != nil || exists(run.TeamState()) || !exists(run.Events()) {
			continue
		}
		out = append(out, lostRun{run, m.RunName})
	}
	return out, nil
}
