package tmux

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/backends/backendtest"
	"github.com/okstra/okstra/backends/tmux/layout"
)

// Configurations of users that must neither break okstra nor be changed by it.
// Each starts workers in both kinds of places, looks, closes, and compares the
// user's whole screen and options with what they were.
func TestSurvives(t *testing.T) {
	tests := map[string]struct {
		config  string
		setup   func(w *world)
		size    layout.Size
		environ func(env []string) []string
		ownAll  bool // nothing stands beside the lead
	}{
		"plain":              {},
		"base-index":         {config: "set -g base-index 1\nset -g pane-base-index 1\nset -g renumber-windows on"},
		"automatic-rename":   {config: "set -g automatic-rename on\nset -g allow-rename on\nset -g set-titles on"},
		"destroy-unattached": {config: "set -g destroy-unattached on"},
		"exit-empty off":     {config: "set -s exit-empty off"},
		"remain-on-exit":     {config: "set -g remain-on-exit on"},
		"nologin shell":      {config: "set -g default-shell /bin/false"},
		"default-command":    {config: "set -g default-command 'echo default-command; exit 3'"},
		"failing hooks": {config: "set-hook -g after-split-window 'select-pane -t %999'\nset-hook -g after-new-window 'select-pane -t %999'\n" +
			"set-hook -g after-kill-pane 'select-pane -t %999'\nset-hook -g after-select-layout 'select-pane -t %999'\n" +
			"set-hook -g after-set-option 'select-pane -t %999'\nset-hook -g after-resize-pane 'select-pane -t %999'"},
		"slow hooks": {config: "set-hook -g after-split-window 'run-shell \"sleep 0.1\"'\nset-hook -g after-new-window 'run-shell \"sleep 0.1\"'"},
		"talking hooks": {config: "set-hook -g after-split-window 'display-message -p \"%999 noise\"'\n" +
			"set-hook -g after-list-panes 'display-message -p \"okstra-pane\"'"},
		"respawning hook": {config: "set-hook -g pane-died 'respawn-pane'"},
		"aliases": {config: "set -s command-alias[90] split-window='split-window -h -b'\nset -s command-alias[91] kill-pane='display-message -p no'\n" +
			"set -s command-alias[92] list-panes='display-message -p no'\nset -s command-alias[93] new-window='new-window -k -t :0'\n" +
			"set -s command-alias[94] set-option='set-option -g'"},
		"five status rows":   {config: "set -g status 5"},
		"borders":            {config: "set -g pane-border-status top"},
		"synchronize-panes":  {config: "set -g synchronize-panes on"},
		"tag in wider scope": {config: "set -g @okstra-tag other\nset -s @okstra-tag other"},
		"lead of 40 columns": {size: layout.Size{Columns: 40, Rows: 30}, ownAll: true},
		"low lead":           {size: layout.Size{Columns: 200, Rows: 6}, ownAll: true},
		"narrow lead in a wide window": {ownAll: true, setup: func(w *world) {
			w.raw("split-window", "-d", "-h", "-l", "150", "-t", w.lead, quiet[0], quiet[1])
		}},
		"zoomed lead": {ownAll: true, setup: func(w *world) {
			w.raw("split-window", "-d", "-h", "-t", w.lead, quiet[0], quiet[1], ";", "resize-pane", "-Z", "-t", w.lead)
		}},
		"other window is current": {setup: func(w *world) { w.raw("new-window", "-n", "other", quiet[0], quiet[1]) }},
		"other pane is active": {setup: func(w *world) {
			w.raw("split-window", "-v", "-l", "10", "-t", w.lead, quiet[0], quiet[1])
		}},
		"no locale, no terminal": {environ: func(env []string) []string {
			var out []string
			for _, e := range env {
				if strings.HasPrefix(e, "TMUX") || strings.HasPrefix(e, "PATH=") {
					out = append(out, e)
				}
			}
			return append(out, "LC_ALL=C")
		}},
	}
	if fish, err := exec.LookPath("fish"); err == nil {
		tt := tests["plain"]
		tt.config = "set -g default-shell " + fish
		tests["fish"] = tt
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, worldOptions{config: tt.config, size: tt.size, setup: tt.setup})
			if tt.environ != nil {
				w.b = w.backend(Options{Environ: tt.environ(w.b.environ)})
			}
			before, focus := w.screen(), w.focus()
			all := w.start(w.b, 3, besideLead)
			window := besideLead
			window.Placement = placeWindow
			all = append(all, w.start(w.b, 3, window)...)
			for i, st := range all {
				if own := i >= 3 || tt.ownAll; st.Handle.Own != own {
					t.Errorf("worker %d: in a window of okstra's own: %v, want %v (%s)", i, st.Handle.Own, own, st.Note)
				}
				if tt.size.Columns == 0 && w.ask(st.Handle.Pane, "#{pane_active}") == "1" && !st.Handle.Own {
					t.Errorf("worker %d took the focus", i)
				}
			}
			if got := w.focus(); got != focus {
				t.Errorf("focus went from %q to %q", focus, got)
			}
			for i, g := range w.b.Look(t.Context(), handles(all)) {
				if g.Presence != backends.Alive || g.Exited {
					t.Errorf("worker %d: %+v", i, g)
				}
			}
			w.close(w.b, all)
			w.unchanged(before)
		})
	}
}

// A person who zooms the lead while workers stand beside it keeps it zoomed.
func TestZoomedLater(t *testing.T) {
	w := newWorld(t, worldOptions{setup: func(w *world) {
		w.raw("split-window", "-d", "-v", "-t", w.lead, quiet[0], quiet[1])
	}})
	before := w.ask(w.lead, "#{window_layout}")
	all := w.start(w.b, 2, besideLead)
	w.raw("resize-pane", "-Z", "-t", w.lead)
	w.close(w.b, all[:1])
	if w.ask(w.lead, "#{window_zoomed_flag}") != "1" {
		t.Error("the lead is no longer zoomed after one worker left")
	}
	w.close(w.b, all)
	if w.ask(w.lead, "#{window_zoomed_flag}") != "1" {
		t.Error("the lead is no longer zoomed after all left")
	}
	w.raw("resize-pane", "-Z", "-t", w.lead)
	if got := w.ask(w.lead, "#{window_layout}"); got != before {
		t.Errorf("layout %s, want %s", got, before)
	}
}

// A second, small client makes the window small while okstra works.
func TestSmallClient(t *testing.T) {
	w := newWorld(t, worldOptions{})
	attach(t, w, 60, 15)
	all := w.start(w.b, 3, besideLead)
	for i, st := range all {
		if !st.Handle.Own || st.Note == "" {
			t.Errorf("worker %d: %+v", i, st)
		}
	}
	w.close(w.b, all)
	if got := w.panes(); len(got) != 1 {
		t.Errorf("left: %v", got)
	}
}

// attach attaches a client on a terminal of its own.
func attach(t *testing.T, w *world, columns, rows int) {
	t.Helper()
	c := tmuxCommand(w.socket, "attach-session")
	c.Env = append(os.Environ(), "TERM=xterm")
	p, err := pty.StartWithSize(c, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)})
	if err != nil {
		t.Fatal(err)
	}
	go func() { // the terminal must be read, or the server holds output back
		buf := make([]byte, 4096)
		for {
			if _, err := p.Read(buf); err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
		p.Close()
	})
	backendtest.Eventually(t, "the small window", func() (bool, string) {
		got := w.ask(w.lead, "#{window_width}")
		return got == fmt.Sprint(columns), got
	})
}

// A stopped server does not hang okstra; it answers unknown and goes on.
func TestStoppedServer(t *testing.T) {
	w := newWorld(t, worldOptions{})
	all := w.start(w.b, 2, besideLead)
	w.b.callTimeout = 400 * time.Millisecond
	if err := syscall.Kill(w.pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	for _, g := range w.b.Look(t.Context(), handles(all)) {
		if g.Presence != backends.Unknown {
			t.Errorf("Look of a stopped server = %+v", g)
		}
	}
	if d := time.Since(begun); d > time.Minute {
		t.Errorf("Look took %v", d)
	}
	if p := w.b.Probe(t.Context()); p.Available || p.Hint == "" {
		t.Errorf("Probe of a stopped server = %+v", p)
	}
	syscall.Kill(w.pid, syscall.SIGCONT)
	backendtest.Eventually(t, "an answer", func() (bool, string) {
		g := w.b.Look(context.Background(), handles(all))
		return g[0].Presence == backends.Alive, fmt.Sprint(g)
	})
	w.b.callTimeout = 8 * time.Second
	w.close(w.b, all)
}

// A hook that kills every new pane leaves nothing behind and is reported.
func TestKillingHook(t *testing.T) {
	w := newWorld(t, worldOptions{config: "set-hook -g after-split-window 'kill-pane -a -t %0'"})
	for _, st := range w.b.Start(t.Context(), backendtest.Launches(w.supervisors(2, besideLead))) {
		if st.Err == nil {
			t.Errorf("a killed pane was reported as started: %+v", st)
		}
	}
	if got := w.panes(); len(got) != 1 {
		t.Errorf("left: %v", got)
	}
}
