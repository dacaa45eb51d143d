package runtime

import (
	"context"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime/providers"
)

// UsageReport tells what a run has used, by worker, round and in all. The
// source of each figure is named; "unavailable" is one.
type UsageReport struct {
	Run     string       `json:"run"`
	Workers []UsageRow   `json:"workers"` // every attempt that ran
	Rounds  []UsageRow   `json:"rounds"`
	Total   UsageRow     `json:"total"`
	Budget  *plan.Budget `json:"budget,omitempty"`
	Lead    *plan.Usage  `json:"leadUsage"`
}

// UsageRow is one line of a usage report.
type UsageRow struct {
	Name     string      `json:"name"`
	Round    string      `json:"round,omitempty"`
	Attempt  int         `json:"attempt,omitempty"`
	Provider string      `json:"provider,omitempty"`
	Model    string      `json:"model,omitempty"`
	Usage    *plan.Usage `json:"usage"`
	Unknown  int         `json:"unknown,omitempty"`     // of a sum: attempts that reported nothing
	Uncosted int         `json:"costUnknown,omitempty"` // of a sum: attempts that reported no cost
}

// Usage sums up what the workers of a recorded run reported.
func Usage(_ context.Context, _ Env, sel Selector) (*UsageReport, error) {
	run, st, err := find(sel)
	if err != nil {
		return nil, err
	}
	p, err := loadPlan(run, st)
	if err != nil {
		return nil, err
	}
	out := &UsageReport{Run: run.Ref(), Budget: p.Run.Budget, Lead: st.LeadUsage, Workers: []UsageRow{}, Rounds: []UsageRow{}}
	byRound := map[string][]*plan.Usage{}
	var order []string
	var all []*plan.Usage
	for _, d := range st.WorkerDispatches {
		if d.StartedAt == nil {
			continue
		}
		row := UsageRow{Name: d.WorkerKey, Round: d.Round, Attempt: d.Attempt, Provider: d.Provider, Usage: d.Usage}
		if _, w := p.Worker(d.WorkerKey); w != nil {
			row.Model = w.Model
		}
		if row.Usage == nil {
			row.Usage = &plan.Usage{Source: plan.UsageUnavailable}
		}
		if _, seen := byRound[d.Round]; !seen {
			order = append(order, d.Round)
		}
		byRound[d.Round] = append(byRound[d.Round], row.Usage)
		all = append(all, row.Usage)
		out.Workers = append(out.Workers, row)
	}
	for _, name := range order {
		out.Rounds = append(out.Rounds, sumRow(name, byRound[name]))
	}
	out.Total = sumRow("total", all)
	return out, nil
}

func sumRow(name string, usages []*plan.Usage) UsageRow {
	sum := providers.Sum(usages...)
	row := UsageRow{Name: name, Usage: &sum}
	for _, u := range usages {
		if u.Source == plan.UsageUnavailable {
			row.Unknown++
		}
		if u.USD == nil {
			row.Uncosted++
		}
	}
	return row
}
