package lang

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/okstra/okstra/lang/plan"
)

// checkRun holds a run to the rules that span its rounds.
func (c *compiler) checkRun() {
	c.checkRoundKinds()
	c.checkReportRole()
	c.checkPhaseOrder()
	c.checkExecutors()
	c.checkReverify()
	c.checkWriters()
	c.checkRequiredRoles()
	c.checkPrompts()
	c.checkBudget()
}

// stationsOf returns the stations of one round.
func (c *compiler) stationsOf(round string) []*station {
	var out []*station
	for _, st := range c.stations {
		if st.round.Name == round {
			out = append(out, st)
		}
	}
	return out
}

// hasRole returns the first station of a round with a role, or nil.
func hasRole(list []*station, role string) *station {
	for _, st := range list {
		if st.duty.role == role {
			return st
		}
	}
	return nil
}

func (c *compiler) checkRoundKinds() {
	first := map[plan.RoundKind]string{}
	for i := range c.plan.Rounds {
		rd := &c.plan.Rounds[i]
		decl := c.run.rounds[i]
		if rd.Kind == plan.RoundWork {
			continue
		}
		if name, ok := first[rd.Kind]; ok {
			c.fault(decl.header, SummaryRoundKind, "A run has at most one round of kind %q, and %q is one already.", rd.Kind, name)
		}
		first[rd.Kind] = rd.Name
		if rd.Kind == plan.RoundReportWriter && len(rd.Workers) != 1 && counted(rd, decl) {
			c.fault(decl.header, SummaryReportWriter, "The round %q of kind \"report-writer\" has %s; it needs exactly one: one assign to one participant, without for_each.", rd.Name, plan.Count(len(rd.Workers), "worker"))
		}
	}
}

// checkReportRole warns of report-writers that are none: what a report-writer
// owes is asked by the kind of the round, and not by the role.
func (c *compiler) checkReportRole() {
	for _, st := range c.stations {
		if st.duty.role == roleReportWriter && st.round.Kind != plan.RoundReportWriter && !st.audit {
			c.diags = append(c.diags, caution(st.assign.attr("duty").Expr.Range(), SummaryReportRole, "The duty %q is done in the role report-writer, but the round %q is of kind %q, so that no audit file is asked for. Write kind = \"report-writer\" in the round, or audit = true in the duty.", st.duty.name, st.round.Name, st.round.Kind))
		}
	}
}

// counted reports whether a round's workers could be made, so that their
// number means something.
func counted(rd *plan.Round, decl *round) bool {
	return len(decl.assigns) > 0 && (rd.Empty != "" || len(rd.Workers) > 0)
}

// checkPhaseOrder keeps an executor and who verifies it apart: a verifier
// beside the executor would read what was there before.
func (c *compiler) checkPhaseOrder() {
	executorSeen := slices.ContainsFunc(c.stations, func(st *station) bool { return st.duty.role == roleExecutor })
	before := false // an executor's round came
	for i := range c.plan.Rounds {
		rd := &c.plan.Rounds[i]
		list := c.stationsOf(rd.Name)
		executor, verifier := hasRole(list, roleExecutor), hasRole(list, roleVerifier)
		switch {
		case executor != nil && verifier != nil:
			c.fault(c.run.rounds[i].header, SummaryPhaseOrder, "The round %q holds an executor (%s) and a verifier (%s). A verifier beside the executor would read the state before its changes: move the verifiers to a round after this one.", rd.Name, executor.ref, verifier.ref)
		case verifier != nil && !before && executorSeen && c.head.taskType == taskImplementation:
			c.fault(c.run.rounds[i].header, SummaryPhaseOrder, "The round %q verifies before an executor has worked. In %s the executor's round comes first, the verifiers' after it.", rd.Name, taskImplementation)
		}
		before = before || executor != nil
	}
}

// checkExecutors lets one participant change the project, one worker at a time.
func (c *compiler) checkExecutors() {
	var first *station
	inRound := map[string]*station{}
	for _, st := range c.stations {
		if st.duty.role != roleExecutor {
			continue
		}
		switch {
		case first != nil && first.ref != st.ref:
			c.fault(st.at, SummaryExecutors, "%s is an executor of this run already (%s). Only one participant may change the project.", first.ref, first.at)
		case inRound[st.round.Name] != nil:
			c.fault(st.at, SummaryExecutors, "The round %q has an executor already (%s). Give it one duty a round, or split the round.", st.round.Name, inRound[st.round.Name].at)
		case c.count(st) > 1:
			c.fault(st.assign.header, SummaryExecutors, "for_each makes %d executors in the round %q. One executor at a time may change the project: give the whole list to one worker.", c.count(st), st.round.Name)
		}
		if first == nil {
			first = st
		}
		inRound[st.round.Name] = st
	}
}

// count is the number of workers of a station.
func (c *compiler) count(st *station) int {
	n := 0
	for i := range st.round.Workers {
		if w := &st.round.Workers[i]; w.Duty == st.duty.name && w.ParticipantRef == st.ref {
			n++
		}
	}
	return n
}

func (c *compiler) checkReverify() {
	for i := range c.plan.Rounds {
		rd := &c.plan.Rounds[i]
		if rd.Kind != plan.RoundReverify {
			continue
		}
		at := c.run.rounds[i].header
		analysts := map[string]bool{}
		findings, unsure := false, c.run.misread
		for j := range i {
			unsure = unsure || c.run.rounds[j].misread
			for _, a := range c.run.rounds[j].assigns {
				// An assign that came to nothing was wrong in itself.
				unsure = unsure || !slices.ContainsFunc(c.stations, func(st *station) bool { return st.assign == a })
			}
			for _, st := range c.stationsOf(c.plan.Rounds[j].Name) {
				unsure = unsure || st.duty.unsure
				if st.duty.emits == plan.EmitsFindings {
					findings = true
					analysts[st.ref] = true
				}
			}
		}
		switch {
		case unsure:
		case !findings:
			c.fault(at, SummaryReverify, "The round %q verifies findings again, but no earlier round has a duty with emits = \"findings\".", rd.Name)
		case len(analysts) < 2:
			c.diags = append(c.diags, caution(at, SummaryReverifyFew, "Only %s looks for findings before the round %q. Nobody judges its own finding, so that this round will be not-run. Give the duty to two participants or more.", strings.Join(names(analysts), ""), rd.Name))
		}
		for _, st := range c.stationsOf(rd.Name) {
			if st.duty.emits != plan.EmitsVerdicts && !st.duty.unsure && st.duty.role != roleCritic {
				c.fault(st.assign.attr("duty").Expr.Range(), SummaryReverify, "The duty %q does not emit verdicts, which a round of kind \"reverify\" is made of. Write emits = \"verdicts\" in it.", st.duty.name)
			}
		}
	}
}

func (c *compiler) checkWriters() {
	if c.rules.unsure {
		return
	}
	for _, st := range c.stations {
		if st.duty.access != plan.AccessWrite || slices.Contains(c.rules.Writers, st.duty.role) {
			continue
		}
		who, instead := "no role may", "Do it in a role without write access, or let this one write"
		if len(c.rules.Writers) > 0 {
			who = "only " + oneOf(c.rules.Writers) + " may"
			instead = fmt.Sprintf("Write role = role.%s in the duty, or let this role write", c.rules.Writers[0])
		}
		all := fmt.Sprintf("%q", append(slices.Clone(c.rules.Writers), st.duty.role))
		c.fault(st.assign.attr("duty").Expr.Range(), SummaryWriter, "The duty %q is done in the role %q, which has write access. In the task type %s %s change the project. %s: override \"task_type\" %q { writers = %s }.", st.duty.name, st.duty.role, c.head.taskType, who, instead, c.head.taskType, strings.ReplaceAll(all, "\" \"", "\", \""))
	}
}

func (c *compiler) checkRequiredRoles() {
	if len(c.stations) == 0 || c.unsure || c.rules.unsure {
		return // a run of the lead alone, or one whose duties are not all known
	}
	for _, role := range c.rules.Required {
		if role != roleLead && hasRole(c.stations, role) == nil {
			c.diags = append(c.diags, caution(c.run.header, SummaryRequiredRole, "A run of the task type %s is whole with the role %q, and no duty of this run is done in it.", c.head.taskType, role))
		}
	}
}

// checkPrompts warns once of each provider whose workers would get no prompt,
// or get it twice.
func (c *compiler) checkPrompts() {
	named := map[string][]plan.Ref{} // what of the prompt the command and environment name, by provider
	for _, r := range c.plan.Rounds {
		for _, w := range r.Workers {
			parts := slices.Clone(w.Argv)
			for _, e := range w.Env {
				parts = append(parts, e.Value)
			}
			for _, t := range parts {
				for _, ref := range t.Refs() {
					switch ref {
					case plan.RefPromptPath, plan.RefPromptText, plan.RefPromptReference:
						named[w.Provider] = append(named[w.Provider], ref)
					}
				}
			}
		}
	}
	told := map[string]bool{}
	for _, st := range c.stations {
		p := st.provider
		if told[p.name] {
			continue
		}
		at := st.assign.attr("to").Expr.Range()
		switch {
		case p.prompt == plan.PromptPath && p.output != plan.OutputText && len(named[p.name]) == 0:
			told[p.name] = true
			c.diags = append(c.diags, caution(at, SummaryPrompt, "The provider %q gets its prompt by path, but its command names none, and a CLI of that kind reads no file by itself. Write prompt = \"stdin\" in it, or put prompt.path or prompt.text into its command.", p.name))
		case p.prompt != plan.PromptPath && slices.Contains(named[p.name], plan.RefPromptText):
			told[p.name] = true
			c.diags = append(c.diags, caution(at, SummaryPrompt, "The provider %q gets its prompt twice: by prompt = %q, and as prompt.text in its command. Leave one of them out; with prompt = \"path\" the command alone gives it.", p.name, p.prompt))
		}
	}
}

// checkBudget finds providers whose use could not be counted, and workers that
// the budget can never let start: a start is reserved at its worst.
func (c *compiler) checkBudget() {
	b := c.plan.Run.Budget
	if b == nil {
		return
	}
	c.checkWall(b.Wall)
	for _, st := range c.stations {
		p := st.provider
		noTokens := p.output == plan.OutputText && (p.worst == nil || p.worst.Tokens == nil)
		noUSD := p.output != plan.OutputClaudeStream && (p.worst == nil || p.worst.USD == nil)
		if b.Tokens != nil && noTokens {
			c.fault(c.budgetAt["tokens"].at, SummaryBudget, "The provider %q reports no tokens. Say in it what one start uses at most: worst = { tokens = … }.", p.name)
		}
		if b.USD != nil && noUSD {
			c.fault(c.budgetAt["usd"].at, SummaryBudget, "The provider %q reports no cost. Say in it what one start costs at most: worst = { usd = … }.", p.name)
		}
	}
}

// checkWall warns once of the duties whose workers the budget can never let
// start.
func (c *compiler) checkWall(budget *plan.Duration) {
	if budget == nil {
		return
	}
	var longest plan.Duration
	var duties []string
	for _, st := range c.stations {
		if st.limits.Wall > *budget {
			longest = max(longest, st.limits.Wall)
			if name := strconv.Quote(st.duty.name); !slices.Contains(duties, name) {
				duties = append(duties, name)
			}
		}
	}
	if len(duties) == 0 {
		return
	}
	wall := c.budgetAt["wall"]
	c.diags = append(c.diags, caution(wall.at, SummaryBudgetSmall, "A worker of duty %s may take %s, its wall limit, and the whole run %s: it would never be started. Raise budget.wall, or shorten timeout.wall.", plan.Some(duties), shortly(longest), wall.value.AsString()))
}
