package converge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/okstra/okstra/lang/plan"
)

// StateFormat is the version of the convergence state artifact.
const StateFormat = "okstra.convergence/1"

// RoundPlanFormat is the version of a round plan.
const RoundPlanFormat = "okstra.round-plan/1"

// Outcome is how a finding stands. The zero value is invalid.
type Outcome string

const (
	// Unverified: nobody was asked, or nobody yet.
	Unverified Outcome = "unverified"
	Confirmed  Outcome = "confirmed"
	Rejected   Outcome = "rejected"
	Contested  Outcome = "contested"
	// ResidualRisk: a critic's candidate that was not confirmed. It is kept.
	ResidualRisk Outcome = "residual-risk"
)

// Ended says why no further round follows; empty while it goes on.
type Ended string

const (
	NotEnded   Ended = ""
	QueueEmpty Ended = "queue-empty"
	NoChange   Ended = "no-change"
	MaxRounds  Ended = "max-rounds"
	Disabled   Ended = "disabled"
)

// MinAnalysts is the number of analysts below which nothing can be
// cross-verified.
const MinAnalysts = 2

// MaxBatches is the greatest number that a round plan can have under a policy:
// the judging rounds, then the critic's pass and the one that judges its
// candidates.
func MaxBatches(policy plan.Convergence) int {
	if policy.Critic {
		return policy.MaxRounds + 2
	}
	return policy.MaxRounds
}

// Source is an analyst that completed, with what it found.
type Source struct {
	Worker      string // worker key
	Participant string
	Doc         *Findings
}

// JudgeRef is a worker that can be asked. A caller sets Critic from the
// worker's role; Start decides who does what under the policy.
type JudgeRef struct {
	Worker      string `json:"worker"` // worker key
	Participant string `json:"participant"`
	Judges      bool   `json:"judges"`           // rules on findings
	Critic      bool   `json:"critic,omitempty"` // takes the critic's pass
}

// Input is everything that convergence starts from.
type Input struct {
	Run    string // paths.Run.Ref
	Round  string // name of the reverify round
	Policy plan.Convergence
	// Analysts counts the participants that the plan lets emit findings.
	Analysts int
	Sources  []Source
	Judges   []JudgeRef
}

// State is the convergence state artifact: for every finding who said what in
// which round, and why it ended as it did.
type State struct {
	Format   string           `json:"format"`
	Run      string           `json:"run"`
	Round    string           `json:"round"`
	Config   plan.Convergence `json:"config"` // effective
	Judges   []JudgeRef       `json:"judges"`
	Rounds   []RoundOutcome   `json:"rounds"`
	Findings []FindingState   `json:"findings"` // sorted by full id
	Ended    Ended            `json:"ended"`
	Why      string           `json:"why,omitempty"`
	// Stage tells what comes next; it is derived, and written for readers.
	Stage Stage `json:"stage"`
}

// Stage is what comes next. The zero value is invalid.
type Stage string

const (
	StageJudging    Stage = "judging"
	StageCritic     Stage = "critic"     // the critic's pass over the whole
	StageCandidates Stage = "candidates" // the critic's candidates are judged
	StageDone       Stage = "done"
)

// RoundOutcome is one round as it went.
type RoundOutcome struct {
	Number     int      `json:"number"`
	PlanDigest string   `json:"planDigest"`
	Critic     bool     `json:"critic,omitempty"`
	Judges     []string `json:"judges"`
	Asked      int      `json:"asked"`   // findings that somebody was asked about
	Settled    int      `json:"settled"` // of those, how many left the queue
	Changed    int      `json:"changed"` // verdicts that differ from the judge's last on that finding
	Notes      []string `json:"notes,omitempty"`
}

// FindingState is one finding and what became of it.
type FindingState struct {
	Finding     string   `json:"finding"` // full id
	Author      string   `json:"author"`  // worker key
	Participant string   `json:"participant"`
	Title       string   `json:"title"`
	Severity    Severity `json:"severity"`
	Location    string   `json:"location"`
	Claim       string   `json:"claim"`
	Evidence    string   `json:"evidence"`
	Critic      bool     `json:"critic,omitempty"` // a critic's candidate
	Outcome     Outcome  `json:"outcome"`
	SettledIn   int      `json:"settledIn"` // 0: it never left the queue
	Why         string   `json:"why"`
	Said        []Said   `json:"said"`
}

// Said is what one judge said in one round.
type Said struct {
	Round   int    `json:"round"`
	Judge   string `json:"judge"` // worker key
	Verdict Ruling `json:"verdict"`
	Basis   string `json:"basis,omitempty"`
	Note    string `json:"note,omitempty"`
}

// RoundPlan is who judges what in one round. It is persisted before the
// round's jobs file and followed exactly.
type RoundPlan struct {
	Format      string       `json:"format"`
	Run         string       `json:"run,omitempty"`
	Round       string       `json:"round,omitempty"`
	Number      int          `json:"number"` // from 1
	Mode        string       `json:"mode,omitempty"`
	Adversarial bool         `json:"adversarial,omitempty"`
	Critic      bool         `json:"critic,omitempty"` // the critic's pass
	Source      string       `json:"source,omitempty"` // core or lead
	Findings    []Item       `json:"findings,omitempty"`
	Judges      []JudgeItems `json:"judges"` // sorted by worker key
}

// JudgeItems are the findings that one judge is asked about, sorted.
type JudgeItems struct {
	Worker   string   `json:"worker"`
	Findings []string `json:"findings"`
}

// Item is a finding as a judge sees it.
type Item struct {
	Finding  string   `json:"finding"`
	Author   string   `json:"author"`
	Title    string   `json:"title"`
	Severity Severity `json:"severity"`
	Location string   `json:"location"`
	Claim    string   `json:"claim"`
	Evidence string   `json:"evidence"`
	Said     []Said   `json:"said"`
}

// Digest names a round plan; the record keeps it, and membership never changes
// after. It covers membership and items, not the file's formatting.
func (p *RoundPlan) Digest() string { return plan.Digest(p) }

// JudgeItems returns what worker is asked, or nil where it is not.
func (p *RoundPlan) JudgeItems(worker string) *JudgeItems {
	for i := range p.Judges {
		if p.Judges[i].Worker == worker {
			return &p.Judges[i]
		}
	}
	return nil
}

// Workers lists the worker keys of the judges, sorted.
func (p *RoundPlan) Workers() []string {
	out := make([]string, len(p.Judges))
	for i, j := range p.Judges {
		out[i] = j.Worker
	}
	return out
}

// Start collects the findings and says where convergence begins. The order of
// sources and judges does not matter. Findings whose document repeats an id
// must have been refused by ParseFindings.
func Start(in Input) *State {
	s := &State{
		Format: StateFormat, Run: in.Run, Round: in.Round, Config: in.Policy, Stage: StageJudging,
		Judges: slices.Clone(in.Judges), Rounds: []RoundOutcome{}, Findings: []FindingState{},
	}
	if s.Config.Adversarial {
		s.Config.Mode = ModeFull
	}
	slices.SortFunc(s.Judges, func(a, b JudgeRef) int { return cmp.Compare(a.Worker, b.Worker) })
	s.chooseCritic()

	completed := map[string]bool{}
	for _, src := range in.Sources {
		if src.Doc == nil {
			continue
		}
		completed[src.Participant] = true
		for _, f := range src.Doc.Findings {
			s.Findings = append(s.Findings, newFinding(src.Worker, src.Participant, f))
		}
	}
	s.sortFindings()

	switch {
	case !in.Policy.Enabled:
		s.disable("convergence is switched off")
	case in.Analysts < MinAnalysts:
		s.disable(fmt.Sprintf("the plan has %d analysts; cross-verification needs %d", in.Analysts, MinAnalysts))
	case len(completed) < MinAnalysts:
		s.disable(fmt.Sprintf("%d of %d analysts completed; cross-verification needs %d", len(completed), in.Analysts, MinAnalysts))
	default:
		s.settleUnjudgeable()
		if len(s.queue()) == 0 {
			s.endJudging(QueueEmpty)
		}
	}
	return s
}

// chooseCritic says who judges and who takes the critic's pass. A worker with
// the critic's role does not judge beside ordinary judges; where no worker has
// that role, the first judge is asked a second time, as a critic. Without a
// critic's pass everybody judges.
func (s *State) chooseCritic() {
	critics, judges := 0, 0
	for i := range s.Judges {
		j := &s.Judges[i]
		j.Critic = j.Critic && s.Config.Critic
		j.Judges = !j.Critic
		if j.Critic {
			critics++
		} else {
			judges++
		}
	}
	if s.Config.Critic && critics == 0 && judges > 0 {
		s.Judges[0].Critic = true
	}
	if judges == 0 {
		for i := range s.Judges {
			s.Judges[i].Judges = true
		}
	}
}

func newFinding(worker, participant string, f Finding) FindingState {
	return FindingState{
		Finding: FullID(worker, f.ID), Author: worker, Participant: participant,
		Title: f.Title, Severity: f.Severity, Location: f.Location, Claim: f.Claim, Evidence: f.Evidence,
		Outcome: Unverified, Why: "nobody was asked yet", Said: []Said{},
	}
}

func (s *State) sortFindings() {
	slices.SortFunc(s.Findings, func(a, b FindingState) int { return cmp.Compare(a.Finding, b.Finding) })
}

func (s *State) disable(why string) {
	s.Ended, s.Why, s.Stage = Disabled, why, StageDone
	for i := range s.Findings {
		s.Findings[i].Why = "nobody was asked: " + why
	}
}

func (s *State) clone() *State {
	c := *s
	c.Judges = slices.Clone(s.Judges)
	c.Rounds = slices.Clone(s.Rounds)
	c.Findings = slices.Clone(s.Findings)
	for i := range c.Findings {
		c.Findings[i].Said = slices.Clone(c.Findings[i].Said)
	}
	return &c
}

// Settled tells how many findings have each outcome.
func (s *State) Settled() map[Outcome]int {
	out := map[Outcome]int{}
	for _, f := range s.Findings {
		out[f.Outcome]++
	}
	return out
}
