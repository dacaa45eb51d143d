package providers

import (
	"fmt"
	"strings"

	"github.com/okstra/okstra/lang/plan"
)

// Ended is what a hint depends on. All but Reason may be empty: the hint is
// less exact then.
type Ended struct {
	Reason   plan.Reason
	Provider string            // the name that the definition uses
	Output   plan.OutputFormat // tells the CLI of a provider with a name of its own
	Result   plan.ResultSource // who writes the result
	Backend  string
	Detail   string // as recorded
}

// HintFor tells in one sentence what a person can do about a reason. Every
// reason of the closed list has one; another reason gives "".
func HintFor(e Ended) string {
	kind, cli := e.kind(), e.Provider
	if cli == "" {
		cli = "the worker's CLI"
	}
	switch e.Reason {
	case plan.ReasonAuth:
		return signIn(kind, cli)
	case plan.ReasonUntrustedFolder:
		return trust(kind, cli)
	case plan.ReasonModelNotFound:
		return fmt.Sprintf("Correct the model in the participant or the provider's models; this account of %s does not offer it.", cli)
	case plan.ReasonRateLimited:
		return fmt.Sprintf("Wait until %s's limit is renewed and run apply again, or lower parallelism.", cli)
	case plan.ReasonOverloaded:
		return fmt.Sprintf("Run apply again later; the service behind %s could not answer.", cli)
	case plan.ReasonRefused:
		return "Read what the model said with okstra logs, and change the instructions or the model."
	case plan.ReasonContextTooLong:
		return "Give the worker less to read (fewer or smaller inputs, a narrower duty, for_each), or a model with a longer context."
	case plan.ReasonProviderError:
		return fmt.Sprintf("Read what %s said with %s, and run apply again once that is settled.", cli, e.logs())
	case plan.ReasonExitNonzero:
		return fmt.Sprintf("Read its last words with %s, and run it by hand as okstra plan --explain shows it.", e.logs())
	case plan.ReasonNoResult:
		return e.noResult()
	case plan.ReasonCannotStart:
		return e.cannotStart()
	case plan.ReasonNotStarted:
		if e.Backend == "cmux" {
			return "Click the worker's pane where cmux lists it, since cmux may start nothing in a surface that was never shown, and run apply again; raise timeout.start if that takes longer."
		}
	}
	return general[e.Reason]
}

// kind is the CLI of the catalog that it is, by its output where the provider
// has a name of its own.
func (e Ended) kind() string {
	switch e.Output {
	case plan.OutputClaudeStream:
		return "claude"
	case plan.OutputCodexStream:
		return "codex"
	case plan.OutputGeminiStream:
		return "gemini"
	case plan.OutputText:
		return ""
	}
	return e.Provider
}

// logs is where the CLI says what went wrong: claude and codex do so in their
// stream, plain programs on standard error, gemini on both.
func (e Ended) logs() string {
	switch kind := e.kind(); {
	case kind == "claude" || kind == "codex":
		return "okstra logs"
	case e.Output == plan.OutputText:
		return "okstra logs --stderr"
	}
	return "okstra logs, also with --stderr"
}

// noResult names what is missing, and the way on which this worker delivers it.
func (e Ended) noResult() string {
	// The detail begins with the name of a completion path, or is a sentence.
	name, _, _ := strings.Cut(e.Detail, " ")
	part, declared := strings.CutPrefix(name, "out:")
	if !declared && name != "audit" && name != "emit" {
		part = ""
	}
	switch {
	case e.Result == plan.ResultStdout && part != "":
		return fmt.Sprintf("Make the instructions ask for it in the final message, after a line \"=== okstra:%s ===\".", part)
	case e.Result == plan.ResultStdout:
		return "Make the instructions ask for the result as the final message, which is what this worker delivers; okstra logs shows what it said."
	case e.Result == plan.ResultFile && part == "":
		return "Say in the instructions that the result must be written to OKSTRA_RESULT, or set result = \"stdout\"."
	}
	return "Make the instructions ask for what is missing, on the way that the worker's prompt names under \"What you deliver\"."
}

func (e Ended) cannotStart() string {
	switch {
	case strings.Contains(e.Detail, "unset_env"):
		return "Add the variable that its message names to the provider's unset_env, so that the CLI does not find itself inside another session."
	case strings.Contains(e.Detail, "IS_SANDBOX"):
		return "Run okstra as a user other than root, or put IS_SANDBOX = \"1\" into the provider's env where this machine is a sandbox."
	}
	return general[plan.ReasonCannotStart]
}

func signIn(kind, cli string) string {
	switch kind {
	case "claude":
		return "Run claude once and use /login, or set ANTHROPIC_API_KEY, and see that the account can be charged."
	case "codex":
		return "Run codex login, or set the key that its configuration names, and see that the account can be charged."
	case "gemini":
		return "Run gemini once and sign in, or set GEMINI_API_KEY, and see that the account may use the API."
	}
	return fmt.Sprintf("Sign %s in as this user or set its key in the provider's env, and see that the account can be charged.", cli)
}

func trust(kind, cli string) string {
	switch kind {
	case "codex":
		return "Let codex trust the project folder, or add --skip-git-repo-check to the provider's args."
	case "gemini":
		return "Let gemini trust the project folder, or add --skip-trust to the provider's args."
	}
	return fmt.Sprintf("Let %s trust the project folder, or add its flag for that to the provider's args.", cli)
}

// general are the hints in which the provider plays no part.
var general = map[plan.Reason]string{
	plan.ReasonWallLimit:           "Raise timeout.wall, or give the worker less to do.",
	plan.ReasonIdleLimit:           "Look at the end of its log for what it waited for; raise timeout.idle if it was still working.",
	plan.ReasonNotStarted:          "Run apply again; if it happens again, let okstra doctor look at the backend, or raise timeout.start.",
	plan.ReasonCannotStart:         "Settle what the detail names: the program of the provider's command and the worker's dir must exist and be usable for this user.",
	plan.ReasonSignal:              "Look for what ended the process, such as a lack of memory, and run apply again.",
	plan.ReasonInvalidResult:       "Show the expected form in the instructions; okstra schema prints it.",
	plan.ReasonSupervisorLost:      "Run apply again; the worker is started anew.",
	plan.ReasonPaneLost:            "Run apply again, and leave the worker's pane open until the worker has ended.",
	plan.ReasonCancelled:           "Run apply again to take the worker up once more.",
	plan.ReasonBudget:              "Raise the run's budget and run apply again.",
	plan.ReasonUpstreamFailed:      "Settle what failed in the rounds before, and run apply again.",
	plan.ReasonGateDenied:          "Start a new run with --new if the decision has changed.",
	plan.ReasonNotNeeded:           "Nothing is to be done; the run ended before this worker was needed.",
	plan.ReasonConvergenceDisabled: "Let at least two analysts write findings, if they are to check each other.",
	plan.ReasonStopped:             "Run apply again to go on.",
	plan.ReasonWroteOutside:        "Look at the listed changes: if you or another program made them, run apply again and leave the tree alone meanwhile; if the worker did, give its role write access, or it a sandbox that cannot write.",
	plan.ReasonForbiddenAction:     "Look at the recorded action and undo what must not stay; make the instructions exclude it.",
}
