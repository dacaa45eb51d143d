// Package backendtest is the conformance suite of backends: what the runtime
// relies on, whichever backend it has. It brings stand-ins for supervisors,
// played by the test binary itself; what they would supervise is not part of
// it. A backend's own tests cover what is particular to it.
package backendtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/okstra/okstra/backends"
)

// Harness is one backend in a world of its own. Functions that make no sense
// for a backend are nil.
type Harness struct {
	Backend backends.Backend
	Policy  backends.Policy
	Screen  bool // it has screens that can be captured
	// Foreign returns a handle, complete by form, to something that is not
	// okstra's, and a function that reports whether that still stands.
	Foreign func(t *testing.T) (h backends.Handle, stands func() bool)
	// OtherServer changes a handle's server identity to that of another.
	OtherServer func(h backends.Handle) backends.Handle
	// Deafen makes the server unable to answer until restore is called.
	Deafen func(t *testing.T) (restore func())
	// Left lists what of this backend is left in its world.
	Left func(t *testing.T) []string
}

// Run runs the suite; make is called for each test and cleans up after itself
// by t.Cleanup.
func Run(t *testing.T, make func(t *testing.T) *Harness) {
	tests := []struct {
		name string
		run  func(t *testing.T, s *suite)
	}{
		{"one", testOne},
		{"many in order", testMany},
		{"none", testNone},
		{"gone after exit", testExit},
		{"failed launch harms no other", testFailedLaunch},
		{"relative program refused", testRelative},
		{"capture", testCapture},
		{"close twice", testCloseTwice},
		{"close waits", testCloseWaits},
		{"foreign refused", testForeign},
		{"wrong tag refused", testWrongTag},
		{"empty handle", testEmptyHandle},
		{"other server", testOtherServer},
		{"deaf server is unknown", testDeaf},
		{"adopt", testAdopt},
		{"cancelled", testCancelled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := make(t)
			tt.run(t, &suite{Harness: h, dir: t.TempDir(), ctx: t.Context()})
		})
	}
}

type suite struct {
	*Harness
	dir string
	ctx context.Context
}

func (s *suite) supervisors(t *testing.T, n int, b Behaviour) []*Supervisor {
	t.Helper()
	out := make([]*Supervisor, n)
	for i := range out {
		out[i] = NewSupervisor(t, s.dir, fmt.Sprintf("w%02d", i), b, s.Policy)
	}
	return out
}

// start starts all, requires that all started, and closes them at the end of
// the test.
func (s *suite) start(t *testing.T, ss ...*Supervisor) []backends.Handle {
	t.Helper()
	started := s.Backend.Start(s.ctx, Launches(ss))
	if len(started) != len(ss) {
		t.Fatalf("Start returned %d results for %d launches", len(started), len(ss))
	}
	var hs []backends.Handle
	for i, st := range started {
		if st.Err != nil {
			t.Fatalf("start %s: %v", ss[i].Launch.Label, st.Err)
		}
		if st.Handle.Tag != ss[i].Launch.Tag || st.Handle.Backend != s.Backend.Name() {
			t.Errorf("handle %+v of launch %q", st.Handle, ss[i].Launch.Tag)
		}
		hs = append(hs, st.Handle)
	}
	t.Cleanup(func() { s.Backend.Close(context.WithoutCancel(s.ctx), hs) })
	return hs
}

func (s *suite) presence(t *testing.T, h backends.Handle) backends.Sight {
	t.Helper()
	sights := s.Backend.Look(s.ctx, []backends.Handle{h})
	if len(sights) != 1 {
		t.Fatalf("Look returned %d sights for one handle", len(sights))
	}
	return sights[0]
}

func (s *suite) want(t *testing.T, h backends.Handle, p backends.Presence) {
	t.Helper()
	if got := s.presence(t, h); got.Presence != p {
		t.Errorf("Look(%s) = %q (%s), want %q", h.Tag, got.Presence, got.Detail, p)
	}
}

// close closes all and requires success and that nothing is left.
func (s *suite) close(t *testing.T, hs []backends.Handle) {
	t.Helper()
	for i, c := range s.Backend.Close(s.ctx, hs) {
		if c.Err != nil {
			t.Errorf("close %s: %v", hs[i].Tag, c.Err)
		}
	}
	for _, h := range hs {
		s.want(t, h, backends.Gone)
	}
	if s.Left != nil {
		if left := s.Left(t); len(left) > 0 {
			t.Errorf("left after closing all: %s", strings.Join(left, ", "))
		}
	}
}

func testOne(t *testing.T, s *suite) {
	if p := s.Backend.Probe(s.ctx); !p.Available || p.Found == "" {
		t.Fatalf("Probe = %+v", p)
	}
	ss := s.supervisors(t, 1, Behaviour{})
	hs := s.start(t, ss...)
	hello := ss[0].Hello(t)
	if !slices.Equal(hello.Args, ss[0].Launch.Command) {
		t.Errorf("it was started as %q, want %q", hello.Args, ss[0].Launch.Command)
	}
	s.want(t, hs[0], backends.Alive)
	s.close(t, hs)
	if Running(hello.PID) {
		t.Errorf("process %d runs after its close", hello.PID)
	}
	if ss[0].Ended(t) == "" {
		t.Error("it was not asked to end")
	}
}

func testMany(t *testing.T, s *suite) {
	ss := s.supervisors(t, 11, Behaviour{})
	hs := s.start(t, ss...)
	for i, h := range hs {
		if h.Pane != "" && slices.ContainsFunc(hs[:i], func(o backends.Handle) bool { return o.Pane == h.Pane }) {
			t.Errorf("pane %s was given out twice", h.Pane)
		}
		hello := ss[i].Hello(t)
		if h.PID != 0 && hello.PID != h.PID {
			t.Errorf("handle %d names process %d, but its launch runs as %d", i, h.PID, hello.PID)
		}
		if strings.HasPrefix(h.Pane, "%") && h.Pane != hello.Pane {
			t.Errorf("handle %d names pane %s, but its launch runs in %s", i, h.Pane, hello.Pane)
		}
	}
	// Every second one is closed, and only those are.
	var odd, even []backends.Handle
	for i, h := range hs {
		if i%2 == 1 {
			odd = append(odd, h)
		} else {
			even = append(even, h)
		}
	}
	for i, c := range s.Backend.Close(s.ctx, odd) {
		if c.Err != nil {
			t.Errorf("close %s: %v", odd[i].Tag, c.Err)
		}
	}
	for i, sight := range s.Backend.Look(s.ctx, hs) {
		want := backends.Alive
		if i%2 == 1 {
			want = backends.Gone
		}
		if sight.Presence != want {
			t.Errorf("Look of %d = %q (%s), want %q", i, sight.Presence, sight.Detail, want)
		}
	}
	for i, sv := range ss {
		if i%2 == 0 && sv.Ended(t) != "" {
			t.Errorf("%s was asked to end, although it was not closed", sv.Launch.Label)
		}
	}
	s.close(t, even)
}

func testNone(t *testing.T, s *suite) {
	if got := s.Backend.Start(s.ctx, nil); len(got) != 0 {
		t.Errorf("Start of nothing = %v", got)
	}
	if got := s.Backend.Look(s.ctx, nil); len(got) != 0 {
		t.Errorf("Look of nothing = %v", got)
	}
	if got := s.Backend.Close(s.ctx, nil); len(got) != 0 {
		t.Errorf("Close of nothing = %v", got)
	}
}

func testExit(t *testing.T, s *suite) {
	ss := s.supervisors(t, 2, Behaviour{})
	hs := s.start(t, ss...)
	// A screen may stay after its process ended; it then says so, and is
	// there to be closed.
	kill(t, ss[0].Hello(t).PID)
	Eventually(t, "the end of the first", func() (bool, string) {
		g := s.presence(t, hs[0])
		return g.Presence == backends.Gone || g.Presence == backends.Alive && g.Exited, fmt.Sprintf("%+v", g)
	})
	if g := s.presence(t, hs[1]); g.Presence != backends.Alive || g.Exited {
		t.Errorf("Look of the other = %+v", g)
	}
	s.close(t, hs)
}

func testFailedLaunch(t *testing.T, s *suite) {
	ss := s.supervisors(t, 5, Behaviour{})
	ss[2].Launch.Command = []string{s.dir + "/no-such-program", "a", "b"}
	started := s.Backend.Start(s.ctx, Launches(ss))
	var hs []backends.Handle
	for i, st := range started {
		if i == 2 {
			if st.Err == nil && s.presence(t, st.Handle).Presence == backends.Alive && !s.presence(t, st.Handle).Exited {
				t.Error("a program that does not exist is said to run")
			}
			if st.Handle != (backends.Handle{}) {
				hs = append(hs, st.Handle)
			}
			continue
		}
		if st.Err != nil {
			t.Errorf("launch %d failed along with another: %v", i, st.Err)
			continue
		}
		ss[i].Hello(t)
		hs = append(hs, st.Handle)
	}
	s.close(t, hs)
}

func testRelative(t *testing.T, s *suite) {
	ss := s.supervisors(t, 1, Behaviour{})
	ss[0].Launch.Command[0] = "sh"
	if st := s.Backend.Start(s.ctx, Launches(ss)); st[0].Err == nil {
		t.Errorf("a program without a path was started: %+v", st[0].Handle)
	}
}

func testCapture(t *testing.T, s *suite) {
	long := strings.Repeat("0123456789", 40)
	var say strings.Builder
	for i := range 100 {
		fmt.Fprintf(&say, "line %d\r\n", i)
	}
	ss := s.supervisors(t, 1, Behaviour{Say: say.String() + long + "\r\nlast line 漢字\r\n"})
	hs := s.start(t, ss...)
	ss[0].Hello(t)
	text, err := s.Backend.Capture(s.ctx, hs[0], 5)
	if !s.Screen {
		if !errors.Is(err, backends.ErrNoScreen) {
			t.Errorf("Capture = %q, %v, want ErrNoScreen", text, err)
		}
		return
	}
	Eventually(t, "the last line on the screen", func() (bool, string) {
		text, err = s.Backend.Capture(s.ctx, hs[0], 5)
		return err == nil && strings.HasSuffix(strings.TrimSpace(text), "last line 漢字"), fmt.Sprint(text, err)
	})
	if !strings.Contains(text, long) {
		t.Errorf("a long line is not whole: %q", text)
	}
	if n := strings.Count(text, "\n") + 1; n > 5 {
		t.Errorf("5 lines were asked for, %d came", n)
	}
	s.close(t, hs)
	if _, err := s.Backend.Capture(s.ctx, hs[0], 5); err == nil {
		t.Error("a closed screen was captured")
	}
}

func testCloseTwice(t *testing.T, s *suite) {
	hs := s.start(t, s.supervisors(t, 2, Behaviour{})...)
	s.close(t, hs)
	s.close(t, hs)
}

func testCloseWaits(t *testing.T, s *suite) {
	ss := s.supervisors(t, 2, Behaviour{Stubborn: 300 * time.Millisecond})
	hs := s.start(t, ss...)
	pids := []int{ss[0].Hello(t).PID, ss[1].Hello(t).PID}
	s.close(t, hs)
	for i, pid := range pids {
		if Running(pid) {
			t.Errorf("process %d runs after its close", pid)
		}
		if ss[i].Ended(t) == "" {
			t.Errorf("%s was not left the time to end", ss[i].Launch.Label)
		}
	}
}

func testForeign(t *testing.T, s *suite) {
	if s.Foreign == nil {
		return
	}
	h, stands := s.Foreign(t)
	s.untouched(t, h, stands)
}

// untouched closes h and requires that what it names still stands, and that
// the answer is a refusal or that there is nothing of ours.
func (s *suite) untouched(t *testing.T, h backends.Handle, stands func() bool) {
	t.Helper()
	c := s.Backend.Close(s.ctx, []backends.Handle{h})[0]
	if !stands() {
		t.Fatalf("what is not okstra's was closed (%+v)", c)
	}
	if c.Err == nil && s.presence(t, h).Presence != backends.Gone {
		t.Errorf("Close = %+v although it still stands", c)
	}
	if c.Refused && c.Err == nil {
		t.Error("a refusal without a reason")
	}
}

func testWrongTag(t *testing.T, s *suite) {
	if s.OtherServer == nil {
		return // only backends with tags have them
	}
	ss := s.supervisors(t, 1, Behaviour{})
	hs := s.start(t, ss...)
	pid := ss[0].Hello(t).PID
	h := hs[0]
	h.Tag = "another"
	c := s.Backend.Close(s.ctx, []backends.Handle{h})[0]
	if c.Err == nil || !c.Refused {
		t.Errorf("Close with another tag = %+v, want a refusal", c)
	}
	if !Running(pid) || ss[0].Ended(t) != "" {
		t.Error("a pane was closed by a handle with another tag")
	}
	s.close(t, hs)
}

func testEmptyHandle(t *testing.T, s *suite) {
	hs := []backends.Handle{{}, {Backend: s.Backend.Name()}, {Backend: s.Backend.Name(), Tag: "x", PID: 1, Pane: "%0"}}
	for i, c := range s.Backend.Close(s.ctx, hs) {
		if !c.Refused || c.Err == nil {
			t.Errorf("Close of a handle that proves nothing (%d) = %+v, want a refusal", i, c)
		}
	}
	for i, g := range s.Backend.Look(s.ctx, hs) {
		if g.Presence != backends.Unknown || g.Detail == "" {
			t.Errorf("Look of a handle that proves nothing (%d) = %+v, want unknown", i, g)
		}
	}
}

func testOtherServer(t *testing.T, s *suite) {
	if s.OtherServer == nil {
		return
	}
	ss := s.supervisors(t, 1, Behaviour{})
	hs := s.start(t, ss...)
	pid := ss[0].Hello(t).PID
	s.untouched(t, s.OtherServer(hs[0]), func() bool { return Running(pid) && ss[0].Ended(t) == "" })
	s.close(t, hs)
}

func testDeaf(t *testing.T, s *suite) {
	if s.Deafen == nil {
		return
	}
	ss := s.supervisors(t, 2, Behaviour{})
	hs := s.start(t, ss[0])
	pid := ss[0].Hello(t).PID
	restore := s.Deafen(t)
	s.want(t, hs[0], backends.Unknown)
	if c := s.Backend.Close(s.ctx, hs)[0]; c.Err == nil {
		t.Error("Close succeeded although nothing could be asked")
	}
	if st := s.Backend.Start(s.ctx, Launches(ss[1:]))[0]; st.Err == nil {
		t.Errorf("Start succeeded although nothing could be asked: %+v", st)
	}
	restore()
	if !Running(pid) {
		t.Error("a supervisor ended while its server was deaf")
	}
	s.want(t, hs[0], backends.Alive)
	s.close(t, hs)
}

func testAdopt(t *testing.T, s *suite) {
	ss := s.supervisors(t, 2, Behaviour{})
	hs := s.start(t, ss...)
	hello := ss[0].Hello(t)
	said := backends.Handle{
		Backend: hs[0].Backend, Tag: hs[0].Tag, Socket: hs[0].Socket, Pane: hs[0].Pane, Workspace: hs[0].Workspace,
		PID: hello.PID, PIDStart: hs[0].PIDStart,
	}
	h, err := s.Backend.Adopt(s.ctx, said)
	if err != nil {
		t.Fatalf("Adopt: %v", err)
	}
	s.want(t, h, backends.Alive)
	if c := s.Backend.Close(s.ctx, []backends.Handle{h})[0]; c.Err != nil {
		t.Errorf("close what was adopted: %v", c.Err)
	}
	if _, err := s.Backend.Adopt(s.ctx, said); !errors.Is(err, backends.ErrNotThere) {
		t.Errorf("Adopt of what is gone = %v, want ErrNotThere", err)
	}
	s.close(t, hs)
}

func testCancelled(t *testing.T, s *suite) {
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	ss := s.supervisors(t, 3, Behaviour{})
	for i, st := range s.Backend.Start(ctx, Launches(ss)) {
		if st.Err == nil {
			t.Errorf("launch %d was started by a cancelled call", i)
			s.Backend.Close(s.ctx, []backends.Handle{st.Handle})
		}
	}
}
