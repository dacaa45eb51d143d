package runtime

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
)

// nesting are variables by which a program tells that it runs inside another
// session of its kind (and then refuses), or inside a multiplexer's pane that
// is not the worker's own.
var nesting = []string{
	"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SESSION_ID",
	"CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID", "GEMINI_CLI",
	"TMUX", "TMUX_PANE",
}

// nestingPrefix begins everything that cmux sets in a terminal: the lead's
// workspace and surface under several names, the socket and the token that
// lets in, relays of a remote session, and the switches of its wrappers around
// worker CLIs, which would report the worker's state as the lead's.
const nestingPrefix = "CMUX_"

// nested tells whether a variable says that a program runs inside something.
func nested(name string) bool {
	return strings.HasPrefix(name, nestingPrefix) || slices.Contains(nesting, name)
}

// environment builds what a worker sees: the runner's variables less those of
// nesting and unset_env, the definition's env, and okstra's own. OKSTRA_CLAIM
// is added by the supervisor. An error names a sensitive variable without a
// value.
func environment(env Env, run paths.Run, w *plan.Worker, a paths.Attempt, invocation, promptText string) ([]string, error) {
	vars := map[string]string{}
	for _, kv := range env.Environ {
		if name, value, ok := strings.Cut(kv, "="); ok && name != "" && !strings.HasPrefix(name, "OKSTRA_") && !nested(name) {
			vars[name] = value
		}
	}
	for _, name := range w.UnsetEnv {
		delete(vars, name)
	}
	fill := filler(a, promptText)
	for _, e := range w.Env {
		var missing string
		vars[e.Name] = e.Value.Fill(func(r plan.Ref) string {
			name, secret := r.SecretName()
			if !secret {
				return fill(r)
			}
			value, ok := secretValue(env, name)
			if !ok {
				missing = name
			}
			return value
		})
		if missing != "" {
			return nil, fmt.Errorf("environment of %s: the sensitive variable %q has no value here; set OKSTRA_VAR_%s", w.Key, missing, missing)
		}
	}
	vars["OKSTRA_RUN"] = run.Ref()
	vars["OKSTRA_INVOCATION"] = invocation
	vars["OKSTRA_ATTEMPT"] = strconv.Itoa(a.Number)
	vars["OKSTRA_ROLE"] = w.Role
	vars["OKSTRA_PROMPT"] = a.Prompt()
	vars["OKSTRA_INPUTS"] = run.InputsIndex(a.Batch)
	vars["OKSTRA_RESULT"] = a.Result()
	if w.Audit {
		vars["OKSTRA_AUDIT"] = a.Audit()
	}
	if w.Emits != plan.EmitsNone {
		vars["OKSTRA_EMIT"] = a.Emit()
	}
	for _, o := range w.Outputs {
		vars[OutputVariable(o.Name)] = a.Output(o.Name)
	}
	out := make([]string, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		out = append(out, name+"="+vars[name])
	}
	return out, nil
}

// OutputVariable is the environment variable that holds the path of a declared
// output: OKSTRA_OUTPUT_ and its name in capitals, dashes as underscores.
func OutputVariable(output string) string {
	return "OKSTRA_OUTPUT_" + strings.ToUpper(strings.ReplaceAll(output, "-", "_"))
}

// secretValue asks the caller first, then the environment, so that a run that
// began with apply can go on with team commands, which read no definition.
func secretValue(env Env, name string) (string, bool) {
	if env.Secret != nil {
		if v, ok := env.Secret(name); ok {
			return v, true
		}
	}
	for _, kv := range env.Environ {
		if v, ok := strings.CutPrefix(kv, "OKSTRA_VAR_"+name+"="); ok {
			return v, true
		}
	}
	return "", false
}
