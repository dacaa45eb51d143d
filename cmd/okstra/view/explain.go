package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/okstra/okstra/lang/plan"
)

// Explanation is everything that is settled of one worker before it starts.
type Explanation struct {
	Worker *plan.Worker       `json:"worker"`
	Round  string             `json:"round"`
	Action *plan.WorkerAction `json:"action,omitempty"`
	// Prompt is the prompt as its next attempt will read it, paths symbolic.
	Prompt string `json:"prompt"`
}

// Explain shows one worker of a plan: its final prompt, argv, the names of its
// environment, its limits, and where each value was written.
func (v *View) Explain(e Explanation) error {
	return v.show(e, func(sc screen) []line { return e.lines(sc) })
}

func (e Explanation) lines(sc screen) []line {
	w := e.Worker
	out := sc.folds(line{{strong, "Worker " + w.Key}, {faint, "  " + w.Label}})
	rows := [][]span{
		{{faint, "assignment"}, {plain, w.AssignmentRef}},
		{{faint, "round"}, {plain, e.Round}},
		{{faint, "duty"}, {plain, w.Duty}, e.origin("instructions")},
		{{faint, "role"}, {plain, w.Role + ", " + string(w.Access) + " access"}, e.origin("role")},
		{{faint, "participant"}, {plain, w.ParticipantRef + " (" + w.Provider + ")"}, e.origin("assign")},
	}
	if w.Model != "" {
		rows = append(rows, []span{{faint, "model"}, {plain, w.Model}, e.origin("model")})
	}
	program := w.Program.Path
	if w.Program.Problem != "" {
		program = w.Program.Problem
	}
	rows = append(rows,
		[]span{{faint, "program"}, {plain, program}},
		[]span{{faint, "dir"}, {plain, w.Dir}, e.origin("dir")},
		[]span{{faint, "prompt"}, {plain, "by " + string(w.Prompt)}, e.origin("prompt")},
		[]span{{faint, "result"}, {plain, "from " + string(w.Result) + ", output " + string(w.Output)}, e.origin("result")},
		[]span{{faint, "start limit"}, {plain, duration(w.Limits.Start.D())}, e.origin("timeout.start")},
		[]span{{faint, "wall limit"}, {plain, duration(w.Limits.Wall.D())}, e.origin("timeout.wall")},
		[]span{{faint, "idle limit"}, {plain, duration(w.Limits.Idle.D())}, e.origin("timeout.idle")},
		[]span{{faint, "grace"}, {plain, duration(w.Limits.Grace.D())}, e.origin("timeout.grace")},
		[]span{{faint, "attempts"}, {plain, fmt.Sprintf("%d, %s apart", w.Retry.Attempts, duration(w.Retry.Backoff.D()))}, e.origin("retry.attempts")},
		[]span{{faint, "retried on"}, {plain, joined(w.Retry.On)}, e.origin("retry.on")},
	)
	if w.Emits != plan.EmitsNone {
		rows = append(rows, []span{{faint, "emits"}, {plain, string(w.Emits)}, e.origin("emits")})
	}
	if e.Action != nil {
		rows = append(rows, []span{{faint, "action"}, {mark(e.Action.Action).style, string(e.Action.Action)}, {faint, e.Action.Why}})
	}
	out = append(out, sc.table(rows, "  ", breakLines(2, 24), breakLines(1, 24), breakLines(2, 12), breakLines(1, 12))...)

	out = append(out, blank, line{{strong, "Command"}, e.origin("command")})
	for _, a := range w.Argv {
		out = append(out, plainLine("  "+quoted(a.String())))
	}
	if len(w.Env) > 0 {
		out = append(out, blank, line{{strong, "Environment"}, {faint, " (names only)"}})
		for _, n := range w.Env {
			out = append(out, line{{plain, "  " + n.Name + "  "}, e.origin("env." + n.Name)})
		}
	}
	out = append(out, sc.section("Removed from the environment", w.UnsetEnv)...)
	out = append(out, sc.section("Declared inputs", w.Inputs)...)
	if len(w.Outputs) > 0 {
		var names []string
		for _, o := range w.Outputs {
			n := o.Name
			if !o.Required {
				n += " (optional)"
			}
			names = append(names, n)
		}
		out = append(out, sc.section("Outputs", names)...)
	}
	if len(w.Origins) > 0 {
		out = append(out, blank, line{{strong, "Written at"}})
		var rows [][]span
		for _, k := range slices.Sorted(maps.Keys(w.Origins)) {
			rows = append(rows, []span{{faint, k}, {plain, position(w.Origins[k])}})
		}
		out = append(out, sc.table(rows, "  ", breakLines(1, 12))...)
	}
	out = append(out, blank, line{{strong, "Prompt"}})
	for _, l := range CleanLines(e.Prompt) {
		out = append(out, line{{faint, "  | "}, {plain, l}})
	}
	return out
}

// origin says where the first of these attributes that has a place was
// written; a value without a place is a default.
func (e Explanation) origin(names ...string) span {
	for _, n := range names {
		if p, ok := e.Worker.Origins[n]; ok {
			return span{faint, " " + position(p)}
		}
	}
	return span{faint, " default"}
}

func joined[T ~string](list []T) string {
	parts := make([]string, len(list))
	for i, s := range list {
		parts[i] = string(s)
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// quoted shows one argument so that its borders are seen. It is for reading;
// nothing is ever given to a shell.
func quoted(s string) string {
	if s != "" && !strings.ContainsAny(s, " \t\n\"'\\$`;&|<>()*?[]#~") {
		return s
	}
	return fmt.Sprintf("%q", s)
}
