package plan

import "time"

// worstCase bounds what the workers that are still to be started can cost: all
// attempts of all of them, each to its wall limit. The run's budget bounds it
// further.
func (p *Plan) worstCase() WorstCase {
	var worst WorstCase
	var tokens int64
	var usd float64
	tokensKnown, usdKnown := true, true
	actions := map[string]WorkerAction{}
	for _, a := range p.Difference.Workers {
		actions[a.Key] = a
	}
	for _, r := range p.Rounds {
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
			worst.Starts = min(worst.Starts, *b.Dispatches)
		}
		if b.Wall != nil {
			worst.Wall = min(worst.Wall, *b.Wall)
		}
	}
	if b != nil && b.Tokens != nil && (!tokensKnown || tokens > *b.Tokens) {
		tokens, tokensKnown = *b.Tokens, true
	}
	if b != nil && b.USD != nil && (!usdKnown || usd > *b.USD) {
		usd, usdKnown = *b.USD, true
	}
	if tokensKnown {
		worst.Tokens = &tokens
	}
	if usdKnown {
		worst.USD = &usd
	}
	return worst
}
