package view

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/okstra/okstra/lang/plan"
)

// Plan shows what apply would do. The JSON face is the plan itself.
func (v *View) Plan(p *plan.Plan) error {
	return v.show(p, func(sc screen) []line { return planLines(p, sc) })
}

// mark is how an action looks at the start of a line.
func mark(a plan.Action) span {
	switch a {
	case plan.ActionDispatch:
		return span{good, "+"}
	case plan.ActionDone:
		return span{faint, "="}
	case plan.ActionAdopt:
		return span{info, ">"}
	case plan.ActionRetry:
		return span{warn, "^"}
	case plan.ActionRedo:
		return span{warn, "~"}
	case plan.ActionDropped:
		return span{faint, "-"}
	case plan.ActionBlocked:
		return span{bad, "!"}
	}
	return span{plain, " "}
}

func planLines(p *plan.Plan, sc screen) []line {
	out := planHead(p, sc)
	waits := map[string]string{}
	for _, r := range p.Difference.Rounds {
		waits[r.Round] = r.Wait
	}
	byRound := map[string][]plan.WorkerAction{}
	var dropped []plan.WorkerAction
	for _, a := range p.Difference.Workers {
		if a.Action == plan.ActionDropped {
			dropped = append(dropped, a)
			continue
		}
		byRound[a.Round] = append(byRound[a.Round], a)
	}
	workers := map[string]*plan.Worker{}
	for i := range p.Rounds {
		for j := range p.Rounds[i].Workers {
			workers[p.Rounds[i].Workers[j].Key] = &p.Rounds[i].Workers[j]
		}
	}
	for i := range p.Rounds {
		r := &p.Rounds[i]
		out = append(append(out, blank), sc.folds(roundHead(r))...)
		if w := waits[r.Name]; w != "" {
			out = append(out, sc.folds(line{{plain, "  "}, {warn, "?"}, {plain, " waits for " + w}})...)
			// Nobody has to choose where the gate was answered or asks nobody.
			if r.Gate != nil && len(r.Gate.Choices) > 0 && strings.HasPrefix(w, "gate: ") {
				out = append(out, sc.folds(plainLine("    choices: "+strings.Join(r.Gate.Choices, ", ")))...)
			}
		}
		if r.Empty != "" {
			out = append(out, sc.folds(line{{faint, "  no workers: " + r.Empty}})...)
		}
		out = append(out, actionTable(byRound[r.Name], workers, sc)...)
	}
	if len(p.Rounds) == 0 {
		out = append(out, blank, plainLine("No rounds: the lead acts alone."))
	}
	if len(dropped) > 0 {
		out = append(out, blank, line{{strong, "No longer defined"}, {faint, " (kept on record, not required)"}})
		out = append(out, actionTable(dropped, workers, sc)...)
	}
	if p.Difference.Work() {
		out = append(out, sc.section("Panes", p.Observed.Placement)...)
	}
	out = append(out, sc.section("Overridden", overrides(p.Overrides))...)
	out = append(out, sc.section("Variables", variables(p.Variables))...)
	if !p.State.New {
		out = append(out, sc.section("Changed since the last apply", p.Difference.Changed)...)
	}
	out = append(out, sc.section("Notes", append(slices.Clone(p.Observed.Notes), p.Difference.Notes...))...)
	if p.Difference.Work() {
		out = append(out, sc.folds(otherBackends(p)...)...)
		out = append(append(out, blank), sc.folds(plainLine("At worst from here on: "+worst(p.WorstCase)+"."))...)
	}
	if p.Difference.Summary != "" {
		out = append(append(out, blank), sc.folds(line{{strong, p.Difference.Summary}})...)
	}
	return out
}

func planHead(p *plan.Plan, sc screen) []line {
	title := line{{strong, "Run " + p.Run.Name}}
	if p.Run.Description != "" {
		title = append(title, span{plain, ": " + p.Run.Description})
	}
	number := fmt.Sprintf("%03d", p.State.Seq)
	if p.State.New {
		number += ", new"
	} else if p.State.Serial > 0 {
		number += fmt.Sprintf(", recorded (serial %d)", p.State.Serial)
	}
	rows := [][]span{
		{{faint, "task"}, {plain, p.Run.Task.Key()}},
		{{faint, "task type"}, {plain, p.Run.TaskType}},
		{{faint, "number"}, {plain, number}},
		{{faint, "definition"}, {plain, p.Definition}},
	}
	if g := p.Observed.Git; g.Head != "" {
		head := g.Head[:min(len(g.Head), 12)]
		if g.Branch != "" {
			head += " on " + g.Branch
		}
		rows = append(rows, []span{{faint, "git"}, {plain, head}})
	}
	if p.Run.After != "" {
		rows = append(rows, []span{{faint, "after"}, {plain, p.Run.After}})
	}
	if backend := p.Observed.Backend; backend != "" {
		for _, b := range p.Observed.Backends {
			// What follows from it stands under Panes.
			if found, _, _ := strings.Cut(b.Found, ";"); b.Name == backend && found != "" {
				backend += " (" + found + ")"
			}
		}
		rows = append(rows, []span{{faint, "backend"}, {plain, backend}})
	}
	if b := p.Run.Budget; b != nil {
		rows = append(rows, []span{{faint, "budget"}, {plain, budget(b)}})
	}
	return append(sc.folds(title), sc.table(rows, "  ", breakLines(1, 20))...)
}

// otherBackends tells, a line each, of those that were asked for and not taken.
func otherBackends(p *plan.Plan) []line {
	var out []line
	for _, b := range p.Observed.Backends {
		if b.Name != p.Observed.Backend && !b.Available {
			out = append(out, line{{faint, b.Name + " is not available: " + b.Found}})
		}
	}
	if len(out) == 0 {
		return nil
	}
	return append([]line{blank}, out...)
}

func roundHead(r *plan.Round) line {
	l := line{{strong, "Round " + r.Name}}
	text := ""
	if r.Kind != plan.RoundWork {
		text += " (" + string(r.Kind) + ")"
	}
	if len(r.After) > 0 {
		text += " after " + strings.Join(r.After, ", ")
	}
	if c := r.Convergence; c != nil && c.Enabled {
		text += fmt.Sprintf(", at most %s, %s", plan.Count(c.MaxRounds, "convergence round"), c.Mode)
		if c.Adversarial {
			text += ", adversarial"
		}
		if c.Critic {
			text += ", with a critic"
		}
		if c.Source == "lead" {
			text += ", planned by the lead"
		}
	}
	if !r.Require.All {
		text += ", requires "
		if r.Require.Percent != nil {
			text += fmt.Sprintf("%d%%", *r.Require.Percent)
		} else {
			text += fmt.Sprint(r.Require.Count)
		}
	}
	if n := len(r.Workers); n > 0 {
		text += ", " + plan.Count(n, "worker")
		if r.Parallelism > 0 && r.Parallelism < n {
			text += fmt.Sprintf(", %d at a time", r.Parallelism)
		}
	}
	return append(l, span{plain, text})
}

func actionTable(actions []plan.WorkerAction, workers map[string]*plan.Worker, sc screen) []line {
	rows := make([][]span, 0, len(actions))
	for _, a := range actions {
		what := string(a.Action)
		label := ""
		if w := workers[a.Key]; w != nil {
			label = w.Label
			if a.Action == plan.ActionRetry && a.Attempt > 0 {
				what = fmt.Sprintf("retry %d/%d", a.Attempt, w.Retry.Attempts)
			}
		}
		rows = append(rows, []span{mark(a.Action), {plain, a.Key}, {faint, label}, {mark(a.Action).style, what}, {faint, a.Why}})
	}
	return sc.table(rows, "  ", cut(4, 24), leaveOut(2), cut(4, 12), leaveOut(4), cutKey(1, 16), cut(3, 8))
}

func (sc screen) section(title string, texts []string) []line {
	if len(texts) == 0 {
		return nil
	}
	out := []line{blank, {{strong, title}}}
	for _, t := range texts {
		out = append(out, sc.folds(plainLine("  "+t))...)
	}
	return out
}

func overrides(list []plan.Override) []string {
	var out []string
	for _, o := range list {
		out = append(out, fmt.Sprintf("%s %s: %s (%s)", o.Kind, o.Name, strings.Join(o.Attributes, ", "), position(o.Declared)))
	}
	return out
}

func variables(list []plan.Variable) []string {
	var out []string
	for _, v := range list {
		if v.Sensitive {
			out = append(out, v.Name+" is sensitive ("+v.Source+")")
			continue
		}
		value, err := json.Marshal(v.Value)
		if err != nil {
			value = []byte("?")
		}
		out = append(out, fmt.Sprintf("%s = %s (%s)", v.Name, value, v.Source))
	}
	return out
}

func position(p plan.Position) string {
	if p.File == "" {
		return "default"
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

func budget(b *plan.Budget) string {
	var parts []string
	if b.Dispatches != nil {
		parts = append(parts, plan.Count(*b.Dispatches, "start"))
	}
	if b.Wall != nil {
		parts = append(parts, duration(b.Wall.D()))
	}
	if b.Tokens != nil {
		parts = append(parts, thousands(*b.Tokens)+" tokens")
	}
	if b.USD != nil {
		parts = append(parts, fmt.Sprintf("$%.2f", *b.USD))
	}
	return strings.Join(parts, ", ")
}

func worst(w plan.WorstCase) string {
	parts := []string{plan.Count(w.Starts, "start"), duration(w.Wall.D())}
	if w.Tokens != nil {
		parts = append(parts, thousands(*w.Tokens)+" tokens")
	} else {
		parts = append(parts, "tokens not known")
	}
	if w.USD != nil {
		parts = append(parts, fmt.Sprintf("$%.2f", *w.USD))
	} else {
		parts = append(parts, "cost not known")
	}
	return strings.Join(parts, ", ")
}

// duration shows d as a person writes it: "90m" is "1h30m", "0s" stays.
func duration(d time.Duration) string {
	switch {
	case d == 0:
		return "0s"
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	s := d.Round(time.Second).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
