package view

import (
	"fmt"
	"time"

	"github.com/okstra/okstra/lang/plan"
)

// Finding is one thing that doctor looked at.
type Finding struct {
	Area  string `json:"area"` // backend, worker, git, files, terminal
	Name  string `json:"name"`
	State State  `json:"state"`
	Found string `json:"found"`
	Do    string `json:"do,omitempty"` // what to do about it
	Probe *Probe `json:"probe,omitempty"`
}

// Probe is how the tiny job ended that a worker CLI was given.
type Probe struct {
	Status     plan.Status `json:"status"`
	Reason     plan.Reason `json:"reason,omitempty"`
	Detail     string      `json:"detail,omitempty"`
	DurationMS int64       `json:"duration_ms"`
	Usage      *plan.Usage `json:"usage,omitempty"`
}

// text is a probe in a few words.
func (p *Probe) text() string {
	if p.Status != plan.StatusCompleted {
		words := "its job ended as " + string(p.Status)
		if p.Reason != "" {
			words += "/" + string(p.Reason)
		}
		if p.Detail != "" {
			words += ": " + p.Detail
		}
		return words
	}
	took := (time.Duration(p.DurationMS) * time.Millisecond).Round(100 * time.Millisecond)
	words := fmt.Sprintf("did its job in %s", took)
	if p.Usage != nil && p.Usage.Total() > 0 {
		words += fmt.Sprintf(", %d tokens", p.Usage.Total())
	}
	return words
}

// State is how well a finding is. The zero value is invalid.
type State string

const (
	StateOK      State = "ok"
	StateMissing State = "missing" // not here, and okstra works without it
	StateProblem State = "problem" // okstra cannot work like this
)

// Doctor shows findings and ends with what they come to.
func (v *View) Doctor(findings []Finding, summary string) error {
	doc := struct {
		Findings []Finding `json:"findings"`
		Summary  string    `json:"summary"`
	}{nonNil(findings), summary}
	return v.show(doc, func(width int) []line {
		var rows [][]span
		area := ""
		for _, f := range findings {
			shown := f.Area
			if shown == area {
				shown = ""
			}
			area = f.Area
			st := good
			switch f.State {
			case StateMissing:
				st = warn
			case StateProblem:
				st = bad
			}
			rows = append(rows, []span{{strong, shown}, {plain, f.Name}, {st, string(f.State)}, {plain, f.Found}})
			if f.Probe != nil {
				rows = append(rows, []span{{plain, ""}, {plain, ""}, {plain, ""}, {plain, f.Probe.text()}})
			}
			if f.Do != "" {
				rows = append(rows, []span{{plain, ""}, {plain, ""}, {plain, ""}, {faint, "→ " + f.Do}})
			}
		}
		return append(table(rows, "", width, false), blank, line{{strong, summary}})
	})
}
