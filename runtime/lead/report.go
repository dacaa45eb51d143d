package lead

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/converge"
)

// Report is what the final report is made from: what the report-writer wrote,
// and the facts that it must not write itself.
type Report struct {
	Run         paths.Run
	Narrative   string
	Convergence *converge.State // nil where the run has no reverify round
	Verdicts    []ReportVerdict
	Workers     []ReportWorker // in plan order
	LeadUsage   *plan.Usage
}

// ReportVerdict is the verdict of one verifier on the whole work.
type ReportVerdict struct {
	Worker string // worker key
	Doc    *converge.WorkVerdict
}

// ReportWorker is one worker as the usage table shows it: its latest status,
// and the sums over its attempts.
type ReportWorker struct {
	Key      string
	Role     string
	Provider string
	Model    string
	Status   plan.Status
	Reason   plan.Reason
	Attempts int
	Duration time.Duration
	Usage    []*plan.Usage // one for each attempt; nil where nobody reported
}

// Markers by which a narrative says where a part goes. A part without its
// marker is put at the end, in this order.
const (
	MarkFindings = "<!-- okstra:findings -->"
	MarkVerdict  = "<!-- okstra:verdict -->"
	MarkUsage    = "<!-- okstra:usage -->"
)

// RenderReport makes the final report and lists what is wrong with it, a line
// each: a verdict that is no token, or better than the facts allow. A report
// with problems must not pass for a completed one; it is rendered all the
// same, with the problems in it.
func RenderReport(r Report) (text string, problems []string) {
	token, problems := r.verdict()
	parts := []struct{ mark, title, body string }{
		{MarkFindings, "## Settled findings", findingsPart(r.Convergence)},
		{MarkVerdict, "## Verdict", r.verdictPart(token, problems)},
		{MarkUsage, "## Usage", r.usagePart()},
	}
	text = strings.TrimRight(r.Narrative, "\n") + "\n"
	for _, p := range parts {
		switch {
		case strings.Contains(text, p.mark):
			if p.body == "" {
				p.body = "(none)\n"
			}
			text = strings.ReplaceAll(text, p.mark, strings.TrimRight(p.body, "\n"))
		case p.body != "":
			text += "\n" + p.title + "\n\n" + p.body
		}
	}
	return text, problems
}

// saidVerdict finds "Verdict: accepted" and its like in a narrative.
var saidVerdict = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("(?im)^[ \\t>#*_-]*verdict[*_]*[ \\t]*:[ \\t*_`]*([A-Za-z][A-Za-z-]*)")
})

// verdict is the verdict that the facts allow at best, empty where nobody gave
// one, and what contradicts it.
func (r Report) verdict() (converge.Token, []string) {
	worst := -1
	var problems []string
	for _, v := range r.Verdicts {
		rank := slices.Index(converge.Tokens, v.Doc.Verdict)
		if rank < 0 {
			problems = append(problems, fmt.Sprintf("%s gave the verdict %q, which is none of accepted, conditional-accept, blocked", v.Worker, v.Doc.Verdict))
			continue
		}
		worst = max(worst, rank)
	}
	blockers := r.ConfirmedBlockers()
	if worst == slices.Index(converge.Tokens, converge.Accepted) && len(blockers) > 0 {
		problems = append(problems, fmt.Sprintf("the verdict is accepted, which needs zero confirmed blockers; there are %d: %s", len(blockers), strings.Join(blockers, "; ")))
	}
	said, unknown := narrated(r.Narrative)
	for _, word := range unknown {
		problems = append(problems, fmt.Sprintf("the narrative gives the verdict %q, which is none of accepted, conditional-accept, blocked", word))
	}
	switch {
	case len(said) == 0:
	case len(said) > 1:
		problems = append(problems, fmt.Sprintf("the narrative gives %d verdicts: %s", len(said), joined(said)))
	case worst >= 0 && slices.Index(converge.Tokens, said[0]) < worst:
		problems = append(problems, fmt.Sprintf("the narrative says %s where the verifiers say %s", said[0], converge.Tokens[worst]))
	case worst < 0 && said[0] == converge.Accepted && len(blockers) > 0:
		problems = append(problems, fmt.Sprintf("the narrative says accepted, which needs zero confirmed blockers; there are %d: %s", len(blockers), strings.Join(blockers, "; ")))
	}
	if worst < 0 && len(said) > 0 {
		worst = slices.Index(converge.Tokens, said[len(said)-1]) // the worst of them
	}
	if worst < 0 {
		return "", problems
	}
	return converge.Tokens[worst], problems
}

// narrated finds the verdicts that a narrative gives, from the best to the
// worst, and what it gives in place of one. What stands in a code block is
// shown, not said.
func narrated(narrative string) (said []converge.Token, unknown []string) {
	for _, m := range saidVerdict().FindAllStringSubmatch(withoutCode(narrative), -1) {
		token := converge.Token(strings.ToLower(m[1]))
		switch {
		case !slices.Contains(converge.Tokens, token):
			unknown = append(unknown, m[1])
		case !slices.Contains(said, token):
			said = append(said, token)
		}
	}
	slices.SortFunc(said, func(a, b converge.Token) int {
		return slices.Index(converge.Tokens, a) - slices.Index(converge.Tokens, b)
	})
	return said, unknown
}

// withoutCode drops the fenced code blocks of a Markdown text. One that is not
// closed goes to the end.
func withoutCode(text string) string {
	var b strings.Builder
	fence := ""
	for l := range strings.Lines(text) {
		mark := fenceOf(l)
		switch {
		case fence != "":
			rest := strings.TrimLeft(strings.TrimSpace(l), fence[:1])
			if strings.HasPrefix(mark, fence) && rest == "" {
				fence = ""
			}
		case mark != "":
			fence = mark
		default:
			b.WriteString(l)
		}
	}
	return b.String()
}

// fenceOf is the run of backquotes or tildes that a line begins a fence with,
// empty where it is none.
func fenceOf(l string) string {
	trimmed := strings.TrimLeft(l, " ")
	if len(l)-len(trimmed) > 3 || trimmed == "" {
		return ""
	}
	n := len(trimmed) - len(strings.TrimLeft(trimmed, trimmed[:1]))
	if trimmed[0] != '`' && trimmed[0] != '~' || n < 3 {
		return ""
	}
	return trimmed[:n]
}

func joined(tokens []converge.Token) string {
	words := make([]string, len(tokens))
	for i, t := range tokens {
		words[i] = string(t)
	}
	return strings.Join(words, ", ")
}

// ConfirmedBlockers lists what stands in the way of accepting the work: what
// verifiers name, and every critical finding that was confirmed.
func (r Report) ConfirmedBlockers() []string {
	var out []string
	for _, v := range r.Verdicts {
		for _, b := range v.Doc.Blockers {
			out = append(out, fmt.Sprintf("%s (%s)", OneLine(b.Title), v.Worker))
		}
	}
	if r.Convergence != nil {
		for _, f := range r.Convergence.Findings {
			if f.Outcome == converge.Confirmed && f.Severity == converge.Critical {
				out = append(out, fmt.Sprintf("%s (%s)", OneLine(f.Title), f.Finding))
			}
		}
	}
	return out
}

func (r Report) verdictPart(token converge.Token, problems []string) string {
	if token == "" && len(problems) == 0 {
		return ""
	}
	var b strings.Builder
	if token != "" {
		fmt.Fprintf(&b, "**%s**\n\n", token)
	}
	for _, p := range problems {
		fmt.Fprintf(&b, "- Not valid: %s\n", p)
	}
	for _, v := range r.Verdicts {
		fmt.Fprintf(&b, "- %s: %s\n", v.Worker, v.Doc.Verdict)
		for _, k := range v.Doc.Blockers {
			fmt.Fprintf(&b, "  - %s: %s\n", OneLine(k.Title), OneLine(k.Detail))
		}
		if v.Doc.Routing != "" {
			fmt.Fprintf(&b, "  - routing: %s\n", OneLine(v.Doc.Routing))
		}
	}
	return b.String()
}

// outcomeOrder is that of the findings table: what stands first.
var outcomeOrder = []converge.Outcome{converge.Confirmed, converge.Contested, converge.ResidualRisk, converge.Unverified, converge.Rejected}

func findingsPart(s *converge.State) string {
	if s == nil {
		return ""
	}
	var b strings.Builder
	if s.Ended == converge.Disabled {
		fmt.Fprintf(&b, "Nothing was cross-verified: %s.\n\n", s.Why)
	} else {
		fmt.Fprintf(&b, "%s; ended because %s.\n\n", plan.Count(len(s.Rounds), "round"), s.Why)
	}
	if len(s.Findings) == 0 {
		b.WriteString("No findings.\n")
		return b.String()
	}
	findings := slices.Clone(s.Findings)
	slices.SortStableFunc(findings, func(x, y converge.FindingState) int {
		if d := slices.Index(outcomeOrder, x.Outcome) - slices.Index(outcomeOrder, y.Outcome); d != 0 {
			return d
		}
		return slices.Index(converge.Severities, x.Severity) - slices.Index(converge.Severities, y.Severity)
	})
	b.WriteString("| Outcome | Severity | Finding | Title | Location | Why |\n|---|---|---|---|---|---|\n")
	for _, f := range findings {
		fmt.Fprintf(&b, "| %s | %s | `%s` | %s | %s | %s |\n", f.Outcome, f.Severity, cell(f.Finding), cell(f.Title), cell(f.Location), cell(f.Why))
	}
	return b.String()
}

func (r Report) usagePart() string {
	var b strings.Builder
	b.WriteString("| Worker | Role | Provider | Model | Status | Starts | Time | Input | Output | Cost (USD) | Source |\n|---|---|---|---|---|---|---|---|---|---|---|\n")
	var total sum
	for _, w := range r.Workers {
		var s sum
		for _, u := range w.Usage {
			s.add(u)
		}
		total.merge(s)
		status := string(w.Status)
		if w.Reason != plan.ReasonNone {
			status += "/" + string(w.Reason)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %d | %s | %s |\n", cell(w.Key), cell(w.Role), cell(w.Provider), cell(w.Model),
			status, w.Attempts, w.Duration.Round(time.Second), s.cells())
	}
	if r.LeadUsage != nil {
		var s sum
		s.add(r.LeadUsage)
		total.merge(s)
		fmt.Fprintf(&b, "| lead | lead | - | - | - | - | - | %s |\n", s.cells())
	}
	fmt.Fprintf(&b, "| **total** | | | | | | | %s |\n", total.cells())
	if total.unknown > 0 {
		fmt.Fprintf(&b, "\n%d of %d reported no usage; the totals are what is known.\n", total.unknown, total.unknown+total.known)
	}
	return b.String()
}

// sum adds usage up, and counts what was not reported.
type sum struct {
	input, output  int64
	usd            float64
	hasUSD         bool
	known, unknown int
	sources        []string
}

func (s *sum) add(u *plan.Usage) {
	if u == nil || u.Source == plan.UsageUnavailable {
		s.unknown++
		return
	}
	s.known++
	s.input += u.InputTokens
	s.output += u.OutputTokens + u.ReasoningTokens
	if u.USD != nil {
		s.usd, s.hasUSD = s.usd+*u.USD, true
	}
	if !slices.Contains(s.sources, u.Source) {
		s.sources = append(s.sources, u.Source)
	}
}

func (s *sum) merge(o sum) {
	s.input, s.output, s.usd = s.input+o.input, s.output+o.output, s.usd+o.usd
	s.hasUSD = s.hasUSD || o.hasUSD
	s.known, s.unknown = s.known+o.known, s.unknown+o.unknown
	for _, src := range o.sources {
		if !slices.Contains(s.sources, src) {
			s.sources = append(s.sources, src)
		}
	}
}

func (s *sum) cells() string {
	if s.known+s.unknown == 0 {
		return "- | - | - | -"
	}
	if s.known == 0 {
		return "- | - | - | " + plan.UsageUnavailable
	}
	usd := "-"
	if s.hasUSD {
		usd = fmt.Sprintf("%.4f", s.usd)
	}
	return fmt.Sprintf("%d | %d | %s | %s", s.input, s.output, usd, cell(strings.Join(s.sources, ", ")))
}
