package sidecar

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/okstra/okstra/runtime/durable"
	"github.com/okstra/okstra/runtime/proc"
)

// Verdict is what anyone can tell of an attempt. The zero value is invalid.
type Verdict string

const (
	// Live: a supervisor holds the lock and has not ended. Status is nil where
	// it has written nothing yet, and may still be that of an earlier
	// supervisor of the same attempt that left at init.
	Live Verdict = "live"
	// NeverStarted: no worker ran; the same attempt may be started again.
	NeverStarted Verdict = "never-started"
	// Terminal: the sidecar settles the attempt.
	Terminal Verdict = "terminal"
	// Lost: the supervisor was killed and its worker may have run. Whatever
	// carries the claim must be ended before anything is concluded.
	Lost Verdict = "lost"
	// Foreign: it was started on another host, where nothing can be told.
	Foreign Verdict = "foreign"
)

// Judgement is the answer of Judge.
type Judgement struct {
	Verdict Verdict
	Status  *Status // nil where no sidecar was written
	// OtherBoot is set with Lost where the machine has been started anew since:
	// nothing of the attempt can still run.
	OtherBoot bool
}

// Judge tells what became of an attempt (contract section 4, "Judging, by
// anyone"). It reads the sidecar while it holds the lock shared, so that no
// supervisor can end in between. A sidecar that cannot be read is an error.
func Judge(statusPath, lockPath string) (Judgement, error) {
	return judge(statusPath, lockPath, here{host: proc.Host(), boot: proc.BootID()})
}

// Held tells that a supervisor lives, whatever it has written, for less than
// Judge costs. What cannot be told is false: Judge says why.
func Held(lockPath string) bool {
	lock, err := durable.TryRLock(lockPath)
	if err == nil {
		lock.Close()
	}
	return errors.Is(err, durable.ErrLocked)
}

// here says where the judge runs.
type here struct{ host, boot string }

func judge(statusPath, lockPath string, h here) (Judgement, error) {
	held := false
	lock, err := durable.TryRLock(lockPath)
	switch {
	case err == nil:
		defer lock.Close()
	case errors.Is(err, durable.ErrLocked):
		held = true
	case errors.Is(err, fs.ErrNotExist):
		// The runner makes the lock before it asks for a supervisor, and no
		// supervisor works without: nobody holds it.
	default:
		return Judgement{}, fmt.Errorf("judge attempt: %w", err)
	}
	s, err := Read(statusPath)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Judgement{}, fmt.Errorf("judge attempt: %w", err)
	}
	return decide(s, held, h), nil
}

// decide is the rule itself.
func decide(s *Status, held bool, h here) Judgement {
	switch {
	case s != nil && s.Stage.Terminal():
		return Judgement{Verdict: Terminal, Status: s}
	case held:
		return Judgement{Verdict: Live, Status: s}
	case s == nil:
		return Judgement{Verdict: NeverStarted}
	// The same boot is the same machine, whatever it is called by now.
	case s.Host != h.host && s.BootID != h.boot:
		return Judgement{Verdict: Foreign, Status: s}
	case s.Stage == StageInit:
		return Judgement{Verdict: NeverStarted, Status: s}
	default:
		return Judgement{Verdict: Lost, Status: s, OtherBoot: s.BootID != h.boot}
	}
}
