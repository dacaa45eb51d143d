package cmux_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/backends/cmux"
	"github.com/okstra/okstra/backends/cmux/cmuxtest"
)

func TestStartPlacesWorkersBesideTheLead(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"0.64.3", "0.64.17", "0.64.20", "0.64.22", "0.64.25"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, cmuxtest.Options{Version: version})
			before := w.server.Lead()
			handles := w.start(w.launches(3)...)

			lead := w.server.Lead()
			if !lead.Focused {
				t.Error("the lead lost the focus")
			}
			var y float64 = -1
			for i, h := range handles {
				words := w.hello(h.Tag)
				if words[1] != h.Pane {
					t.Errorf("worker %d sees surface %s, its handle says %s", i, words[1], h.Pane)
				}
				sf, ok := w.surface(h.Pane)
				if !ok {
					t.Fatalf("worker %d has no surface", i)
				}
				if sf.Workspace != lead.Workspace || sf.X <= lead.X || sf.Y <= y {
					t.Errorf("worker %d stands at %+v, the lead at %+v", i, sf, lead)
				}
				y = sf.Y
				if sf.Rows != before.Rows/3 {
					t.Errorf("worker %d has %d of %d rows", i, sf.Rows, before.Rows)
				}
				if sf.Title != "title of "+h.Tag {
					t.Errorf("worker %d is called %q", i, sf.Title)
				}
				w.want(h, backends.Alive)
			}
			if version != "0.64.3" { // a split of those has no share
				if got := lead.Columns * 100 / before.Columns; got < 59 || got > 60 {
					t.Errorf("the lead keeps %d percent, want 60", got)
				}
			}

			for i, c := range w.b.Close(w.context(), handles) {
				if c.Err != nil {
					t.Errorf("close worker %d: %v", i, c.Err)
				}
			}
			if after := w.server.Lead(); after.Columns != before.Columns || after.Rows != before.Rows || len(w.server.Surfaces()) != 1 {
				t.Errorf("after closing the lead is %+v, was %+v", after, before)
			}
			if left, _ := filepath.Glob(filepath.Join(w.server.Dir(), "okstra", "start-*")); len(left) > 0 {
				t.Errorf("launch scripts are left: %v", left)
			}
		})
	}
}

// What goes over the wire: ids only, never the focus, nothing typed, one
// mutation per launch.
func TestStartSendsOnlyWhatItMay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{})
	w.start(w.launches(2)...)
	for _, r := range w.server.Requests() {
		if strings.HasPrefix(r.Method, "surface.send") || strings.Contains(r.Method, "focus") {
			t.Errorf("sent %s", r.Method)
		}
		for key, v := range r.Params {
			text, _ := v.(string)
			if strings.Contains(text, "surface:") || strings.Contains(text, "workspace:") || key == "initial_input" {
				t.Errorf("%s carries %s = %q", r.Method, key, text)
			}
		}
		if r.Method != "surface.split" {
			continue
		}
		for _, key := range []string{"workspace_id", "surface_id", "direction", "working_directory", "initial_command", "tmux_start_command"} {
			if s, _ := r.Params[key].(string); s == "" {
				t.Errorf("a split without %s: %v", key, r.Params)
			}
		}
		if focus, ok := r.Params["focus"].(bool); !ok || focus {
			t.Errorf("a split that does not refuse the focus: %v", r.Params)
		}
	}
	if n := w.calls("surface.split"); n != 2 {
		t.Errorf("%d splits for two workers", n)
	}
}

func TestLaunchScript(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{})
	l := w.launch("quoting")
	l.Command[2] = filepath.Join(w.dir, "a'b $(touch x);`id` \"c\" é")
	h := w.start(l)[0]
	w.eventually("the file with the awkward name", func() bool {
		_, err := os.Stat(l.Command[2])
		return err == nil
	})
	sf, _ := w.surface(h.Pane)
	info, err := os.Stat(sf.Command)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o700 {
		t.Errorf("the script has mode %v", info.Mode())
	}
	if strings.ContainsAny(sf.Command, " '\"$;") {
		t.Errorf("cmux was given %q, which is not one plain path", sf.Command)
	}
}

func TestStartRefusesAFolderThatAShellWouldRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{}, func(o *cmux.Options) { o.Dir = filepath.Join(t.TempDir(), "a b") })
	r := w.b.Start(w.context(), w.launches(1))[0]
	if r.Err == nil || w.calls("surface.split") != 0 {
		t.Fatalf("got %+v", r)
	}
	open := filepath.Join(w.server.Dir(), "open")
	if err := os.Mkdir(open, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	w.b = w.backend(w.server.LeadEnv(), func(o *cmux.Options) { o.Dir = open })
	r = w.b.Start(w.context(), w.launches(1))[0]
	if r.Err == nil || !strings.Contains(r.Err.Error(), "by others") {
		t.Fatalf("got %+v", r)
	}
}

func TestStartJoinsTheColumn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{})
	first := w.start(w.launches(2)...)
	l := w.launch("run.later")
	l.Beside = first
	later := w.start(l)[0]
	sf, _ := w.surface(later.Pane)
	above, _ := w.surface(first[1].Pane)
	if sf.X != above.X || sf.Y <= above.Y {
		t.Errorf("the later worker stands at %+v, the one before at %+v", sf, above)
	}
	if sf.Rows != above.Rows {
		t.Errorf("rows were not evened out: %d and %d", above.Rows, sf.Rows)
	}
}

// A user's own panes stay as they are: no evening out where it would move them.
func TestStartLeavesTheUsersRowsAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{})
	user, err := w.server.Split(w.server.Lead().ID, "down")
	if err != nil {
		t.Fatal(err)
	}
	w.start(w.launches(3)...)
	after, _ := w.surface(user.ID)
	if after.Rows != user.Rows || after.Columns != user.Columns {
		t.Errorf("the user's pane was %+v and is %+v", user, after)
	}
	if w.calls("workspace.equalize_splits") != 0 {
		t.Error("equalized")
	}
}

func TestStartWithoutBesideThatVanished(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{})
	old := w.start(w.launch("run.old"))
	w.b.Close(w.context(), old)
	l := w.launch("run.new")
	l.Beside = old
	h := w.start(l)[0]
	if sf, ok := w.surface(h.Pane); !ok || sf.X == 0 {
		t.Errorf("stands at %+v", sf)
	}
}

func TestStartFollowsALeadThatMoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{})
	other, err := w.server.AddWorkspace("other", true)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.server.Move(w.server.Lead().ID, other.Workspace); err != nil {
		t.Fatal(err)
	}
	h := w.start(w.launches(1)...)[0]
	if h.Workspace != other.Workspace {
		t.Errorf("started in %s, the lead is in %s", h.Workspace, other.Workspace)
	}
}

// The answer to a split is lost, once by a closed connection and once by
// silence. The surface is found by its marker, and nothing is split twice.
func TestStartLostAnswer(t *testing.T) {
	t.Parallel()
	for _, silent := range []bool{false, true} {
		t.Run(fmt.Sprint("silent=", silent), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, cmuxtest.Options{Faults: cmuxtest.Faults{Lose: "surface.split", LoseSilently: silent}},
				func(o *cmux.Options) { o.CallTimeout = 300 * time.Millisecond })
			r := w.b.Start(w.context(), w.launches(2))
			for i := range r {
				if r[i].Err != nil {
					t.Fatal(r[i].Err)
				}
				w.hello(r[i].Handle.Tag)
			}
			if !strings.Contains(r[0].Note, "marker") {
				t.Errorf("note: %q", r[0].Note)
			}
			if n := len(w.server.Surfaces()); n != 3 {
				t.Errorf("%d surfaces, want 3", n)
			}
			if n := w.calls("surface.split"); n != 2 {
				t.Errorf("%d splits, want 2", n)
			}
		})
	}
}

// The split never reached cmux, which cannot be told from a lost answer: it is
// not repeated, and the handle lets closing look again.
func TestStartUnanswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{Faults: cmuxtest.Faults{Drop: "surface.split"}},
		func(o *cmux.Options) { o.CallTimeout = 300 * time.Millisecond })
	r := w.b.Start(w.context(), w.launches(1))[0]
	if !errors.Is(r.Err, backends.ErrUnanswered) || r.Handle.Tag == "" || r.Handle.Pane != "" {
		t.Fatalf("got %+v", r)
	}
	if n := w.calls("surface.split"); n != 1 {
		t.Errorf("%d splits", n)
	}
	w.gone(r.Handle)
	if c := w.b.Close(w.context(), []backends.Handle{r.Handle})[0]; c.Err != nil {
		t.Error(c.Err)
	}
	// cmux carries it out after all: the same handle finds and closes it.
	late := w.start(w.launch(r.Handle.Tag))[0]
	w.want(r.Handle, backends.Alive)
	if c := w.b.Close(w.context(), []backends.Handle{r.Handle})[0]; c.Err != nil {
		t.Error(c.Err)
	}
	if _, ok := w.surface(late.Pane); ok {
		t.Error("the late surface is still there")
	}
}

// A runner that died after the split starts the same attempt again.
func TestStartTakesOverWhatCarriesTheMarker(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{})
	h := w.start(w.launches(1)...)[0]
	again := w.start(w.launches(1)...)[0]
	if again.Pane != h.Pane || w.calls("surface.split") != 1 {
		t.Errorf("%+v, then %+v", h, again)
	}
}

func TestStartRollsBackAHalfMadeSpawn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{Version: "0.64.3", Faults: cmuxtest.Faults{Fail: "surface.respawn"}})
	r := w.b.Start(w.context(), w.launches(1))[0]
	if r.Err == nil || r.Handle.Pane != "" || errors.Is(r.Err, backends.ErrUnanswered) {
		t.Fatalf("got %+v", r)
	}
	if n := len(w.server.Surfaces()); n != 1 {
		t.Errorf("%d surfaces are left", n)
	}

	// Where that fails too, the handle is returned for teardown.
	w.server.Set(func(f *cmuxtest.Faults) { f.CloseIgnored = 2 })
	r = w.b.Start(w.context(), w.launches(1))[0]
	if r.Err == nil || r.Handle.Pane == "" {
		t.Fatalf("got %+v", r)
	}
	if c := w.b.Close(w.context(), []backends.Handle{r.Handle})[0]; c.Err != nil {
		t.Error(c.Err)
	}
	if n := len(w.server.Surfaces()); n != 1 {
		t.Errorf("%d surfaces are left", n)
	}
}

// A cmux that ignores what a split says of the command, whatever its version.
func TestStartWhereCommandsAreIgnored(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{Faults: cmuxtest.Faults{IgnoreCommands: true}})
	for _, h := range w.start(w.launches(2)...) {
		if words := w.hello(h.Tag); words[1] != h.Pane {
			t.Errorf("runs in %s, recorded is %s", words[1], h.Pane)
		}
	}
	if n := w.calls("surface.respawn"); n != 2 {
		t.Errorf("%d respawns", n)
	}
	// Its answer is lost: nothing proves what became of it, so it is undone.
	w.server.Set(func(f *cmuxtest.Faults) { f.Lose = "surface.respawn" })
	r := w.b.Start(w.context(), []backends.Launch{w.launch("run.lost")})[0]
	if r.Err == nil || r.Handle.Pane != "" || len(w.server.Surfaces()) != 3 {
		t.Errorf("got %+v with %d surfaces", r, len(w.server.Surfaces()))
	}
}

func TestStartOfOneThatFailsHarmsNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{})
	launches := w.launches(3)
	launches[1].Command[2] = "a\x00b"
	r := w.b.Start(w.context(), launches)
	if r[0].Err != nil || r[1].Err == nil || r[2].Err != nil {
		t.Fatalf("got %+v", r)
	}
	if n := len(w.server.Surfaces()); n != 3 {
		t.Errorf("%d surfaces", n)
	}
}

func TestStartInARemoteWorkspace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{Faults: cmuxtest.Faults{Remote: true}})
	r := w.b.Start(w.context(), w.launches(1))[0]
	if r.Err == nil || !strings.Contains(r.Err.Error(), "remote tmux") {
		t.Fatalf("got %+v", r)
	}
}

// A cold surface has no process until it is shown. That is not for this backend
// to judge: it is there, and its supervisor has not said a word.
func TestStartOfAColdSurface(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{Faults: cmuxtest.Faults{Cold: true}})
	h := w.start(w.launches(1)...)[0]
	w.want(h, backends.Alive)
	if _, err := w.b.Capture(w.context(), h, 5); err == nil {
		t.Error("the screen of a surface that was never drawn could be read")
	}
	if err := w.server.Show(h.Pane); err != nil {
		t.Fatal(err)
	}
	w.hello(h.Tag)
	if w.calls("surface.send_text") != 0 {
		t.Error("something was typed")
	}
}

func TestStartUnderLoad(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]cmuxtest.Faults{
		"rate limited":    {Burst: 2},
		"overloaded":      {Overloaded: 5},
		"overloaded line": {Overloaded: 5, OverloadedLine: true},
		"localized":       {Localized: true, Overloaded: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, cmuxtest.Options{Faults: f})
			for _, h := range w.start(w.launches(4)...) {
				w.want(h, backends.Alive)
			}
			if n := w.calls("surface.split"); name == "rate limited" && n != 4 {
				t.Errorf("%d splits", n)
			}
			if n := len(w.server.Surfaces()); n != 5 {
				t.Errorf("%d surfaces", n)
			}
		})
	}
}

func TestStartWithNullSizes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{Faults: cmuxtest.Faults{NullSizes: true}})
	r := w.b.Start(w.context(), w.launches(6))
	for i := range r {
		if r[i].Err != nil {
			t.Fatal(r[i].Err)
		}
		if strings.Contains(r[i].Note, "columns") {
			t.Errorf("a width is claimed: %q", r[i].Note)
		}
	}
}

func TestStartSaysWhatIsNarrow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{Width: 900, Height: 900})
	r := w.b.Start(w.context(), w.launches(2))
	for i := range r {
		if r[i].Err != nil || !strings.Contains(r[i].Note, "fewer than 60") {
			t.Errorf("got %+v", r[i])
		}
	}
}

func TestStartWhenTitlesFail(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{Faults: cmuxtest.Faults{Fail: "tab.action"}})
	r := w.b.Start(w.context(), w.launches(1))[0]
	if r.Err != nil || !strings.Contains(r.Note, "title") {
		t.Errorf("got %+v", r)
	}
}

func TestTitlesAreHarmless(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{})
	l := w.launch("titles")
	l.Title = "a\x1b]0;evil\x07\nb " + strings.Repeat("漢", 200)
	h := w.start(l)[0]
	sf, _ := w.surface(h.Pane)
	if strings.ContainsAny(sf.Title, "\x1b\x07\n") || len([]rune(sf.Title)) > 80 {
		t.Errorf("title %q", sf.Title)
	}
}

// Two runs on one cmux split at the same time.
func TestStartConcurrently(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{})
	var wg sync.WaitGroup
	results := make([][]backends.Started, 2)
	for i := range results {
		b := w.backend(w.server.LeadEnv())
		var launches []backends.Launch
		for j := range 4 {
			launches = append(launches, w.launch(fmt.Sprintf("run%d.w%d", i, j)))
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			results[i] = b.Start(w.context(), launches)
		}()
	}
	wg.Wait()
	for _, r := range results {
		for _, one := range r {
			if one.Err != nil {
				t.Error(one.Err)
			}
		}
	}
	if n := len(w.server.Surfaces()); n != 9 {
		t.Errorf("%d surfaces, want 9", n)
	}
}

func TestStartIsCancelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{Faults: cmuxtest.Faults{Stuck: true}}, func(o *cmux.Options) { o.CallTimeout = time.Minute })
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	r := w.b.Start(ctx, w.launches(2))
	if r[0].Err == nil || r[1].Err == nil {
		t.Fatalf("got %+v", r)
	}
}
