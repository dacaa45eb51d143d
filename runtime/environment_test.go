package runtime_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/okstra/okstra/lang/plan"
)

// TestEnvironmentIsNotTheLeads starts a worker from a lead that runs in another
// worker CLI, in tmux and in cmux: the worker sees none of that.
func TestEnvironmentIsNotTheLeads(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.env.Environ = append(slices.Clone(r.env.Environ),
		"KEPT=yes", "MY_CMUX_NOTE=yes", "CLAUDECODE=1", "CODEX_THREAD_ID=1", "GEMINI_CLI=1", "TMUX=/tmp/cmux-claude-teams/A,B,0", "TMUX_PANE=%1",
		"CMUX_WORKSPACE_ID=A", "CMUX_SURFACE_ID=B", "CMUX_PANEL_ID=B", "CMUX_TAB_ID=A", "CMUX_SOCKET_PATH=/s", "CMUX_SOCKET=",
		"CMUX_SOCKET_CAPABILITY=v1.n.h", "CMUX_SOCKET_PASSWORD=p", "CMUX_BUNDLED_CLI_PATH=/c", "CMUX_RELAY_ID=r", "CMUX_RELAY_TOKEN=t",
		"CMUX_SHELL_INTEGRATION=1", "CMUX_CLAUDE_WRAPPER_SHIM=/w", "OKSTRA_VAR_secret=x", "OKSTRA_RUN=another")
	w := r.worker("one", "ada", "env > seen; "+writeResult)
	w.Env = []plan.EnvVar{{Name: "CMUX_ASKED_FOR", Value: plan.Text("yes")}}
	if out := r.apply(t.Context(), r.plan(plan.Round{Name: "one", Workers: []plan.Worker{w}})); out.Exit != 0 {
		t.Fatalf("exit %d: %s", out.Exit, out.Summary)
	}
	b, err := os.ReadFile(filepath.Join(r.root, "seen"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			seen[name] = value
		}
	}
	for name := range seen {
		if strings.HasPrefix(name, "CMUX_") && name != "CMUX_ASKED_FOR" || strings.HasPrefix(name, "TMUX") || strings.HasPrefix(name, "OKSTRA_VAR_") {
			t.Errorf("the worker sees %s", name)
		}
	}
	for _, name := range []string{"CLAUDECODE", "CODEX_THREAD_ID", "GEMINI_CLI"} {
		if _, ok := seen[name]; ok {
			t.Errorf("the worker sees %s", name)
		}
	}
	if seen["KEPT"] != "yes" || seen["MY_CMUX_NOTE"] != "yes" || seen["CMUX_ASKED_FOR"] != "yes" || !strings.HasPrefix(seen["OKSTRA_RUN"], "p:g:t") {
		t.Errorf("the worker sees %v", seen)
	}
}
