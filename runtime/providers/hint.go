package providers

import (
	"fmt"

	"github.com/okstra/okstra/lang/plan"
)

// Hint tells in one sentence what a person can do about a reason. Every reason
// of the closed list has one; another reason gives "". Provider is the name
// that the definition uses; where it may be empty, the sentence speaks of the
// worker's CLI.
func Hint(reason plan.Reason, provider string) string {
	cli := provider
	if cli == "" {
		cli = "the worker's CLI"
	}
	switch reason {
	case plan.ReasonAuth:
		return signIn(provider, cli)
	case plan.ReasonUntrustedFolder:
		return trust(provider, cli)
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
		return fmt.Sprintf("Read what %s said with okstra logs --stderr, and run apply again once that is settled.", cli)
	}
	return general[reason]
}

func signIn(provider, cli string) string {
	switch provider {
	case "claude":
		return "Run claude once and use /login, or set ANTHROPIC_API_KEY, and see that the account can be charged."
	case "codex":
		return "Run codex login, or set the key that its configuration names, and see that the account can be charged."
	case "gemini":
		return "Run gemini once and sign in, or set GEMINI_API_KEY, and see that the account may use the API."
	}
	return fmt.Sprintf("Sign %s in as this user or set its key in the provider's env, and see that the account can be charged.", cli)
}

func trust(provider, cli string) string {
	switch provider {
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
	plan.ReasonCannotStart:         "Make the program of the provider's command and the worker's dir exist and be usable for this user.",
	plan.ReasonExitNonzero:         "Read its last words with okstra logs --stderr, and run it by hand as okstra plan --explain shows it.",
	plan.ReasonSignal:              "Look for what ended the process, such as a lack of memory, and run apply again.",
	plan.ReasonNoResult:            "Say in the instructions that the result must be written to OKSTRA_RESULT, or set result = \"stdout\".",
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
