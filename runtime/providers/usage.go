package providers

import (
	"slices"
	"strings"

	"github.com/okstra/okstra/lang/plan"
)

// Sum adds usages up. A nil one, or one whose source is plan.UsageUnavailable,
// adds nothing; with no other the sum's source is plan.UsageUnavailable. Else
// its source names every source once, sorted, and "unavailable" where some
// usage is missing from the sum. USD is nil unless some usage reported cost,
// and then holds what was reported, which may be less than the whole.
func Sum(usages ...*plan.Usage) plan.Usage {
	var sum plan.Usage
	var sources []string
	for _, u := range usages {
		if u == nil || u.Source == plan.UsageUnavailable || u.Source == "" {
			sources = append(sources, plan.UsageUnavailable)
			continue
		}
		sources = append(sources, strings.Split(u.Source, "+")...)
		sum.InputTokens += u.InputTokens
		sum.OutputTokens += u.OutputTokens
		sum.CachedTokens += u.CachedTokens
		sum.ReasoningTokens += u.ReasoningTokens
		if u.USD != nil {
			usd := *u.USD
			if sum.USD != nil {
				usd += *sum.USD
			}
			sum.USD = &usd
		}
	}
	slices.Sort(sources)
	sources = slices.Compact(sources)
	if len(sources) == 0 {
		sources = []string{plan.UsageUnavailable}
	}
	sum.Source = strings.Join(sources, "+")
	return sum
}
