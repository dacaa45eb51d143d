package converge

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime/schema"
)

func finding(id string, s Severity) Finding {
	return Finding{ID: id, Title: "title of " + id, Severity: s, Location: "a.go:1", Claim: "claim of " + id, Evidence: "evidence of " + id}
}

func source(participant string, findings ...Finding) Source {
	return Source{Worker: "analysis.find." + participant, Participant: participant, Doc: &Findings{Format: FindingsFormat, Findings: findings}}
}

func judge(participant string) JudgeRef {
	return JudgeRef{Worker: "cross.check." + participant, Participant: participant}
}

func policy(rounds int) plan.Convergence {
	return plan.Convergence{Enabled: true, MaxRounds: rounds, Mode: ModeLightweight, Source: "core"}
}

// three is a run of three participants; ada found two things, bert one.
func three(p plan.Convergence) Input {
	return Input{
		Run: "shop:auth:AUTH-12/final-verification@001", Round: "cross", Policy: p, Analysts: 3,
		Sources: []Source{source("ada", finding("F1", Critical), finding("F2", Minor)), source("bert", finding("F1", Major)), source("cleo")},
		Judges:  []JudgeRef{judge("ada"), judge("bert"), judge("cleo")},
	}
}

const (
	ada1  = "analysis.find.ada/F1"
	ada2  = "analysis.find.ada/F2"
	bert1 = "analysis.find.bert/F1"
)

// says builds an answer from "finding=ruling" words.
func says(participant string, words ...string) Answer {
	doc := &Verdicts{Format: VerdictsFormat, Verdicts: []Verdict{}}
	for _, w := range words {
		id, ruling, _ := strings.Cut(w, "=")
		v := Verdict{Finding: id, Verdict: Ruling(ruling), Basis: participant + " looked"}
		if v.Verdict == Supplement {
			v.Note = "and more"
		}
		doc.Verdicts = append(doc.Verdicts, v)
	}
	return Answer{Worker: "cross.check." + participant, Doc: doc}
}

func silent(participant string) Answer { return Answer{Worker: "cross.check." + participant} }

func outcomes(s *State) map[string]string {
	out := map[string]string{}
	for _, f := range s.Findings {
		out[f.Finding] = fmt.Sprintf("%s in %d", f.Outcome, f.SettledIn)
	}
	return out
}

func TestRule(t *testing.T) {
	tests := []struct {
		name   string
		input  Input
		rounds [][]Answer
		want   map[string]string
		ended  Ended
	}{
		{
			name:  "a finding of each outcome over two rounds",
			input: three(policy(2)),
			rounds: [][]Answer{
				{says("ada", bert1+"=disagree"), says("bert", ada1+"=agree", ada2+"=agree"), says("cleo", ada1+"=agree", ada2+"=disagree", bert1+"=disagree")},
				{says("bert", ada2+"=agree"), says("cleo", ada2+"=supplement")},
			},
			want:  map[string]string{ada1: "confirmed in 1", ada2: "contested in 0", bert1: "rejected in 1"},
			ended: MaxRounds,
		},
		{
			name:   "everything settled in the first round",
			input:  three(policy(3)),
			rounds: [][]Answer{{says("ada", bert1+"=agree"), says("bert", ada1+"=agree", ada2+"=disagree"), says("cleo", ada1+"=agree", ada2+"=disagree", bert1+"=agree")}},
			want:   map[string]string{ada1: "confirmed in 1", ada2: "rejected in 1", bert1: "confirmed in 1"},
			ended:  QueueEmpty,
		},
		{
			name:  "a contested finding is confirmed when the judges come round",
			input: three(policy(3)),
			rounds: [][]Answer{
				{says("ada", bert1+"=agree"), says("bert", ada1+"=agree", ada2+"=agree"), says("cleo", ada1+"=agree", ada2+"=disagree", bert1+"=agree")},
				{says("bert", ada2+"=agree"), says("cleo", ada2+"=agree")},
			},
			want:  map[string]string{ada1: "confirmed in 1", ada2: "confirmed in 2", bert1: "confirmed in 1"},
			ended: QueueEmpty,
		},
		{
			name:  "a round that changes no verdict ends it",
			input: three(policy(3)),
			rounds: [][]Answer{
				{says("ada", bert1+"=agree"), says("bert", ada1+"=agree", ada2+"=agree"), says("cleo", ada1+"=agree", ada2+"=disagree", bert1+"=agree")},
				{says("bert", ada2+"=agree"), says("cleo", ada2+"=disagree")},
			},
			want:  map[string]string{ada1: "confirmed in 1", ada2: "contested in 0", bert1: "confirmed in 1"},
			ended: NoChange,
		},
		{
			name:   "a judge that did not complete leaves its findings contested",
			input:  three(policy(1)),
			rounds: [][]Answer{{says("ada", bert1+"=agree"), says("bert", ada1+"=agree", ada2+"=agree"), silent("cleo")}},
			want:   map[string]string{ada1: "contested in 0", ada2: "contested in 0", bert1: "contested in 0"},
			ended:  MaxRounds,
		},
		{
			name:   "nobody answers: no verdict changed",
			input:  three(policy(3)),
			rounds: [][]Answer{{}},
			want:   map[string]string{ada1: "contested in 0", ada2: "contested in 0", bert1: "contested in 0"},
			ended:  NoChange,
		},
		{
			name:   "a supplement is not agreement",
			input:  three(policy(1)),
			rounds: [][]Answer{{says("ada", bert1+"=supplement"), says("bert", ada1+"=supplement", ada2+"=agree"), says("cleo", ada1+"=supplement", ada2+"=agree", bert1+"=agree")}},
			want:   map[string]string{ada1: "contested in 0", ada2: "confirmed in 1", bert1: "contested in 0"},
			ended:  MaxRounds,
		},
		{
			name: "an author's word about its own finding counts for nothing",
			input: Input{Round: "cross", Policy: policy(1), Analysts: 2, Sources: []Source{source("ada", finding("F1", Major)), source("bert")},
				Judges: []JudgeRef{judge("ada"), judge("bert")}},
			rounds: [][]Answer{{says("ada", ada1+"=agree"), says("bert", ada1+"=disagree")}},
			want:   map[string]string{ada1: "rejected in 1"},
			ended:  QueueEmpty,
		},
		{
			name: "only its author could judge it",
			input: Input{Round: "cross", Policy: policy(2), Analysts: 2, Sources: []Source{source("ada", finding("F1", Major)), source("bert")},
				Judges: []JudgeRef{judge("ada")}},
			want:  map[string]string{ada1: "unverified in 0"},
			ended: QueueEmpty,
		},
		{
			name: "one analyst in the plan", ended: Disabled,
			input: Input{Round: "cross", Policy: policy(2), Analysts: 1, Sources: []Source{source("ada", finding("F1", Major))}, Judges: []JudgeRef{judge("bert")}},
			want:  map[string]string{ada1: "unverified in 0"},
		},
		{
			name: "two analysts in the plan, one completed", ended: Disabled,
			input: Input{Round: "cross", Policy: policy(2), Analysts: 2, Sources: []Source{source("ada", finding("F1", Major))}, Judges: []JudgeRef{judge("bert")}},
			want:  map[string]string{ada1: "unverified in 0"},
		},
		{
			name: "switched off", ended: Disabled,
			input: three(plan.Convergence{MaxRounds: 2, Mode: ModeLightweight, Source: "core"}),
			want:  map[string]string{ada1: "unverified in 0", ada2: "unverified in 0", bert1: "unverified in 0"},
		},
		{
			name: "no findings at all", ended: QueueEmpty,
			input: Input{Round: "cross", Policy: policy(2), Analysts: 2, Sources: []Source{source("ada"), source("bert")}, Judges: []JudgeRef{judge("ada"), judge("bert")}},
			want:  map[string]string{},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := Start(tt.input)
			for i, answers := range tt.rounds {
				p := s.Next()
				if p == nil {
					t.Fatalf("ended (%s) before round %d", s.Ended, i+1)
				}
				s = s.Judge(p, answers)
			}
			if p := s.Next(); p != nil {
				t.Fatalf("another round follows: %+v", p)
			}
			if diff := cmp.Diff(tt.want, outcomes(s)); diff != "" {
				t.Errorf("outcomes (-want +got):\n%s", diff)
			}
			if s.Ended != tt.ended {
				t.Errorf("ended %q, want %q (%s)", s.Ended, tt.ended, s.Why)
			}
			valid(t, "convergence", s)
		})
	}
}

// valid holds a value against the published schema of its file.
func valid(t *testing.T, name string, v any) {
	t.Helper()
	if err := schema.Validate(name, Encode(v)); err != nil {
		t.Errorf("schema %s: %v\n%s", name, err, Encode(v))
	}
}

func TestRoundPlanPrunesAndCarriesWhatWasSaid(t *testing.T) {
	s := Start(three(policy(2)))
	first := s.Next()
	valid(t, "round-plan", first)
	want := []JudgeItems{
		{"cross.check.ada", []string{bert1}},
		{"cross.check.bert", []string{ada1, ada2}},
		{"cross.check.cleo", []string{ada1, ada2, bert1}},
	}
	if diff := cmp.Diff(want, first.Judges); diff != "" {
		t.Errorf("round 1 (-want +got):\n%s", diff)
	}
	s = s.Judge(first, []Answer{
		says("ada", bert1+"=agree"), says("bert", ada1+"=agree", ada2+"=agree"), says("cleo", ada1+"=agree", ada2+"=disagree", bert1+"=agree"),
	})
	second := s.Next()
	valid(t, "round-plan", second)
	want = []JudgeItems{{"cross.check.bert", []string{ada2}}, {"cross.check.cleo", []string{ada2}}}
	if diff := cmp.Diff(want, second.Judges); diff != "" {
		t.Errorf("round 2 (-want +got):\n%s", diff)
	}
	if len(second.Findings) != 1 || len(second.Findings[0].Said) != 2 {
		t.Errorf("round 2 does not carry what was said: %+v", second.Findings)
	}
}

func TestVerdictsOnWhatWasNotAskedAreLeftOut(t *testing.T) {
	s := Start(three(policy(1)))
	s = s.Judge(s.Next(), []Answer{says("ada", ada1+"=agree", "nonsense=agree", bert1+"=agree")})
	want := []string{`cross.check.ada ruled on what it was not asked about; left out: "analysis.find.ada/F1", "nonsense"`}
	if diff := cmp.Diff(want, s.Rounds[0].Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	for _, said := range s.finding(ada1).Said {
		if said.Judge == "cross.check.ada" {
			t.Errorf("the author was heard: %+v", said)
		}
	}
}

func TestCritic(t *testing.T) {
	critic := policy(1)
	critic.Critic = true
	agreeAll := []Answer{says("ada", bert1+"=agree"), says("bert", ada1+"=agree", ada2+"=agree"), says("cleo", ada1+"=agree", ada2+"=agree", bert1+"=agree")}
	candidates := func(worker string) []Answer {
		return []Answer{{Worker: worker, Doc: &Verdicts{Format: VerdictsFormat, Candidates: []Finding{finding("C1", Critical), finding("C2", Minor)}}}}
	}

	t.Run("the first judge is asked again where no worker is a critic", func(t *testing.T) {
		s := Start(three(critic))
		s = s.Judge(s.Next(), agreeAll)
		p := s.Next()
		if p == nil || !p.Critic || p.Number != 2 || !slices.Equal(p.Workers(), []string{"cross.check.ada"}) || len(p.Findings) != 3 {
			t.Fatalf("critic's pass: %+v", p)
		}
		s = s.Judge(p, candidates("cross.check.ada"))
		p = s.Next()
		c1, c2 := "cross.check.ada/C1", "cross.check.ada/C2"
		want := []JudgeItems{{"cross.check.bert", []string{c1, c2}}, {"cross.check.cleo", []string{c1, c2}}}
		if diff := cmp.Diff(want, p.Judges); diff != "" {
			t.Fatalf("candidates' round (-want +got):\n%s", diff)
		}
		s = s.Judge(p, []Answer{says("bert", c1+"=agree", c2+"=disagree"), says("cleo", c1+"=agree", c2+"=disagree")})
		got := outcomes(s)
		if got[c1] != "confirmed in 3" || got[c2] != "residual-risk in 3" {
			t.Errorf("candidates: %v", got)
		}
		if s.Next() != nil || s.Ended != QueueEmpty {
			t.Errorf("not ended: %s %s", s.Stage, s.Ended)
		}
		valid(t, "convergence", s)
	})
	t.Run("a worker with the role does not judge beside judges", func(t *testing.T) {
		in := three(critic)
		in.Judges = append(in.Judges, JudgeRef{Worker: "cross.attack.dora", Participant: "dora", Critic: true})
		s := Start(in)
		if ask := s.Next().JudgeItems("cross.attack.dora"); ask != nil {
			t.Errorf("the critic judges: %+v", ask)
		}
		s = s.Judge(s.Next(), agreeAll)
		if got := s.Next().Workers(); !slices.Equal(got, []string{"cross.attack.dora"}) {
			t.Errorf("critic's pass asks %v", got)
		}
	})
	t.Run("a candidate that nobody could judge is kept", func(t *testing.T) {
		in := three(critic)
		in.Judges = []JudgeRef{judge("cleo")}
		s := Start(in)
		s = s.Judge(s.Next(), []Answer{says("cleo", ada1+"=agree", ada2+"=agree", bert1+"=agree")})
		s = s.Judge(s.Next(), candidates("cross.check.cleo"))
		if s.Next() != nil || outcomes(s)["cross.check.cleo/C1"] != "residual-risk in 0" {
			t.Errorf("candidates: %v, stage %s", outcomes(s), s.Stage)
		}
	})
	t.Run("a critic that did not complete is noted", func(t *testing.T) {
		s := Start(three(critic))
		s = s.Judge(s.Next(), agreeAll)
		s = s.Judge(s.Next(), nil)
		if s.Next() != nil || len(s.Rounds[1].Notes) != 1 {
			t.Errorf("%+v", s.Rounds)
		}
	})
	t.Run("without the policy a critic is a judge like others", func(t *testing.T) {
		in := three(policy(1))
		in.Judges = append(in.Judges, JudgeRef{Worker: "cross.attack.dora", Participant: "dora", Critic: true})
		if Start(in).Next().JudgeItems("cross.attack.dora") == nil {
			t.Error("the critic is asked nothing")
		}
	})
}

func TestAccept(t *testing.T) {
	lead := policy(2)
	lead.Source = "lead"
	s := Start(three(lead))
	tests := []struct {
		name string
		plan RoundPlan
		want []string // parts of the error; empty: accepted
	}{
		{"a subset", RoundPlan{Format: RoundPlanFormat, Number: 1, Judges: []JudgeItems{{"cross.check.cleo", []string{bert1, ada1}}}}, nil},
		{"its author", RoundPlan{Format: RoundPlanFormat, Number: 1, Judges: []JudgeItems{{"cross.check.ada", []string{ada1}}}}, []string{"/judges/0/findings/0", "nobody judges its own"}},
		{"unknown finding", RoundPlan{Format: RoundPlanFormat, Number: 1, Judges: []JudgeItems{{"cross.check.ada", []string{"x/F9"}}}}, []string{`no finding "x/F9"`}},
		{"unknown judge", RoundPlan{Format: RoundPlanFormat, Number: 1, Judges: []JudgeItems{{"cross.check.zoe", []string{ada1}}}}, []string{"/judges/0/worker", "cross.check.ada"}},
		{"twice", RoundPlan{Format: RoundPlanFormat, Number: 1, Judges: []JudgeItems{{"cross.check.cleo", []string{ada1, ada1}}, {"cross.check.cleo", []string{ada1}}}},
			[]string{"/judges/0/findings/1", "/judges/1/worker"}},
		{"nothing", RoundPlan{Format: RoundPlanFormat, Number: 1, Judges: []JudgeItems{{"cross.check.cleo", nil}}}, []string{"asks about nothing"}},
		{"nobody", RoundPlan{Format: RoundPlanFormat, Number: 1}, []string{"asks nobody"}},
		{"wrong round, mode and format", RoundPlan{Format: "x", Number: 2, Mode: ModeFull, Judges: []JudgeItems{{"cross.check.cleo", []string{ada1}}}},
			[]string{"/format", "/number", "/mode"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := s.Accept(&tt.plan)
			if len(tt.want) == 0 {
				if err != nil {
					t.Fatal(err)
				}
				valid(t, "round-plan", got)
				if got.Source != "lead" || len(got.Findings) != 3 || !slices.Equal(got.Judges[0].Findings, []string{ada1, bert1}) {
					t.Errorf("accepted as %+v", got)
				}
				return
			}
			if err == nil {
				t.Fatal("accepted")
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error lacks %q: %v", part, err)
				}
			}
		})
	}
}

// randomCase makes an input and a judge function that answers any plan.
func randomCase(r *rand.Rand) (Input, func(*RoundPlan) []Answer) {
	participants := []string{"ada", "bert", "cleo", "dora", "emil"}[:2+r.IntN(4)]
	p := policy(1 + r.IntN(3))
	p.Adversarial, p.Critic = r.IntN(2) == 0, r.IntN(2) == 0
	in := Input{Run: "p:g:i/t@001", Round: "cross", Policy: p, Analysts: len(participants)}
	for _, name := range participants {
		var fs []Finding
		for i := range r.IntN(4) {
			fs = append(fs, finding(fmt.Sprintf("F%d", i), Severities[r.IntN(len(Severities))]))
		}
		in.Sources = append(in.Sources, source(name, fs...))
		if r.IntN(4) > 0 {
			in.Judges = append(in.Judges, judge(name))
		}
		if r.IntN(4) == 0 {
			in.Judges = append(in.Judges, JudgeRef{Worker: "cross.attack." + name, Participant: name, Critic: true})
		}
	}
	return in, func(p *RoundPlan) []Answer {
		var out []Answer
		for _, j := range p.Judges {
			if r.IntN(8) == 0 {
				out = append(out, Answer{Worker: j.Worker})
				continue
			}
			doc := &Verdicts{Format: VerdictsFormat}
			for _, f := range p.Findings { // whatever was asked, and more
				if r.IntN(6) > 0 {
					doc.Verdicts = append(doc.Verdicts, Verdict{Finding: f.Finding, Verdict: []Ruling{Agree, Agree, Disagree, Supplement}[r.IntN(4)], Basis: "b", Note: "n"})
				}
			}
			if p.Critic {
				for i := range r.IntN(3) {
					doc.Candidates = append(doc.Candidates, finding(fmt.Sprintf("C%d", i), Major))
				}
			}
			out = append(out, Answer{Worker: j.Worker, Doc: doc})
		}
		return out
	}
}

func TestProperties(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		in, answer := randomCase(r)
		shuffled := in
		shuffled.Sources, shuffled.Judges = slices.Clone(in.Sources), slices.Clone(in.Judges)
		r.Shuffle(len(shuffled.Sources), func(i, j int) {
			shuffled.Sources[i], shuffled.Sources[j] = shuffled.Sources[j], shuffled.Sources[i]
		})
		r.Shuffle(len(shuffled.Judges), func(i, j int) {
			shuffled.Judges[i], shuffled.Judges[j] = shuffled.Judges[j], shuffled.Judges[i]
		})
		s, other := Start(in), Start(shuffled)
		var rounds []Round
		for p := s.Next(); p != nil; p = s.Next() {
			if p.Number > MaxBatches(in.Policy) {
				t.Fatalf("seed %d: does not end: round %d of at most %d", seed, p.Number, MaxBatches(in.Policy))
			}
			twin := other.Next()
			if !bytes.Equal(Encode(p), Encode(twin)) {
				t.Fatalf("seed %d: the order of arrival matters for round plan %d", seed, p.Number)
			}
			checkPlan(t, seed, s, p)
			answers := answer(p)
			before := Encode(s)
			s2 := s.Judge(p, answers)
			if !bytes.Equal(before, Encode(s)) {
				t.Fatalf("seed %d: Judge changed its receiver", seed)
			}
			reversed := slices.Clone(answers)
			slices.Reverse(reversed)
			other = other.Judge(twin, reversed)
			rounds = append(rounds, Round{Plan: p, Answers: answers})
			s = s2
			if !bytes.Equal(Encode(s), Encode(other)) {
				t.Fatalf("seed %d: the order of arrival matters in round %d", seed, p.Number)
			}
		}
		if s.Ended == NotEnded || s.Why == "" {
			t.Fatalf("seed %d: ended without a reason: %q %q", seed, s.Ended, s.Why)
		}
		for _, f := range s.Findings {
			if f.Outcome == "" || f.Why == "" {
				t.Fatalf("seed %d: %s has no outcome or no reason", seed, f.Finding)
			}
			if f.Critic && f.Outcome != Confirmed && f.Outcome != ResidualRisk {
				t.Fatalf("seed %d: candidate %s is %s", seed, f.Finding, f.Outcome)
			}
		}
		replayed, err := Replay(in, rounds)
		if err != nil || !bytes.Equal(Encode(replayed), Encode(s)) {
			t.Fatalf("seed %d: replay differs: %v", seed, err)
		}
	}
}

// checkPlan: nobody is asked about its own, nothing settled is asked about,
// everything open is asked of everybody who may judge it.
func checkPlan(t *testing.T, seed uint64, s *State, p *RoundPlan) {
	t.Helper()
	for _, j := range p.Judges {
		for _, id := range j.Findings {
			f := s.finding(id)
			if f.Participant == s.participant(j.Worker) {
				t.Fatalf("seed %d: %s is asked about its own %s", seed, j.Worker, id)
			}
			if f.Outcome == Confirmed || f.Outcome == Rejected {
				t.Fatalf("seed %d: %s is settled and asked about again", seed, id)
			}
		}
	}
	if p.Critic {
		return
	}
	for _, f := range s.queue() {
		for _, j := range s.Judges {
			if mayJudge(j, f) != slices.Contains(listOf(p, j.Worker), f.Finding) {
				t.Fatalf("seed %d: %s is not asked about %s as it should be", seed, j.Worker, f.Finding)
			}
		}
	}
}

func listOf(p *RoundPlan, worker string) []string {
	if j := p.JudgeItems(worker); j != nil {
		return j.Findings
	}
	return nil
}

func TestReplayRefusesAnotherMembership(t *testing.T) {
	in := three(policy(2))
	p := Start(in).Next()
	p.Judges = p.Judges[1:]
	if _, err := Replay(in, []Round{{Plan: p}}); err == nil || !strings.Contains(err.Error(), "round plan 1 differs") {
		t.Errorf("got %v", err)
	}
}

func TestRoundTrip(t *testing.T) {
	s := Start(three(policy(2)))
	p := s.Next()
	back, err := ParseRoundPlan(Encode(p))
	if err != nil || back.Digest() != p.Digest() {
		t.Errorf("round plan: %v, %s and %s", err, p.Digest(), back.Digest())
	}
	s = s.Judge(p, nil)
	state, err := ParseState(Encode(s))
	if err != nil || !bytes.Equal(Encode(state), Encode(s)) {
		t.Errorf("state: %v", err)
	}
}
