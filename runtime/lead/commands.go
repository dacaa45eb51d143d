package lead

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/converge"
)

// commands writes the exact command lines of one run.
type commands struct{ b Bundle }

// selector is the run as a verb takes it.
func (c commands) selector() string { return fmt.Sprintf("%s@%03d", c.b.Plan.Run.Name, c.b.Run.Seq) }

func (c commands) okstra(words ...string) string {
	out := make([]string, 1, len(words)+1)
	out[0] = "okstra"
	for _, w := range words {
		out = append(out, Quote(w))
	}
	return strings.Join(out, " ")
}

// team is a team command of this run.
func (c commands) team(verb string, more ...string) string {
	return c.okstra(append([]string{"team", verb, "--project-root", c.b.Run.Root, "--run-manifest", c.b.Run.Manifest()}, more...)...)
}

// run is a verb on this run.
func (c commands) run(verb string, more ...string) string {
	words := append([]string{verb, c.selector()}, more...)
	return c.okstra(append(words, "--project-root", c.b.Run.Root)...)
}

func (c commands) event(kind EventType, phase Phase, message string, more ...string) string {
	words := []string{"event", "--project-root", c.b.Run.Root, "--run-manifest", c.b.Run.Manifest(), "--type", string(kind), "--phase", string(phase)}
	return c.okstra(append(append(words, more...), "--message", message)...)
}

func (c commands) resume() []string {
	out := []string{c.run("render-bundle", "--lead-runtime", string(c.b.Runtime))}
	if c.b.Mode != ModeRenderOnly {
		out = append(out, c.run("status"), c.team("await", "--heartbeat", "30s"))
	}
	return out
}

func (c commands) rounds() []roundView {
	var out []roundView
	for _, r := range c.b.Plan.Rounds {
		v := roundView{Number: r.Index + 1, Name: r.Name, Kind: string(r.Kind), Empty: OneLine(r.Empty)}
		if r.Gate != nil {
			v.Gate = OneLine(r.Gate.Reason)
			v.Notes = append(v.Notes, "Ask the user first, and pass on the answer: `"+c.approve(r)+"`"+others(r.Gate.Choices)+", or a denial, which ends the run: `"+c.run("approve", r.Name, "--deny")+"`.")
		}
		if len(r.Workers) > 0 {
			c.batch(r, &v)
		}
		out = append(out, v)
	}
	return out
}

func (c commands) batch(r plan.Round, v *roundView) {
	switch r.Kind {
	case plan.RoundReverify:
		last := 1
		if r.Convergence != nil {
			last = converge.MaxBatches(*r.Convergence)
		}
		for n := range last {
			kind := paths.ReverifyBatch(n + 1)
			v.Commands = append(v.Commands, c.team("dispatch", "--dispatch-kind", kind, "--jobs-file", c.b.Run.ReverifyJobs(n+1)))
		}
		v.Notes = append(v.Notes,
			"`await` writes each round's plan, prompts and jobs file when the batch before it is settled. Dispatch only a round whose jobs file is there, await it, and go on until `await` says that convergence has ended.",
			"The outcome stands in `"+relative(c.b.Run.Root, c.b.Run.Convergence())+"`.")
		if r.Convergence != nil && r.Convergence.Source == "lead" {
			v.Notes = append(v.Notes,
				"You write the round plan (`okstra schema round-plan`): `"+relative(c.b.Run.Root, c.b.Run.RoundPlan(1))+"` for the first round. `await` and `apply` exit with 4 while they wait for it.")
		}
	case plan.RoundReportWriter:
		v.Commands = append(v.Commands, c.team("dispatch", "--jobs-file", c.b.Run.ReportWriterJobs()))
		v.Notes = append(v.Notes,
			"`await` writes the jobs file when the rounds before are settled. It has one job; its dispatch kind is `report-writer`.",
			"okstra makes `"+relative(c.b.Run.Root, c.b.Run.FinalReport())+"` from the narrative. Neither you nor the writer fills in usage.")
	default:
		args := workersFlag(r.Workers)
		v.Commands = append(v.Commands, c.team("dispatch", append(args, "--dry-run")...), c.team("dispatch", args...))
	}
}

func workersFlag(workers []plan.Worker) []string {
	if len(workers) > maxKeys {
		return nil // the next ready round
	}
	keys := make([]string, len(workers))
	for i, w := range workers {
		keys[i] = w.Key
	}
	return []string{"--workers", strings.Join(keys, ",")}
}

func (c commands) approve(r plan.Round) string {
	words := []string{r.Name}
	if len(r.Gate.Choices) > 0 {
		words = append(words, "--choice", r.Gate.Choices[0])
	}
	return c.run("approve", words...)
}

// others names the choices of a gate that a command does not show.
func others(choices []string) string {
	if len(choices) < 2 {
		return ""
	}
	quoted := make([]string, 0, len(choices))
	for _, choice := range choices[1:] {
		quoted = append(quoted, "`"+Quote(choice)+"`")
	}
	return " (the choices besides `" + Quote(choices[0]) + "`: " + strings.Join(quoted, ", ") + ")"
}

func (c commands) retry() []string {
	if w := c.anyWorker(); w != nil {
		return []string{c.team("dispatch", "--dispatch-kind", "retry", "--workers", w.Key, "--dry-run"), c.team("dispatch", "--dispatch-kind", "retry", "--workers", w.Key)}
	}
	return []string{c.team("dispatch", "--dry-run")}
}

func (c commands) anyWorker() *plan.Worker {
	for i := range c.b.Plan.Rounds {
		if ws := c.b.Plan.Rounds[i].Workers; len(ws) > 0 {
			return &ws[0]
		}
	}
	return nil
}

func (c commands) events() []string {
	out := []string{
		c.event(LeadCheckpoint, PhaseIntake, "reading the bundle"),
		c.event(LeadActivity, PhaseAwait, "reading the results of the first round"),
		c.event(LeadError, PhaseAwait, "the host ended the await command"),
	}
	for _, r := range c.b.Plan.Rounds {
		if len(r.Workers) > 0 && r.Kind == plan.RoundWork {
			ref := paths.InvocationRef(r.Workers[0].AssignmentRef, r.Name, 1)
			return append(out, c.event(ForbiddenAction, PhaseAwait, "it did what the boundary forbids", "--invocation", ref))
		}
	}
	return out
}

func (c commands) looking() []string {
	out := []string{c.run("status")}
	if w := c.anyWorker(); w != nil {
		out = append(out, c.run("why", w.Key), c.run("logs", w.Key, "--tail", "50"))
	}
	return append(out, c.run("usage"), c.run("verify"))
}

func (c commands) cleanup() []string {
	return []string{
		c.run("usage"),
		c.event(UsageCollected, PhaseClose, "usage is collected"),
		c.event(UserApproval, PhaseClose, "the user approved the cleanup"),
		c.team("teardown"),
	}
}

// operations maps what the lead's contract calls an operation to a command.
func (c commands) operations(dispatches bool) []operation {
	how := func(command string) string {
		if !dispatches {
			return "Not available: no backend can dispatch here."
		}
		return "`" + strings.ReplaceAll(command, "|", "\\|") + "`"
	}
	and := func(command, text string) string {
		if !dispatches {
			return how(command)
		}
		return how(command) + " " + text
	}
	record := "`okstra event`, as under \"Events\"; it writes to the lead events and prints the `PROGRESS:` and `ACTIVITY:` lines from the same fields."
	if !dispatches {
		record = "`" + c.event(LeadCheckpoint, PhaseIntake, "reading the bundle") + "`"
	}
	return []operation{
		{"read_artifacts", "Read the paths that the manifest, the team state and these tables name, with your host's file tools."},
		{"write_artifact", "Write only what okstra asks of you (a round plan, an approval through its command), under `.okstra/`, in the published schema."},
		{"prompt_user", "Ask in your host's own way, and take only an explicit answer. Silence, or a go-on said earlier, is no approval."},
		{"dispatch_worker", and(c.team("dispatch"), "with `--dry-run` first where you want to see what would start.")},
		{"await_workers", and(c.team("await"), "through your host's asynchronous shell.")},
		{"redispatch_worker", and(c.team("dispatch", "--dispatch-kind", "retry"), "with `--workers`, or a fresh jobs file and its own kind. Never a running worker's conversation.")},
		{"shutdown_workers", and(c.team("teardown"), "only after the cleanup gate below.")},
		{"record_lead_event", record},
		{"collect_usage", how(c.run("usage")) + " Never another runtime's session log."},
	}
}

var plainWord = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)
})

// Quote writes one word of a command line so that a POSIX shell reads exactly
// it. Control characters, which no line can hold, are written in the $'…' form.
func Quote(word string) string {
	if plainWord().MatchString(word) {
		return word
	}
	if strings.ContainsFunc(word, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		q := strconv.QuoteToASCII(word)
		q = strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
		return "$'" + strings.ReplaceAll(q, "'", `\'`) + "'"
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
