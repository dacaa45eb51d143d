package cmux_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/okstra/okstra/backends/cmux"
	"github.com/okstra/okstra/backends/cmux/cmuxtest"
)

func with(env []string, more ...string) []string {
	return append(append([]string(nil), env...), more...)
}

func TestProbe(t *testing.T) {
	t.Parallel()
	type test struct {
		name      string
		options   cmuxtest.Options
		env       func(w *world) []string
		available bool
		found     string // a part of it
		hint      string
	}
	lead := func(w *world) []string { return w.server.LeadEnv() }
	tests := []test{
		{"in cmux", cmuxtest.Options{}, lead, true, "cmux 0.64.25", ""},
		{"0.64.17", cmuxtest.Options{Version: "0.64.17"}, lead, true, "cmux 0.64.17", ""},
		{"too old", cmuxtest.Options{Version: "0.61.9"}, lead, false, "older than 0.62.0", "update"},
		{"not in cmux", cmuxtest.Options{}, func(*world) []string { return []string{"TERM=xterm"} }, false, "not a terminal of cmux", "start the lead"},
		{"a real tmux wins", cmuxtest.Options{}, func(w *world) []string {
			return with(w.server.LeadEnv(), "TMUX=/private/tmp/tmux-501/default,1,0")
		}, false, "tmux pane", "start the lead"},
		{"a fake tmux is cmux", cmuxtest.Options{}, func(w *world) []string {
			return with(w.server.LeadEnv(), "TMUX=/tmp/cmux-claude-teams/A,B,0", "TMUX_PANE=%1")
		}, true, "", ""},
		{"two sockets", cmuxtest.Options{}, func(w *world) []string {
			return with(w.server.LeadEnv(), "CMUX_SOCKET=/tmp/other.sock")
		}, false, "different sockets", ""},
		{"a relay", cmuxtest.Options{}, func(w *world) []string {
			return with(w.server.LeadEnv(), "CMUX_SOCKET_PATH=127.0.0.1:4321")
		}, false, "cmux ssh", ""},
		{"down", cmuxtest.Options{}, func(w *world) []string {
			return with(w.server.LeadEnv(), "HOME="+w.dir, "CMUX_SOCKET_PATH="+w.dir+"/none.sock")
		}, false, "does not answer", "start cmux"},
		{"no socket at the path", cmuxtest.Options{}, func(w *world) []string {
			path := filepath.Join(w.dir, "file")
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				w.Fatal(err)
			}
			return with(w.server.LeadEnv(), "HOME="+w.dir, "CMUX_SOCKET_PATH="+path)
		}, false, "is no socket", "start cmux"},
		{"denied before reading", cmuxtest.Options{Faults: cmuxtest.Faults{Deny: "before"}}, lead, false, "refuses this process", "Automation"},
		{"denied after reading", cmuxtest.Options{Faults: cmuxtest.Faults{Deny: "after"}}, lead, false, "refuses this process", "Automation"},
		{"an outsider with a capability", cmuxtest.Options{Faults: cmuxtest.Faults{Outsiders: true}}, lead, true, "", ""},
		{"an outsider without", cmuxtest.Options{Faults: cmuxtest.Faults{Outsiders: true}}, func(w *world) []string {
			return with(w.server.LeadEnv(), "CMUX_SOCKET_CAPABILITY=")
		}, false, "refuses this process", "Automation"},
		{"an outsider with a forged capability", cmuxtest.Options{Faults: cmuxtest.Faults{Outsiders: true}}, func(w *world) []string {
			return with(w.server.LeadEnv(), "CMUX_SOCKET_CAPABILITY=v1.00.11")
		}, false, "refuses this process", "Automation"},
		{"mode automation", cmuxtest.Options{Mode: "automation", Faults: cmuxtest.Faults{Outsiders: true}}, func(w *world) []string {
			return with(w.server.LeadEnv(), "CMUX_SOCKET_CAPABILITY=")
		}, true, "access automation", ""},
		{"no password", cmuxtest.Options{Mode: "password", Password: "s3"}, func(w *world) []string {
			return with(w.server.LeadEnv(), "HOME="+w.dir)
		}, false, "asks for a password", "CMUX_SOCKET_PASSWORD"},
		{"wrong password", cmuxtest.Options{Mode: "password", Password: "s3"}, func(w *world) []string {
			return with(w.server.LeadEnv(), "CMUX_SOCKET_PASSWORD=s4")
		}, false, "password is wrong", "CMUX_SOCKET_PASSWORD"},
		{"password not configured", cmuxtest.Options{Mode: "password"}, func(w *world) []string {
			return with(w.server.LeadEnv(), "CMUX_SOCKET_PASSWORD=s4")
		}, false, "none is set", "CMUX_SOCKET_PASSWORD"},
		{"right password", cmuxtest.Options{Mode: "password", Password: "s3", Faults: cmuxtest.Faults{Localized: true}}, func(w *world) []string {
			return with(w.server.LeadEnv(), "CMUX_SOCKET_PASSWORD=s3")
		}, true, "access password", ""},
		{"password from its file", cmuxtest.Options{Mode: "password", Password: "s3"}, func(w *world) []string {
			dir := filepath.Join(w.dir, ".local", "state", "cmux")
			if err := os.MkdirAll(dir, 0o700); err != nil {
				w.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "socket-control-password"), []byte("s3\n"), 0o600); err != nil {
				w.Fatal(err)
			}
			return with(w.server.LeadEnv(), "HOME="+w.dir)
		}, true, "", ""},
		{"a stale socket path, another in its place", cmuxtest.Options{}, func(w *world) []string {
			dir := filepath.Join(w.dir, ".local", "state", "cmux")
			if err := os.MkdirAll(dir, 0o700); err != nil {
				w.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "last-socket-path"), []byte(w.server.Socket()+"\n"), 0o600); err != nil {
				w.Fatal(err)
			}
			return with(w.server.LeadEnv(), "HOME="+w.dir, "CMUX_SOCKET_PATH="+w.dir+"/none.sock")
		}, true, "", ""},
		{"a caller that ids do not resolve, in the tree", cmuxtest.Options{Faults: cmuxtest.Faults{CallerNull: true}}, lead, true, "", ""},
		{"a surface that is not there", cmuxtest.Options{}, func(w *world) []string {
			return with(w.server.LeadEnv(), "CMUX_SURFACE_ID=00000000-0000-4000-8000-000000000000")
		}, false, "does not know in which", "from the terminal itself"},
		{"a stripped environment without a terminal", cmuxtest.Options{}, func(w *world) []string {
			return with(w.server.StrippedEnv(), "HOME="+w.home())
		}, false, "does not know in which", "from the terminal itself"},
		{"stuck", cmuxtest.Options{Faults: cmuxtest.Faults{Stuck: true}}, lead, false, "answer was lost", "does not answer in time"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, test.options)
			b := w.backend(test.env(w), func(o *cmux.Options) {
				if test.options.Faults.Stuck {
					o.CallTimeout = 200 * time.Millisecond
				}
			})
			p := b.Probe(w.context())
			if p.Available != test.available || !strings.Contains(p.Found, test.found) || !strings.Contains(p.Hint, test.hint) {
				t.Errorf("got %+v", p)
			}
			if !p.Available && p.Hint == "" {
				t.Error("no hint")
			}
			for _, r := range w.server.Requests() {
				if strings.HasPrefix(r.Method, "surface.") {
					t.Errorf("a probe sent %s", r.Method)
				}
			}
		})
	}
}

// home is a home folder whose state names the server's socket, as after an
// installation.
func (w *world) home() string {
	dir := filepath.Join(w.dir, ".local", "state", "cmux")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		w.Fatal(err)
	}
	if err := os.Symlink(w.server.Socket(), filepath.Join(dir, "cmux.sock")); err != nil {
		w.Fatal(err)
	}
	return w.dir
}

// A wrapper took every variable of cmux away; the terminal still tells.
func TestProbeByTerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{})
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer tty.Close()
	w.server.ReportTTY(w.server.Lead().ID, strings.TrimPrefix(tty.Name(), "/dev/"))
	w.b = w.backend(with(w.server.StrippedEnv(), "HOME="+w.home()), func(o *cmux.Options) { o.TTY = tty.Name() })
	if p := w.b.Probe(w.context()); !p.Available {
		t.Fatalf("got %+v", p)
	}
	h := w.start(w.launches(1)...)[0]
	if h.Workspace != w.server.Lead().Workspace {
		t.Errorf("started in %s", h.Workspace)
	}
	h.Pane = w.server.Lead().ID
	if got := w.b.Close(w.context(), nil); len(got) != 0 {
		t.Errorf("got %+v", got)
	}
}

// Another program of the name stands on PATH. The socket still answers, or the
// other program is named as what may be wrong.
func TestProbeWithAnotherProgram(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{})
	other := filepath.Join(w.dir, "cmux")
	if err := os.WriteFile(other, []byte("#!/bin/sh\necho cmux-tui 3.1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	program := func(o *cmux.Options) { o.Program = other }
	if p := w.backend(w.server.LeadEnv(), program).Probe(w.context()); !p.Available || !strings.Contains(p.Found, "unknown version") {
		t.Errorf("got %+v", p)
	}
	env := with(w.server.LeadEnv(), "HOME="+w.dir, "CMUX_SOCKET_PATH="+w.dir+"/none.sock")
	if p := w.backend(env, program).Probe(w.context()); p.Available || !strings.Contains(p.Found, "another program called cmux") {
		t.Errorf("got %+v", p)
	}
}

func TestPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{})
	before := w.server.Surfaces()
	lines := w.b.Place(context.Background(), policy, 3)
	if len(lines) != 4 || !strings.Contains(lines[0], "185 columns") || !strings.Contains(lines[3], "123 columns and 30 rows") {
		t.Errorf("got %q", lines)
	}
	if len(before) != len(w.server.Surfaces()) {
		t.Error("something was made")
	}
	// What is planned is what comes.
	for _, h := range w.start(w.launches(3)...) {
		if sf, _ := w.surface(h.Pane); sf.Columns != 123 || sf.Rows != 30 {
			t.Errorf("got %+v", sf)
		}
	}
	wide := policy
	wide.LeadShare, wide.Placement = 95, "window"
	text := strings.Join(w.b.Place(context.Background(), wide, 0), "\n")
	if !strings.Contains(text, "keeps 90 percent") || !strings.Contains(text, `placement "window"`) {
		t.Errorf("got %q", text)
	}
	w.server.Set(func(f *cmuxtest.Faults) { f.NullSizes = true })
	if text := strings.Join(w.b.Place(context.Background(), policy, 3), "\n"); !strings.Contains(text, "does not tell the size") {
		t.Errorf("got %q", text)
	}
}
