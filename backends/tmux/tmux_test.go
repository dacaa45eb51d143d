package tmux

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/backends/backendtest"
	"github.com/okstra/okstra/backends/tmux/layout"
)

func TestConformance(t *testing.T) {
	for _, placement := range []string{"beside-lead", "window", "session"} {
		t.Run(placement, func(t *testing.T) {
			backendtest.Run(t, func(t *testing.T) *backendtest.Harness { return harness(t, placement) })
		})
	}
}

func harness(t *testing.T, placement string) *backendtest.Harness {
	w := newWorld(t, worldOptions{})
	p := besideLead
	p.Placement = placement
	h := &backendtest.Harness{Backend: w.b, Policy: p, Screen: true}
	h.Foreign = func(t *testing.T) (backends.Handle, func() bool) {
		_, start, _ := strings.Cut(w.ask(w.lead, "#{pid} #{start_time}"), " ")
		return backends.Handle{Backend: Name, Tag: "x", Socket: w.socket, ServerPID: w.pid, ServerStart: start, Pane: w.lead},
			func() bool { return w.ask(w.lead, "#{pane_dead}") == "0" }
	}
	h.OtherServer = func(h backends.Handle) backends.Handle {
		h.ServerPID++
		return h
	}
	h.Deafen = func(t *testing.T) func() {
		w.b.callTimeout = 300 * time.Millisecond
		pid := w.pid
		if placement == placeSession {
			out, err := tmuxCommand(w.b.privateSocket(), "display-message", "-p", "#{pid}").Output()
			if err != nil {
				t.Fatal(err)
			}
			pid, _ = strconv.Atoi(strings.TrimSpace(string(out)))
		}
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		resume := func() {
			syscall.Kill(pid, syscall.SIGCONT)
			w.b.callTimeout = 8 * time.Second
		}
		t.Cleanup(resume)
		return resume
	}
	h.Left = func(t *testing.T) []string {
		var left []string
		for _, p := range w.panes() {
			if p != w.lead {
				left = append(left, p)
			}
		}
		if _, err := os.Lstat(w.b.privateSocket()); err == nil {
			left = append(left, w.b.privateSocket())
		}
		return left
	}
	return h
}

func TestBesideLead(t *testing.T) {
	w := newWorld(t, worldOptions{})
	before, focus := w.screen(), w.focus()
	first := w.start(w.b, 2, besideLead)
	if got := w.ask(w.lead, "#{pane_width}x#{pane_height}"); got != "120x50" {
		t.Errorf("the lead is %s, want 120x50", got)
	}
	more := w.start(w.b, 2, besideLead, handles(first)...)
	all := append(first, more...)
	top := -1
	for i, st := range all {
		var left, y, width, height int
		fmt.Sscan(w.ask(st.Handle.Pane, "#{pane_left} #{pane_top} #{pane_width} #{pane_height}"), &left, &y, &width, &height)
		if left != 121 || width != 79 || y <= top || height < 11 || height > 12 {
			t.Errorf("worker %d stands at %d,%d with %dx%d", i, left, y, width, height)
		}
		top = y
		if st.Handle.Own || st.Note != "" {
			t.Errorf("worker %d: %+v", i, st)
		}
	}
	if got := w.focus(); got != focus {
		t.Errorf("focus went from %q to %q", focus, got)
	}
	w.close(w.b, all[1:2])
	if got := w.ask(all[3].Handle.Pane, "#{pane_height}"); got != "16" {
		t.Errorf("the last of three workers is %s rows high, want 16", got)
	}
	w.close(w.b, all)
	w.unchanged(before)
}

// The fifth worker does not fit beside the lead; it and its like get a window.
func TestOverflow(t *testing.T) {
	w := newWorld(t, worldOptions{})
	before, focus := w.screen(), w.focus()
	all := w.start(w.b, 30, besideLead)
	windows := make(map[string]int)
	for i, st := range all {
		windows[st.Handle.Window]++
		if st.Handle.Own != (i >= 4) || (st.Note != "") != (i >= 4) {
			t.Errorf("worker %d: %+v", i, st)
		}
		var width, height int
		fmt.Sscan(w.ask(st.Handle.Pane, "#{pane_width} #{pane_height}"), &width, &height)
		if width < 40 || height < 8 {
			t.Errorf("worker %d has %dx%d", i, width, height)
		}
	}
	if len(windows) != 3 {
		t.Errorf("windows %v, want the lead's and two more", windows)
	}
	if got := w.focus(); got != focus {
		t.Errorf("focus went from %q to %q", focus, got)
	}
	// One more goes to the window that has room.
	more := w.start(w.b, 1, besideLead, handles(all)...)
	if windows[more[0].Handle.Window] == 0 || !more[0].Handle.Own {
		t.Errorf("the next worker went to a new window: %+v", more[0])
	}
	w.close(w.b, append(all, more...))
	w.unchanged(before)
}

// The user's own panes, side by side with the lead, come back to the byte.
func TestUserPanesRestored(t *testing.T) {
	w := newWorld(t, worldOptions{setup: func(w *world) {
		w.raw("split-window", "-d", "-h", "-l", "70", "-t", w.lead, quiet[0], quiet[1])
		w.raw("split-window", "-d", "-v", "-l", "10", "-t", w.lead, quiet[0], quiet[1])
		w.raw("new-window", "-d", "-n", "other", quiet[0], quiet[1])
	}})
	before := w.screen()
	all := w.start(w.b, 3, besideLead)
	if all[2].Handle.Own {
		t.Fatalf("it did not stand beside the lead: %+v", all[2])
	}
	w.close(w.b, all)
	w.unchanged(before)
	// Where the user moved something meanwhile, that is kept.
	all = w.start(w.b, 1, besideLead)
	w.raw("resize-pane", "-t", w.lead, "-y", "20")
	w.close(w.b, all)
	if got := w.ask(w.lead, "#{pane_height}"); got != "20" {
		t.Errorf("the lead is %s rows high, want the 20 that the user gave it", got)
	}
}

func TestPrivateServer(t *testing.T) {
	w := newWorld(t, worldOptions{})
	b := w.outside(Options{})
	all := w.start(b, 3, besideLead)
	for _, st := range all {
		if st.Handle.Socket != b.privateSocket() || !st.Handle.Own {
			t.Errorf("it went to %+v", st.Handle)
		}
	}
	argv, err := b.AttachCommand(t.Context(), all[1].Handle)
	if err != nil || strings.Join(argv[1:], " ") != "-u -S "+b.privateSocket()+" attach-session -t "+all[1].Handle.Pane {
		t.Errorf("AttachCommand = %q, %v", argv, err)
	}
	// Somebody cleans up the folder: the server makes its socket again.
	if err := os.Remove(b.privateSocket()); err != nil {
		t.Fatal(err)
	}
	if g := b.Look(t.Context(), handles(all))[0]; g.Presence != backends.Alive {
		t.Errorf("Look after the socket was removed = %+v", g)
	}
	if ended, err := b.Sweep(t.Context(), handles(all[2:])); err != nil || len(ended) != 0 {
		t.Errorf("Sweep with one to keep = %q, %v", ended, err)
	}
	w.close(b, all[:2])
	ended, err := b.Sweep(t.Context(), nil)
	if err != nil || len(ended) != 1 {
		t.Errorf("Sweep = %q, %v", ended, err)
	}
	if _, err := os.Lstat(b.privateSocket()); err == nil {
		t.Error("the socket is left")
	}
	if g := b.Look(t.Context(), handles(all[2:]))[0]; g.Presence != backends.Gone {
		t.Errorf("Look after the sweep = %+v", g)
	}
	if got := w.panes(); len(got) != 1 {
		t.Errorf("the user's server has panes %v", got)
	}
	// A second server takes its place; the old handles do not fit it.
	next := w.start(b, 1, besideLead)
	if g := b.Look(t.Context(), handles(all[:1]))[0]; g.Presence != backends.Gone {
		t.Errorf("Look of a pane of the server before = %+v", g)
	}
	for _, c := range b.Close(t.Context(), handles(all)) {
		if c.Err != nil {
			t.Errorf("close what was of the server before: %v", c.Err)
		}
	}
	if g := b.Look(t.Context(), handles(next))[0]; g.Presence != backends.Alive {
		t.Errorf("a pane of the new server was closed by an old handle: %+v", g)
	}
	w.close(b, next)
}

func TestServerKilled(t *testing.T) {
	w := newWorld(t, worldOptions{})
	all := w.start(w.b, 2, besideLead)
	if err := syscall.Kill(w.pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	backendtest.Eventually(t, "the end of the panes", func() (bool, string) {
		g := w.b.Look(context.Background(), handles(all))
		return g[0].Presence == backends.Gone && g[1].Presence == backends.Gone, fmt.Sprint(g)
	})
	w.close(w.b, all)
	if st := w.b.Start(t.Context(), backendtest.Launches(w.supervisors(1, besideLead)))[0]; st.Err == nil {
		// The tmux that TMUX names is gone: a server of our own takes over.
		if st.Handle.Socket != w.b.privateSocket() || st.Note == "" {
			t.Errorf("started in %+v", st)
		}
		w.close(w.b, []backends.Started{st})
	} else {
		t.Errorf("start after the server was killed: %v", st.Err)
	}
}

func TestUserSocketRemoved(t *testing.T) {
	w := newWorld(t, worldOptions{})
	all := w.start(w.b, 1, besideLead)
	if err := os.Rename(w.socket, w.socket+"-away"); err != nil {
		t.Fatal(err)
	}
	g := w.b.Look(t.Context(), handles(all))[0]
	if g.Presence != backends.Unknown || !strings.Contains(g.Detail, "USR1") {
		t.Errorf("Look without a socket = %+v, want unknown and what to do", g)
	}
	if c := w.b.Close(t.Context(), handles(all))[0]; c.Err == nil {
		t.Error("Close without a socket succeeded")
	}
	if err := os.Rename(w.socket+"-away", w.socket); err != nil {
		t.Fatal(err)
	}
	w.close(w.b, all)
}

func TestPlaceAgreesWithStart(t *testing.T) {
	w := newWorld(t, worldOptions{size: layout.Size{Columns: 180, Rows: 45}})
	lines := w.b.Place(t.Context(), besideLead, 9)
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "4 workers beside the lead") || !strings.Contains(lines[2], "5 workers") {
		t.Fatalf("Place = %q", lines)
	}
	all := w.start(w.b, 9, besideLead)
	n := 0
	for _, st := range all {
		if st.Handle.Own {
			n++
		}
	}
	if n != 5 {
		t.Errorf("%d workers stand in windows of okstra's own, want 5", n)
	}
}

// The arithmetic agrees with what tmux makes of it.
func TestArrangeAgrees(t *testing.T) {
	w := newWorld(t, worldOptions{})
	for _, l := range []string{layout.Tiled, layout.Columns, layout.Rows} {
		p := besideLead
		p.Placement, p.Layout, p.MinColumns, p.MinRows = placeWindow, l, 10, 2
		for _, n := range []int{1, 2, 3, 5, 7, 12} {
			all := w.start(w.b, n, p)
			smallest := layout.Size{Columns: 1000, Rows: 1000}
			for _, st := range all {
				var width, height int
				fmt.Sscan(w.ask(st.Handle.Pane, "#{pane_width} #{pane_height}"), &width, &height)
				smallest.Columns, smallest.Rows = min(smallest.Columns, width), min(smallest.Rows, height)
				if st.Handle.Window != all[0].Handle.Window {
					t.Errorf("%s of %d: more than one window", l, n)
				}
			}
			if want := layout.Arrange(l, layout.Size{Columns: 200, Rows: 50}, n).Cell; smallest != want {
				t.Errorf("%s of %d: the smallest pane is %v, want %v", l, n, smallest, want)
			}
			w.close(w.b, all)
		}
	}
}

// Text reaches titles as it is and runs nothing.
func TestInjection(t *testing.T) {
	w := newWorld(t, worldOptions{})
	mark := w.files + "/ran"
	ss := w.supervisors(6, besideLead)
	titles := []string{
		"#(touch " + mark + ")", "$(touch " + mark + ");", "a;", "' \" \\ #{pane_id} ##", "漢字 \U0001F600 -rf", "-rf\n\x1b]0;x\x07\ttab;",
	}
	want := []string{
		"#(touch " + mark + ")", "$(touch " + mark + ");", "a;", "' \" \\ #{pane_id} ##", "漢字 \U0001F600 -rf", "-rf  ]0;x  tab;",
	}
	for i, s := range ss {
		s.Launch.Title = titles[i]
	}
	started := w.b.Start(t.Context(), backendtest.Launches(ss))
	for i, st := range started {
		if st.Err != nil {
			t.Fatalf("start with title %q: %v", titles[i], st.Err)
		}
		ss[i].Hello(t)
		if got := w.ask(st.Handle.Pane, "#{pane_title}"); got != want[i] {
			t.Errorf("title %q became %q, want %q", titles[i], got, want[i])
		}
	}
	for _, bad := range []func(l *backends.Launch){
		func(l *backends.Launch) { l.Tag = "a;b" },
		func(l *backends.Launch) { l.Tag = "#{pid}" },
		func(l *backends.Launch) { l.Label = "#(touch x)" },
		func(l *backends.Launch) { l.Command = l.Command[:1] },
		func(l *backends.Launch) { l.Command[2] = strings.Repeat("x", 9000) },
	} {
		s := w.supervisors(1, besideLead)[0]
		bad(&s.Launch)
		if st := w.b.Start(t.Context(), []backends.Launch{s.Launch})[0]; st.Err == nil {
			t.Errorf("%+v was started", s.Launch)
		}
	}
	w.close(w.b, started)
	if _, err := os.Stat(mark); err == nil {
		t.Error("a title ran a command")
	}
}

// A path with everything in it reaches the supervisor byte for byte.
func TestPathIsOneWord(t *testing.T) {
	w := newWorld(t, worldOptions{})
	dir := w.files + "/a b;#(touch x)'\"\\ 漢$HOME\n;"
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s := backendtest.NewSupervisor(t, dir, "odd", backendtest.Behaviour{}, besideLead)
	st := w.b.Start(t.Context(), []backends.Launch{s.Launch})
	if st[0].Err != nil {
		t.Fatal(st[0].Err)
	}
	if got := s.Hello(t).Args[2]; got != s.Launch.Command[2] {
		t.Errorf("the supervisor was given %q, want %q", got, s.Launch.Command[2])
	}
	w.close(w.b, st)
}

// Two runs that split one window at once get what each asked for.
func TestTwoRunsAtOnce(t *testing.T) {
	w := newWorld(t, worldOptions{})
	before := w.screen()
	runs := make([][]*backendtest.Supervisor, 3)
	results := make([][]backends.Started, len(runs))
	for i := range runs {
		runs[i] = w.supervisors(5, besideLead)
	}
	done := make(chan int)
	for i := range runs {
		b := w.backend(Options{ProjectRoot: fmt.Sprintf("/project/%d", i)})
		go func() {
			results[i] = b.Start(context.Background(), backendtest.Launches(runs[i]))
			done <- i
		}()
	}
	for range runs {
		<-done
	}
	seen := make(map[string]bool)
	for i, started := range results {
		for k, st := range started {
			if st.Err != nil {
				t.Fatalf("run %d, worker %d: %v", i, k, st.Err)
			}
			if hello := runs[i][k].Hello(t); hello.Pane != st.Handle.Pane || seen[hello.Pane] {
				t.Errorf("run %d, worker %d runs in %s, its handle says %s", i, k, hello.Pane, st.Handle.Pane)
			}
			seen[st.Handle.Pane] = true
		}
	}
	for _, started := range results {
		w.close(w.b, started)
	}
	w.unchanged(before)
}

func TestSixtyFour(t *testing.T) {
	w := newWorld(t, worldOptions{})
	before := w.screen()
	p := besideLead
	p.Placement = "window"
	all := w.start(w.b, 64, p)
	for i, g := range w.b.Look(t.Context(), handles(all)) {
		if g.Presence != backends.Alive {
			t.Errorf("worker %d: %+v", i, g)
		}
	}
	w.close(w.b, all)
	w.unchanged(before)
}

func TestNotTheCallersPane(t *testing.T) {
	w := newWorld(t, worldOptions{})
	all := w.start(w.b, 1, besideLead)
	inside := w.backend(Options{Ancestors: []int{all[0].Handle.PID}})
	if c := inside.Close(t.Context(), handles(all))[0]; !c.Refused || c.Err == nil {
		t.Errorf("Close of the caller's own pane = %+v, want a refusal", c)
	}
	w.close(w.b, all)
}

func TestExitedPaneStays(t *testing.T) {
	w := newWorld(t, worldOptions{})
	all := w.start(w.b, 1, besideLead)
	syscall.Kill(all[0].Handle.PID, syscall.SIGKILL)
	backendtest.Eventually(t, "the dead pane", func() (bool, string) {
		g := w.b.Look(t.Context(), handles(all))[0]
		return g.Presence == backends.Alive && g.Exited, fmt.Sprint(g)
	})
	w.close(w.b, all)
}
