package process

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/backends/backendtest"
	"github.com/okstra/okstra/backends/internal/ident"
)

func TestMain(m *testing.M) {
	backendtest.RunRole()
	os.Exit(m.Run())
}

func TestConformance(t *testing.T) {
	backendtest.Run(t, func(t *testing.T) *backendtest.Harness {
		return &backendtest.Harness{
			Backend: New(Options{}),
			Foreign: func(t *testing.T) (backends.Handle, func() bool) {
				s, h := startOne(t, New(Options{}), backendtest.Behaviour{})
				pid := s.Hello(t).PID
				h.PIDStart++ // the pid was given to another since
				return h, func() bool { return backendtest.Running(pid) && s.Ended(t) == "" }
			},
		}
	})
}

func startOne(t *testing.T, b *Backend, how backendtest.Behaviour) (*backendtest.Supervisor, backends.Handle) {
	t.Helper()
	s := backendtest.NewSupervisor(t, t.TempDir(), "one", how, backends.Policy{})
	st := b.Start(t.Context(), []backends.Launch{s.Launch})[0]
	if st.Err != nil {
		t.Fatal(st.Err)
	}
	t.Cleanup(func() { b.Close(context.Background(), []backends.Handle{st.Handle}) })
	return s, st.Handle
}

func TestDetached(t *testing.T) {
	s, h := startOne(t, New(Options{}), backendtest.Behaviour{})
	hello := s.Hello(t)
	if hello.PID != h.PID || hello.Session != hello.PID {
		t.Errorf("process %d in session %d, want %d leading a session of its own", hello.PID, hello.Session, h.PID)
	}
}

func TestEnviron(t *testing.T) {
	s, _ := startOne(t, New(Options{Environ: []string{"TMUX_PANE=%77"}}), backendtest.Behaviour{})
	if got := s.Hello(t).Pane; got != "%77" {
		t.Errorf("TMUX_PANE of the supervisor = %q, want the given environment", got)
	}
}

// A child that ended is reaped without anybody asking for it.
func TestReaped(t *testing.T) {
	b := New(Options{})
	for range 3 { // the reaper goes and comes with the children
		_, h := startOne(t, b, backendtest.Behaviour{Exit: true})
		backendtest.Eventually(t, "the reaping", func() (bool, string) {
			p, err := ident.Read(h.PID)
			return err != nil || p.Start != h.PIDStart, "it is there"
		})
	}
}

func TestCloseIsBounded(t *testing.T) {
	b := New(Options{CloseTimeout: 50 * time.Millisecond})
	s, h := startOne(t, b, backendtest.Behaviour{Stubborn: 2 * time.Second})
	s.Hello(t)
	c := b.Close(t.Context(), []backends.Handle{h})[0]
	if c.Err == nil || c.Refused || !strings.Contains(c.Err.Error(), "still runs") {
		t.Errorf("Close of one that does not end = %+v", c)
	}
	backendtest.Eventually(t, "its end", func() (bool, string) { return !backendtest.Running(h.PID), "it runs" })
}

func TestNotItself(t *testing.T) {
	me, err := ident.Read(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	h := backends.Handle{Backend: Name, Tag: "x", PID: me.PID, PIDStart: me.Start}
	if c := New(Options{}).Close(t.Context(), []backends.Handle{h})[0]; !c.Refused {
		t.Errorf("Close of the caller = %+v", c)
	}
}

func BenchmarkStart(b *testing.B) {
	back := New(Options{})
	for b.Loop() {
		if st := back.Start(b.Context(), []backends.Launch{{Command: []string{"/bin/true"}, Tag: "x"}})[0]; st.Err != nil {
			b.Fatal(st.Err)
		}
	}
}
