package converge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/okstra/okstra/lang/plan"
)

// Answer is what one judge wrote, nil where it did not complete.
type Answer struct {
	Worker string
	Doc    *Verdicts
}

// Next returns the next round's plan, or nil where there is none. Every
// finding of the queue goes to every judge but its author's participant.
func (s *State) Next() *RoundPlan {
	if s.Stage == StageDone {
		return nil
	}
	p := &RoundPlan{
		Format: RoundPlanFormat, Run: s.Run, Round: s.Round, Number: len(s.Rounds) + 1,
		Mode: s.Config.Mode, Adversarial: s.Config.Adversarial, Source: s.Config.Source, Judges: []JudgeItems{},
	}
	if s.Stage == StageCritic {
		p.Critic = true
		for _, j := range s.Judges {
			if j.Critic {
				p.Judges = append(p.Judges, JudgeItems{Worker: j.Worker, Findings: []string{}})
			}
		}
		for _, f := range s.Findings {
			p.Findings = append(p.Findings, f.item())
		}
		return p
	}
	queue := s.queue()
	for _, f := range queue {
		p.Findings = append(p.Findings, f.item())
	}
	for _, j := range s.Judges {
		items := []string{}
		for _, f := range queue {
			if mayJudge(j, f) {
				items = append(items, f.Finding)
			}
		}
		if len(items) > 0 {
			p.Judges = append(p.Judges, JudgeItems{Worker: j.Worker, Findings: items})
		}
	}
	return p
}

// Accept checks a round plan that the lead wrote against the state and returns
// it with everything filled in that the lead may leave out. The error names
// every place. A lead chooses who is asked about what; it can neither ask an
// author, nor ask about what is settled, nor settle anything itself.
func (s *State) Accept(lead *RoundPlan) (*RoundPlan, error) {
	want := s.Next()
	if want == nil {
		return nil, fmt.Errorf("convergence has ended (%s); no round plan is expected", s.Ended)
	}
	var errs places
	errs.format(lead.Format, RoundPlanFormat)
	if lead.Number != want.Number {
		errs.add("/number", fmt.Sprintf("%d where round %d is next", lead.Number, want.Number))
	}
	if lead.Critic != want.Critic {
		errs.add("/critic", fmt.Sprintf("%t where %t is next", lead.Critic, want.Critic))
	}
	for _, f := range []struct{ pointer, got, want string }{
		{"/run", lead.Run, want.Run}, {"/round", lead.Round, want.Round}, {"/mode", lead.Mode, want.Mode},
	} {
		if f.got != "" && f.got != f.want {
			errs.add(f.pointer, fmt.Sprintf("%q where %q is in force", f.got, f.want))
		}
	}
	if len(lead.Judges) == 0 {
		errs.add("/judges", "asks nobody")
	}
	accepted := *want
	accepted.Source = "lead"
	accepted.Judges = s.acceptJudges(lead, want, &errs)
	if err := errs.join(); err != nil {
		return nil, err
	}
	return &accepted, nil
}

func (s *State) acceptJudges(lead, want *RoundPlan, errs *places) []JudgeItems {
	var out []JudgeItems
	seen := map[string]bool{}
	for i, j := range lead.Judges {
		at := fmt.Sprintf("/judges/%d", i)
		ask := want.JudgeItems(j.Worker)
		if ask == nil {
			errs.add(at+"/worker", fmt.Sprintf("%q can judge nothing in this round; it may be one of %s", j.Worker, quoted(want.Workers())))
			continue
		}
		if seen[j.Worker] {
			errs.add(at+"/worker", fmt.Sprintf("%q stands there twice", j.Worker))
		}
		seen[j.Worker] = true
		if len(j.Findings) == 0 && !want.Critic {
			errs.add(at+"/findings", "asks about nothing")
		}
		for k, id := range j.Findings {
			place := fmt.Sprintf("%s/findings/%d", at, k)
			switch f := s.finding(id); {
			case slices.Contains(j.Findings[:k], id):
				errs.add(place, fmt.Sprintf("%q stands there twice", id))
			case slices.Contains(ask.Findings, id):
			case f == nil:
				errs.add(place, fmt.Sprintf("no finding %q", id))
			case f.Participant == s.participant(j.Worker):
				errs.add(place, fmt.Sprintf("%q is %s's own finding; nobody judges its own", id, f.Participant))
			default:
				errs.add(place, fmt.Sprintf("%q is not in the queue (%s)", id, f.Outcome))
			}
		}
		items := JudgeItems{Worker: j.Worker, Findings: slices.Clone(j.Findings)}
		if items.Findings == nil {
			items.Findings = []string{}
		}
		slices.Sort(items.Findings)
		out = append(out, items)
	}
	slices.SortFunc(out, func(a, b JudgeItems) int { return cmp.Compare(a.Worker, b.Worker) })
	return out
}

// Judge applies a round's answers and returns the state after it; s is not
// changed. The order of answers does not matter. A judge without an answer,
// and a finding without a verdict, count as missing; a verdict on something
// that was not asked is left out and noted. It panics on a plan whose number
// is not the next: that is a programmer's fault, since plans are checked when
// they are read.
func (s *State) Judge(p *RoundPlan, answers []Answer) *State {
	if p.Number != len(s.Rounds)+1 || s.Stage == StageDone {
		panic(fmt.Sprintf("converge: round plan %d after %d rounds, stage %s", p.Number, len(s.Rounds), s.Stage))
	}
	out := s.clone()
	outcome := RoundOutcome{Number: p.Number, PlanDigest: p.Digest(), Critic: p.Critic, Judges: p.Workers()}
	docs := map[string]*Verdicts{}
	for _, a := range answers {
		docs[a.Worker] = a.Doc
	}
	if p.Critic {
		out.takeCandidates(p, docs, &outcome)
		out.Rounds = append(out.Rounds, outcome)
		return out
	}
	asked := map[string][]string{} // finding → judges
	for _, j := range p.Judges {
		for _, id := range j.Findings {
			asked[id] = append(asked[id], j.Worker)
		}
		outcome.Notes = append(outcome.Notes, unasked(j, docs[j.Worker])...)
	}
	for i := range out.Findings {
		f := &out.Findings[i]
		judges := asked[f.Finding]
		if len(judges) == 0 {
			continue
		}
		slices.Sort(judges)
		outcome.Asked++
		outcome.Changed += f.hear(p.Number, judges, docs)
		if f.settle(p.Number, len(judges)) {
			outcome.Settled++
		}
	}
	out.Rounds = append(out.Rounds, outcome)
	if s.Stage == StageCandidates {
		out.keepCandidates()
		out.Stage = StageDone
		return out
	}
	switch {
	case len(out.queue()) == 0:
		out.endJudging(QueueEmpty)
	case outcome.Changed == 0:
		out.endJudging(NoChange)
	case p.Number >= s.Config.MaxRounds:
		out.endJudging(MaxRounds)
	}
	return out
}

// hear records what the judges said and returns how many verdicts changed.
func (f *FindingState) hear(round int, judges []string, docs map[string]*Verdicts) (changed int) {
	for _, judge := range judges {
		said := Said{Round: round, Judge: judge, Verdict: Missing}
		if doc := docs[judge]; doc != nil {
			for _, v := range doc.Verdicts {
				if v.Finding == f.Finding {
					said.Verdict, said.Basis, said.Note = v.Verdict, v.Basis, v.Note
				}
			}
		}
		if said.Verdict != Missing && said.Verdict != f.last(judge) {
			changed++
		}
		f.Said = append(f.Said, said)
	}
	return changed
}

// last is the judge's latest verdict that is not missing, or empty.
func (f *FindingState) last(judge string) Ruling {
	for i := len(f.Said) - 1; i >= 0; i-- {
		if f.Said[i].Judge == judge && f.Said[i].Verdict != Missing {
			return f.Said[i].Verdict
		}
	}
	return ""
}

// settle applies the rule to what was said in this round and reports whether
// the finding left the queue.
func (f *FindingState) settle(round, judges int) bool {
	count := map[Ruling]int{}
	for _, said := range f.Said {
		if said.Round == round {
			count[said.Verdict]++
		}
	}
	switch judges {
	case count[Agree]:
		f.Outcome, f.SettledIn = Confirmed, round
		f.Why = fmt.Sprintf("every judge agreed in round %d (%d of %d)", round, judges, judges)
		return true
	case count[Disagree]:
		f.Outcome, f.SettledIn = Rejected, round
		f.Why = fmt.Sprintf("every judge disagreed in round %d (%d of %d)", round, judges, judges)
		return true
	}
	var parts []string
	for _, r := range []Ruling{Agree, Disagree, Supplement, Missing} {
		if n := count[r]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, r))
		}
	}
	f.Outcome = Contested
	what := "the judges were not of one mind"
	switch {
	case count[Missing] == judges:
		what = "no judge gave a verdict"
	case judges == 1:
		what = "the one judge neither agreed nor disagreed"
	}
	f.Why = fmt.Sprintf("%s in round %d (%s)", what, round, strings.Join(parts, ", "))
	return false
}

// unasked notes verdicts on what a judge was not asked about.
func unasked(j JudgeItems, doc *Verdicts) []string {
	if doc == nil {
		return nil
	}
	var ids []string
	for _, v := range doc.Verdicts {
		if !slices.Contains(j.Findings, v.Finding) {
			ids = append(ids, v.Finding)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	return []string{fmt.Sprintf("%s ruled on what it was not asked about; left out: %s", j.Worker, quoted(ids))}
}

// takeCandidates adds what the critics found missing. They are judged in one
// further round by everybody but their author.
func (s *State) takeCandidates(p *RoundPlan, docs map[string]*Verdicts, outcome *RoundOutcome) {
	for _, j := range p.Judges {
		doc := docs[j.Worker]
		if doc == nil {
			outcome.Notes = append(outcome.Notes, j.Worker+" did not complete the critic's pass")
			continue
		}
		for _, c := range doc.Candidates {
			f := newFinding(j.Worker, s.participant(j.Worker), c)
			f.Critic = true
			s.Findings = append(s.Findings, f)
		}
	}
	s.sortFindings()
	s.Stage = StageCandidates
	s.settleUnjudgeable()
	if len(s.queue()) == 0 {
		s.keepCandidates()
		s.Stage = StageDone
	}
}

// keepCandidates turns every candidate that was not confirmed into a residual
// risk: a critic's candidate is never dropped.
func (s *State) keepCandidates() {
	for i := range s.Findings {
		if f := &s.Findings[i]; f.Critic && f.Outcome != Confirmed {
			f.Outcome = ResidualRisk
			f.Why = "a critic's candidate that was not confirmed: " + f.Why
		}
	}
}

// endJudging ends the judging rounds and says what comes after.
func (s *State) endJudging(why Ended) {
	s.Ended = why
	switch why {
	case QueueEmpty:
		s.Why = "no finding is open"
	case NoChange:
		s.Why = fmt.Sprintf("round %d changed no verdict", len(s.Rounds))
	case MaxRounds:
		s.Why = fmt.Sprintf("max_rounds (%d) is reached", s.Config.MaxRounds)
	}
	for _, f := range s.queue() {
		open := s.finding(f.Finding)
		if open.Outcome == Unverified {
			open.Why = "no round plan asked anybody about it"
		}
		open.Why += "; " + s.Why
	}
	s.Stage = StageDone
	if slices.ContainsFunc(s.Judges, func(j JudgeRef) bool { return j.Critic }) {
		s.Stage = StageCritic
	}
}

// settleUnjudgeable says of findings that nobody may judge why they stay
// unverified, which takes them out of the queue.
func (s *State) settleUnjudgeable() {
	for i := range s.Findings {
		if f := &s.Findings[i]; f.Outcome == Unverified && !s.judgeable(*f) {
			f.Why = "nobody but its author was there to judge it"
		}
	}
}

// queue is what is still to be judged, sorted by full id.
func (s *State) queue() []FindingState {
	var out []FindingState
	for _, f := range s.Findings {
		open := f.Outcome == Unverified || f.Outcome == Contested
		// While candidates are judged, the others are as they ended.
		if open && f.Critic == (s.Stage == StageCandidates) && s.judgeable(f) {
			out = append(out, f)
		}
	}
	return out
}

func (s *State) judgeable(f FindingState) bool {
	return slices.ContainsFunc(s.Judges, func(j JudgeRef) bool { return mayJudge(j, f) })
}

// mayJudge: nobody judges its own finding, in whatever session it was made.
func mayJudge(j JudgeRef, f FindingState) bool { return j.Judges && j.Participant != f.Participant }

func (s *State) participant(worker string) string {
	for _, j := range s.Judges {
		if j.Worker == worker {
			return j.Participant
		}
	}
	return ""
}

func (s *State) finding(id string) *FindingState {
	for i := range s.Findings {
		if s.Findings[i].Finding == id {
			return &s.Findings[i]
		}
	}
	return nil
}

func (f FindingState) item() Item {
	return Item{
		Finding: f.Finding, Author: f.Author, Title: f.Title, Severity: f.Severity,
		Location: f.Location, Claim: f.Claim, Evidence: f.Evidence, Said: slices.Clone(f.Said),
	}
}

func quoted(list []string) string {
	if len(list) == 0 {
		return "(none)"
	}
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = fmt.Sprintf("%q", s)
	}
	return strings.Join(out, ", ")
}

// Modes of verification.
const (
	ModeLightweight = "lightweight"
	ModeFull        = "full-reanalysis"
)

// Replay goes from the beginning through persisted round plans and answers to
// the state after them. A plan that Start and the earlier rounds would not
// have given, and that no lead could have written, is an error.
func Replay(in Input, rounds []Round) (*State, error) {
	s := Start(in)
	for _, r := range rounds {
		want := s.Next()
		if want == nil {
			return s, fmt.Errorf("round plan %d after convergence ended (%s)", r.Plan.Number, s.Ended)
		}
		if in.Policy.Source == "lead" {
			accepted, err := s.Accept(r.Plan)
			if err != nil {
				return s, fmt.Errorf("round plan %d: %w", r.Plan.Number, err)
			}
			want = accepted
		} else if r.Plan.Digest() != want.Digest() {
			return s, fmt.Errorf("round plan %d differs from what the findings and verdicts give", r.Plan.Number)
		}
		s = s.Judge(want, r.Answers)
	}
	return s, nil
}

// Round is a persisted round plan with the answers to it.
type Round struct {
	Plan    *RoundPlan
	Answers []Answer
}

// ParseRoundPlan decodes a round plan. A lead may have written it, so that a
// key that is none of a round plan's is an error: it would be passed over. The
// error names every place. Whether the plan fits the state is for Accept and
// Replay to say.
func ParseRoundPlan(doc []byte) (*RoundPlan, error) {
	p := new(RoundPlan)
	if err := decode(doc, p); err != nil {
		return nil, err
	}
	if err := unknownKeys(doc); err != nil {
		return nil, err
	}
	if p.Format != RoundPlanFormat {
		return nil, fmt.Errorf("/format: %q where %q is expected", p.Format, RoundPlanFormat)
	}
	return p, nil
}

// ParseState decodes a convergence state artifact.
func ParseState(doc []byte) (*State, error) {
	s := new(State)
	if err := decode(doc, s); err != nil {
		return nil, err
	}
	if s.Format != StateFormat {
		return nil, fmt.Errorf("/format: %q where %q is expected", s.Format, StateFormat)
	}
	return s, nil
}

// Encode gives the bytes of a state or round plan file.
func Encode(v any) []byte {
	b, err := plan.Indented(v)
	if err != nil {
		panic(err) // plain data
	}
	return b
}
