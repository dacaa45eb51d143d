package runtime

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime/record"
)

// affordable says why one more start of w would break the run's budget, or
// nothing. What is not known, and what still runs, counts at its worst.
func (s *session) affordable(w *plan.Worker, batch string) string {
	b := s.plan.Run.Budget
	if b == nil {
		return ""
	}
	sp := spent(s.state, s.plan)
	if b.Dispatches != nil && sp.dispatches+1 > *b.Dispatches {
		return fmt.Sprintf("budget: %d of %d dispatches are used", sp.dispatches, *b.Dispatches)
	}
	if b.Wall != nil {
		total := max(sp.longest[batch], w.Limits.Wall.D())
		for other, d := range sp.longest {
			if other != batch {
				total += d
			}
		}
		if total > b.Wall.D() {
			return fmt.Sprintf("budget: this start could bring the run to %s of %s wall time", total.Round(time.Second), b.Wall)
		}
	}
	if b.Tokens != nil {
		next := worstTokens(w)
		if sp.tokens+next > *b.Tokens {
			return fmt.Sprintf("budget: %d of %d tokens are used or reserved, and this start may use %d", sp.tokens, *b.Tokens, next)
		}
	}
	if b.USD != nil {
		next := worstUSD(w)
		if sp.usd+next > *b.USD {
			return fmt.Sprintf("budget: %s of %s USD are used or reserved, and this start may use %s", usd(sp.usd), usd(*b.USD), usd(next))
		}
	}
	return ""
}

// usd writes an amount to the hundredth of a cent: a start may cost less than
// a cent.
func usd(amount float64) string { return strconv.FormatFloat(math.Round(amount*1e4)/1e4, 'f', -1, 64) }

// spending is what a run has used so far.
type spending struct {
	dispatches int
	longest    map[string]time.Duration // by batch
	tokens     int64
	usd        float64
}

// sum is what plan needs to know of it.
func (sp spending) sum() plan.Spent {
	out := plan.Spent{Dispatches: sp.dispatches, Tokens: sp.tokens, USD: sp.usd}
	for _, d := range sp.longest {
		out.Wall += plan.Duration(d)
	}
	return out
}

func spent(st *record.State, p *plan.Plan) spending {
	sp := spending{longest: map[string]time.Duration{}}
	workers := map[string]*plan.Worker{}
	for i := range p.Rounds {
		for j := range p.Rounds[i].Workers {
			workers[p.Rounds[i].Workers[j].Key] = &p.Rounds[i].Workers[j]
		}
	}
	for _, d := range st.WorkerDispatches {
		active := d.Status == plan.StatusSpawning || d.Status == plan.StatusRunning
		if !active && d.StartedAt == nil {
			continue // it never ran
		}
		sp.dispatches++
		switch {
		case active:
			sp.longest[d.Batch] = max(sp.longest[d.Batch], d.Limits.Wall.D())
		case d.FinishedAt != nil:
			sp.longest[d.Batch] = max(sp.longest[d.Batch], d.FinishedAt.Sub(*d.StartedAt))
		}
		w := workers[d.WorkerKey]
		known := d.Usage != nil && d.Usage.Source != plan.UsageUnavailable && !active
		switch {
		case known:
			sp.tokens += d.Usage.Total()
		case w != nil:
			sp.tokens += worstTokens(w)
		}
		switch {
		case known && d.Usage.USD != nil:
			sp.usd += *d.Usage.USD
		case w != nil:
			sp.usd += worstUSD(w)
		}
	}
	return sp
}

// worstTokens is 0 where the provider names no worst; the language refuses a
// token budget for such a provider.
func worstTokens(w *plan.Worker) int64 {
	if w.Worst == nil || w.Worst.Tokens == nil {
		return 0
	}
	return *w.Worst.Tokens
}

func worstUSD(w *plan.Worker) float64 {
	if w.Worst == nil || w.Worst.USD == nil {
		return 0
	}
	return *w.Worst.USD
}
