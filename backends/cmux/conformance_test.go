package cmux_test

import (
	"testing"
	"time"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/backends/backendtest"
	"github.com/okstra/okstra/backends/cmux"
	"github.com/okstra/okstra/backends/cmux/cmuxtest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	// Without commands and markers, without capabilities, and the newest.
	for _, version := range []string{"0.64.3", "0.64.17", "0.64.25"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			backendtest.Run(t, func(t *testing.T) *backendtest.Harness { return harness(t, version) })
		})
	}
}

func harness(t *testing.T, version string) *backendtest.Harness {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{Version: version}, func(o *cmux.Options) {
		o.CallTimeout, o.Settle, o.Now = 3*time.Second, 500*time.Millisecond, nil
	})
	return &backendtest.Harness{
		Backend: w.b,
		Policy:  policy,
		Screen:  true,
		Foreign: func(t *testing.T) (backends.Handle, func() bool) {
			user, err := w.server.Split(w.server.Lead().ID, "down")
			if err != nil {
				t.Fatal(err)
			}
			h := backends.Handle{Backend: cmux.Name, Tag: "t", Socket: w.server.Socket(), Workspace: user.Workspace, Pane: user.ID}
			return h, func() bool { _, ok := w.surface(user.ID); return ok }
		},
		OtherServer: func(h backends.Handle) backends.Handle {
			h.ServerPID++
			h.ServerStart = "another"
			return h
		},
		Deafen: func(t *testing.T) func() {
			w.server.Set(func(f *cmuxtest.Faults) { f.Stuck = true })
			return func() { w.server.Set(func(f *cmuxtest.Faults) { f.Stuck = false }) }
		},
		Left: func(t *testing.T) []string {
			var left []string
			for _, sf := range w.server.Surfaces() {
				if sf.ID != w.server.Lead().ID {
					left = append(left, sf.ID)
				}
			}
			return left
		},
	}
}
