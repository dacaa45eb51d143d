package lead

import (
	"fmt"
	"slices"
	"strings"
)

// Runtime is the host that the lead lives in: its identity and accounting. It
// says nothing about how workers are started. The zero value is invalid.
type Runtime string

const (
	RuntimeClaudeCode Runtime = "claude-code"
	RuntimeCodex      Runtime = "codex"
	RuntimeExternal   Runtime = "external" // any other host, or a person
)

// DefaultRuntime is the lead runtime of a run for which nobody named one.
const DefaultRuntime = RuntimeExternal

// Mode is the dispatch mode: how workers are spawned, shown and found
// finished. It says nothing about who leads. The zero value is invalid.
type Mode string

const (
	ModeCLIWrapper Mode = "cli-wrapper"
	ModeTmuxPane   Mode = "tmux-pane"
	ModeCmuxPane   Mode = "cmux-pane"
	// ModeRenderOnly stands where no backend can dispatch here.
	ModeRenderOnly Mode = "render-only"
)

// AccountingArtifactOnly is the session accounting of every lead whose host
// okstra does not read: usage comes from the workers' artifacts alone.
const AccountingArtifactOnly = "artifact-only"

// host is the lead-runtime axis: one row per Runtime.
type host struct {
	runtime    Runtime
	agent      string // how the manifest names the adapter
	label      string // how the lead is addressed and signs
	prompt     string // userPromptMode
	accounting string
	wait       []string // how to wait there without blocking
}

// mode is the dispatch axis: one row per Mode.
type mode struct {
	mode     Mode
	backend  string // the backend's name in a definition
	teardown string // teardownMode
	panes    bool
	// label and accounting override the host's where the adapter speaks for
	// every lead runtime alike.
	label      string
	runtime    string
	accounting string
	prompt     string
}

var hosts = []host{
	{
		runtime: RuntimeClaudeCode, agent: "claude-code", label: "Claude lead", prompt: "host-question", accounting: AccountingArtifactOnly,
		wait: []string{
			"Run the await command with the Bash tool and `run_in_background: true`, then end your turn. The host wakes you when the command ends; read its output then.",
			"Do not poll in a loop, do not sleep, and do not run it in the foreground: the tool's own time limit would end it. Ending it is harmless (workers go on), but you would have to start it again.",
			"Do not use the host's team tools or sub-agents for this run's work: every worker is started by `okstra team dispatch`.",
		},
	},
	{
		runtime: RuntimeCodex, agent: "codex", label: "Codex lead", prompt: "host-text", accounting: AccountingArtifactOnly,
		wait: []string{
			"Start the await command as a shell session of its own, with the heartbeat that the command has, and read on from that session until it ends. Each read may time out; that is no failure.",
			"If the host ends long commands, start the same await again: it takes up where the other left off, and workers are not touched.",
		},
	},
	{
		runtime: RuntimeExternal, agent: "external", label: "okstra lead", prompt: "host-text", accounting: AccountingArtifactOnly,
		wait: []string{
			"Run the await command through your host's asynchronous shell facility and let it wake you, or read its output from time to time. A person simply runs it in a terminal.",
			"If your host ends silent foreground commands, keep the heartbeat that the command has. If it ends long ones, add `--timeout 5m` and run it again for as long as it exits with 7.",
		},
	},
}

var modes = []mode{
	{mode: ModeCLIWrapper, backend: "process", teardown: "no-panes"},
	{mode: ModeTmuxPane, backend: "tmux", teardown: "pane-teardown", panes: true},
	{
		mode: ModeCmuxPane, backend: "cmux", teardown: "pane-teardown", panes: true,
		label: "Okstra lead", runtime: "environment-selected", accounting: "unchanged", prompt: "host-text",
	},
	{mode: ModeRenderOnly, teardown: "none"},
}

// ParseRuntime returns the lead runtime of this name. The empty name is
// DefaultRuntime.
func ParseRuntime(name string) (Runtime, error) {
	if name == "" {
		return DefaultRuntime, nil
	}
	for _, h := range hosts {
		if string(h.runtime) == name {
			return h.runtime, nil
		}
	}
	names := make([]string, len(hosts))
	for i, h := range hosts {
		names[i] = string(h.runtime)
	}
	return "", fmt.Errorf("no lead runtime %q; write one of %s (a multiplexer is a backend, not a lead runtime)", name, strings.Join(names, ", "))
}

// ModeOf returns the dispatch mode of a backend by its name in a definition
// ("process", "tmux", "cmux"). The empty name is ModeRenderOnly. It panics on
// another name: backends are a closed list.
func ModeOf(backend string) Mode {
	for _, m := range modes {
		if m.backend == backend {
			return m.mode
		}
	}
	panic("lead: no dispatch mode for backend " + backend)
}

// KnownBackend tells whether ModeOf knows a backend.
func KnownBackend(backend string) bool {
	return slices.ContainsFunc(modes, func(m mode) bool { return m.backend == backend })
}

// BackendOf is the inverse of ModeOf; it is empty for ModeRenderOnly and for
// "mixed", which names no single backend.
func BackendOf(m Mode) string {
	for _, row := range modes {
		if row.mode == m {
			return row.backend
		}
	}
	return ""
}

func hostOf(r Runtime) host {
	for _, h := range hosts {
		if h.runtime == r {
			return h
		}
	}
	panic("lead: no lead runtime " + string(r))
}

func modeOf(m Mode) mode {
	for _, row := range modes {
		if row.mode == m {
			return row
		}
	}
	panic("lead: no dispatch mode " + string(m))
}
