package plan

import (
	"fmt"
	"time"
)

// worstCase bounds what the workers that are still to be started can cost: all
// attempts of all of them, each to its wall limit. What is left of the run's
// budget bounds it further.
func (p *Plan) worstCase(spent Spent) WorstCase {
	var worst WorstCase
	var tokens int64
	var usd float64
	tokensKnown, usdKnown := true, true
	actions := map[string]WorkerAction{}
	for _, a := range p.Difference.Workers {
		actions[a.Key] = a
	}
	for _, r := range p.Rounds {
		if p.Difference.Denied == r.Name {
			break // from there on nothing is started
		}
		passes := 1
		if r.Convergence != nil {
			passes = r.Convergence.MaxRounds
			if r.Convergence.Critic {
				passes += 2 // the critic's pass, and the one that judges its candidates
			}
			if !r.Convergence.Enabled {
				passes = 0
			}
		}
		parallel := r.Parallelism
		if parallel <= 0 {
			parallel = 1
		}
		var longest, total time.Duration
		for _, w := range r.Workers {
			a := actions[w.Key]
			starts := 0
			switch a.Action {
			case ActionDispatch, ActionRedo, ActionBlocked, ActionRetry:
				starts = w.Retry.Attempts * passes
			case ActionAdopt:
				starts = (w.Retry.Attempts - 1) * passes
			default:
				continue
			}
			worst.Starts += starts
			one := w.Limits.Start.D() + w.Limits.Wall.D() + w.Limits.Grace.D()
			all := time.Duration(w.Retry.Attempts)*one + time.Duration(w.Retry.Attempts-1)*w.Retry.Backoff.D()
			longest = max(longest, all)
			total += all
			if w.Worst != nil && w.Worst.Tokens != nil {
				tokens += int64(starts) * *w.Worst.Tokens
			} else {
				tokensKnown = false
			}
			if w.Worst != nil && w.Worst.USD != nil {
				usd += float64(starts) * *w.Worst.USD
			} else {
				usdKnown = false
			}
		}
		// With n slots no schedule of these workers takes longer than an even
		// share of their sum plus the longest of them.
		wall := total/time.Duration(parallel) + longest
		worst.Wall += Duration(time.Duration(passes) * min(wall, total))
	}
	b := p.Run.Budget
	if b != nil {
		if b.Dispatches != nil {
			worst.Starts = min(worst.Starts, max(0, *b.Dispatches-spent.Dispatches))
		}
		if b.Wall != nil {
			worst.Wall = min(worst.Wall, max(0, *b.Wall-spent.Wall))
		}
	}
	if b != nil && b.Tokens != nil {
		if left := max(0, *b.Tokens-spent.Tokens); !tokensKnown || tokens > left {
			tokens, tokensKnown = left, true
		}
	}
	if b != nil && b.USD != nil {
		if left := max(0, *b.USD-spent.USD); !usdKnown || usd > left {
			usd, usdKnown = left, true
		}
	}
	if tokensKnown {
		worst.Tokens = &tokens
	}
	if usdKnown {
		worst.USD = &usd
	}
	return worst
}

// shortOf tells what of the run's budget cannot be enough, though nothing goes
// wrong: one start of each worker, where it is known what that takes at least.
func (p *Plan) shortOf(spent Spent) []string {
	b := p.Run.Budget
	if b == nil || p.Difference.Finished {
		return nil
	}
	starts := 0
	for _, a := range p.Difference.Workers {
		switch a.Action {
		case ActionDispatch, ActionRedo, ActionRetry:
			starts++
		case ActionBlocked:
			if p.Difference.Denied == "" {
				starts++
			}
		}
	}
	if starts == 0 {
		return nil
	}
	var out []string
	if b.Dispatches != nil && starts > *b.Dispatches-spent.Dispatches {
		out = append(out, fmt.Sprintf("budget.dispatches is %d and %d are used: not all of the %s that are to be started will be", *b.Dispatches, spent.Dispatches, Count(starts, "worker")))
	}
	if b.Tokens != nil && spent.Tokens >= *b.Tokens {
		out = append(out, fmt.Sprintf("budget.tokens is %d and %d are used: nothing more is started", *b.Tokens, spent.Tokens))
	}
	if b.USD != nil && spent.USD >= *b.USD {
		out = append(out, fmt.Sprintf("budget.usd is %g and %g are used: nothing more is started", *b.USD, spent.USD))
	}
	return out
}
