package runtime

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/okstra/okstra/runtime/durable"
	"github.com/okstra/okstra/runtime/lead"
	"github.com/okstra/okstra/runtime/record"
)

// clearRemains removes, once the end of d is on disk, what only a supervisor of
// that attempt would have read or removed: the values of its environment, and
// the space reserved for its terminal sidecar.
func (s *session) clearRemains(d *record.Dispatch) {
	files := companions(s.run, d)
	s.then(func() {
		for _, path := range []string{files.Env(), durable.ReservedFor(files.Status())} {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				s.note(lead.Event{TS: s.env.Now(), Type: lead.Note, Round: d.Round, InvocationRef: d.InvocationRef,
					Message: fmt.Sprintf("%s is left behind: %v", relative(s.run.Root, path), err)})
			}
		}
	})
}
