package supervise

import (
	"context"
	"errors"
	"io/fs"
	"os/exec"
	"slices"
	"time"

	"github.com/okstra/okstra/runtime/durable"
	"github.com/okstra/okstra/runtime/launch"
	"github.com/okstra/okstra/runtime/sidecar"
	"github.com/okstra/okstra/runtime/supervise/tree"
)

// snapshotWithin bounds one picture of the work tree: a worker must not wait
// for a huge repository, nor its end.
const snapshotWithin = 20 * time.Second

// snapshot takes the picture for the read-only check (contract section 12).
// Where there is none, why says so; both are empty outside a repository.
func (s *supervisor) snapshot() (snap *tree.Snapshot, why string) {
	ctx, cancel := context.WithTimeout(context.Background(), snapshotWithin)
	defer cancel()
	p := s.rec.Paths
	leaveOut := append(s.written(), p.Prompt, p.Status, p.Lock, p.Go, p.Env, p.Log, p.ErrLog, durable.ReservedFor(p.Status), p.Audit, p.Emit)
	leaveOut = without(leaveOut, "")
	ours := func(info fs.FileInfo) bool {
		id, ok := launch.IDOf(info)
		return ok && slices.Contains(s.rec.Ours, id)
	}
	snap, err := tree.Take(ctx, s.rec.Dir, leaveOut, ours)
	switch {
	case err == nil:
		return snap, ""
	case errors.Is(err, tree.ErrNoRepository), errors.Is(err, exec.ErrNotFound):
		return nil, ""
	}
	return nil, err.Error()
}

// compare takes the second picture and records what changed.
func (s *supervisor) compare(w *worker) {
	if !s.rec.Watch {
		return
	}
	why := w.watchProblem
	if why == "" && w.before != nil {
		var after *tree.Snapshot
		if after, why = s.snapshot(); after != nil {
			changes := tree.Changes(w.before, after)
			if n := len(changes); n > maxChanged {
				changes = changes[:maxChanged]
				s.note("%d paths changed; the first %d are listed", n, maxChanged)
			}
			if len(changes) > 0 {
				for i, c := range changes {
					changes[i] = cut(c, maxNote)
				}
				s.status.Changed = &sidecar.Changed{Paths: changes}
			}
			return
		}
		if why == "" {
			why = "the repository is gone"
			s.status.Changed = &sidecar.Changed{Paths: []string{".git"}}
		}
	}
	if why != "" {
		s.note("whether the work tree was changed could not be checked: %s", why)
	}
}

func without(list []string, drop string) []string {
	var out []string
	for _, v := range list {
		if v != drop {
			out = append(out, v)
		}
	}
	return out
}
