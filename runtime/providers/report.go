package providers

import (
	"encoding/json"
	"math"
)

// A report of usage is believed whole or not at all: what is in a form that
// nobody knows would be counted as nothing, and a budget would never be reached.

// oddUsage is noted where a report was not believed.
const oddUsage = "the reported usage is in a form that is not known, and was not counted"

// maxUSD is the highest cost of one attempt that is believed, in US dollars.
const maxUSD = 1e6

// tokenReport is an object of token counts. known tells whether every count
// that was asked for could be read.
type tokenReport struct {
	members map[string]json.RawMessage
	known   bool
}

// readTokens begins to read a report; ok is false where there is none.
func readTokens(raw json.RawMessage) (r tokenReport, ok bool) {
	if absent(raw) {
		return r, false
	}
	r.known = json.Unmarshal(raw, &r.members) == nil
	return r, true
}

// must is a count that every report has.
func (r *tokenReport) must(name string) count {
	if absent(r.members[name]) {
		r.known = false
	}
	return r.may(name)
}

// may is a count that a report may leave out; it is 0 then.
func (r *tokenReport) may(name string) count {
	raw := r.members[name]
	if absent(raw) {
		return 0
	}
	var f float64
	if json.Unmarshal(raw, &f) != nil || f < 0 || f >= 1e15 || f != math.Trunc(f) {
		r.known = false
		return 0
	}
	return count(f)
}

// cost reads a cost in US dollars; nil where there is none to be believed.
func cost(raw json.RawMessage) *float64 {
	var usd float64
	if absent(raw) || json.Unmarshal(raw, &usd) != nil || usd < 0 || usd > maxUSD {
		return nil
	}
	return &usd
}

func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }
