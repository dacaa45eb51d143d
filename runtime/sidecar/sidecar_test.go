package sidecar

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime/durable"
	"github.com/okstra/okstra/runtime/launch"
	"github.com/okstra/okstra/runtime/proc"
)

func at(stage Stage, change ...func(*Status)) *Status {
	s := &Status{
		SchemaVersion: SchemaVersion, InvocationRef: "r/d/a@r#1", WorkerKey: "r.d.a", Batch: "r", DispatchKind: "initial", Attempt: 1,
		Claim: "c", Stage: stage, Supervisor: proc.Identity{PID: 4, StartTime: 5}, Host: "h", BootID: "b", StartedAt: time.Unix(100, 0).UTC(),
	}
	if stage.Terminal() {
		end, code := time.Unix(103, 0).UTC(), 0
		s.FinishedAt, s.ExitCode = &end, &code
	}
	if stage == StageTimeout {
		s.Timeout = &Timeout{Limit: LimitWall, After: plan.Duration(time.Second)}
	}
	for _, c := range change {
		c(s)
	}
	return s
}

func TestReadAndWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.json")
	if _, err := Read(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	for _, stage := range []Stage{StageInit, StageStart, StageFinish, StageTimeout} {
		if err := Write(path, at(stage)); err != nil {
			t.Fatal(err)
		}
		got, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(at(stage), got); diff != "" {
			t.Error(diff)
		}
	}
	whole := string(at(StageFinish).Encode())
	for name, text := range map[string]string{
		"empty": "", "torn": whole[:len(whole)/2], "more": whole + "{}", "stage": strings.Replace(whole, `"finish"`, `"ended"`, 1),
		"version": strings.Replace(whole, "status/1", "status/2", 1), "claim": strings.Replace(whole, `"claim": "c"`, `"claim": ""`, 1),
		"no code": strings.Replace(whole, `"exit_code": 0,`, "", 1), "reason": strings.Replace(whole, `"exit_code": 0,`, `"exit_code": 0, "reason": "bored",`, 1),
		"large": whole + strings.Repeat(" ", MaxSize),
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Decode([]byte(strings.Replace(whole, "{", `{"later": 1,`, 1))); err != nil {
		t.Errorf("a member of a later version: %v", err)
	}
}

func TestDecide(t *testing.T) {
	mine := here{host: "h", boot: "b"}
	tests := []struct {
		name string
		s    *Status
		held bool
		h    here
		want Verdict
		boot bool
	}{
		{"nothing", nil, false, mine, NeverStarted, false},
		{"held before init", nil, true, mine, Live, false},
		{"at the gate", at(StageInit), true, mine, Live, false},
		{"left at the gate", at(StageInit), false, mine, NeverStarted, false},
		{"running", at(StageStart), true, mine, Live, false},
		{"killed", at(StageStart), false, mine, Lost, false},
		{"holding", at(StageFinish), true, mine, Terminal, false},
		{"finished", at(StageFinish), false, mine, Terminal, false},
		{"timed out", at(StageTimeout), false, mine, Terminal, false},
		{"machine restarted while running", at(StageStart), false, here{"h", "b2"}, Lost, true},
		{"machine restarted at the gate", at(StageInit), false, here{"h", "b2"}, NeverStarted, false},
		{"renamed host", at(StageStart), false, here{"h2", "b"}, Lost, false},
		{"another host", at(StageStart), false, here{"h2", "b2"}, Foreign, false},
		{"gate on another host", at(StageInit), false, here{"h2", "b2"}, Foreign, false},
		{"finished on another host", at(StageFinish), false, here{"h2", "b2"}, Terminal, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := decide(tt.s, tt.held, tt.h)
			if got.Verdict != tt.want || got.OtherBoot != tt.boot || got.Status != tt.s {
				t.Errorf("%+v, want %s", got, tt.want)
			}
		})
	}
}

func TestJudge(t *testing.T) {
	dir := t.TempDir()
	status, lock := filepath.Join(dir, "s"), filepath.Join(dir, "l")
	judge := func(want Verdict) {
		t.Helper()
		j, err := Judge(status, lock)
		if err != nil || j.Verdict != want {
			t.Errorf("%s, %v; want %s", j.Verdict, err, want)
		}
	}
	judge(NeverStarted)
	held, err := durable.TryLock(lock)
	if err != nil {
		t.Fatal(err)
	}
	judge(Live)
	started := at(StageStart, func(s *Status) { s.Host, s.BootID = proc.Host(), proc.BootID() })
	if err := Write(status, started); err != nil {
		t.Fatal(err)
	}
	judge(Live)
	held.Close()
	judge(Lost)
	if err := os.WriteFile(status, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Judge(status, lock); err == nil {
		t.Error("a torn sidecar was judged")
	}
}

func TestCompleted(t *testing.T) {
	digest := plan.DigestBytes([]byte("x"))
	taken := func(s *Status) { s.Artifacts = []Artifact{{Name: "result", Path: "/r", Size: 1, Digest: digest}} }
	result := Found{Name: "result", Path: "/r", Exists: true, Regular: true, Size: 1, Digest: digest}
	found := func(change func(*Found)) []Found {
		f := result
		change(&f)
		return []Found{f}
	}
	code := func(n int) func(*Status) { return func(s *Status) { s.ExitCode = &n } }
	changed := func(s *Status) { s.Changed = &Changed{Paths: []string{"main.go"}} }
	tests := []struct {
		name       string
		s          *Status
		found      []Found
		overlapped []string
		want       string
	}{
		{"nothing", nil, nil, nil, "spawning/"},
		{"running", at(StageStart), nil, nil, "running/"},
		{"whole", at(StageFinish, taken), []Found{result}, nil, "completed/"},
		{"wall", at(StageTimeout, taken), []Found{result}, nil, "timeout/wall-limit"},
		{"idle", at(StageTimeout, func(s *Status) { s.Timeout.Limit = LimitIdle }), nil, nil, "timeout/idle-limit"},
		{"refused until a limit", at(StageTimeout, func(s *Status) { s.Reason = plan.ReasonAuth }), nil, nil, "error/auth"},
		{"a limit said twice", at(StageTimeout, func(s *Status) { s.Reason = plan.ReasonWallLimit }), nil, nil, "timeout/wall-limit"},
		{"code", at(StageFinish, taken, code(3)), []Found{result}, nil, "error/exit-nonzero"},
		{"signal", at(StageFinish, taken, code(137), func(s *Status) { s.Signal = "SIGKILL" }), []Found{result}, nil, "error/signal"},
		{"provider's word", at(StageFinish, taken, func(s *Status) { s.Reason = plan.ReasonRateLimited }), []Found{result}, nil, "error/rate-limited"},
		{"missing", at(StageFinish), found(func(f *Found) { *f = Found{Name: "result", Path: "/r"} }), nil, "error/no-result"},
		{"removed", at(StageFinish, taken), found(func(f *Found) { *f = Found{Name: "result", Path: "/r"} }), nil, "error/no-result"},
		{"empty", at(StageFinish, taken), found(func(f *Found) { f.Size = 0 }), nil, "error/no-result"},
		{"a link", at(StageFinish, taken), found(func(f *Found) { f.Regular = false }), nil, "error/invalid-result"},
		{"changed after", at(StageFinish, taken), found(func(f *Found) { f.Digest = plan.DigestBytes(nil) }), nil, "error/invalid-result"},
		{"appeared after", at(StageFinish), []Found{result}, nil, "error/invalid-result"},
		{"schema", at(StageFinish, taken), found(func(f *Found) { f.Invalid = "no id" }), nil, "error/invalid-result"},
		{"unreadable", at(StageFinish, taken), found(func(f *Found) { f.Problem = "denied" }), nil, "error/invalid-result"},
		{"wrote outside", at(StageFinish, taken, changed), []Found{result}, nil, "contract-violated/wrote-outside"},
		{"wrote outside and timed out", at(StageTimeout, changed), nil, nil, "contract-violated/wrote-outside"},
		{"somebody else may have written", at(StageFinish, taken, changed), []Found{result}, []string{"r.d.b"}, "completed/"},
		{"changed, and ended from outside", at(StageFinish, taken, changed, func(s *Status) { s.Reason = plan.ReasonCancelled }), []Found{result}, nil, "error/cancelled"},
		{"changed, and its pane closed", at(StageFinish, taken, changed, func(s *Status) { s.Reason = plan.ReasonPaneLost }), []Found{result}, nil, "error/pane-lost"},
		{"suspects", at(StageFinish, taken, changed, func(s *Status) { s.Changed.Suspects = []string{"r.d.b"} }), []Found{result}, nil, "completed/"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, reason, detail := Completed(tt.s, tt.found, tt.overlapped)
			if got := string(status) + "/" + string(reason); got != tt.want {
				t.Errorf("%s (%s), want %s", got, detail, tt.want)
			}
			if status == plan.StatusError && tt.s.Reason == "" && detail == "" {
				t.Error("no detail")
			}
		})
	}
}

func TestGather(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	r := &launch.Record{
		Paths: launch.Paths{Result: p("r"), Audit: p("a"), Emit: p("e")}, Audit: true, Emits: plan.EmitsFindings,
		Outputs: []launch.Output{{Name: "o", Path: p("o"), Required: true, Schema: "/schema.json"}, {Name: "q", Path: p("q")}},
	}
	for name, text := range map[string]string{"r": "result", "e": "{}", "o": "[]"} {
		if err := os.WriteFile(p(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(p("r"), p("a")); err != nil {
		t.Fatal(err)
	}
	var asked []string
	got := Gather(r, func(schema string, doc []byte) error {
		asked = append(asked, schema+" "+string(doc))
		return errors.New("wrong")
	})
	want := []Found{
		{Name: "result", Path: p("r"), Exists: true, Regular: true, Size: 6, Digest: plan.DigestBytes([]byte("result"))},
		{Name: "audit", Path: p("a"), Exists: true, Size: int64(len(p("r")))},
		{Name: "emit", Path: p("e"), Exists: true, Regular: true, Size: 2, Digest: plan.DigestBytes([]byte("{}")), Invalid: "wrong"},
		{Name: "out:o", Path: p("o"), Exists: true, Regular: true, Size: 2, Digest: plan.DigestBytes([]byte("[]")), Invalid: "wrong"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"findings {}", "/schema.json []"}, asked); diff != "" {
		t.Error(diff)
	}
}

func TestWatcher(t *testing.T) {
	dir := t.TempDir()
	w, err := NewWatcher()
	if err != nil {
		t.Fatal(err)
	}
	watchStory(t, w, dir)
}

func TestWatcherWithoutFileEvents(t *testing.T) {
	dir := t.TempDir()
	w := newWatcher()
	go w.run()
	watchStory(t, w, dir)
}

func watchStory(t *testing.T, w *Watcher, dir string) {
	defer w.Close()
	early, late, gone := filepath.Join(dir, "early"), filepath.Join(dir, "late"), filepath.Join(dir, "gone")
	write := func(path, text string) {
		t.Helper()
		if err := durable.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(want string) {
		t.Helper()
		select {
		case got := <-w.Changed():
			if got != want {
				t.Errorf("changed %s, want %s", got, want)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("no word of %s", want)
		}
	}
	write(early, "1")
	w.Add(early)
	expect(early)
	w.Add(late)
	w.Add(gone)
	w.Remove(gone)
	write(gone, "1")
	write(filepath.Join(dir, "other"), "1")
	write(late, "1")
	expect(late)
	write(early, "2")
	expect(early)
}

func FuzzDecode(f *testing.F) {
	for _, s := range []Stage{StageInit, StageStart, StageFinish, StageTimeout} {
		f.Add(at(s).Encode())
	}
	f.Add([]byte(`{"stage":"finish"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Decode(b)
		if err != nil {
			return
		}
		// Whatever passes can be judged, settled and written again.
		for _, held := range []bool{true, false} {
			decide(s, held, here{"h", "b"})
		}
		Completed(s, nil, nil)
		if _, err := Decode(s.Encode()); err != nil {
			t.Error(err)
		}
	})
}
