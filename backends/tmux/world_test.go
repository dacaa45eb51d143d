package tmux

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/backends/backendtest"
	"github.com/okstra/okstra/backends/tmux/layout"
)

func TestMain(m *testing.M) {
	backendtest.RunRole()
	os.Unsetenv("TMUX")
	os.Unsetenv("TMUX_PANE")
	os.Exit(m.Run())
}

// world is a user's tmux server with a lead in it, and a backend that believes
// that it runs in the lead's pane.
type world struct {
	t      testing.TB
	dir    string // short, for sockets
	files  string // for stand-ins
	socket string
	pid    int // of the user's server
	lead   string
	b      *Backend
	all    []*backendtest.Supervisor
}

type worldOptions struct {
	size    layout.Size
	config  string // of the user
	setup   func(w *world)
	options Options
}

// quiet runs in the user's panes; two words, so that no shell is needed.
var quiet = []string{"sleep", "100000"}

func newWorld(t testing.TB, o worldOptions) *world {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "okt")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, files: t.TempDir(), socket: dir + "/user"}
	t.Cleanup(func() {
		w.endServers()
		os.RemoveAll(dir)
	})
	if o.size == (layout.Size{}) {
		o.size = layout.Size{Columns: 200, Rows: 50}
	}
	config := filepath.Join(w.files, "tmux.conf")
	if err := os.WriteFile(config, []byte(o.config), 0o600); err != nil {
		t.Fatal(err)
	}
	out := w.raw("-f", config, "new-session", "-d", "-P", "-F", "#{pane_id} #{pid}",
		"-x", fmt.Sprint(o.size.Columns), "-y", fmt.Sprint(o.size.Rows), "-n", "user", "sleep", "100000", ";",
		"set", "-s", "exit-unattached", "off", ";", "set", "-t", "0", "destroy-unattached", "off")
	if _, err := fmt.Sscan(out, &w.lead, &w.pid); err != nil {
		t.Fatalf("start the user's tmux: %q: %v", out, err)
	}
	if o.setup != nil {
		o.setup(w)
	}
	w.b = w.backend(o.options)
	return w
}

// backend returns another backend in the lead's pane.
func (w *world) backend(o Options) *Backend {
	if o.Environ == nil {
		o.Environ = append(os.Environ(), fmt.Sprintf("TMUX=%s,%d,0", w.socket, w.pid), "TMUX_PANE="+w.lead)
	}
	o.Folder = w.dir + "/okstra"
	if o.ProjectRoot == "" {
		o.ProjectRoot = w.files
	}
	if o.CallTimeout == 0 {
		o.CallTimeout = 8 * time.Second
	}
	return New(o)
}

// outside returns a backend that runs in no tmux.
func (w *world) outside(o Options) *Backend {
	o.Environ = os.Environ()
	return w.backend(o)
}

// endServers ends the servers that the test started, by their sockets.
func (w *world) endServers() {
	sockets, _ := filepath.Glob(w.dir + "/okstra/*.sock")
	if w.pid > 0 {
		syscall.Kill(w.pid, syscall.SIGCONT)
	}
	for _, s := range append(sockets, w.socket) {
		tmuxCommand(s, "kill-server").Run()
	}
	backendtest.Eventually(w.t, "the end of the test's tmux servers", func() (bool, string) {
		for _, s := range append(sockets, w.socket) {
			if out, err := tmuxCommand(s, "list-sessions").CombinedOutput(); err == nil {
				return false, string(out)
			}
		}
		return true, ""
	})
	// Their supervisors are hung up, and write a last file before they end.
	for _, s := range w.all {
		if s.SaidHello() {
			pid := s.Hello(w.t).PID
			backendtest.Eventually(w.t, "the end of "+s.Launch.Label, func() (bool, string) {
				return !backendtest.Running(pid), fmt.Sprint(pid)
			})
		}
	}
}

func tmuxCommand(socket string, args ...string) *exec.Cmd {
	c := exec.Command("tmux", append([]string{"-u", "-S", socket}, args...)...)
	c.WaitDelay = time.Second
	return c
}

// raw runs tmux commands against the user's server, past the user's aliases
// and hooks that fail.
func (w *world) raw(args ...string) string {
	w.t.Helper()
	words := slices.Clone(args)
	for i, a := range words {
		first := i == 0 || words[i-1] == ";" || i == 2 && words[0] == "-f"
		if first && strings.Contains(a, "-") && a != "-f" {
			words[i] = builtin(a)
		}
	}
	c := tmuxCommand(w.socket, words...)
	var stdout, stderr strings.Builder
	c.Stdout, c.Stderr = &stdout, &stderr
	err := c.Run()
	if err != nil && !strings.Contains(stderr.String(), "%999") {
		w.t.Fatalf("tmux %q: %v: %s", args, err, stderr.String())
	}
	return strings.TrimSuffix(stdout.String(), "\n")
}

var besideLead = backends.Policy{Placement: "beside-lead", Layout: "tiled", LeadShare: 60, MinColumns: 40, MinRows: 8, PerWindow: 4}

func (w *world) supervisors(n int, p backends.Policy) []*backendtest.Supervisor {
	w.t.Helper()
	out := make([]*backendtest.Supervisor, n)
	for i := range out {
		out[i] = backendtest.NewSupervisor(w.t, w.files, fmt.Sprintf("w%02d", len(w.all)+1), backendtest.Behaviour{}, p)
		w.all = append(w.all, out[i])
	}
	return out
}

// start starts n stand-ins and requires that all of them run where their
// handles say.
func (w *world) start(b *Backend, n int, p backends.Policy, besides ...backends.Handle) []backends.Started {
	w.t.Helper()
	ss := w.supervisors(n, p)
	for _, s := range ss {
		s.Launch.Beside = besides
	}
	started := b.Start(context.Background(), backendtest.Launches(ss))
	for i, st := range started {
		if st.Err != nil {
			w.t.Fatalf("start %d of %d: %v", i, n, st.Err)
		}
		if hello := ss[i].Hello(w.t); hello.Pane != st.Handle.Pane || hello.PID != st.Handle.PID {
			w.t.Errorf("launch %d runs as %+v, its handle is %+v", i, hello, st.Handle)
		}
	}
	return started
}

func handles(ss []backends.Started) []backends.Handle {
	var hs []backends.Handle
	for _, s := range ss {
		hs = append(hs, s.Handle)
	}
	return hs
}

func (w *world) close(b *Backend, ss []backends.Started) {
	w.t.Helper()
	for i, c := range b.Close(context.Background(), handles(ss)) {
		if c.Err != nil {
			w.t.Errorf("close %s: %v", ss[i].Handle.Pane, c.Err)
		}
	}
}

// screen is what must be the same after workers came and went.
func (w *world) screen() string {
	w.t.Helper()
	return w.raw("list-windows", "-a", "-F", "#{session_id} #{window_id} #{window_index} #{window_name} #{window_active} #{window_zoomed_flag} #{window_layout}") + "\n" +
		w.raw("list-panes", "-a", "-F", "#{pane_id} #{pane_active} #{pane_title} #{pane_width}x#{pane_height}") + "\n" +
		w.raw("show-options", "-g") + w.raw("show-options", "-wg") + w.raw("show-hooks", "-g") + w.raw("show-options", "-s")
}

// unchanged requires that the user's screen is what it was.
func (w *world) unchanged(before string) {
	w.t.Helper()
	if diff := cmp.Diff(strings.Split(before, "\n"), strings.Split(w.screen(), "\n")); diff != "" {
		w.t.Errorf("the user's screen changed (-before +after):\n%s", diff)
	}
}

// focus returns the active pane of the lead's window and the session's window.
func (w *world) focus() string {
	w.t.Helper()
	return w.raw("list-panes", "-s", "-t", w.lead, "-f", "#{&&:#{pane_active},#{window_active}}", "-F", "#{window_id} #{pane_id}")
}

func (w *world) panes() []string {
	w.t.Helper()
	return strings.Fields(w.raw("list-panes", "-a", "-F", "#{pane_id}"))
}

func (w *world) ask(target, format string) string {
	w.t.Helper()
	return w.raw("list-panes", "-a", "-f", "#{==:#{pane_id},"+target+"}", "-F", format)
}
