package view

import (
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/okstra/okstra/lang/plan"
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
	Label         string      `json:"executionLabel,omitempty"`
	Status        plan.Status `json:"status,omitempty"`
	Reason        plan.Reason `json:"reason,omitempty"`
	Message       string      `json:"message,omitempty"`
}

// Event shows one event.
func (p *Progress) Event(e runtime.Event) {
	var err error
	if p.v.JSON {
		err = p.v.record(event{"event", e.Time, e.Type, e.Phase, e.Round, e.InvocationRef, e.Label, e.Status, e.Reason, e.Message})
	} else {
		err = p.v.Err.print(eventLine(e))
	}
	if err != nil && p.Err == nil {
		p.Err = err
	}
}

func eventLine(e runtime.Event) line {
	l := line{{faint, e.Time.Local().Format("15:04:05") + "  "}}
	message := e.Message
	// How an attempt ended was said before the retry was.
	retrying := e.Type == string(lead.WorkerRetrying)
	switch {
	case e.InvocationRef != "":
		l = append(l, span{plain, e.InvocationRef + "  "})
		if e.Label != "" {
			l = append(l, span{faint, e.Label + "  "})
			if retrying {
				message = strings.TrimPrefix(message, e.Label+" ")
			} else if e.Status != "" && strings.Contains(message, e.Label) {
				// The sentence says what the columns say already.
				message = ""
			}
		}
	case e.Round != "" && !strings.Contains(message, "round "+e.Round):
		l = append(l, span{strong, "round " + e.Round + "  "})
	}
	if e.Status != "" && !retrying {
		status := string(e.Status)
		if e.Reason != plan.ReasonNone {
			status += "/" + string(e.Reason)
		}
		l = append(l, span{statusStyle(e.Status), status + "  "})
	}
	if message == "" && e.Status == "" {
		message = e.Type
	}
	return append(l, span{plain, message})
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

// Show takes the run as it stands now.
func (w *Watch) Show(s *runtime.RunStatus, now time.Time) error {
	switch {
	case w.v.JSON:
		key := statusKey(s)
		if w.seen && key == w.prev {
			return nil
		}
		w.seen, w.prev = true, key
		return w.v.record(s)
	case w.v.Out.terminal:
		lines := w.v.statusLines(s, now, w.v.Out.width)
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

// changes writes a line for everything that differs from the last call.
func (w *Watch) changes(s *runtime.RunStatus, now time.Time) error {
	at := now.Local().Format("15:04:05") + "  "
	var out []line
	note := func(key, value string, l line) {
		if w.last[key] != value {
			w.last[key] = value
			out = append(out, append(line{{faint, at}}, l...))
		}
	}
	for _, r := range s.Rounds {
		note("round/"+r.Name, r.State, line{{plain, "round " + r.Name + "  "}, {roundStyle(r.State), r.State}})
	}
	for _, k := range s.Workers {
		row := workerRow(k, now)
		note("worker/"+k.InvocationRef, row[2].text, line{{plain, k.InvocationRef + "  "}, row[2], {faint, "  " + k.Detail}})
	}
	st := runState(s)
	note("run", st.text, line{{plain, s.Ref + "  "}, st})
	return w.v.Out.print(out...)
}

// statusKey is what must differ for a change to be worth a JSON line.
func statusKey(s *runtime.RunStatus) string {
	key := runState(s).text + "|" + s.Waiting
	for _, r := range s.Rounds {
		key += "|" + r.Name + r.State
	}
	for _, k := range s.Workers {
		key += "|" + k.InvocationRef + string(k.Status) + string(k.Reason)
	}
	return key
}
