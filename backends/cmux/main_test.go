package cmux_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/backends/backendtest"
	"github.com/okstra/okstra/backends/cmux"
	"github.com/okstra/okstra/backends/cmux/cmuxtest"
)

// standIn is the word that makes the test binary stand in for a supervisor.
const standIn = "stand-in"

func TestMain(m *testing.M) {
	cmuxtest.Main()
	backendtest.RunRole()
	if len(os.Args) == 3 && os.Args[1] == standIn {
		supervise(os.Args[2])
		return
	}
	// Most of these tests wait for processes; with the race detector each of
	// those would stay for a second after its end.
	if err := errors.Join(flag.Set("test.parallel", "12"), os.Setenv("GORACE", "atexit_sleep_ms=0")); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// supervise says that it is there, in a file, and holds the screen until it is
// told to end.
func supervise(path string) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP)
	wd, _ := os.Getwd()
	fmt.Printf("hello from %s\n\x1b[31mred\x1b[0m\n", filepath.Base(path))
	text := fmt.Sprintf("%d %s %s\n", os.Getpid(), os.Getenv("CMUX_SURFACE_ID"), wd)
	if err := os.WriteFile(path+".tmp", []byte(text), 0o600); err != nil {
		os.Exit(1)
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		os.Exit(1)
	}
	<-signals
}

// world is a server with a backend of its lead.
type world struct {
	*testing.T
	server *cmuxtest.Server
	b      *cmux.Backend
	dir    string
	clock  time.Time
}

func newWorld(t *testing.T, o cmuxtest.Options, change ...func(*cmux.Options)) *world {
	t.Helper()
	dir := t.TempDir() // removed after the server has ended, whose processes write into it
	s, err := cmuxtest.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &world{T: t, server: s, dir: dir, clock: time.Now()}
	w.b = w.backend(s.LeadEnv(), change...)
	return w
}

// backend makes one with an environment. Its clock stands still until advanced.
func (w *world) backend(env []string, change ...func(*cmux.Options)) *cmux.Backend {
	o := cmux.Options{
		Getenv:      cmuxtest.Getenv(env),
		ProjectRoot: w.dir,
		Dir:         filepath.Join(w.server.Dir(), "okstra"),
		TTY:         "/dev/null",
		CallTimeout: 5 * time.Second,
		CloseWait:   time.Second,
		Now:         func() time.Time { return w.clock },
	}
	for _, c := range change {
		c(&o)
	}
	return cmux.New(o)
}

var policy = backends.Policy{Placement: "beside-lead", LeadShare: 60, MinColumns: 40, MinRows: 8, PerWindow: 4}

func (w *world) launch(tag string) backends.Launch {
	self, err := os.Executable()
	if err != nil {
		w.Fatal(err)
	}
	return backends.Launch{
		Command: []string{self, standIn, filepath.Join(w.dir, "it's "+tag)},
		Label:   "label-" + tag,
		Tag:     tag,
		Title:   "title of " + tag,
		Policy:  policy,
	}
}

func (w *world) launches(n int) []backends.Launch {
	var out []backends.Launch
	for i := range n {
		out = append(out, w.launch(fmt.Sprintf("run.w%d", i+1)))
	}
	return out
}

func (w *world) context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	w.Cleanup(cancel)
	return ctx
}

// start starts launches, all of which must succeed.
func (w *world) start(launches ...backends.Launch) []backends.Handle {
	w.Helper()
	var handles []backends.Handle
	for i, r := range w.b.Start(w.context(), launches) {
		if r.Err != nil {
			w.Fatalf("start %s: %v", launches[i].Tag, r.Err)
		}
		if r.Handle.Pane == "" || r.Handle.Tag != launches[i].Tag || r.Handle.Socket != w.server.Socket() {
			w.Fatalf("start %s: handle %+v", launches[i].Tag, r.Handle)
		}
		handles = append(handles, r.Handle)
	}
	return handles
}

// hello waits for a stand-in and returns its words: pid, surface, directory.
func (w *world) hello(tag string) []string {
	w.Helper()
	path := filepath.Join(w.dir, "it's "+tag)
	w.eventually("the stand-in of "+tag, func() bool {
		_, err := os.Stat(path)
		return err == nil
	})
	data, err := os.ReadFile(path)
	if err != nil {
		w.Fatal(err)
	}
	return strings.Fields(string(data))
}

func (w *world) eventually(what string, done func() bool) {
	w.Helper()
	deadline := time.Now().Add(15 * time.Second)
	for !done() {
		if time.Now().After(deadline) {
			w.Fatalf("never came: %s; surfaces: %+v", what, w.server.Surfaces())
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (w *world) look(h backends.Handle) backends.Sight {
	w.Helper()
	return w.b.Look(w.context(), []backends.Handle{h})[0]
}

func (w *world) want(h backends.Handle, want backends.Presence) {
	w.Helper()
	if got := w.look(h); got.Presence != want {
		w.Fatalf("%s is %s (%s), want %s", h.Tag, got.Presence, got.Detail, want)
	}
}

// gone looks, lets the settling time pass, and looks again.
func (w *world) gone(h backends.Handle) {
	w.Helper()
	w.look(h)
	w.clock = w.clock.Add(6 * time.Second)
	w.want(h, backends.Gone)
}

func (w *world) surface(id string) (cmuxtest.Surface, bool) {
	for _, sf := range w.server.Surfaces() {
		if sf.ID == id {
			return sf, true
		}
	}
	return cmuxtest.Surface{}, false
}

// calls counts requests of a method.
func (w *world) calls(method string) int {
	n := 0
	for _, r := range w.server.Requests() {
		if r.Method == method {
			n++
		}
	}
	return n
}
