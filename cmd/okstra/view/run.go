package view

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime"
	"github.com/okstra/okstra/runtime/record"
	"github.com/okstra/okstra/runtime/sidecar"
)

// statusStyle is how a status looks wherever it is shown.
func statusStyle(s plan.Status) style {
	switch s {
	case plan.StatusCompleted:
		return good
	case plan.StatusTimeout, plan.StatusError, plan.StatusContractViolated:
		return bad
	case plan.StatusRunning, plan.StatusSpawning:
		return info
	case plan.StatusNotRun:
		return warn
	}
	return plain
}

// Status shows one recorded run. answers are the commands that answer the gate
// at which it waits, none where it waits at none.
func (v *View) Status(s *runtime.RunStatus, answers []string, now time.Time) error {
	return v.show(s, func(sc screen) []line { return v.statusLines(s, waitLines(s, answers, sc), now, sc) })
}

// waitLines tells what a run waits for, and the commands that answer it: each
// on a line of its own, and whole, to be copied.
func waitLines(s *runtime.RunStatus, answers []string, sc screen) []line {
	if s.Waiting == "" || answered(s) {
		return nil
	}
	out := sc.folds(line{{warn, "  waits for " + s.Waiting}})
	for _, a := range answers {
		out = append(out, plainLine("    "+a))
	}
	return out
}

// statusLines shows a run; below its head stands what it waits for, where
// nothing else on the screen tells that.
func (v *View) statusLines(s *runtime.RunStatus, waits []line, now time.Time, sc screen) []line {
	out := sc.folds(line{{strong, s.Ref}, {plain, "  run " + s.RunName + " on " + s.Backend + ", "}, runState(s)})
	out = append(out, waits...)
	for _, r := range s.Rounds {
		out = append(out, sc.folds(line{{plain, "  round " + r.Name + "  "}, {roundStyle(r.State), roundText(r)}, {faint, fmt.Sprintf("  %d of %d completed", r.Completed, r.Total) + gateText(r)}})...)
	}
	if len(s.Workers) > 0 {
		rows := [][]span{heads("WORKER", "LABEL", "STATUS", "ATTEMPT", "TIME", "DETAIL")}
		for _, w := range s.Workers {
			rows = append(rows, v.workerRow(w, now))
		}
		out = append(out, blank)
		// What is cut, why tells.
		out = append(out, sc.table(rows, "  ", cut(5, 24), leaveOut(1), leaveOut(3), cut(5, 12), leaveOut(5), leaveOut(4), cutKey(0, 16), cut(2, 9))...)
	}
	if s.Usage.Total() > 0 || s.Usage.USD != nil {
		out = append(append(out, blank), sc.folds(plainLine("  usage: "+usage(&s.Usage)))...)
	}
	out = append(out, sc.section("Left over", s.Leftovers)...)
	return out
}

// roundText is a round's state in words: one whose gate was answered waits for
// nobody any more but the next apply.
func roundText(r runtime.RoundStatus) string {
	if r.Answered {
		return r.Approval
	}
	return r.State
}

// answered reports whether an answer lies there that no runner has taken.
func answered(s *runtime.RunStatus) bool {
	return slices.ContainsFunc(s.Rounds, func(r runtime.RoundStatus) bool { return r.Answered })
}

// gateText is how the gate of a round was answered.
func gateText(r runtime.RoundStatus) string {
	text := ""
	switch {
	case r.Approval == "":
		return ""
	case r.Approval == "void":
		text = ", its approval is void: the results have changed since"
	case !r.Answered:
		text = ", gate " + r.Approval
	case r.Approval == "denied":
		text = ", okstra apply ends the run"
	default:
		text = ", okstra apply goes on"
	}
	if r.Choice != "" {
		text += "; choice: " + r.Choice
	}
	if r.Note != "" {
		text += "; note: " + r.Note
	}
	return text
}

// local shortens the paths below the working directory in a text for people.
func (v *View) local(text string) string {
	if len(v.Dir) < 2 {
		return text
	}
	return strings.ReplaceAll(text, strings.TrimSuffix(v.Dir, "/")+"/", "")
}

func (v *View) workerRow(w runtime.WorkerStatus, now time.Time) []span {
	detail := v.local(w.Detail)
	if detail == "" && !w.Status.Terminal() {
		detail = w.Stage
		if w.Live {
			detail = "live"
		}
		if w.PaneID != "" {
			detail += " in pane " + w.PaneID
		}
	}
	attempt := "-"
	if w.Attempt > 0 {
		attempt = fmt.Sprint(w.Attempt)
	}
	return []span{
		{plain, w.WorkerKey},
		{faint, w.Label},
		{statusStyle(w.Status), statusText(w.Status, w.Reason)},
		{plain, attempt},
		{plain, elapsed(w, now)},
		{faint, detail},
	}
}

// elapsed is how long a worker ran, or has run until now.
func elapsed(w runtime.WorkerStatus, now time.Time) string {
	switch {
	case w.DurationMS > 0:
		return duration(time.Duration(w.DurationMS) * time.Millisecond)
	case w.StartedAt != nil && w.FinishedAt != nil:
		return duration(w.FinishedAt.Sub(*w.StartedAt))
	case w.StartedAt != nil && !w.Status.Terminal():
		return duration(now.Sub(*w.StartedAt).Truncate(time.Second))
	}
	return "-"
}

func runState(s *runtime.RunStatus) span {
	switch {
	case s.Ended == "completed":
		return span{good, "completed"}
	case s.Ended != "":
		return span{bad, s.Ended}
	case s.Driven:
		return span{info, "being driven"}
	case answered(s):
		return span{warn, "answered, okstra apply goes on"}
	case s.Waiting != "":
		return span{warn, "waiting"}
	}
	for _, w := range s.Workers {
		if w.Live {
			return span{info, "workers live, nobody drives it"}
		}
	}
	return span{warn, "unfinished"}
}

func roundStyle(state string) style {
	switch state {
	case "met":
		return good
	case "unmet", "blocked":
		return bad
	case "running":
		return info
	}
	return plain
}

func usage(u *plan.Usage) string {
	if u == nil || u.Source == plan.UsageUnavailable {
		return plan.UsageUnavailable
	}
	s := fmt.Sprintf("%s tokens in, %s out", thousands(u.InputTokens), thousands(u.OutputTokens))
	if u.CachedTokens > 0 {
		s += ", " + thousands(u.CachedTokens) + " cached"
	}
	if u.ReasoningTokens > 0 {
		s += ", " + thousands(u.ReasoningTokens) + " reasoning"
	}
	if u.USD != nil {
		s += fmt.Sprintf(", $%.4f", *u.USD)
	}
	return s + " (" + u.Source + ")"
}

// Runs shows every recorded run, what lives and what is left over.
func (v *View) Runs(runs []runtime.RunStatus) error {
	if runs == nil {
		runs = []runtime.RunStatus{}
	}
	doc := struct {
		Runs []runtime.RunStatus `json:"runs"`
	}{runs}
	return v.show(doc, func(sc screen) []line {
		if len(runs) == 0 {
			return []line{plainLine("No run is recorded here.")}
		}
		rows := [][]span{heads("RUN", "NAME", "STARTED", "STATE", "WORKERS", "LEFT OVER")}
		for i := range runs {
			s := &runs[i]
			completed, live := 0, 0
			for _, w := range s.Workers {
				if w.Status == plan.StatusCompleted {
					completed++
				}
				if w.Live {
					live++
				}
			}
			workers := fmt.Sprintf("%d of %d completed", completed, len(s.Workers))
			if live > 0 {
				workers += fmt.Sprintf(", %d live", live)
			}
			started := "-"
			if s.StartedAt.IsZero() {
				workers = "-" // a damaged record tells nothing
			} else {
				started = s.StartedAt.Local().Format("2006-01-02 15:04:05")
			}
			rows = append(rows, []span{
				{plain, s.Ref}, {plain, s.RunName}, {faint, started},
				runState(s), {plain, workers}, {warn, strings.Join(s.Leftovers, "; ")},
			})
		}
		return sc.table(rows, "", cut(5, 20), leaveOut(2), cut(4, 16), breakLines(3, 14), cut(5, 12), leaveOut(4), cutKey(0, 24), breakLines(3, 9), cut(1, 8))
	})
}

// outcome is the JSON face of runtime.Outcome.
type outcome struct {
	Type    string             `json:"type"` // "outcome"
	Run     string             `json:"run"`
	RunName string             `json:"runName"`
	Exit    int                `json:"exit"`
	Nothing bool               `json:"nothing"`
	Summary string             `json:"summary"`
	Waiting string             `json:"waiting,omitempty"`
	Attach  string             `json:"attach,omitempty"`
	Cleanup string             `json:"cleanup,omitempty"`
	Next    []string           `json:"next"`
	Status  *runtime.RunStatus `json:"status,omitempty"`
}

// Outcome shows how a driven run stands: always the last thing that its verb
// says. status may be nil where nothing is recorded.
func (v *View) Outcome(o *runtime.Outcome, status *runtime.RunStatus, now time.Time) error {
	if v.JSON {
		doc := outcome{Type: "outcome", RunName: o.RunName, Exit: o.Exit, Nothing: o.Nothing, Summary: o.Summary,
			Waiting: o.Waiting, Attach: o.Attach, Cleanup: o.Cleanup, Next: o.Next, Status: status}
		if o.Run.Seq > 0 {
			doc.Run = o.Run.Ref()
		}
		if doc.Next == nil {
			doc.Next = []string{}
		}
		return v.record(doc)
	}
	var out []line
	sc := v.Out.screen()
	if status != nil {
		out = append(out, v.statusLines(status, nil, now, sc)...)
		out = append(out, v.results(status, o.State, sc)...)
		out = append(out, blank)
	}
	out = append(out, sc.folds(line{{exitStyle(o.Exit), o.Summary}})...)
	if filepath.IsAbs(o.Waiting) { // anything else the summary has said
		out = append(out, sc.folds(line{{warn, "Waits for " + o.Waiting}})...)
	}
	if o.Attach != "" {
		out = append(out, plainLine("To see the panes: "+o.Attach))
	}
	for i, n := range o.Next {
		prefix := "      "
		if i == 0 {
			prefix = "Next: "
		}
		out = append(out, plainLine(prefix+n))
	}
	if o.Cleanup != "" {
		out = append(out, plainLine("To close the panes: "+o.Cleanup))
	}
	return v.Out.print(out...)
}

// WaitingRound is the round at whose gate a run stands that waits for this, nil
// where it waits for something else. The plan may be nil.
func WaitingRound(p *plan.Plan, waiting string) *plan.Round {
	name, gate := strings.CutPrefix(waiting, "approval of round ")
	if p == nil || !gate {
		return nil
	}
	name, _, _ = strings.Cut(name, ":") // the reason follows
	for i := range p.Rounds {
		if r := &p.Rounds[i]; r.Name == name && r.Gate != nil {
			return r
		}
	}
	return nil
}

// results names the files that a run was for: those of its workers with their
// declared outputs, which the record knows, and the final report of one whose
// report round has met its require. The record may be nil.
func (v *View) results(status *runtime.RunStatus, rec *record.State, sc screen) []line {
	var out []line
	file := func(name, path string) {
		out = append(out, sc.folds(line{{faint, name + ": "}, {plain, v.rel(path)}})...)
	}
	for _, w := range status.Workers {
		if w.Status != plan.StatusCompleted {
			continue
		}
		file("  "+w.WorkerKey, w.ResultPath)
		for _, a := range artifacts(rec, w.InvocationRef) {
			if name, declared := strings.CutPrefix(a.Name, "out:"); declared {
				file("    "+name, a.Path)
			}
		}
	}
	for _, r := range status.Rounds {
		if r.Kind == string(plan.RoundReportWriter) && r.State == "met" && r.Completed > 0 {
			file("  final report", status.Run.FinalReport())
		}
	}
	if len(out) == 0 {
		return nil
	}
	return append([]line{blank, {{strong, "Results"}}}, out...)
}

func artifacts(rec *record.State, invocation string) []sidecar.Artifact {
	if rec == nil {
		return nil
	}
	if d := rec.Invocation(invocation); d != nil {
		return d.Artifacts
	}
	return nil
}

// Gate shows on Err what a person should know before answering a gate: what it
// stands before, why, and what lies there to read. status and record may be nil.
func (v *View) Gate(round string, gate plan.Gate, status *runtime.RunStatus, rec *record.State) {
	head := line{{strong, "Round " + round + " waits for an approval."}}
	if gate.Reason != "" {
		head = append(head, span{plain, " " + gate.Reason})
	}
	sc := v.Err.screen()
	out := append([]line{blank}, sc.folds(head)...)
	if status != nil {
		out = append(out, v.results(status, rec, sc)...)
	}
	// Nobody can be told that the stream for telling is broken.
	_ = v.Err.print(append(out, blank)...)
}

func exitStyle(code int) style {
	switch code {
	case 0:
		return good
	case 4:
		return warn
	}
	return bad
}

// Why shows the rule and the evidence behind a worker's status.
func (v *View) Why(e *runtime.Explanation) error {
	return v.show(e, func(sc screen) []line {
		status := statusText(e.Worker.Status, e.Worker.Reason)
		out := sc.folds(line{{strong, e.Worker.InvocationRef}, {plain, " is "}, {statusStyle(e.Worker.Status), status}})
		out = append(out, wrapped(e.Rule, "  ", sc.width, plain)...)
		if e.Worker.Detail != "" {
			out = append(out, wrapped(e.Worker.Detail, "  ", sc.width, plain)...)
		}
		out = append(out, sc.section("Evidence", e.Evidence)...)
		if len(e.Attempts) > 1 {
			out = append(out, blank, line{{strong, "Attempts"}})
			var rows [][]span
			for _, a := range e.Attempts {
				rows = append(rows, []span{{plain, a.InvocationRef}, {statusStyle(a.Status), statusText(a.Status, a.Reason)}, {faint, a.Detail}})
			}
			out = append(out, sc.table(rows, "  ", breakLines(2, 24), cutKey(0, 30), breakLines(2, 12), cutKey(0, 16))...)
		}
		if e.Worker.Usage != nil {
			out = append(append(out, blank), sc.folds(plainLine("Usage: "+usage(e.Worker.Usage)))...)
		}
		out = append(out, sc.section("Last lines of the log", e.LogTail)...)
		if e.Hint != "" {
			out = append(out, blank)
			out = append(out, wrapped(e.Hint, "", sc.width, strong)...)
		}
		return out
	})
}

// Teardown shows what was closed and what could not be.
func (v *View) Teardown(r *runtime.TeardownReport) error {
	doc := runtime.TeardownReport{Closed: nonNil(r.Closed), Ended: nonNil(r.Ended), Left: nonNil(r.Left), Kept: r.Kept}
	return v.show(doc, func(screen) []line {
		var out []line
		for _, e := range r.Ended {
			out = append(out, line{{warn, "ended "}, {plain, e}})
		}
		for _, c := range r.Closed {
			out = append(out, line{{good, "closed "}, {plain, c}})
		}
		for _, l := range r.Left {
			out = append(out, line{{bad, "left "}, {plain, l}})
		}
		for _, k := range r.Kept {
			out = append(out, line{{plain, "left alone "}, {plain, k}, {faint, ", which is not ended"}})
		}
		if len(out) == 0 {
			return []line{plainLine("Nothing was open.")}
		}
		return out
	})
}

func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
