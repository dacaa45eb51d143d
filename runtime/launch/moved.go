package launch

import (
	"path/filepath"
	"strings"
)

// At returns the record as it reads where its project lies at root now: a path
// that was inside the project is the same one inside root. What was executed
// stays as it was.
func (r *Record) At(root string) *Record {
	if r.ProjectRoot == root {
		return r
	}
	move := func(path string) string { return Moved(path, r.ProjectRoot, root) }
	moved := *r
	moved.ProjectRoot = root
	for _, p := range []*string{
		&moved.Paths.Prompt, &moved.Paths.Status, &moved.Paths.Lock, &moved.Paths.Go, &moved.Paths.Env, &moved.Paths.Log, &moved.Paths.ErrLog,
		&moved.Paths.Inputs, &moved.Paths.Result, &moved.Paths.WorkerResult, &moved.Paths.Audit, &moved.Paths.Emit,
	} {
		*p = move(*p)
	}
	moved.Outputs = append([]Output(nil), r.Outputs...)
	for i := range moved.Outputs {
		moved.Outputs[i].Path, moved.Outputs[i].Schema = move(moved.Outputs[i].Path), move(moved.Outputs[i].Schema)
	}
	return &moved
}

// Moved returns where a path inside the project root from lies now that this
// is at to; any other path is returned as it is.
func Moved(path, from, to string) string {
	if rel, ok := strings.CutPrefix(path, from+string(filepath.Separator)); ok {
		return filepath.Join(to, rel)
	}
	return path
}
