package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/durable"
	"github.com/okstra/okstra/runtime/lead"
	"github.com/okstra/okstra/runtime/record"
)

// ApprovalFormat is the version of an approval file.
const ApprovalFormat = "okstra.approval/1"

// ApprovalFile is the answer to a gate as it lies on disk until a runner takes
// it into the record.
type ApprovalFile struct {
	Format   string    `json:"format"`
	Round    string    `json:"round"`
	Approved bool      `json:"approved"`
	Choice   string    `json:"choice,omitempty"`
	Note     string    `json:"note,omitempty"`
	By       string    `json:"by,omitempty"`
	At       time.Time `json:"at"`
	Seen     string    `json:"resultsDigest"`
}

// gateResult says whether a round may begin.
type gateResult int

const (
	gateInvalid gateResult = iota
	gateOpen
	gateWaits
	gateDenied
)

// gate passes the gate before a round, or says that it waits or was denied.
func (s *session) gate(ctx context.Context, r *plan.Round) (gateResult, error) {
	if r.Gate == nil {
		return gateOpen, nil
	}
	rec := s.state.Round(r.Name)
	if rec.Approval != nil && approvalState(s.run, s.plan, s.state, rec) == "approved" {
		return gateOpen, nil
	}
	file, err := s.readApproval(r)
	if err != nil {
		return gateInvalid, err
	}
	if file == nil && s.asker != nil {
		if file, err = s.ask(ctx, r); err != nil {
			return gateInvalid, err
		}
	}
	if file == nil {
		rec.Result = "" // what an earlier end of the run said of it no longer holds
		s.note(lead.Event{TS: s.env.Now(), Type: lead.GateWaiting, Phase: lead.PhaseOf(lead.GateWaiting, r.Kind), Round: r.Name, Message: "waiting for an approval: " + asked(r, s.rejected)})
		return gateWaits, s.commit()
	}
	rec.Approval = &record.Approval{Approved: file.Approved, Choice: file.Choice, Note: file.Note, By: file.By, At: file.At, Seen: file.Seen}
	if !file.Approved {
		s.note(lead.Event{TS: s.env.Now(), Type: lead.GateDenied, Phase: lead.PhaseOf(lead.GateDenied, r.Kind), Round: r.Name, Message: "the gate of round " + r.Name + " was denied"})
		return gateDenied, nil
	}
	s.note(lead.Event{TS: s.env.Now(), Type: lead.GateApproved, Phase: lead.PhaseOf(lead.GateApproved, r.Kind), Round: r.Name, Message: "the gate of round " + r.Name + " was approved"})
	return gateOpen, s.commit()
}

// ask asks the person at the terminal, who may be answered for from elsewhere
// meanwhile: the first answer that is on disk counts. A request to stop ends
// the question too. nil means that nothing was decided.
func (s *session) ask(ctx context.Context, r *plan.Round) (*ApprovalFile, error) {
	const every = 200 * time.Millisecond
	asking, answered := context.WithCancel(ctx)
	defer answered()
	go func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for !exists(s.run.Approval(r.Name)) && !exists(s.run.Stop()) {
			select {
			case <-asking.Done():
				return
			case <-tick.C:
			}
		}
		answered()
	}()
	answer, ok := s.asker.Ask(asking, r.Name, plan.Gate{Reason: asked(r, s.rejected), Choices: r.Gate.Choices})
	if err := interruptible(ctx); err != nil {
		return nil, err
	}
	s.heedStop()
	if ok && !s.stopping {
		if err := checkChoice(r, answer); err != nil {
			return nil, err
		}
		file := ApprovalFile{Format: ApprovalFormat, Round: r.Name, Approved: answer.Approved, Choice: answer.Choice, Note: answer.Note, By: answer.By,
			At: s.env.Now(), Seen: resultsDigest(s.run, s.plan, s.state, r.Name)}
		if err := writeApproval(s.run, file); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	return s.readApproval(r)
}

// writeApproval makes the answer's file; the error wraps fs.ErrExist where the
// gate is answered already.
func writeApproval(run paths.Run, file ApprovalFile) error {
	b, err := plan.Indented(file)
	if err != nil {
		return err
	}
	path := run.Approval(file.Round)
	if err := durable.MkdirAll(filepath.Dir(path)); err != nil {
		return err
	}
	return durable.CreateExclusive(path, b, 0o600)
}

// readApproval returns the answer on disk, or nil. An answer that saw other
// results is void: it is set aside and the gate asks again.
func (s *session) readApproval(r *plan.Round) (*ApprovalFile, error) {
	path := s.run.Approval(r.Name)
	a, err := loadApproval(path)
	if err != nil || a == nil {
		return nil, err
	}
	if a.Seen == resultsDigest(s.run, s.plan, s.state, r.Name) {
		return a, nil
	}
	if err := setAside(path, a); err != nil {
		return nil, err
	}
	s.note(lead.Event{TS: s.env.Now(), Type: lead.Note, Round: r.Name, Message: "the approval of round " + r.Name + " saw other results and is void"})
	if a, err = loadApproval(path); err != nil || a == nil || a.Seen != resultsDigest(s.run, s.plan, s.state, r.Name) {
		return nil, err
	}
	return a, nil // given just now
}

// setAside takes a void answer out of the way. Another may have been given in
// its place meanwhile, which stays.
func setAside(path string, void *ApprovalFile) error {
	aside := path + ".void-" + token(4)
	if err := os.Rename(path, aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("set a void approval aside: %w", err)
	}
	moved, err := loadApproval(aside)
	if err != nil || moved == nil || moved.Seen == void.Seen && moved.At.Equal(void.At) {
		return err
	}
	if err := os.Link(aside, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("put an approval back: %w", err)
	}
	return os.Remove(aside)
}

func loadApproval(path string) (*ApprovalFile, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read approval: %w", err)
	}
	var a ApprovalFile
	if err := json.Unmarshal(b, &a); err != nil {
		return nil, fmt.Errorf("approval %s cannot be read: %w", path, err)
	}
	return &a, nil
}

func checkChoice(r *plan.Round, a Answer) error {
	if !a.Approved || len(r.Gate.Choices) == 0 && a.Choice == "" {
		return nil
	}
	if slices.Contains(r.Gate.Choices, a.Choice) {
		return nil
	}
	if len(r.Gate.Choices) == 0 {
		return &Refusal{What: fmt.Sprintf("the gate of round %s has no choices; leave --choice out", r.Name)}
	}
	what := fmt.Sprintf("the gate of round %s does not know the choice %q", r.Name, a.Choice)
	if a.Choice == "" {
		what = fmt.Sprintf("the gate of round %s asks for a choice", r.Name)
	}
	return &Refusal{What: what, Remedy: "give --choice with one of: " + strings.Join(r.Gate.Choices, ", ")}
}

// Approve answers the gate of a round. It takes no lock: a runner that waits
// elsewhere, or the next apply, finds the answer.
func Approve(_ context.Context, env Env, sel Selector, round string, a Answer) (*Outcome, error) {
	run, st, err := find(sel)
	if err != nil {
		return nil, err
	}
	p, err := loadPlan(run, st)
	if err != nil {
		return nil, err
	}
	r, err := gateOf(p, st, run, round)
	if err != nil {
		return nil, err
	}
	if st.Ended != "" {
		return nil, &Refusal{What: fmt.Sprintf("run %s is finished (%s): no gate of it waits", run.Ref(), st.Ended)}
	}
	if err := checkChoice(r, a); err != nil {
		return nil, err
	}
	if blocker := blockedBy(run, p, st); !reached(st, r, blocker) {
		// What it would have seen is not there yet, so it would be void.
		what := fmt.Sprintf("the gate of round %s is not reached yet: %s", r.Name, strings.Join(unmet(st, r), ", "))
		if blocker != "" {
			what = fmt.Sprintf("the gate of round %s is not reached: %s", r.Name, blocker)
		}
		return nil, &Refusal{What: what, Remedy: "answer it when it asks; " + following{run: run, st: st}.verb("status") + " says what the run waits for"}
	}
	file := ApprovalFile{Format: ApprovalFormat, Round: r.Name, Approved: a.Approved, Choice: a.Choice, Note: a.Note, By: a.By, At: env.Now(), Seen: resultsDigest(run, p, st, r.Name)}
	path := run.Approval(r.Name)
	if old, err := loadApproval(path); err != nil {
		return nil, err
	} else if old != nil && old.Seen != file.Seen {
		if err := setAside(path, old); err != nil {
			return nil, err
		}
	}
	err = writeApproval(run, file)
	if errors.Is(err, fs.ErrExist) {
		return nil, &Refusal{What: fmt.Sprintf("the gate of round %s is answered already: %s", r.Name, relative(run.Root, path)), Remedy: following{run: run, st: st}.apply() + " goes on from it"}
	}
	if err != nil {
		return nil, err
	}
	verb := "approved"
	if !a.Approved {
		verb = "denied"
	}
	out := &Outcome{Run: run, RunName: st.RunName, State: st, Plan: p, Summary: fmt.Sprintf("Round %s of %s is %s.", r.Name, run.Ref(), verb)}
	if driven(run) {
		out.Summary += " The okstra that drives the run goes on from it."
		return out, nil
	}
	out.Next = []string{following{run: run, st: st}.apply()}
	return out, nil
}

// gateOf finds the round whose gate is meant; without a name it is the one
// that waits.
func gateOf(p *plan.Plan, st *record.State, run paths.Run, name string) (*plan.Round, error) {
	var gates []string
	var waiting *plan.Round
	for i := range p.Rounds {
		r := &p.Rounds[i]
		if r.Gate == nil {
			continue
		}
		gates = append(gates, r.Name)
		answered := st.FindRound(r.Name)
		if waiting == nil && (answered == nil || answered.Approval == nil) {
			waiting = r
		}
		if r.Name == name {
			return r, nil
		}
	}
	switch {
	case len(gates) == 0:
		return nil, &Refusal{What: fmt.Sprintf("run %s has no gates", run.Ref())}
	case name != "":
		return nil, &Refusal{What: fmt.Sprintf("round %q of run %s has no gate", name, run.Ref()), Remedy: "rounds with a gate: " + strings.Join(gates, ", ")}
	case waiting == nil:
		return nil, &Refusal{What: fmt.Sprintf("every gate of run %s is answered", run.Ref()), Remedy: "run okstra apply to go on"}
	}
	return waiting, nil
}
