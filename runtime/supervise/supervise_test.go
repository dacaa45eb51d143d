package supervise_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime/durable"
	"github.com/okstra/okstra/runtime/launch"
	"github.com/okstra/okstra/runtime/proc"
	"github.com/okstra/okstra/runtime/sidecar"
)

const (
	ms  = plan.Duration(time.Millisecond)
	sec = plan.Duration(time.Second)
)

func TestEndings(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		steps  []string
		change func(*rig)
		want   string // of the completion rule
		code   int
		signal string
		detail string // a part of it
		note   string // a part of one
		retry  plan.Duration
	}{
		{name: "succeed", steps: []string{"result:fine", "group", "no-tty"}, want: "completed"},
		{name: "exit code", steps: []string{"err:it broke", "exit:3"}, want: "error/exit-nonzero", code: 3, detail: "it broke"},
		{name: "exit code with a meaning", steps: []string{"exit:55"}, change: func(r *rig) {
			r.rec.ExitCodes = map[string]plan.Reason{"55": plan.ReasonUntrustedFolder}
		}, want: "error/untrusted-folder", code: 55},
		{name: "what was said is more exact than an exit code", steps: []string{"err:API Error: 429 too many requests, try again in 90s", "exit:55"}, change: func(r *rig) {
			r.rec.Output = plan.OutputClaudeStream
			r.rec.ExitCodes = map[string]plan.Reason{"55": plan.ReasonOverloaded}
		}, want: "error/rate-limited", code: 55, detail: "too many requests", retry: 90 * sec},
		{name: "an exit code is more exact than an error of no kind", steps: []string{`say:{"type":"result","status":"error","error":{"message":"it broke"}}`, "exit:55"}, change: func(r *rig) {
			r.rec.Output = plan.OutputGeminiStream
			r.rec.ExitCodes = map[string]plan.Reason{"55": plan.ReasonOverloaded}
		}, want: "error/overloaded", code: 55, detail: "it broke"},
		{name: "hangs after the provider's last word", steps: []string{"result:fine", `say:{"type":"result","subtype":"success","result":"done"}`, "hang"}, change: func(r *rig) {
			r.rec.Output = plan.OutputClaudeStream
		}, want: "completed", note: "it was ended"},
		{name: "hangs after the provider's last word, its text the result", steps: []string{`say:{"type":"item.completed","item":{"type":"agent_message","text":"done"}}\n{"type":"turn.completed"}`, "hang"}, change: func(r *rig) {
			r.rec.Output, r.rec.Result = plan.OutputCodexStream, plan.ResultStdout
		}, want: "completed", note: "it was ended"},
		{name: "goes on after a last word", steps: []string{"result:fine", `say:{"type":"result","subtype":"success","result":"done"}\n{"type":"assistant","message":{"content":"more"}}`, "hang"}, change: func(r *rig) {
			r.rec.Output = plan.OutputClaudeStream
			r.rec.Limits.Idle, r.rec.Limits.Grace = 600*ms, 100*ms
		}, want: "timeout/idle-limit", code: 143, signal: "SIGTERM"},
		{name: "signal", steps: []string{"die:15"}, want: "error/signal", code: 143, signal: "SIGTERM"},
		{name: "killed", steps: []string{"die:9"}, want: "error/signal", code: 137, signal: "SIGKILL"},
		{name: "no result", steps: []string{"say:done"}, want: "error/no-result"},
		{name: "empty result", steps: []string{"result:"}, want: "error/no-result"},
		{name: "half of the results", steps: []string{"result:fine"}, change: func(r *rig) {
			r.rec.Audit, r.rec.Paths.Audit = true, filepath.Join(r.dir, "worker-results", "audit.md")
		}, want: "error/no-result"},
		{name: "wall limit", steps: []string{"result:early", "tick:2000x20"}, change: func(r *rig) {
			r.rec.Limits.Wall = 300 * ms
		}, want: "timeout/wall-limit", code: 143, signal: "SIGTERM"},
		{name: "idle limit", steps: []string{"say:hello", "hang"}, change: func(r *rig) {
			r.rec.Limits.Idle = 300 * ms
		}, want: "timeout/idle-limit", code: 143, signal: "SIGTERM"},
		{name: "idle limit while a login is tried again", steps: []string{`say:{"type":"system","subtype":"api_retry","attempt":2,"max_retries":10,"retry_delay_ms":2000,"error_status":401,"error":"authentication_failed"}`, "hang"}, change: func(r *rig) {
			r.rec.Output, r.rec.Limits.Idle = plan.OutputClaudeStream, 300*ms
		}, want: "error/auth", code: 143, signal: "SIGTERM", detail: "authentication_failed, attempt 2 of 10"},
		{name: "wall limit while a rate limit is tried again", steps: []string{`say:{"type":"system","subtype":"api_retry","attempt":2,"max_retries":10,"retry_delay_ms":2000,"error_status":429,"error":"rate_limit"}`, "hang"}, change: func(r *rig) {
			r.rec.Output, r.rec.Limits.Wall = plan.OutputClaudeStream, 600*ms
		}, want: "error/rate-limited", code: 143, signal: "SIGTERM", retry: 2 * sec},
		{name: "idle limit after a retry that took", steps: []string{`say:{"type":"system","subtype":"api_retry","attempt":2,"max_retries":10,"retry_delay_ms":2000,"error_status":429,"error":"rate_limit"}\n{"type":"assistant","message":{"content":"hello"}}`, "hang"}, change: func(r *rig) {
			r.rec.Output, r.rec.Limits.Idle = plan.OutputClaudeStream, 300*ms
		}, want: "timeout/idle-limit", code: 143, signal: "SIGTERM"},
		{name: "idle limit while it is tried again, told on standard error", steps: []string{`say:{"type":"init"}`, "sleep:50", "err:Attempt 2 failed: Too many requests. Retrying after 9s...", "hang"}, change: func(r *rig) {
			r.rec.Output, r.rec.Limits.Idle = plan.OutputGeminiStream, 400*ms
		}, want: "error/rate-limited", code: 143, signal: "SIGTERM", detail: "Too many requests", note: "without its result record"},
		{name: "idle limit after what standard error told was overcome", steps: []string{"err:Attempt 2 failed: Too many requests. Retrying after 9s...", "sleep:50", `say:{"type":"message","role":"assistant","content":"on"}`, "hang"}, change: func(r *rig) {
			r.rec.Output, r.rec.Limits.Idle = plan.OutputGeminiStream, 400*ms
		}, want: "timeout/idle-limit", code: 143, signal: "SIGTERM"},
		{name: "what is said of being ended is no trouble", change: func(r *rig) {
			r.rec.Program, r.rec.Output, r.rec.Limits.Wall = "/bin/sh", plan.OutputClaudeStream, 600*ms
			r.rec.Argv = []string{"sh", "-c", `trap 'echo "{\"type\":\"result\",\"is_error\":true,\"result\":\"API Error: 401 aborted\"}"; exit 1' TERM; while :; do sleep 0.05; done`}
		}, want: "timeout/wall-limit", code: 1},
		{name: "output keeps the idle limit away", steps: []string{"tick:20x200", "result:fine"}, change: func(r *rig) {
			r.rec.Limits.Idle = 3 * sec
		}, want: "completed"},
		{name: "ignores TERM", steps: []string{"ignore-term", "say:x", "hang"}, change: func(r *rig) {
			r.rec.Limits.Idle = 3 * sec
		}, want: "timeout/idle-limit", code: 137, signal: "SIGKILL"},
		{name: "grandchild holds the pipe", steps: []string{"result:fine", "child:hang"}, want: "completed", note: "left 1 running"},
		{name: "grandchild that ignores TERM", steps: []string{"result:fine", "child:ignore-term+say:x+hang"}, want: "completed", note: "left 1 running"},
		{name: "escapee in its own session", steps: []string{"result:fine", "escapee:ignore-term+hang"}, want: "completed", note: "left 1 running"},
		{name: "moves its stdio away and goes on", steps: []string{"close-stdio", "sleep:1500", "result:late"}, want: "completed"},
		{name: "hangs after all was delivered", steps: []string{"result:fine", "close-stdio", "hang"}, want: "completed", note: "it was ended"},
		{name: "hangs with nothing delivered", steps: []string{"close-stdio", "hang"}, change: func(r *rig) {
			r.rec.Limits.Idle = sec
		}, want: "timeout/idle-limit", code: 143, signal: "SIGTERM"},
		{name: "result is a folder", steps: []string{"say:x"}, change: func(r *rig) {
			r.rec.Argv = []string{"sh", "-c", "mkdir -p \"$OKSTRA_RESULT\""}
			r.rec.Program = "/bin/sh"
		}, want: "error/invalid-result"},
		{name: "program missing", change: func(r *rig) { r.rec.Program = filepath.Join(r.dir, "nobody") }, want: "error/cannot-start", code: 127, detail: "does not exist"},
		{name: "program not executable", change: func(r *rig) { r.rec.Program = r.rec.Paths.Prompt }, want: "error/cannot-start", code: 126, detail: "not executable"},
		{name: "program is a folder", change: func(r *rig) { r.rec.Program = r.dir }, want: "error/cannot-start", code: 126, detail: "is a folder"},
		{name: "interpreter missing", change: func(r *rig) {
			r.rec.Program = filepath.Join(r.dir, "script")
			must(os.WriteFile(r.rec.Program, []byte("#!/nobody/here\n"), 0o700))
		}, want: "error/cannot-start", code: 127, detail: "interpreter"},
		{name: "no program at all", change: func(r *rig) {
			r.rec.Program = filepath.Join(r.dir, "data")
			must(os.WriteFile(r.rec.Program, []byte("just text\n"), 0o700))
		}, want: "error/cannot-start", code: 126, detail: "#!"},
		{name: "folder missing", change: func(r *rig) { r.rec.Dir = filepath.Join(r.dir, "gone") }, want: "error/cannot-start", code: 126, detail: "does not exist"},
		{name: "argument too long", change: func(r *rig) { r.rec.Argv = append(r.rec.Argv, strings.Repeat("x", 1<<20)) }, want: "error/cannot-start", code: 126, detail: "longer than"},
		{name: "result exists already", change: func(r *rig) {
			must(os.MkdirAll(filepath.Dir(r.rec.Paths.Result), 0o700))
			must(os.WriteFile(r.rec.Paths.Result, []byte("old"), 0o600))
		}, want: "error/cannot-start", code: 126, detail: "exists already"},
		{name: "secrets do not come out", steps: []string{"err:401 for hunter2hunter2 and sk-abcdefgh12345678", "exit:1"}, change: func(r *rig) {
			r.env = []string{"MY_API_KEY=hunter2hunter2"}
		}, want: "error/exit-nonzero", code: 1, detail: "401 for [redacted] and [redacted]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, tt.steps...)
			if tt.change != nil {
				tt.change(r)
			}
			s := r.run()
			if got := r.verdict(s); got != tt.want {
				t.Errorf("verdict %s, want %s", got, tt.want)
			}
			if *s.ExitCode != tt.code || s.Signal != tt.signal {
				t.Errorf("exit %d %q, want %d %q", *s.ExitCode, s.Signal, tt.code, tt.signal)
			}
			if !strings.Contains(s.Detail, tt.detail) {
				t.Errorf("detail %q lacks %q", s.Detail, tt.detail)
			}
			if got := s.RetryAfter; (got != nil) != (tt.retry > 0) || got != nil && *got != tt.retry {
				t.Errorf("retry after %v, want %s", got, tt.retry)
			}
			if notes := strings.Join(s.Notes, "\n"); !strings.Contains(notes, tt.note) || tt.note == "" && notes != "" {
				t.Errorf("notes %q, want %q", notes, tt.note)
			}
			if t.Failed() {
				t.Logf("sidecar: %s\noutput: %s", s.Encode(), r.out.String())
			}
			if _, err := os.Lstat(r.rec.Paths.Env); err == nil {
				t.Error("the environment record is still there")
			}
		})
	}
}

func TestResultsFromStdout(t *testing.T) {
	t.Parallel()
	r := newRig(t, `say:the result\n=== okstra:audit ===\nthe audit\n=== okstra:emit ===\n`+"```json"+`\n{"a":1}\n`+"```"+`\n=== okstra:table ===\na,b\n=== okstra:extra ===\nx`)
	dir := filepath.Join(r.dir, "worker-results")
	r.rec.Result = plan.ResultStdout
	r.rec.Audit, r.rec.Paths.Audit = true, filepath.Join(dir, "audit.md")
	r.rec.Emits, r.rec.Paths.Emit = plan.EmitsFindings, filepath.Join(dir, "emit.json")
	r.rec.Outputs = []launch.Output{{Name: "table", Path: filepath.Join(dir, "table.csv"), Required: true}}
	s := r.run()
	if got := r.verdict(s); got != "completed" {
		t.Fatalf("verdict %s\n%s", got, s.Encode())
	}
	for path, want := range map[string]string{
		r.rec.Paths.Result: "the result\n", r.rec.Paths.Audit: "the audit\n", r.rec.Paths.Emit: "{\"a\":1}\n", r.rec.Outputs[0].Path: "a,b\n",
	} {
		if got := r.read(path); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	if len(s.Artifacts) != 4 {
		t.Errorf("artifacts %v", s.Artifacts)
	}
	if notes := strings.Join(s.Notes, " "); !strings.Contains(notes, `"extra"`) {
		t.Errorf("notes %q", notes)
	}
}

func TestMissingPartIsNoResult(t *testing.T) {
	t.Parallel()
	r := newRig(t, "say:the result")
	r.rec.Result = plan.ResultStdout
	r.rec.Audit, r.rec.Paths.Audit = true, filepath.Join(r.dir, "audit.md")
	if got := r.verdict(r.run()); got != "error/no-result" {
		t.Errorf("verdict %s", got)
	}
}

func TestFailedWorkerLeavesNoResultFromStdout(t *testing.T) {
	t.Parallel()
	r := newRig(t, "say:half of it", "exit:1")
	r.rec.Result = plan.ResultStdout
	s := r.run()
	if got := r.verdict(s); got != "error/exit-nonzero" || len(s.Artifacts) != 0 {
		t.Errorf("verdict %s, artifacts %v", got, s.Artifacts)
	}
}

func TestHangAfterStdoutResult(t *testing.T) {
	t.Parallel()
	r := newRig(t, "say:all of it", "close-stdio", "hang")
	r.rec.Result = plan.ResultStdout
	s := r.run()
	if got := r.verdict(s); got != "completed" || *s.ExitCode != 0 || len(s.Notes) == 0 {
		t.Errorf("verdict %s\n%s", got, s.Encode())
	}
}

func TestReportWriterGetsItsPointer(t *testing.T) {
	t.Parallel()
	r := newRig(t, "result:the narrative")
	r.rec.Report = true
	r.rec.Paths.Result = filepath.Join(r.dir, "reports", "narrative.md")
	s := r.run()
	if got := r.verdict(s); got != "completed" {
		t.Fatalf("verdict %s\n%s", got, s.Encode())
	}
	p, err := launch.ParsePointer(r.read(r.rec.Paths.WorkerResult))
	if err != nil || p.Path != "reports/narrative.md" || p.Digest != plan.DigestBytes([]byte("the narrative")) {
		t.Errorf("pointer %+v, %v", p, err)
	}
}

func TestPromptOnStdin(t *testing.T) {
	t.Parallel()
	r := newRig(t, "read-all:got", "result:fine")
	prompt := bytes.Repeat([]byte("prompt ☂ %;#(x)\n"), 1<<20/18)
	must(os.WriteFile(r.rec.Paths.Prompt, prompt, 0o600))
	r.rec.Stdin = launch.StdinPrompt
	if got := r.verdict(r.run()); got != "completed" {
		t.Fatal(got)
	}
	if got := r.read(filepath.Join(r.dir, "got")); got != string(prompt) {
		t.Errorf("%d of %d bytes", len(got), len(prompt))
	}
}

func TestLargePromptThatNobodyReads(t *testing.T) {
	t.Parallel()
	r := newRig(t, "result:fine")
	must(os.WriteFile(r.rec.Paths.Prompt, make([]byte, 1<<20), 0o600))
	r.rec.Stdin = launch.StdinPrompt
	if got := r.verdict(r.run()); got != "completed" {
		t.Fatal(got)
	}
}

func TestStdinIsEmptyWithoutPrompt(t *testing.T) {
	t.Parallel()
	r := newRig(t, "read-all:got", "result:fine")
	if got := r.verdict(r.run()); got != "completed" || r.read(filepath.Join(r.dir, "got")) != "" {
		t.Fatal(got)
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	r := newRig(t, "env:env", "result:fine")
	r.env = []string{"OKSTRA_CLAIM=another", "ODD=a=b c"}
	s := r.run()
	var claims int
	env := strings.Split(r.read(filepath.Join(r.dir, "env")), "\n")
	for _, v := range env {
		if strings.HasPrefix(v, "OKSTRA_CLAIM=") {
			claims++
			if v != "OKSTRA_CLAIM="+s.Claim {
				t.Errorf("claim %q", v)
			}
		}
	}
	if claims != 1 || !strings.Contains(strings.Join(env, "\n"), "\nODD=a=b c") {
		t.Errorf("environment %q", env)
	}
}

func TestFlood(t *testing.T) {
	t.Parallel()
	const mib = 50
	r := newRig(t, fmt.Sprintf("flood:%d", mib), "result:fine")
	begun := time.Now()
	s := r.run()
	if got := r.verdict(s); got != "completed" {
		t.Fatal(got)
	}
	info, err := os.Stat(r.rec.Paths.Log)
	if err != nil || info.Size() != mib<<20 || s.Bytes.Stdout != mib<<20 || s.Bytes.Dropped != 0 {
		t.Errorf("log of %v bytes, %v; sidecar says %+v", info, err, s.Bytes)
	}
	t.Logf("%d MiB in %s", mib, time.Since(begun))
}

func TestSecondSupervisorIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, "say:x", "hang")
	r.start()
	r.release()
	s := r.stage(sidecar.StageStart)
	if j := r.judge(); j.Verdict != sidecar.Live {
		t.Errorf("judged %s", j.Verdict)
	}
	first, firstDone := r.cmd, r.done
	r.spawn()
	if code := r.wait(); code != 5 {
		t.Errorf("the second one ended with %d: %s", code, r.out.String())
	}
	must(first.Process.Signal(syscall.SIGTERM))
	<-firstDone
	if got := r.terminal(); got.Claim != s.Claim || r.verdict(got) != "error/cancelled" {
		t.Errorf("%s by %s", r.verdict(got), got.Claim)
	}
	// The attempt is over, and nobody may start it again.
	r.spawn()
	if code := r.wait(); code != 5 {
		t.Errorf("a third one ended with %d: %s", code, r.out.String())
	}
}

func TestAtTheGate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		do   func(*rig, *sidecar.Status)
	}{
		{"no", func(r *rig, s *sidecar.Status) { r.word(s.Claim, false) }},
		{"TERM", func(r *rig, s *sidecar.Status) { must(r.cmd.Process.Signal(syscall.SIGTERM)) }},
		{"HUP", func(r *rig, s *sidecar.Status) { must(r.cmd.Process.Signal(syscall.SIGHUP)) }},
		{"start limit", func(r *rig, s *sidecar.Status) {}},
		{"a word for another claim", func(r *rig, s *sidecar.Status) { r.word("another", true) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "started:ran", "result:fine")
			if strings.HasPrefix(tt.name, "start") || strings.HasPrefix(tt.name, "a word") {
				r.rec.Limits.Start = 400 * ms
			}
			r.start()
			tt.do(r, r.stage(sidecar.StageInit))
			if code := r.wait(); code != 0 {
				t.Errorf("ended with %d: %s", code, r.out.String())
			}
			if j := r.judge(); j.Verdict != sidecar.NeverStarted {
				t.Errorf("judged %s", j.Verdict)
			}
			if _, err := os.Lstat(filepath.Join(r.dir, "ran")); err == nil {
				t.Error("the worker ran")
			}
			if _, err := os.Lstat(r.rec.Paths.Status + ".reserve"); err == nil {
				t.Error("the reserved space was not given back")
			}
			// The same attempt may be started again.
			if tt.name == "no" {
				r.start()
				r.until("a new claim", func() bool {
					s, err := sidecar.Read(r.rec.Paths.Status)
					return err == nil && r.judge().Verdict == sidecar.Live && s.Supervisor.PID == r.cmd.Process.Pid
				})
				r.release()
				r.wait()
				if got := r.verdict(r.terminal()); got != "completed" {
					t.Errorf("started again: %s", got)
				}
			}
		})
	}
}

func TestIntIsIgnored(t *testing.T) {
	t.Parallel()
	r := newRig(t, "say:x", "hang")
	r.start()
	r.release()
	r.stage(sidecar.StageStart)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGPIPE} {
		must(r.cmd.Process.Signal(sig))
	}
	must(r.cmd.Process.Signal(syscall.SIGHUP))
	r.wait()
	if got := r.verdict(r.terminal()); got != "error/pane-lost" {
		t.Errorf("verdict %s", got)
	}
}

func TestHold(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "result:fine")
			r.rec.Hold = true
			r.start()
			r.release()
			s := r.stage(sidecar.StageFinish)
			if j := r.judge(); j.Verdict != sidecar.Terminal {
				t.Errorf("judged %s", j.Verdict)
			}
			before := r.read(r.rec.Paths.Status)
			held := proc.Identity{PID: s.Supervisor.PID, StartTime: s.Supervisor.StartTime}
			r.until("the holder", func() bool {
				b, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", held.PID))
				return err != nil || string(b) == "sleep\n"
			})
			if _, err := durable.TryLock(r.rec.Paths.Lock); !errors.Is(err, durable.ErrLocked) || !held.Alive() {
				t.Errorf("it does not hold the lock: %v", err)
			}
			must(r.cmd.Process.Signal(syscall.SIGINT))
			select {
			case <-r.done:
				t.Fatal("it does not hold")
			default:
			}
			must(r.cmd.Process.Signal(sig))
			r.wait()
			if r.read(r.rec.Paths.Status) != before || r.verdict(s) != "completed" {
				t.Error("the terminal sidecar was changed")
			}
		})
	}
}

// TestHoldWhereHangUpIsIgnored: what nohup does to okstra must not leave a
// holder behind when the pane goes.
func TestHoldWhereHangUpIsIgnored(t *testing.T) {
	t.Parallel()
	r := newRig(t, "result:fine")
	r.nohup, r.rec.Hold = true, true
	r.start()
	r.release()
	r.stage(sidecar.StageFinish)
	looks := 0
	r.until("the holder ends with its terminal", func() bool {
		if comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", r.cmd.Process.Pid)); err == nil && string(comm) == "sleep\n" {
			t.Fatal("it became a holder that no hang-up ends")
		}
		// A wrong one gets the time to show itself first.
		if looks++; looks == 20 {
			must(r.cmd.Process.Signal(syscall.SIGHUP))
		}
		select {
		case <-r.done:
			return true
		default:
			return false
		}
	})
}

func TestKilledSupervisorIsLost(t *testing.T) {
	t.Parallel()
	r := newRig(t, "escapee:hang", "say:x", "hang")
	r.start()
	r.release()
	r.until("a child", func() bool { _, err := os.Stat(r.rec.Paths.Result + ".child"); return err == nil })
	s := r.stage(sidecar.StageStart)
	must(r.cmd.Process.Kill())
	<-r.done
	j := r.judge()
	if j.Verdict != sidecar.Lost || j.OtherBoot || j.Status.Claim != s.Claim {
		t.Fatalf("judged %+v", j)
	}
	r.until("the worker dies with its supervisor", func() bool {
		w, err := sidecar.Read(r.rec.Paths.Status)
		return err == nil && (w.Worker == nil || !w.Worker.Alive())
	})
	if left := endClaim(t, s.Claim); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
