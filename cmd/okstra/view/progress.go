package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime"
	"github.com/okstra/okstra/runtime/lead"
)

// Progress shows what happens while a run is driven: one line per change on
// Err, or with JSON one object per event on Out. It implements
// runtime.Progress.
type Progress struct {
	v *View
	// Err is the first failure to write an event, for the caller to report
	// once the run is over: a broken pipe must not stop a run.
	Err error
}

var _ runtime.Progress = (*Progress)(nil)

// Progress returns a receiver of events.
func (v *View) Progress() *Progress { return &Progress{v: v} }

// event is the JSON face of runtime.Event.
type event struct {
	Type          string      `json:"type"` // "event"
	Time          time.Time   `json:"ts"`
	Event         string      `json:"event"`
	Phase         string      `json:"phase,omitempty"`
	Round         string      `json:"round,omitempty"`
	InvocationRef string      `json:"invocationRef,omitempty"`
	WorkerKey     string      `json:"workerKey,omitempty"`
	Attempt       int         `json:"attempt,omitempty"`
	Label         string      `json:"executionLabel,omitempty"`
	Status        plan.Status `json:"status,omitempty"`
	Reason        plan.Reason `json:"reason,omitempty"`
	Detail        string      `json:"detail,omitempty"`
	Message       string      `json:"message,omitempty"`
}

// Event shows one event.
func (p *Progress) Event(e runtime.Event) {
	var err error
	if p.v.JSON {
		err = p.v.record(event{
			Type: "event", Time: e.Time, Event: e.Type, Phase: e.Phase, Round: e.Round, InvocationRef: e.InvocationRef, WorkerKey: e.WorkerKey,
			Attempt: e.Attempt, Label: e.Label, Status: e.Status, Reason: e.Reason, Detail: e.Detail, Message: e.Message,
		})
	} else {
		err = p.v.Err.print(p.v.Err.screen().folded(eventLine(e), clockColumns)...)
	}
	if err != nil && p.Err == nil {
		p.Err = err
	}
}

func eventLine(e runtime.Event) line {
	l := line{{faint, clock(e.Time)}}
	// How an attempt ended was said before the retry was.
	retrying := e.Type == string(lead.WorkerRetrying)
	message := e.Message
	switch {
	case e.InvocationRef != "":
		l = append(l, span{plain, workerName(e.WorkerKey, e.InvocationRef, e.Round, e.Attempt) + "  "})
		if e.Label != "" {
			l = append(l, span{faint, e.Label + "  "})
			message = strings.TrimPrefix(message, e.Label+" ")
		}
		if e.Status != "" && !retrying {
			// The sentence says what the columns say; the detail says why.
			if e.Label != "" && strings.Contains(e.Message, e.Label) || e.Detail != "" {
				message = e.Detail
			}
		}
	case e.Type == string(lead.RoundBegun):
		message = beginning(e)
	case e.Round != "" && !strings.Contains(message, "round "+e.Round):
		l = append(l, span{strong, "round " + e.Round + "  "})
	}
	if e.Status != "" && !retrying {
		l = append(l, span{statusStyle(e.Status), statusText(e.Status, e.Reason) + "  "})
	}
	if message == "" && e.Status == "" {
		message = e.Type
	}
	return append(l, span{plain, message})
}

// beginning says which round begins, and with which batch where it has several.
func beginning(e runtime.Event) string {
	batch, ok := strings.CutPrefix(e.Message, "beginning ")
	switch {
	case !ok || e.Round == "" || batch == "round "+e.Round:
		return e.Message
	case batch == paths.ReportWriterBatch:
		return lead.Beginning(e.Round, e.Round)
	}
	return lead.Beginning(e.Round, e.Round) + ", " + batch
}

// clockColumns is where the text of a line begins that has a clock.
const clockColumns = len("15:04:05") + 2

// clock is the time at the start of a line.
func clock(t time.Time) string { return t.Local().Format("15:04:05") + "  " }

// workerName is a worker as status and plan name it, with its attempt where
// that is not the first, and with its batch where its round has several.
func workerName(key, invocation, round string, attempt int) string {
	if key == "" {
		return invocation
	}
	_, place, _ := strings.Cut(invocation, "@")
	if batch, _, _ := strings.Cut(place, "#"); batch != round && batch != "" && batch != paths.ReportWriterBatch {
		key += " in " + batch
	}
	if attempt > 1 {
		key += fmt.Sprintf(", attempt %d", attempt)
	}
	return key
}

// statusText is a status with its reason.
func statusText(s plan.Status, r plan.Reason) string {
	if r == plan.ReasonNone {
		return string(s)
	}
	return string(s) + "/" + string(r)
}

// Watch follows a recorded run. On a terminal it redraws; else it writes one
// line per change; with JSON one object per change.
type Watch struct {
	v    *View
	last map[string]string
	seen bool
	prev string
}

// Watch returns a follower.
func (v *View) Watch() *Watch { return &Watch{v: v, last: map[string]string{}} }

// Show takes the run as it stands now, with the commands that answer the gate
// which it waits at.
func (w *Watch) Show(s *runtime.RunStatus, answers []string, now time.Time) error {
	switch {
	case w.v.JSON:
		key := statusKey(s)
		if w.seen && key == w.prev {
			return nil
		}
		w.seen, w.prev = true, key
		return w.v.record(s)
	case w.v.Out.terminal:
		lines := w.v.statusLines(s, waitLines(s, answers, w.v.Out.screen()), now, w.v.Out.screen())
		text := ansi.CursorHomePosition
		if !w.seen {
			text = ansi.EraseEntireScreen + ansi.CursorHomePosition
		}
		for _, l := range lines {
			text += l.render(w.v.Out.color) + ansi.EraseLineRight + "\n"
		}
		w.seen = true
		_, err := w.v.Out.w.Write([]byte(text + ansi.EraseScreenBelow))
		return err
	}
	return w.changes(s, now)
}

// changes writes a line for everything that differs from the last call, in the
// order in which it happened as far as the record tells, else as seen now.
func (w *Watch) changes(s *runtime.RunStatus, now time.Time) error {
	type change struct {
		at time.Time
		l  line
	}
	var out []change
	note := func(key, value string, at *time.Time, l line) {
		if w.last[key] == value {
			return
		}
		w.last[key] = value
		if at == nil {
			at = &now
		}
		out = append(out, change{*at, append(line{{faint, clock(*at)}}, l...)})
	}
	for _, k := range s.Workers {
		if k.InvocationRef == "" {
			continue // nothing has happened to it
		}
		at := k.StartedAt
		if k.Status.Terminal() {
			at = k.FinishedAt
		}
		text := statusText(k.Status, k.Reason)
		note("worker/"+k.InvocationRef, text, at, line{
			{plain, workerName(k.WorkerKey, k.InvocationRef, k.Round, k.Attempt) + "  "}, {statusStyle(k.Status), text}, {faint, "  " + w.v.local(k.Detail)},
		})
	}
	for _, r := range s.Rounds {
		note("round/"+r.Name, roundText(r), roundTime(s, r), line{{plain, "round " + r.Name + "  "}, {roundStyle(r.State), roundText(r)}})
	}
	if s.Waiting != "" && !answered(s) {
		note("waiting", s.Waiting, nil, line{{warn, "waits for " + s.Waiting}})
	} else {
		delete(w.last, "waiting")
	}
	st := runState(s)
	note("run", st.text, s.EndedAt, line{{plain, s.Ref + "  "}, st})
	slices.SortStableFunc(out, func(a, b change) int { return a.at.Compare(b.at) })
	lines := make([]line, 0, len(out))
	for _, c := range out {
		lines = append(lines, w.v.Out.screen().folded(c.l, clockColumns)...)
	}
	return w.v.Out.print(lines...)
}

// roundTime is when a round came into its state, nil where the record does not
// tell: it begins with its first worker and ends with its last.
func roundTime(s *runtime.RunStatus, r runtime.RoundStatus) *time.Time {
	var first, last *time.Time
	for i := range s.Workers {
		k := &s.Workers[i]
		if k.Round != r.Name {
			continue
		}
		if k.StartedAt != nil && (first == nil || k.StartedAt.Before(*first)) {
			first = k.StartedAt
		}
		if k.FinishedAt != nil && (last == nil || k.FinishedAt.After(*last)) {
			last = k.FinishedAt
		}
	}
	switch r.State {
	case "running":
		return first
	case "met", "unmet":
		return last
	}
	return nil
}

// statusKey is what must differ for a change to be worth a JSON line.
func statusKey(s *runtime.RunStatus) string {
	key := runState(s).text + "|" + s.Waiting
	for _, r := range s.Rounds {
		key += "|" + r.Name + roundText(r)
	}
	for _, k := range s.Workers {
		key += "|" + k.InvocationRef + string(k.Status) + string(k.Reason)
	}
	return key
}
