package supervise

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime/crash"
	"github.com/okstra/okstra/runtime/durable"
	"github.com/okstra/okstra/runtime/launch"
	"github.com/okstra/okstra/runtime/proc"
	"github.com/okstra/okstra/runtime/providers"
	"github.com/okstra/okstra/runtime/sidecar"
)

// Bounds of what a terminal sidecar holds, so that it fits its reserved space.
const (
	maxDetail   = 2 << 10
	maxNote     = 512
	maxNotes    = 20
	maxChanged  = 50
	maxLeftover = 100
)

// note adds a sentence for people to the sidecar.
func (s *supervisor) note(format string, args ...any) {
	if len(s.status.Notes) < maxNotes {
		s.status.Notes = append(s.status.Notes, cut(providers.Clean(fmt.Sprintf(format, args...)), maxNote))
	}
}

// cannotStart ends an attempt whose worker never ran.
func (s *supervisor) cannotStart(err error) {
	code := codeNotExecutable
	if se := (*startError)(nil); errors.As(err, &se) {
		code = se.code
	}
	now := time.Now().UTC()
	s.status.Stage = sidecar.StageFinish
	s.status.FinishedAt = &now
	s.status.ExitCode = &code
	s.status.Reason = plan.ReasonCannotStart
	s.status.Detail = cut(providers.Clean(err.Error()), maxDetail)
	s.removeEnv()
}

// removeEnv takes the environment's values, secrets among them, off the disk:
// nobody will start this attempt again.
func (s *supervisor) removeEnv() {
	if err := os.Remove(s.rec.Paths.Env); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.note("the environment record could not be removed: %v", err)
	}
}

// report turns what was seen of a worker into the terminal sidecar's content,
// and writes the files that are the supervisor's to write.
func (s *supervisor) report(w *worker) {
	st := &s.status
	if w.ended.IsZero() {
		w.ended = time.Now() // it could not be ended, and is leftover
	}
	finished := st.StartedAt.Add(w.ended.Sub(w.started)).UTC()
	st.Stage = sidecar.StageFinish
	st.FinishedAt = &finished
	st.DurationMS = w.ended.Sub(w.started).Milliseconds()
	st.Bytes = sidecar.Bytes{
		Stdout:  w.stdout.bytes.Load(),
		Stderr:  w.stderr.bytes.Load(),
		Dropped: w.stdout.dropped.Load() + w.stderr.dropped.Load(),
	}
	if st.Bytes.Dropped > 0 {
		s.note("%d bytes of output could not be written to the log", st.Bytes.Dropped)
	}
	for _, p := range []*pipe{w.stdout, w.stderr} {
		if err := p.close(); err != nil {
			s.note("close a log: %v", err)
		}
	}
	st.Leftover = w.leftover[:min(len(w.leftover), maxLeftover)]

	outcome := w.reading.outcome
	st.Usage = outcome.Usage
	for _, n := range outcome.Notes {
		s.note("%s", n)
	}
	code, sig := w.exitCode()
	st.ExitCode, st.Signal = &code, sig
	s.explain(w, outcome, code)
	if *st.ExitCode == 0 && st.Stage == sidecar.StageFinish && st.Reason == plan.ReasonNone {
		s.writeResults(outcome)
	}
	crash.Point("supervisor.result-written")
	s.takeArtifacts()
	crash.Point("supervisor.artifacts-synced")
	s.compare(w)
}

// exitCode is 128+n for a signal, as shells have it.
func (w *worker) exitCode() (code int, sig string) {
	switch {
	case !w.exited:
		return 128 + int(syscall.SIGKILL), name(syscall.SIGKILL)
	case w.exit.Signaled():
		return 128 + int(w.exit.Signal()), name(w.exit.Signal())
	}
	return w.exit.ExitStatus(), ""
}

// explain sets stage, reason and detail: first why we ended it, then what the
// provider said, then what the exit code means.
func (s *supervisor) explain(w *worker, outcome providers.Outcome, code int) {
	st := &s.status
	fatal := outcome.Fatal
	if w.cause == causeDelivered && fatal == nil {
		// It had done all that was asked; how it took being ended says nothing.
		if st.Signal != "" || code != 0 {
			s.note("after being ended it left with exit code %d", code)
		}
		*st.ExitCode, st.Signal = 0, ""
		return
	}
	if w.cause == causeNone && st.Signal == "" && code != 0 {
		fatal = s.exitMeans(fatal, w.errTail.b, code)
	}
	switch {
	case w.cause == causeLimit:
		st.Stage, st.Timeout = sidecar.StageTimeout, w.limit
		st.Reason = plan.ReasonWallLimit
		if w.limit.Limit == sidecar.LimitIdle {
			st.Reason = plan.ReasonIdleLimit
		}
		// A CLI that tries for ever what the provider refuses reaches a limit;
		// more time would not help it.
		if !w.failing {
			fatal = providers.Classify(w.lastErrors(), 1, s.rec.Output)
		}
		if fatal != nil {
			st.Reason, st.RetryAfter = fatal.Reason, fatal.RetryAfter
		}
	case w.cause == causeCancelled:
		st.Reason = plan.ReasonCancelled
	case w.cause == causePaneLost:
		st.Reason = plan.ReasonPaneLost
	case fatal != nil:
		st.Reason, st.RetryAfter = fatal.Reason, fatal.RetryAfter
	}
	if st.Reason == plan.ReasonNone && code == 0 {
		return
	}
	detail := ""
	if fatal != nil {
		detail = fatal.Detail
	}
	if detail == "" {
		detail = lastWords(w.errTail.b)
	}
	st.Detail = cut(redact(detail, w.env, w.super.rec.SecretEnv), maxDetail)
}

// exitMeans tells why a program failed: what its output said comes first, then
// what its standard error says, then the exit code's meaning of the provider,
// which only betters what nothing more exact is known of.
func (s *supervisor) exitMeans(said *providers.Fatal, stderr []byte, code int) *providers.Fatal {
	fatal := said
	if fatal == nil {
		fatal = providers.Classify(stderr, code, s.rec.Output)
	}
	reason, ok := s.rec.ExitCodes[strconv.Itoa(code)]
	if !ok || fatal != nil && fatal.Reason != plan.ReasonProviderError {
		return fatal
	}
	if fatal == nil {
		return &providers.Fatal{Reason: reason}
	}
	bettered := *fatal
	bettered.Reason = reason
	return &bettered
}

// lastWords are the last lines of the standard error that say anything.
func lastWords(b []byte) string {
	const most = 3
	var out []string
	lines := bytes.Split(b, []byte("\n"))
	for _, line := range slices.Backward(lines) {
		if text := strings.TrimSpace(providers.Clean(string(line))); text != "" {
			out = append(out, text)
		}
		if len(out) == most {
			break
		}
	}
	slices.Reverse(out)
	return strings.Join(out, " | ")
}

// writeResults writes what a worker leaves to us: the parts of its final text,
// and the pointer to a narrative.
func (s *supervisor) writeResults(outcome providers.Outcome) {
	rec, st := s.rec, &s.status
	fail := func(r plan.Reason, detail string) {
		st.Reason, st.Detail = r, cut(providers.Clean(detail), maxDetail)
	}
	if rec.Result == plan.ResultStdout {
		switch {
		case outcome.Truncated:
			fail(plan.ReasonInvalidResult, fmt.Sprintf("the final text is longer than %d bytes; the log has it", providers.MaxFinal))
			return
		case !outcome.HasFinal:
			fail(plan.ReasonNoResult, "the output held no final text")
			return
		}
		p := splitParts(outcome.FinalText)
		notes, err := p.write(rec)
		for _, n := range notes {
			s.note("%s", n)
		}
		if err != nil {
			fail(plan.ReasonNoResult, err.Error())
			return
		}
	}
	if rec.Report {
		f := sidecar.Look(launch.CompletionPath{Name: "result", Path: rec.Paths.Result})
		if !f.Regular || f.Size == 0 || f.Problem != "" {
			return // the completion rule says what is wrong with it
		}
		text := rec.PointTo(rec.Paths.Result, f.Digest).Text()
		if err := durable.WriteFile(rec.Paths.WorkerResult, []byte(text), 0o600); err != nil {
			fail(plan.ReasonNoResult, err.Error())
		}
	}
}

// takeArtifacts makes what the worker wrote durable and records what it is.
func (s *supervisor) takeArtifacts() {
	paths := s.rec.CompletionPaths()
	for _, o := range s.rec.Outputs {
		if !o.Required {
			paths = append(paths, launch.CompletionPath{Name: "out:" + o.Name, Path: o.Path})
		}
	}
	var there []string
	for _, c := range paths {
		if !present(c.Path) {
			continue
		}
		there = append(there, c.Path)
		f := sidecar.Look(c)
		if f.Problem == "" && f.Regular {
			if err := durable.SyncFile(c.Path); err != nil {
				f.Problem = err.Error()
			}
		}
		switch {
		case f.Problem != "":
			s.note("%s: %s", c.Name, f.Problem)
		case f.Regular:
			s.status.Artifacts = append(s.status.Artifacts, sidecar.Artifact{Name: c.Name, Path: c.Path, Size: f.Size, Digest: f.Digest})
		}
	}
	for _, dir := range folders(there) {
		if err := durable.SyncDir(dir); err != nil {
			s.note("%v", err)
		}
	}
}

// settle writes the terminal sidecar. It does not give up while its lock
// excludes others: without this file the worker's end is not known to anybody.
func (s *supervisor) settle() {
	crash.Point("supervisor.before-terminal")
	data := s.fit()
	const pause = 500 * time.Millisecond
	told := false
	var forsaken time.Time // since when
	for {
		err := s.reserve.Commit(data)
		if err == nil {
			break
		}
		switch {
		case !s.forsaken():
			forsaken = time.Time{}
		case forsaken.IsZero():
			forsaken = time.Now()
		case time.Since(forsaken) >= forsakenFor:
			s.screen.message(fmt.Sprintf("okstra: the records of this attempt were removed; its end is written nowhere: %v", err))
			s.dismissed = true
			return
		}
		if !told {
			told = true
			s.screen.message(fmt.Sprintf("okstra: the end of the worker cannot be written yet: %v", err))
		}
		again := time.NewTimer(pause)
		select {
		case <-again.C:
		case <-s.signals.asks:
			s.dismissed = true
		}
		again.Stop()
	}
	crash.Point("supervisor.after-terminal")
	s.trailer()
}

// forsakenFor is how long the records may be away: somebody may be moving them.
const forsakenFor = 3 * time.Second

// forsaken reports whether the file of our lock is gone or another's: then the
// records were removed, and nobody can wait for us any more.
func (s *supervisor) forsaken() bool {
	there, err := os.Lstat(s.rec.Paths.Lock)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	ours, ourErr := s.lock.File().Stat()
	return err == nil && ourErr == nil && !os.SameFile(there, ours)
}

// fit returns the sidecar's bytes, without what is not needed for a verdict
// where that would be more than was reserved.
func (s *supervisor) fit() []byte {
	data := s.status.Encode()
	if len(data) <= s.reserve.Size() {
		return data
	}
	s.status.Notes = []string{"more was noted than a sidecar can hold"}
	s.status.Leftover = s.status.Leftover[:min(len(s.status.Leftover), 10)]
	return s.status.Encode()
}

// trailer is the end of a worker's screen.
func (s *supervisor) trailer() {
	st := &s.status
	how := fmt.Sprintf("exit code %d", *st.ExitCode)
	switch {
	case st.Timeout != nil:
		how = fmt.Sprintf("%s limit of %s", st.Timeout.Limit, st.Timeout.After)
		if status, _ := plan.StatusOf(st.Reason); status != plan.StatusTimeout {
			how = fmt.Sprintf("%s, at its %s", st.Reason, how)
		}
	case st.Reason != plan.ReasonNone:
		how = string(st.Reason)
	case st.Signal != "":
		how = st.Signal
	}
	took := (time.Duration(st.DurationMS) * time.Millisecond).Round(100 * time.Millisecond)
	s.screen.message(fmt.Sprintf("okstra: %s ended after %s: %s", s.rec.Label, took, how))
	if st.Detail != "" {
		s.screen.message("okstra: " + st.Detail)
	}
	// The log's path is longer than a pane is wide.
	s.screen.message(fmt.Sprintf("log: okstra logs %s %s", s.rec.Run, s.rec.WorkerKey))
}

func present(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func pids(ids []proc.Identity) string {
	const most = 10
	var out []string
	for _, id := range ids[:min(len(ids), most)] {
		out = append(out, strconv.Itoa(id.PID))
	}
	if len(ids) > most {
		out = append(out, "…")
	}
	return strings.Join(out, " ")
}

// cut shortens text to at most n bytes, at a character's end.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	const more = "…"
	n -= len(more)
	for n > 0 && text[n]&0xC0 == 0x80 {
		n--
	}
	return text[:n] + more
}
