package tmux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/backends/backendtest"
)

// wrapped returns a tmux program that runs the script first, with the real one
// as $TMUX_REAL and "$@" as its words; the script may end it. Only calls that
// make panes see the script.
func wrapped(t *testing.T, w *world, script string) string {
	t.Helper()
	real, err := exec.LookPath("tmux")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(w.dir, "tmux")
	text := "#!/bin/sh\nTMUX_REAL='" + real + "'\ncase \"$*\" in *split-windo\\ *|*new-windo\\ *|*new-sessio\\ *)\n" + script + "\n;; esac\nexec \"$TMUX_REAL\" \"$@\"\n"
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// An answer that is lost is looked up; nothing is started a second time.
func TestLostAnswers(t *testing.T) {
	tests := map[string]string{
		"silent success": `"$TMUX_REAL" "$@" >/dev/null; exit 0`,
		"silent failure": `"$TMUX_REAL" "$@" >/dev/null; echo lost >&2; exit 1`,
		"server lost":    `"$TMUX_REAL" "$@" >/dev/null; echo "server exited unexpectedly" >&2; exit 1`,
		"no end":         `"$TMUX_REAL" "$@" >/dev/null; exec sleep 60`,
		"half":           `"$TMUX_REAL" "$@" | head -n 1; echo lost >&2; exit 1`,
	}
	for name, script := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, worldOptions{})
			b := w.backend(Options{Tmux: wrapped(t, w, script), CallTimeout: 2 * time.Second})
			p := besideLead
			p.Placement = placeWindow
			ss := w.supervisors(3, p)
			started := b.Start(context.Background(), backendtest.Launches(ss))
			for i, st := range started {
				if st.Err != nil {
					t.Fatalf("worker %d: %v", i, st.Err)
				}
				if hello := ss[i].Hello(t); hello.Pane != st.Handle.Pane {
					t.Errorf("worker %d runs in %s, its handle says %s", i, hello.Pane, st.Handle.Pane)
				}
			}
			if n := len(w.panes()); n != 4 {
				t.Errorf("%d panes, want the lead's and three", n)
			}
			w.close(w.backend(Options{}), started)
		})
	}
}

// Where not even the look-up is answered, that is what is said.
func TestUnanswered(t *testing.T) {
	w := newWorld(t, worldOptions{})
	stop := fmt.Sprintf(`"$TMUX_REAL" "$@" >/dev/null; kill -STOP %d; exit 1`, w.pid)
	b := w.backend(Options{Tmux: wrapped(t, w, stop), CallTimeout: 3 * time.Second})
	ss := w.supervisors(12, besideLead)
	started := b.Start(context.Background(), backendtest.Launches(ss))
	syscall.Kill(w.pid, syscall.SIGCONT)
	for i, st := range started {
		if st.Err == nil || i == 0 && !errors.Is(st.Err, backends.ErrUnanswered) {
			t.Errorf("worker %d: %+v", i, st)
		}
		if i > 0 && (errors.Is(st.Err, backends.ErrUnanswered) || ss[i].SaidHello()) {
			t.Errorf("worker %d was tried after the server fell silent: %v", i, st.Err)
		}
	}
	// The supervisor says where it is, and is adopted.
	hello := ss[0].Hello(t)
	h, err := w.b.Adopt(context.Background(), backends.Handle{Tag: ss[0].Launch.Tag, Socket: w.socket, Pane: hello.Pane, PID: hello.PID})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.b.Adopt(context.Background(), backends.Handle{Tag: "x", Socket: w.socket, Pane: w.lead, PID: hello.PID}); !errors.Is(err, backends.ErrNotThere) {
		t.Errorf("the lead's pane was adopted: %v", err)
	}
	w.close(w.b, []backends.Started{{Handle: h}})
	if n := len(w.panes()); n != 1 {
		t.Errorf("%d panes are left", n)
	}
}

// In a popup or a daemon there is a server and no pane: a window of the
// session is used, and nothing stands beside anything.
func TestNoLead(t *testing.T) {
	w := newWorld(t, worldOptions{})
	env := append(os.Environ(), fmt.Sprintf("TMUX=%s,%d,0", w.socket, w.pid))
	b := w.backend(Options{Environ: env})
	before := w.screen()
	all := w.start(b, 2, besideLead)
	for i, st := range all {
		if !st.Handle.Own || st.Handle.Socket != w.socket {
			t.Errorf("worker %d: %+v", i, st)
		}
	}
	w.close(b, all)
	w.unchanged(before)
}

// A private server without its socket is found again before a second one
// would be started beside it.
func TestNoSecondServer(t *testing.T) {
	w := newWorld(t, worldOptions{})
	b := w.outside(Options{})
	all := w.start(b, 1, besideLead)
	if err := os.Remove(b.privateSocket()); err != nil {
		t.Fatal(err)
	}
	all = append(all, w.start(b, 1, besideLead, handles(all)...)...)
	if all[0].Handle.ServerPID != all[1].Handle.ServerPID {
		t.Error("a second server was started")
	}
	w.close(b, all)
	if _, err := os.Lstat(b.privateSocket()); err == nil {
		t.Error("the socket is left")
	}
}

// The folder of sockets must be ours alone.
func TestFolder(t *testing.T) {
	w := newWorld(t, worldOptions{})
	b := w.outside(Options{})
	if err := os.Mkdir(b.folder, 0o777); err != nil {
		t.Fatal(err)
	}
	os.Chmod(b.folder, 0o777)
	if st := b.Start(t.Context(), backendtest.Launches(w.supervisors(1, besideLead)))[0]; st.Err == nil {
		t.Error("a folder that all may write was used")
	}
	if p := b.Probe(t.Context()); p.Available || !strings.Contains(p.Found, b.folder) {
		t.Errorf("Probe = %+v", p)
	}
	os.Remove(b.folder)
	if p := b.Probe(t.Context()); !p.Available {
		t.Errorf("Probe = %+v", p)
	}
	if _, err := os.Lstat(b.folder); err == nil {
		t.Error("Probe made the folder")
	}
	long := w.backend(Options{})
	long.folder += strings.Repeat("x", 100)
	if p := long.Probe(t.Context()); p.Available {
		t.Error("a socket path that is too long was accepted")
	}
}

func TestNoTmux(t *testing.T) {
	b := New(Options{Environ: []string{"PATH=/nonexistent:."}})
	if p := b.Probe(t.Context()); p.Available || p.Hint == "" {
		t.Errorf("Probe = %+v", p)
	}
	st := b.Start(t.Context(), []backends.Launch{{Command: []string{"/bin/true", "x"}, Tag: "x"}})[0]
	if st.Err == nil {
		t.Error("Start without tmux succeeded")
	}
	h := backends.Handle{Backend: Name, Tag: "x", Socket: "/x", ServerPID: 2, ServerStart: "1", Pane: "%1"}
	if g := b.Look(t.Context(), []backends.Handle{h})[0]; g.Presence != backends.Unknown {
		t.Errorf("Look without tmux = %+v", g)
	}
}

// The command that apply prints shows the pane.
func TestAttachCommand(t *testing.T) {
	w := newWorld(t, worldOptions{})
	b := w.outside(Options{})
	all := w.start(b, 2, besideLead)
	for _, tt := range []struct {
		b    *Backend
		h    backends.Handle
		verb string
	}{{b, all[1].Handle, "attach-session"}, {b, backends.Handle{}, "attach-session"}, {w.b, all[1].Handle, "attach-session"}} {
		argv, err := tt.b.AttachCommand(t.Context(), tt.h)
		if err != nil {
			t.Fatal(err)
		}
		c := exec.Command(argv[0], argv[1:]...)
		c.Env = append(tt.b.environ, "TERM=xterm")
		p, err := pty.Start(c)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			buf := make([]byte, 4096)
			for {
				if _, err := p.Read(buf); err != nil {
					return
				}
			}
		}()
		backendtest.Eventually(t, "the client of "+strings.Join(argv, " "), func() (bool, string) {
			out, _ := tmuxCommand(b.privateSocket(), "list-clients", "-F", "#{client_termname} #{pane_id}").CombinedOutput()
			got := strings.TrimSpace(string(out))
			return got == "xterm "+tt.h.Pane || tt.h.Pane == "" && strings.HasPrefix(got, "xterm"), got
		})
		c.Process.Kill()
		c.Wait()
		p.Close()
		backendtest.Eventually(t, "the end of the client", func() (bool, string) {
			out, _ := tmuxCommand(b.privateSocket(), "list-clients").CombinedOutput()
			return len(out) == 0, string(out)
		})
	}
	inside := w.start(w.b, 1, besideLead)
	argv, err := w.b.AttachCommand(t.Context(), inside[0].Handle)
	if want := []string{"-S", w.socket, "switch-client", "-t", inside[0].Handle.Pane}; err != nil || !strings.HasSuffix(strings.Join(argv, " "), strings.Join(want, " ")) {
		t.Errorf("AttachCommand within the same tmux = %q, %v", argv, err)
	}
	w.close(w.b, inside)
	w.close(b, all)
	if _, err := b.AttachCommand(t.Context(), all[0].Handle); err == nil {
		t.Error("AttachCommand of a closed pane")
	}
}
