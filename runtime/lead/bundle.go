package lead

import (
	_ "embed"
	"fmt"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
)

// Bundle is what a lead's launch prompt is rendered from.
type Bundle struct {
	Run      paths.Run
	Manifest *Manifest
	Plan     *plan.Plan // in force
	Runtime  Runtime    // who leads: one axis
	Mode     Mode       // how workers are dispatched: the other
	// Why says what was found where Mode is ModeRenderOnly.
	Why string
}

// maxRoster bounds the roster that a prompt shows; the plan holds all of it.
const maxRoster = 200

// maxKeys bounds the worker keys of one command line.
const maxKeys = 32

//go:embed bundle.md.tmpl
var bundleText string

// Render renders the launch prompt of a run's lead. The same bundle gives the
// same text. It panics on a runtime or mode that is not in the tables.
func Render(b Bundle) (string, error) {
	tmpl, err := template.New("bundle").Funcs(template.FuncMap{
		"cell": cell, "join": strings.Join,
		"fence": func(lines []string) string { return "```sh\n" + strings.Join(lines, "\n") + "\n```" },
	}).Parse(bundleText)
	if err != nil {
		return "", fmt.Errorf("render the bundle of %s: %w", b.Run.Ref(), err)
	}
	var out strings.Builder
	if err := tmpl.Execute(&out, newBundleView(b)); err != nil {
		return "", fmt.Errorf("render the bundle of %s: %w", b.Run.Ref(), err)
	}
	return strings.TrimRight(out.String(), "\n") + "\n", nil
}

// CommandLines returns every command line that a bundle contains.
func CommandLines(bundle string) []string {
	var out []string
	inside := false
	for l := range strings.SplitSeq(bundle, "\n") {
		switch {
		case l == "```sh":
			inside = true
		case l == "```":
			inside = false
		case inside && l != "":
			out = append(out, l)
		}
	}
	return out
}

// bundleView is the template's data: text only, decided here.
type bundleView struct {
	Label, Selector, ManifestPath, Description, Instructions, Why string
	Manifest                                                      *Manifest
	Task                                                          plan.Task
	Capabilities                                                  []capability
	Operations                                                    []operation
	Allowed, Forbidden, Next, Inputs                              []string
	Roster                                                        []rosterRow
	RosterMore                                                    int
	Dispatches, PhaseOrder                                        bool
	Rounds                                                        []roundView
	Await, Wait, Retry, Events, Looking, Stop, PaneRules          []string
	After, Cleanup, Resume                                        []string
}

type capability struct{ Field, Value string }
type operation struct{ Name, How string }
type rosterRow struct{ Round, Key, Label, Role, Provider, Model string }

type roundView struct {
	Number                  int
	Name, Kind, Gate, Empty string
	Commands, Notes         []string
}

func newBundleView(b Bundle) bundleView {
	h, m := hostOf(b.Runtime), modeOf(b.Mode)
	c := commands{b}
	v := bundleView{
		Label: h.label, Selector: c.selector(), ManifestPath: b.Run.Manifest(), Manifest: b.Manifest, Task: b.Run.Task, Why: OneLine(b.Why),
		Description: OneLine(b.Plan.Run.Description), Instructions: strings.TrimSpace(b.Plan.Run.Lead.Instructions),
		Allowed: oneLines(b.Plan.Run.Allowed), Forbidden: oneLines(b.Plan.Run.Forbidden), Next: b.Plan.Run.Next,
		Inputs: oneLines(b.Plan.Run.Lead.Inputs), Wait: h.wait, Dispatches: b.Mode != ModeRenderOnly, PaneRules: paneRules(m),
		PhaseOrder: b.Manifest.TeamContract.Executor != nil,
		Resume:     c.resume(),
	}
	if m.label != "" {
		v.Label = m.label
	}
	if v.Why == "" {
		v.Why = "none is available"
	}
	v.Capabilities = capabilities(h, m)
	v.Operations = c.operations(v.Dispatches)
	for _, r := range b.Plan.Rounds {
		for _, w := range r.Workers {
			if len(v.Roster) == maxRoster {
				v.RosterMore++
				continue
			}
			v.Roster = append(v.Roster, rosterRow{r.Name, w.Key, w.Label, w.Role, w.Provider, w.Model})
		}
	}
	if !v.Dispatches {
		return v
	}
	v.Rounds = c.rounds()
	v.Await = []string{c.team("await", "--heartbeat", "30s")}
	v.Retry = c.retry()
	v.Events = c.events()
	v.Looking = c.looking()
	v.Stop = []string{c.run("stop")}
	v.Cleanup = c.cleanup()
	v.After = []string{c.okstra("plan", b.Plan.Run.Name, "-f", absolute(b.Run.Root, b.Manifest.Definition), "--project-root", b.Run.Root, "--after", c.selector())}
	return v
}

// capabilities is the table of what this lead can rely on. The order and the
// names of the fields are fixed.
func capabilities(h host, m mode) []capability {
	pick := func(over, own string) string {
		if over != "" {
			return over
		}
		return own
	}
	accounting := "`" + pick(m.accounting, h.accounting) + "`"
	if m.accounting != "" {
		accounting += ": keep your own runtime's (`" + h.accounting + "`)"
	}
	runtime := "`" + pick(m.runtime, string(h.runtime)) + "`"
	if m.runtime != "" {
		runtime += ": you run as `" + string(h.runtime) + "`"
	}
	return []capability{
		{"runtime", runtime},
		{"leadRoleLabel", "`" + pick(m.label, h.label) + "`"},
		{"userPromptMode", "`" + pick(m.prompt, h.prompt) + "`"},
		{"workerDispatchBackend", "`" + string(m.mode) + "`"},
		{"initialPromptDeliveryMode", "`lazy-path-reference`"},
		{"sessionAccounting", accounting},
		{"resumeMode", "`artifact-checkpoint`"},
		{"teardownMode", "`" + m.teardown + "`"},
		{"leadEventSource", "`lead-events-jsonl`"},
	}
}

func paneRules(m mode) []string {
	rules := []string{
		"Watching is not judging. A worker is finished when its record has a terminal status and its required files exist; nothing on a screen changes that.",
		"Never read a result, a path or a number off a screen: lines are wrapped and history is cut. Open the file.",
		"Never send input to a worker. Each is one session with one prompt; a retry or a re-verification is always a fresh one.",
	}
	if !m.panes {
		return append([]string{"Workers run as plain processes and have no panes. `okstra logs` and `okstra status` are the window on them."}, rules...)
	}
	return append([]string{
		"okstra makes, sizes, labels and closes every pane. Run no command of the multiplexer: not to place a worker, not to resize yourself, not to clear up.",
		"A finished worker's pane stays, readable, until the next round starts or until teardown.",
	}, rules...)
}

// cell makes text fit for a Markdown table.
func cell(s string) string {
	if s == "" {
		return "-"
	}
	return strings.ReplaceAll(OneLine(s), "|", "\\|")
}

func oneLines(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = OneLine(s)
	}
	return out
}

// absolute is the path that a record's path stands for.
func absolute(root, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(root, path)
}

// relative is a path as records hold it: relative to the project root where it
// lies inside.
func relative(root, path string) string {
	if rel, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}
