package cmux_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/backends/cmux"
	"github.com/okstra/okstra/backends/cmux/cmuxtest"
)

func (w *world) end(tag string) {
	w.Helper()
	var pid int
	if _, err := fmt.Sscan(w.hello(tag)[0], &pid); err != nil {
		w.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		w.Fatal(err)
	}
}

func TestLookGoneAfterExit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{Faults: cmuxtest.Faults{Abnormal: -1}})
	h := w.start(w.launches(2)...)
	w.end(h[0].Tag)
	w.eventually("the surface to close with its process", func() bool {
		_, ok := w.surface(h[0].Pane)
		return !ok
	})
	w.eventually("gone", func() bool { return w.look(h[0]).Presence == backends.Gone })
	w.want(h[1], backends.Alive)
	if c := w.b.Close(w.context(), h); c[0].Err != nil || c[1].Err != nil {
		t.Errorf("close: %+v", c)
	}
}

// A process that ends at once leaves a surface with an error text. It is there,
// and it is closed like any other.
func TestLookAtAnAbnormalEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{Faults: cmuxtest.Faults{Abnormal: time.Minute}})
	h := w.start(w.launches(1)...)[0]
	w.end(h.Tag)
	w.eventually("the end", func() bool { sf, _ := w.surface(h.Pane); return sf.PID == 0 })
	w.exited(h)
	if c := w.b.Close(w.context(), []backends.Handle{h})[0]; c.Err != nil {
		t.Error(c.Err)
	}
}

// exited waits for a surface that is there and holds no process any more.
func (w *world) exited(h backends.Handle) {
	w.Helper()
	w.eventually("a surface without a process", func() bool {
		s := w.look(h)
		return s.Presence == backends.Alive && s.Exited
	})
}

func TestLookKeptOnExit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{Faults: cmuxtest.Faults{KeepOnExit: true}})
	h := w.start(w.launches(1)...)[0]
	w.end(h.Tag)
	w.eventually("the end", func() bool { sf, _ := w.surface(h.Pane); return sf.PID == 0 })
	w.exited(h)
	text, err := w.b.Capture(w.context(), h, 10)
	if err != nil || !strings.Contains(text, "hello from") {
		t.Errorf("screen %q, %v", text, err)
	}
}

func TestLookWhileTheListLags(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{Faults: cmuxtest.Faults{ListLag: 3}})
	h := w.start(w.launches(1)...)[0]
	w.want(h, backends.Unknown)
	w.eventually("the list to show it", func() bool { return w.look(h).Presence == backends.Alive })
}

// A surface that is missing from one look may come back; its process runs.
func TestLookAtAListThatLeavesOneOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{})
	h := w.start(w.launches(1)...)[0]
	w.hello(h.Tag)
	w.server.Hide(h.Pane, 2)
	w.want(h, backends.Unknown)
	w.eventually("the list to show it", func() bool { return w.look(h).Presence == backends.Alive })
	w.server.Hide(h.Pane, 1000)
	w.want(h, backends.Unknown)
	w.gone(h)
}

func TestLookAtAnEmptyList(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{})
	h := w.start(w.launches(1)...)[0]
	w.server.Set(func(f *cmuxtest.Faults) { f.EmptyLists = true })
	for range 3 {
		w.want(h, backends.Unknown)
		w.clock = w.clock.Add(time.Minute)
	}
}

func TestLookUnknownWhenNothingCanBeAsked(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(*cmuxtest.Faults){
		"denied before": func(f *cmuxtest.Faults) { f.Deny = "before" },
		"denied after":  func(f *cmuxtest.Faults) { f.Deny = "after" },
		"stuck":         func(f *cmuxtest.Faults) { f.Stuck = true },
		"failing list":  func(f *cmuxtest.Faults) { f.Fail = "surface.list" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, cmuxtest.Options{}, func(o *cmux.Options) { o.CallTimeout = 300 * time.Millisecond })
			h := w.start(w.launches(1)...)[0]
			w.server.Set(f)
			for range 2 {
				w.want(h, backends.Unknown)
				w.clock = w.clock.Add(time.Minute)
			}
			if c := w.b.Close(w.context(), []backends.Handle{h})[0]; c.Err == nil {
				t.Error("closed what could not be asked for")
			}
			if _, ok := w.surface(h.Pane); !ok {
				t.Error("the surface is gone")
			}
		})
	}
	t.Run("down", func(t *testing.T) {
		w := newWorld(t, cmuxtest.Options{})
		h := w.start(w.launches(1)...)[0]
		h.Socket = filepath.Join(w.dir, "none.sock")
		w.want(h, backends.Unknown)
		if c := w.b.Close(w.context(), []backends.Handle{h})[0]; c.Err == nil {
			t.Error("closed")
		}
	})
}

// A cmux that ended took its surfaces with it; one that only does not listen did
// not.
func TestLookAfterTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{})
	h := w.start(w.launches(1)...)[0]
	w.end(h.Tag)
	if err := w.server.Close(); err != nil {
		t.Fatal(err)
	}
	w.want(h, backends.Unknown) // this test process, which was the server, lives
	once := exec.Command("true")
	if err := once.Run(); err != nil {
		t.Fatal(err)
	}
	h.ServerPID = once.Process.Pid
	w.want(h, backends.Gone)
	if c := w.b.Close(w.context(), []backends.Handle{h})[0]; c.Err != nil {
		t.Error(c.Err)
	}
}

func TestLookAfterARestart(t *testing.T) {
	t.Parallel()
	for _, keep := range []bool{false, true} {
		t.Run(fmt.Sprint("keep=", keep), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, cmuxtest.Options{})
			h := w.start(w.launches(1)...)[0]
			w.hello(h.Tag)
			if err := w.server.Restart(keep); err != nil {
				t.Fatal(err)
			}
			n := len(w.server.Surfaces())
			w.want(h, backends.Gone)
			if c := w.b.Close(w.context(), []backends.Handle{h})[0]; c.Err != nil {
				t.Error(c.Err)
			}
			if len(w.server.Surfaces()) != n {
				t.Error("a restored surface, which is the user's, was closed")
			}
			if !keep {
				// The old lead is nobody there; the focused surface is not taken instead.
				if p := w.b.Probe(w.context()); p.Available {
					t.Errorf("probe: %+v", p)
				}
				if r := w.b.Start(w.context(), w.launches(1))[0]; r.Err == nil {
					t.Error("started beside a surface that is not the lead")
				}
			}
		})
	}
}

func TestLookAtAMovedSurface(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{})
	h := w.start(w.launches(1)...)[0]
	other, err := w.server.AddWorkspace("other", true)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.server.Move(h.Pane, other.Workspace); err != nil {
		t.Fatal(err)
	}
	if got := w.look(h); got.Presence != backends.Alive || !strings.Contains(got.Detail, other.Workspace) {
		t.Errorf("got %+v", got)
	}
	if c := w.b.Close(w.context(), []backends.Handle{h})[0]; c.Err != nil {
		t.Error(c.Err)
	}
	if _, ok := w.surface(h.Pane); ok {
		t.Error("not closed")
	}
}

func TestLookAsksOncePerServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{})
	handles := w.start(w.launches(8)...)
	before := len(w.server.Requests())
	for _, s := range w.b.Look(w.context(), handles) {
		if s.Presence != backends.Alive {
			t.Errorf("got %+v", s)
		}
	}
	if n := len(w.server.Requests()) - before; n > 2 {
		t.Errorf("%d requests for eight surfaces", n)
	}
}

func TestCapture(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{})
	h := w.start(w.launches(1)...)[0]
	w.hello(h.Tag)
	var text string
	w.eventually("the second line", func() bool {
		var err error
		text, err = w.b.Capture(w.context(), h, 1)
		return err == nil && text == "red"
	})
	h.Tag = "another"
	if _, err := w.b.Capture(w.context(), h, 5); err == nil {
		t.Error("read the screen of what is not ours")
	}
}

func TestAdopt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{})
	h := w.start(w.launches(1)...)[0]
	got, err := w.b.Adopt(w.context(), backends.Handle{Backend: cmux.Name, Tag: h.Tag, Socket: h.Socket, Pane: strings.ToLower(h.Pane)})
	if err != nil {
		t.Fatal(err)
	}
	h.Window, got.Window = "", ""
	if got != h {
		t.Errorf("got %+v, want %+v", got, h)
	}
	for _, wrong := range []backends.Handle{
		{Backend: cmux.Name, Tag: "other", Socket: h.Socket, Pane: h.Pane},
		{Backend: cmux.Name, Tag: h.Tag, Socket: h.Socket, Pane: w.server.Lead().ID},
		{Backend: "tmux", Tag: h.Tag, Socket: h.Socket, Pane: "%1"},
	} {
		if _, err := w.b.Adopt(w.context(), wrong); err == nil {
			t.Errorf("adopted %+v", wrong)
		}
	}
}

func TestCloseRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{})
	h := w.start(w.launches(1)...)[0]
	lead := w.server.Lead()
	user, err := w.server.Split(lead.ID, "down")
	if err != nil {
		t.Fatal(err)
	}
	own, other, users, invalid := h, h, h, h
	own.Pane, other.Tag, users.Pane, invalid.Pane = lead.ID, "another", user.ID, "surface:1"
	for name, c := range map[string]backends.Handle{"own": own, "other tag": other, "a user's": users, "a ref": invalid} {
		got := w.b.Close(w.context(), []backends.Handle{c})[0]
		if got.Err == nil || !got.Refused {
			t.Errorf("%s: %+v", name, got)
		}
	}
	// The user gave our surface another process: it is the user's now.
	if err := w.server.Respawn(h.Pane, "/bin/cat"); err != nil {
		t.Fatal(err)
	}
	w.want(h, backends.Unknown)
	if got := w.b.Close(w.context(), []backends.Handle{h})[0]; !got.Refused {
		t.Errorf("respawned: %+v", got)
	}
	if n := len(w.server.Surfaces()); n != 3 {
		t.Errorf("%d surfaces are left, want 3", n)
	}
	if w.calls("surface.close") != 0 {
		t.Error("a close was sent")
	}
}

// Without markers, a surface is ours on the recorded server only.
func TestCloseWithoutMarkers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{Version: "0.64.3"})
	h := w.start(w.launches(1)...)[0]
	stranger := h
	stranger.ServerPID, stranger.ServerStart = 0, ""
	if got := w.b.Close(w.context(), []backends.Handle{stranger})[0]; !got.Refused {
		t.Errorf("got %+v", got)
	}
	if got := w.b.Close(w.context(), []backends.Handle{h})[0]; got.Err != nil {
		t.Error(got.Err)
	}
}

func TestCloseFromWithin(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{})
	h := w.start(w.launches(1)...)[0]
	env := append(w.server.LeadEnv(), "CMUX_SURFACE_ID="+h.Pane)
	got := w.backend(env).Close(w.context(), []backends.Handle{h})[0]
	if !got.Refused {
		t.Errorf("a worker could close its own surface: %+v", got)
	}
}

func TestCloseSlowly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{Faults: cmuxtest.Faults{ExitDelay: 2 * time.Second}}, func(o *cmux.Options) { o.CloseWait = 4 * time.Second })
	h := w.start(w.launches(1)...)[0]
	if got := w.b.Close(w.context(), []backends.Handle{h})[0]; got.Err != nil {
		t.Error(got.Err)
	}
	if _, ok := w.surface(h.Pane); ok {
		t.Error("called closed while it was listed")
	}
}

func TestCloseIgnored(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{Faults: cmuxtest.Faults{CloseIgnored: 1}})
	h := w.start(w.launches(2)...)
	got := w.b.Close(w.context(), h[:1])[0]
	if got.Err != nil {
		t.Errorf("asked twice: %v", got.Err)
	}
	w.server.Set(func(f *cmuxtest.Faults) { f.CloseIgnored = 2 })
	got = w.b.Close(w.context(), h[1:])[0]
	if got.Err == nil || got.Refused || !strings.Contains(got.Err.Error(), "lists it still") {
		t.Errorf("got %+v", got)
	}
	if n := w.calls("surface.close"); n != 4 {
		t.Errorf("%d closes", n)
	}
}

func TestCloseLostAnswer(t *testing.T) {
	t.Parallel()
	for _, f := range []cmuxtest.Faults{{Lose: "surface.close"}, {Lose: "surface.close", LoseSilently: true}} {
		t.Run(fmt.Sprint(f.LoseSilently), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, cmuxtest.Options{}, func(o *cmux.Options) { o.CallTimeout = 300 * time.Millisecond })
			h := w.start(w.launches(1)...)[0]
			w.server.Set(func(g *cmuxtest.Faults) { *g = f })
			if got := w.b.Close(w.context(), []backends.Handle{h})[0]; got.Err != nil {
				t.Error(got.Err)
			}
		})
	}
}

// One close takes the user's pane with it: it is said loudly, and nothing more
// is closed on that socket, in later calls too.
func TestCloseThatKillsAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{Version: "0.64.22", Faults: cmuxtest.Faults{CloseKillsOther: true}})
	h := w.start(w.launches(2)...)
	lead := w.server.Lead()
	got := w.b.Close(w.context(), h)
	if got[0].Err == nil || !strings.Contains(got[0].Err.Error(), lead.ID) {
		t.Errorf("got %+v", got[0])
	}
	if got[1].Err == nil || w.calls("surface.close") != 1 {
		t.Errorf("went on after the harm: %+v", got[1])
	}
	later := w.b.Close(w.context(), h[1:])
	if later[0].Err == nil || !strings.Contains(later[0].Err.Error(), lead.ID) || w.calls("surface.close") != 1 {
		t.Errorf("a later call went on after the harm: %+v", later[0])
	}
	// Another process knows nothing of it: a person has looked meanwhile.
	w.b = w.backend(w.server.LeadEnv())
	if again := w.b.Close(w.context(), h[1:]); w.calls("surface.close") != 2 {
		t.Errorf("another process closed nothing: %+v", again[0])
	}
}

func TestCloseTheLastSurface(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{})
	h := w.start(w.launches(1)...)[0]
	other, err := w.server.AddWorkspace("other", false)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.server.Move(w.server.Lead().ID, other.Workspace); err != nil {
		t.Fatal(err)
	}
	got := w.b.Close(w.context(), []backends.Handle{h})[0]
	if got.Err == nil || got.Refused || !strings.Contains(got.Err.Error(), "last surface") {
		t.Errorf("got %+v", got)
	}
}

func TestCloseWhatIsGoneIsSuccess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{})
	h := w.start(w.launches(1)...)
	for range 2 {
		if got := w.b.Close(w.context(), h)[0]; got.Err != nil {
			t.Error(got.Err)
		}
	}
}

// The supervisor's process ends with its surface, also where it missed that its
// terminal is gone.
func TestCloseEndsTheProcess(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]cmuxtest.Faults{"hung up": {}, "hang-up lost": {NoHangUp: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, cmuxtest.Options{Faults: f})
			h := w.start(w.launches(1)...)
			var pid int
			if _, err := fmt.Sscan(w.hello(h[0].Tag)[0], &pid); err != nil {
				t.Fatal(err)
			}
			if got := w.b.Close(w.context(), h)[0]; got.Err != nil {
				t.Error(got.Err)
			}
			w.eventually("the process to end", func() bool { return syscall.Kill(pid, 0) != nil })
		})
	}
}
