package view

import (
	"fmt"
	"time"

	"github.com/okstra/okstra/lang/plan"
)

// Finding is one thing that doctor looked at.
type Finding struct {
	Area  string `json:"area"` // backend, worker, not used (a worker), git, files, terminal
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
	StateOK        State = "ok"
	StateAbsent    State = "absent"    // not here, which is no fault
	StateOpen      State = "open"      // cannot be told here
	StateAttention State = "attention" // here or wanted, and not as it should be
	StateProblem   State = "problem"   // okstra cannot work like this
)

// stateLooks are the words and the looks of states for people.
var stateLooks = map[State]span{
	StateOK:        {good, "ok"},
	StateAbsent:    {faint, "not here"},
	StateOpen:      {faint, "not known"},
	StateAttention: {warn, "needs attention"},
	StateProblem:   {bad, "cannot work"},
}

// Doctor shows findings and ends with what they come to.
func (v *View) Doctor(findings []Finding, summary string) error {
	doc := struct {
		Findings []Finding `json:"findings"`
		Summary  string    `json:"summary"`
	}{nonNil(findings), summary}
	return v.show(doc, func(sc screen) []line {
		var rows [][]span
		area := ""
		for _, f := range findings {
			shown := f.Area
			if shown == area {
				shown = ""
			}
			area = f.Area
			rows = append(rows, []span{{strong, shown}, {plain, f.Name}, stateLooks[f.State], {plain, f.Found}})
			if f.Probe != nil {
				rows = append(rows, []span{{plain, ""}, {plain, ""}, {plain, ""}, {plain, f.Probe.text()}})
			}
			if f.Do != "" {
				rows = append(rows, []span{{plain, ""}, {plain, ""}, {plain, ""}, {faint, "→ " + f.Do}})
			}
		}
		out := sc.table(rows, "", breakLines(3, 24), breakLines(2, 9), cut(1, 8))
		return append(append(out, blank), sc.folds(line{{strong, summary}})...)
	})
}
