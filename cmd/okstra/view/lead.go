package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime"
	"github.com/okstra/okstra/runtime/lead"
	"github.com/okstra/okstra/runtime/verify"
)

// LeadProgress shows events in the form that leads read: a PROGRESS line on
// Out and, for a worker's event, the ACTIVITY line right after it, both made
// from the event as it stands in the log. With JSON it is one object a line.
type LeadProgress struct {
	Progress
}

var _ runtime.Progress = (*LeadProgress)(nil)

// LeadProgress returns a receiver of events for team commands.
func (v *View) LeadProgress() *LeadProgress { return &LeadProgress{Progress{v: v}} }

// Event shows one event.
func (p *LeadProgress) Event(e runtime.Event) {
	if p.v.JSON {
		p.Progress.Event(e)
		return
	}
	if err := p.v.LeadEvent(e.Log); err != nil && p.Err == nil {
		p.Err = err
	}
}

// LeadEvent shows one event of the log as a lead reads it.
func (v *View) LeadEvent(e lead.Event) error {
	if v.JSON {
		return v.document(e)
	}
	lines := []line{plainLine(lead.ProgressLine(e))}
	if activity := lead.ActivityLine(e); activity != "" {
		lines = append(lines, plainLine(activity))
	}
	return v.Out.print(lines...)
}

// Heartbeat says that a command is alive, for hosts that end silent ones.
func (v *View) Heartbeat(waited time.Duration, running, total int) error {
	if v.JSON {
		return v.record(struct {
			Type    string  `json:"type"`
			Waited  float64 `json:"waitedSeconds"`
			Running int     `json:"running"`
			Total   int     `json:"total"`
		}{"heartbeat", waited.Seconds(), running, total})
	}
	return v.Out.print(plainLine(fmt.Sprintf("PROGRESS: %s waiting, %s, %d of %d workers run", lead.PhaseAwait, waited.Round(time.Second), running, total)))
}

// Dispatched shows what a team dispatch started, or would start.
func (v *View) Dispatched(r *runtime.DispatchReport) error {
	if v.JSON {
		return v.record(struct {
			Type string `json:"type"`
			*runtime.DispatchReport
		}{"dispatched", r})
	}
	rows := [][]span{heads("WORKER", "LABEL", "INVOCATION", "STATUS", "PANE")}
	for _, w := range r.Workers {
		rows = append(rows, []span{{plain, w.WorkerKey}, {faint, w.Label}, {plain, w.InvocationRef}, {statusStyle(w.Status), string(w.Status)}, {faint, w.PaneID}})
	}
	if len(r.Workers) == 0 {
		return nil
	}
	return v.Out.print(append(v.Out.screen().table(rows, "  ", leaveOut(1), leaveOut(2), cutKey(0, 16), leaveOut(4)), blank)...)
}

// Usage shows what a run has used.
func (v *View) Usage(r *runtime.UsageReport) error {
	return v.show(r, func(sc screen) []line {
		rows := [][]span{heads("WORKER", "ATTEMPT", "IN", "OUT", "CACHED", "REASONING", "USD", "SOURCE")}
		add := func(row runtime.UsageRow, st style) {
			u := row.Usage
			attempt, source := "", u.Source
			if row.Attempt > 0 {
				attempt = fmt.Sprint(row.Attempt)
			}
			if row.Unknown > 0 {
				source = strings.TrimSuffix(source, "+"+plan.UsageUnavailable) + fmt.Sprintf("; %d not reported", row.Unknown)
			}
			if row.Uncosted > 0 && u.USD != nil {
				source += fmt.Sprintf("; cost of %d not reported", row.Uncosted)
			}
			cells := []span{{st, row.Name}, {plain, attempt}}
			if u.Source == plan.UsageUnavailable {
				cells = append(cells, span{faint, "-"}, span{faint, "-"}, span{faint, "-"}, span{faint, "-"}, span{faint, "-"})
			} else {
				usd := "-"
				if u.USD != nil {
					usd = fmt.Sprintf("%.4f", *u.USD)
				}
				cells = append(cells, span{plain, thousands(u.InputTokens)}, span{plain, thousands(u.OutputTokens)}, span{plain, thousands(u.CachedTokens)},
					span{plain, thousands(u.ReasoningTokens)}, span{plain, usd})
			}
			rows = append(rows, append(cells, span{faint, source}))
		}
		for _, w := range r.Workers {
			add(w, plain)
		}
		for _, w := range r.Rounds {
			w.Name = "round " + w.Name
			add(w, strong)
		}
		add(r.Total, strong)
		out := sc.table(rows, "", breakLines(7, 14), leaveOut(5), leaveOut(4), leaveOut(1), cutKey(0, 20), leaveOut(7), cutKey(0, 12))
		if r.Budget != nil {
			out = append(out, blank, plainLine("Budget: "+budget(r.Budget)))
		}
		return out
	})
}

// Verified shows where a record and the facts disagree.
func (v *View) Verified(r *verify.Report) error {
	return v.show(r, func(sc screen) []line {
		if r.Agree() {
			return sc.folds(line{{good, "agrees"}, {plain, fmt.Sprintf("  %s: %s and %s derived again, and nothing differs", r.Run, plan.Count(r.Workers, "invocation"), plan.Count(r.Events, "event"))}})
		}
		var out []line
		for _, d := range r.Disagreements {
			out = append(out, sc.folds(line{{strong, d.Subject}, {plain, ": " + d.Fact}})...)
			out = append(out, wrapped("recorded: "+d.Recorded, "  ", sc.width, plain)...)
			out = append(out, wrapped("found:    "+d.Found, "  ", sc.width, bad)...)
		}
		return append(append(out, blank), sc.folds(line{{bad, fmt.Sprintf("%s disagrees with what is on disk in %s.", r.Run, plan.Count(len(r.Disagreements), "place"))}})...)
	})
}

// Bundle shows a lead's launch prompt; with JSON beside it the facts that a
// program starts from.
func (v *View) Bundle(b *lead.Bundle, text string) error {
	if !v.JSON {
		return v.Raw([]byte(text))
	}
	return v.document(struct {
		Run         string `json:"run"`
		Manifest    string `json:"manifest"`
		LeadRuntime string `json:"leadRuntime"`
		Mode        string `json:"dispatchMode"`
		Prompt      string `json:"prompt"`
	}{b.Run.Ref(), b.Run.Manifest(), string(b.Runtime), string(b.Mode), text})
}
