package supervise_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime/durable"
	"github.com/okstra/okstra/runtime/launch"
	"github.com/okstra/okstra/runtime/sidecar"
)

// pane runs the supervisor of a rig on a terminal, as a multiplexer does.
type pane struct {
	r      *rig
	master *os.File
	mu     sync.Mutex
	seen   bytes.Buffer
	read   chan struct{}
}

func newPane(r *rig) *pane {
	r.t.Helper()
	r.start() // writes the records; its supervisor leaves the attempt at init
	must(r.cmd.Process.Signal(syscall.SIGTERM))
	r.wait()
	exe, err := os.Executable()
	must(err)
	cmd := exec.Command(exe, r.launchPath())
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TERM=xterm", roleVar + "=supervisor"}
	p := &pane{r: r, read: make(chan struct{})}
	master, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 10, Cols: 80})
	if err != nil {
		r.t.Fatal(err)
	}
	// A file that can be closed while it is read, so that closing hangs up.
	fd, err := unix.Dup(int(master.Fd()))
	must(err)
	must(unix.SetNonblock(fd, true))
	must(master.Close())
	unix.CloseOnExec(fd)
	p.master = os.NewFile(uintptr(fd), "terminal")
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	r.cmd, r.done = cmd, done
	r.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = p.master.Close() })
	go func() {
		defer close(p.read)
		buf := make([]byte, 4096)
		for {
			n, err := p.master.Read(buf)
			p.mu.Lock()
			p.seen.Write(buf[:n])
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return p
}

func (p *pane) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.String()
}

func (p *pane) shows(text string) {
	p.r.t.Helper()
	p.r.until("the screen shows "+text, func() bool { return strings.Contains(p.text(), text) })
}

// gate releases the worker of the supervisor on the terminal.
func (p *pane) gate() {
	p.r.t.Helper()
	p.r.until("its init", func() bool {
		s, err := sidecar.Read(p.r.rec.Paths.Status)
		return err == nil && s.Supervisor.PID == p.r.cmd.Process.Pid
	})
	p.r.release()
}

func TestOnATerminal(t *testing.T) {
	t.Parallel()
	r := newRig(t, "no-tty", "say:hello \x1b]2;evil\x07there", "err:a warning", "result:fine")
	r.rec.Hold = true
	p := newPane(r)
	p.gate()
	s := r.stage(sidecar.StageFinish)
	if got := r.verdict(s); got != "completed" {
		t.Errorf("verdict %s", got)
	}
	p.shows("hello there")
	p.shows("a warning")
	p.shows("fake-analyst ended after")
	if strings.Contains(p.text(), "\x1b]") {
		t.Errorf("a worker's control sequence reached the screen: %q", p.text())
	}
	// Keys change nothing; the pane's end is its end.
	for _, key := range []string{"\x03", "\x1a", "\x1c", "typed\r"} {
		_, err := p.master.WriteString(key)
		must(err)
	}
	p.shows("typed")
	select {
	case <-r.done:
		t.Fatal("a key ended it")
	default:
	}
	must(p.master.Close())
	r.wait()
}

func TestPaneIsClosedWhileTheWorkerRuns(t *testing.T) {
	t.Parallel()
	r := newRig(t, "say:working", "hang")
	r.rec.Hold = true
	p := newPane(r)
	p.gate()
	p.shows("working")
	must(p.master.Close())
	r.wait()
	if got := r.verdict(r.terminal()); got != "error/pane-lost" {
		t.Errorf("verdict %s", got)
	}
}

func TestFloodOnATerminalThatNobodyReads(t *testing.T) {
	t.Parallel()
	r := newRig(t, "flood:20", "result:fine")
	p := newPane(r)
	// The user stopped the screen.
	_, err := p.master.WriteString("\x13")
	must(err)
	p.gate()
	r.wait()
	if s := r.terminal(); r.verdict(s) != "completed" || s.Bytes.Stdout != 20<<20 {
		t.Errorf("%s", s.Encode())
	}
}

func TestFloodShowsItsTail(t *testing.T) {
	t.Parallel()
	r := newRig(t, "flood:50", "say:the very last line", "result:fine")
	p := newPane(r)
	p.gate()
	r.wait()
	<-p.read
	text := p.text()
	if !strings.Contains(text, "the very last line") || !strings.Contains(text, "lines not shown") || len(text) > 1<<20 {
		t.Errorf("%d bytes on the screen, ending in %q", len(text), text[max(0, len(text)-300):])
	}
}

// TestFullDisk fills the disk while the worker runs: its end is still recorded.
func TestFullDisk(t *testing.T) {
	small := t.TempDir()
	if err := unix.Mount("tmpfs", small, "tmpfs", 0, "size=2m,mode=0700"); err != nil {
		if os.Geteuid() == 0 {
			t.Fatal(err)
		}
		t.Skip("only root may mount the small disk that this needs: ", err)
	}
	t.Cleanup(func() { must(unix.Unmount(small, unix.MNT_DETACH)) })
	begin := filepath.Join(t.TempDir(), "begin")
	must(syscall.Mkfifo(begin, 0o600))
	r := newRig(t, "result:fine", "say:before", "read-fifo:"+begin, "flood:4", "exit:0")
	// Everything of the attempt moves to the small disk.
	prompt := filepath.Join(small, "p.md")
	r.rec.Paths = launch.Paths{
		Prompt: prompt, Status: prompt + ".status.json", Lock: prompt + ".lock", Go: prompt + ".go", Env: prompt + ".env.json",
		Log: prompt + ".log", ErrLog: prompt + ".err.log", Inputs: prompt, Result: filepath.Join(small, "result.md"),
	}
	must(os.WriteFile(prompt, []byte("p"), 0o600))
	must(os.WriteFile(r.rec.Paths.Lock, nil, 0o600))
	r.start()
	r.release()
	r.until("output", func() bool { b, _ := os.ReadFile(r.rec.Paths.Log); return string(b) == "before\n" })
	filler, err := os.Create(filepath.Join(small, "filler"))
	must(err)
	defer filler.Close()
	for chunk := make([]byte, 4096); ; {
		if _, err := filler.Write(chunk); err != nil {
			if !errors.Is(err, syscall.ENOSPC) {
				t.Fatal(err)
			}
			break
		}
	}
	if err := os.WriteFile(filepath.Join(small, "proof"), []byte("x"), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	f, err := os.OpenFile(begin, os.O_WRONLY, 0)
	must(err)
	f.Close()
	if code := r.wait(); code != 0 {
		t.Errorf("ended with %d: %s", code, r.out.String())
	}
	s := r.terminal()
	if got := r.verdict(s); got != "completed" || s.Bytes.Stdout != 4<<20+7 || s.Bytes.Dropped < 3<<20 {
		t.Errorf("%s\n%s", got, s.Encode())
	}
}

// TestTerminalWriteIsRepeated makes the folder of the sidecar vanish for a while.
func TestTerminalWriteIsRepeated(t *testing.T) {
	t.Parallel()
	r := newRig(t, "say:x", "hang")
	r.start()
	r.release()
	// That was the last write before the end.
	r.until("the worker's pid", func() bool {
		s, err := sidecar.Read(r.rec.Paths.Status)
		return err == nil && s.Worker != nil
	})
	// No file can replace a folder.
	must(os.Remove(r.rec.Paths.Status))
	must(os.Mkdir(r.rec.Paths.Status, 0o700))
	must(r.cmd.Process.Signal(syscall.SIGTERM))
	r.until("a failed write", func() bool {
		select {
		case <-r.done:
			t.Fatalf("it gave up: %s", r.out.String())
		default:
		}
		b, err := os.ReadFile(durable.ReservedFor(r.rec.Paths.Status))
		return err == nil && bytes.Contains(b, []byte(`"cancelled"`))
	})
	must(os.Remove(r.rec.Paths.Status))
	r.wait()
	if got := r.verdict(r.terminal()); got != "error/cancelled" {
		t.Errorf("verdict %s", got)
	}
}

func TestSilentToolCallIsNotIdle(t *testing.T) {
	t.Parallel()
	const call = `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make"}}]}}`
	const answer = `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}}`
	const last = `{"type":"result","subtype":"success","is_error":false,"result":"all fine","usage":{"input_tokens":3,"output_tokens":4}}`
	for name, steps := range map[string][]string{
		"completed":          {"say:" + call, "sleep:5000", "say:" + answer + "\\n" + last},
		"timeout/idle-limit": {"say:" + call, "say:" + answer, "sleep:60000"},
		"timeout/wall-limit": {"say:" + call, "sleep:60000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, steps...)
			r.rec.Output, r.rec.Result = plan.OutputClaudeStream, plan.ResultStdout
			r.rec.Limits.Idle = 3 * sec
			if name == "timeout/wall-limit" {
				r.rec.Limits.Wall = 6 * sec
			}
			s := r.run()
			if got := r.verdict(s); got != name {
				t.Errorf("verdict %s\n%s", got, s.Encode())
			}
			if name == "completed" && (r.read(r.rec.Paths.Result) != "all fine\n" || s.Usage == nil || s.Usage.OutputTokens != 4) {
				t.Errorf("result %q, usage %+v", r.read(r.rec.Paths.Result), s.Usage)
			}
		})
	}
}

func TestErrorRecordWithExitCodeZero(t *testing.T) {
	t.Parallel()
	r := newRig(t, `say:{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"rate limit"}`, "result:looks fine")
	r.rec.Output = plan.OutputClaudeStream
	s := r.run()
	if got := r.verdict(s); got != "error/rate-limited" || *s.ExitCode != 0 {
		t.Errorf("verdict %s\n%s", got, s.Encode())
	}
}

func TestReadOnlyCheck(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		steps []string
		want  string
	}{
		"well-behaved":   {[]string{"result:fine"}, "completed"},
		"changes a file": {[]string{"write:a.txt=b", "result:fine"}, "contract-violated/wrote-outside"},
		"makes a file":   {[]string{"write:new.txt=b", "result:fine"}, "contract-violated/wrote-outside"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, tt.steps...)
			must(os.WriteFile(filepath.Join(r.dir, "a.txt"), []byte("a"), 0o600))
			must(os.WriteFile(filepath.Join(r.dir, ".gitignore"), []byte("inputs.json\nprompts/*.launch.json\n"), 0o600))
			for _, args := range [][]string{{"init", "-q"}, {"add", "a.txt", ".gitignore"}, {"-c", "user.name=t", "-c", "user.email=t@example.invalid", "commit", "-q", "-m", "one"}} {
				if out, err := exec.Command("git", append([]string{"-C", r.dir}, args...)...).CombinedOutput(); err != nil {
					t.Fatalf("%v %s", err, out)
				}
			}
			r.rec.Watch = true
			s := r.run()
			if got := r.verdict(s); got != tt.want {
				t.Errorf("verdict %s\n%s", got, s.Encode())
			}
		})
	}
}
