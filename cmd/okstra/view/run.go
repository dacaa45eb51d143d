package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime"
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

// Status shows one recorded run.
func (v *View) Status(s *runtime.RunStatus, now time.Time) error {
	return v.show(s, func(width int) []line { return v.statusLines(s, now, width) })
}

func (v *View) statusLines(s *runtime.RunStatus, now time.Time, width int) []line {
	out := []line{{{strong, s.Ref}, {plain, "  run " + s.RunName + " on " + s.Backend + ", "}, runState(s)}}
	if s.Waiting != "" {
		out = append(out, line{{warn, "  waits for " + s.Waiting}})
	}
	for _, r := range s.Rounds {
		l := line{{plain, "  round " + r.Name + "  "}, {roundStyle(r.State), r.State}, {faint, fmt.Sprintf("  %d of %d completed", r.Completed, r.Total)}}
		if r.Approval != "" {
			l = append(l, span{faint, ", gate " + r.Approval})
		}
		out = append(out, l)
	}
	if len(s.Workers) > 0 {
		rows := [][]span{header("WORKER", "LABEL", "STATUS", "ATTEMPT", "TIME", "DETAIL")}
		for _, w := range s.Workers {
			rows = append(rows, workerRow(w, now))
		}
		out = append(out, blank)
		// Whoever reads a pipe gets everything; a person can ask why.
		out = append(out, table(rows, "  ", width, v.Out.terminal)...)
	}
	if s.Usage.Total() > 0 || s.Usage.USD != nil {
		out = append(out, blank, plainLine("  usage: "+usage(&s.Usage)))
	}
	out = append(out, section("Left over", s.Leftovers)...)
	return out
}

func workerRow(w runtime.WorkerStatus, now time.Time) []span {
	status := string(w.Status)
	if w.Reason != plan.ReasonNone {
		status += "/" + string(w.Reason)
	}
	detail := w.Detail
	if detail == "" && !w.Status.Terminal() {
		detail = w.Stage
		if w.Live {
			detail = "live"
		}
		if w.PaneID != "" {
			detail += " in pane " + w.PaneID
		}
	}
	return []span{
		{plain, w.WorkerKey},
		{faint, w.Label},
		{statusStyle(w.Status), status},
		{plain, fmt.Sprint(w.Attempt)},
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
	return v.show(doc, func(width int) []line {
		if len(runs) == 0 {
			return []line{plainLine("No run is recorded here.")}
		}
		rows := [][]span{header("RUN", "NAME", "STARTED", "STATE", "WORKERS", "LEFT OVER")}
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
			rows = append(rows, []span{
				{plain, s.Ref}, {plain, s.RunName}, {faint, s.StartedAt.Local().Format("2006-01-02 15:04:05")},
				runState(s), {plain, workers}, {warn, strings.Join(s.Leftovers, "; ")},
			})
		}
		return table(rows, "", width, false)
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
	Next    []string           `json:"next"`
	Status  *runtime.RunStatus `json:"status,omitempty"`
}

// Outcome shows how a driven run stands: always the last thing that its verb
// says. status may be nil where nothing is recorded.
func (v *View) Outcome(o *runtime.Outcome, status *runtime.RunStatus, now time.Time) error {
	if v.JSON {
		doc := outcome{Type: "outcome", RunName: o.RunName, Exit: o.Exit, Nothing: o.Nothing, Summary: o.Summary,
			Waiting: o.Waiting, Attach: o.Attach, Next: o.Next, Status: status}
		if o.Run.Seq > 0 {
			doc.Run = o.Run.Ref()
		}
		if doc.Next == nil {
			doc.Next = []string{}
		}
		return v.record(doc)
	}
	var out []line
	if status != nil {
		out = append(out, v.statusLines(status, now, v.Out.width)...)
		out = append(out, v.results(o, status)...)
		out = append(out, blank)
	}
	out = append(out, line{{exitStyle(o.Exit), o.Summary}})
	if o.Waiting != "" {
		out = append(out, line{{warn, "Waits for " + o.Waiting + "."}})
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
	return v.Out.print(out...)
}

// results names the files that a run was for: those of its workers, and the
// final report of one whose report round has met its require.
func (v *View) results(o *runtime.Outcome, status *runtime.RunStatus) []line {
	var out []line
	for _, w := range status.Workers {
		if w.Status == plan.StatusCompleted {
			out = append(out, line{{faint, "  " + w.WorkerKey + ": "}, {plain, v.rel(w.ResultPath)}})
		}
	}
	for _, r := range status.Rounds {
		if r.Kind == string(plan.RoundReportWriter) && r.State == "met" && r.Completed > 0 {
			out = append(out, line{{faint, "  final report: "}, {plain, v.rel(o.Run.FinalReport())}})
		}
	}
	if len(out) == 0 {
		return nil
	}
	return append([]line{blank, {{strong, "Results"}}}, out...)
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
	return v.show(e, func(width int) []line {
		status := string(e.Worker.Status)
		if e.Worker.Reason != plan.ReasonNone {
			status += "/" + string(e.Worker.Reason)
		}
		out := []line{{{strong, e.Worker.InvocationRef}, {plain, " is "}, {statusStyle(e.Worker.Status), status}}}
		out = append(out, wrapped(e.Rule, "  ", width, plain)...)
		if e.Worker.Detail != "" {
			out = append(out, wrapped(e.Worker.Detail, "  ", width, plain)...)
		}
		out = append(out, section("Evidence", e.Evidence)...)
		if len(e.Attempts) > 1 {
			out = append(out, blank, line{{strong, "Attempts"}})
			var rows [][]span
			for _, a := range e.Attempts {
				rows = append(rows, []span{{plain, a.InvocationRef}, {statusStyle(a.Status), strings.Trim(string(a.Status)+"/"+string(a.Reason), "/")}, {faint, a.Detail}})
			}
			out = append(out, table(rows, "  ", width, false)...)
		}
		if e.Worker.Usage != nil {
			out = append(out, blank, plainLine("Usage: "+usage(e.Worker.Usage)))
		}
		out = append(out, section("Last lines of the log", e.LogTail)...)
		if e.Hint != "" {
			out = append(out, blank)
			out = append(out, wrapped(e.Hint, "", width, strong)...)
		}
		return out
	})
}

// Teardown shows what was closed and what could not be.
func (v *View) Teardown(r *runtime.TeardownReport) error {
	doc := runtime.TeardownReport{Closed: nonNil(r.Closed), Ended: nonNil(r.Ended), Left: nonNil(r.Left)}
	return v.show(doc, func(int) []line {
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
