# What okstra defines itself. `okstra catalog` prints this file. A definition
# changes an entry with an override block; the forbidden actions of a task type
# can only be added to.

# Roles: what a worker is in a run, and whether it may change the project.

role "lead" {
  description = "Drives the run, reads artifacts, decides at gates. okstra never starts it."
}

role "analyst" {
  description = "Reads and reasons on its own, and says what it found with evidence."
}

role "executor" {
  access      = "write"
  description = "Carries out an approved plan. The only role that changes the project."
}

role "verifier" {
  description = "Tries to refute what others claim or made. Reads, runs checks, changes nothing."
}

role "report-writer" {
  description = "Writes the settled findings up for people. Adds no findings of its own."
}

role "critic" {
  description = "Looks at the whole for what everybody missed. Its candidates are confirmed or kept as risks."
}

# Providers: how a worker CLI is run without a person. The prompt goes through
# standard input: it is in no process list and may be of any length. Every
# command line stays in `command`, so that `args` is free for a definition.
# An option that takes several values is never the last one: the prompt would
# be one of them where a definition gives it as an argument.

provider "claude" {
  command    = ["claude", "-p", "--output-format", "stream-json", "--verbose"]
  model_args = ["--model", worker.model]
  prompt     = "stdin"
  output     = "claude-stream-json"
  timeout    = { idle = "5m" }

  access "read" {
    # It reads the whole project, wherever below it the worker runs.
    args   = ["--add-dir", path.root, "--disallowedTools", "Edit,Write,NotebookEdit,Bash", "--permission-mode", "default"]
    result = "stdout"
  }
  access "write" {
    args   = ["--permission-mode", "bypassPermissions"]
    result = "file"
  }

  models = {
    opus                       = "opus"
    sonnet                     = "sonnet"
    haiku                      = "haiku"
    fable                      = "fable"
    best                       = "best"
    opusplan                   = "opusplan"
    "opus[1m]"                 = "opus[1m]"
    "sonnet[1m]"               = "sonnet[1m]"
    "fable[1m]"                = "fable[1m]"
    opus-4-8                   = "claude-opus-4-8"
    opus-4-7                   = "claude-opus-4-7"
    opus-4-6                   = "claude-opus-4-6"
    sonnet-5                   = "claude-sonnet-5"
    sonnet-4-6                 = "claude-sonnet-4-6"
    haiku-4-5                  = "claude-haiku-4-5"
    fable-5                    = "claude-fable-5"
    claude-opus-4-8            = "claude-opus-4-8"
    claude-opus-4-7            = "claude-opus-4-7"
    claude-opus-4-6            = "claude-opus-4-6"
    claude-opus-4-5            = "claude-opus-4-5"
    claude-opus-4-5-20251101   = "claude-opus-4-5-20251101"
    claude-sonnet-5            = "claude-sonnet-5"
    claude-sonnet-4-6          = "claude-sonnet-4-6"
    claude-sonnet-4-5          = "claude-sonnet-4-5"
    claude-sonnet-4-5-20250929 = "claude-sonnet-4-5-20250929"
    claude-haiku-4-5           = "claude-haiku-4-5"
    claude-haiku-4-5-20251001  = "claude-haiku-4-5-20251001"
    claude-fable-5             = "claude-fable-5"
  }

  env = {
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC = "1"
    DISABLE_AUTOUPDATER                      = "1"
  }
  # A worker that finds these refuses to start inside another session.
  unset_env = ["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT"]

  version_command = ["claude", "--version"]
}

provider "codex" {
  command    = ["codex", "exec", "--json", "--skip-git-repo-check"]
  model_args = ["--model", worker.model]
  prompt     = "stdin"
  output     = "codex-json"
  timeout    = { idle = "5m" }

  access "read" {
    args   = ["--sandbox", "read-only"]
    result = "stdout"
  }
  access "write" {
    # The sandbox holds the worker to its folder; the result lies in .okstra.
    args   = ["--sandbox", "workspace-write", "--add-dir", "${path.root}/.okstra"]
    result = "file"
  }

  models = {
    "gpt-6.2-sol"              = "gpt-6.2-sol"
    "gpt-6.2-astra"            = "gpt-6.2-astra"
    "gpt-6.1-sol"              = "gpt-6.1-sol"
    "gpt-6.1-terra"            = "gpt-6.1-terra"
    "gpt-6-astra"              = "gpt-6-astra"
    "gpt-6-sol"                = "gpt-6-sol"
    "gpt-6-luna"               = "gpt-6-luna"
    "gpt-5.6-sol"              = "gpt-5.6-sol"
    "gpt-5.6-terra"            = "gpt-5.6-terra"
    "gpt-5.6-luna"             = "gpt-5.6-luna"
    "gpt-5.5"                  = "gpt-5.5"
    "gpt-daybreak-blue-latest" = "gpt-daybreak-blue-latest"
    "gpt-daybreak-red-latest"  = "gpt-daybreak-red-latest"
    "codex-auto-review"        = "codex-auto-review"
  }

  unset_env = ["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED"]

  version_command = ["codex", "--version"]
}

provider "gemini" {
  command    = ["gemini", "--output-format", "stream-json", "--skip-trust"]
  model_args = ["-m", worker.model]
  prompt     = "stdin"
  output     = "gemini-stream-json"
  timeout    = { idle = "5m" }

  access "read" {
    # Its approval mode "plan" offers no shell, and its own reading tools pass
    # over ignored files, the worker's inputs among them: cat reads those.
    args   = ["--allowed-tools", "run_shell_command(cat)", "--include-directories", path.root, "--approval-mode", "default"]
    result = "stdout"
  }
  access "write" {
    args   = ["--include-directories", path.root, "--approval-mode", "yolo"]
    result = "file"
  }

  models = {
    "auto"                               = "auto"
    "pro"                                = "pro"
    "flash"                              = "flash"
    "flash-lite"                         = "flash-lite"
    "auto-gemini-3"                      = "auto-gemini-3"
    "auto-gemini-2.5"                    = "auto-gemini-2.5"
    "gemini-3.1-pro-preview"             = "gemini-3.1-pro-preview"
    "gemini-3.1-pro-preview-customtools" = "gemini-3.1-pro-preview-customtools"
    "gemini-3-pro-preview"               = "gemini-3-pro-preview"
    "gemini-2.5-pro"                     = "gemini-2.5-pro"
    "gemini-3.8-flash"                   = "gemini-3.8-flash"
    "gemini-3.5-flash"                   = "gemini-3.5-flash"
    "gemini-3-flash"                     = "gemini-3-flash"
    "gemini-3-flash-preview"             = "gemini-3-flash-preview"
    "gemini-2.5-flash"                   = "gemini-2.5-flash"
    "gemini-3.5-flash-lite"              = "gemini-3.5-flash-lite"
    "gemini-3.1-flash-lite"              = "gemini-3.1-flash-lite"
    "gemini-2.5-flash-lite"              = "gemini-2.5-flash-lite"
  }

  # An HTTP status ends the program with its lowest eight bits. What it said
  # comes before these, where that is more exact.
  exit_codes = {
    "17"  = "overloaded" # 529
    "41"  = "auth"
    "55"  = "untrusted-folder"
    "145" = "auth"             # 401
    "146" = "auth"             # 402
    "147" = "auth"             # 403
    "157" = "context-too-long" # 413
    "173" = "rate-limited"     # 429
    "246" = "overloaded"       # 502
    "247" = "overloaded"       # 503
    "248" = "overloaded"       # 504
  }

  unset_env = ["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "GEMINI_CLI", "SANDBOX"]

  version_command = ["gemini", "--version"]
}

# Any other program, a script included. A definition extends it and says what
# to run:
#
#   provider "checker" {
#     extends = provider.command
#     command = ["./check.sh"]
#   }
#
# The program finds its prompt, its inputs and the paths of its results in the
# OKSTRA_ variables of its environment.
provider "command" {
  prompt = "path"
  output = "text"

  access "read" {
    result = "file"
  }
  access "write" {
    result = "file"
  }
}

# Task types: one run is of one type. `allowed` and `forbidden` go into every
# prompt and into the lead's bundle. `writers` are the roles that may have
# write access; `next` is what usually follows, which never starts by itself.

task_type "requirements-discovery" {
  allowed = [
    "Reading the repository, its history and the material that the run names.",
    "Classifying the request as bug fix, feature, refactoring, operations or improvement, with reasons.",
    "Recommending which task type should take it next.",
    "Listing what information is missing and asking for it.",
  ]
  forbidden = [
    "Creating, editing or deleting any file of the project.",
    "Designing the solution or writing code for it, drafts in the result included.",
    "Filling a gap in the request with an assumption that is not marked as one.",
    "Running commands that change the repository, a service or the machine.",
    "Installing packages or changing settings.",
    "Going on to another task type without the user's decision.",
  ]
  next           = ["error-analysis", "improvement-discovery", "implementation-planning"]
  writers        = []
  required_roles = ["analyst", "report-writer"]
}

task_type "improvement-discovery" {
  allowed = [
    "Reading the repository, its history and the material that the run names.",
    "Running read-only analyses, such as linters, tests and profilers that leave no trace in the project.",
    "Listing candidates for improvement with evidence, benefit, cost and risk.",
    "Ranking the candidates and recommending which to take up.",
  ]
  forbidden = [
    "Creating, editing or deleting any file of the project.",
    "Carrying out an improvement, however small.",
    "Naming a candidate without evidence that can be looked up.",
    "Running commands that change the repository, a service or the machine.",
    "Installing packages or changing settings.",
    "Going on to another task type without the user's decision.",
  ]
  next           = ["requirements-discovery", "implementation-planning"]
  writers        = []
  required_roles = ["analyst", "report-writer"]
}

task_type "error-analysis" {
  allowed = [
    "Reading the repository, its history, logs and the material that the run names.",
    "Reproducing the fault in a scratch folder outside the project.",
    "Stating symptom, trigger and hypotheses of the cause, each with its evidence.",
    "Saying what stands between the evidence and a reproduction, and how a fix could be validated.",
  ]
  forbidden = [
    "Creating, editing or deleting any file of the project.",
    "Fixing the fault, or adding logging or other probes to the project.",
    "Stating a cause as certain that was not shown by evidence.",
    "Reproducing the fault against a shared or production system.",
    "Running commands that change the repository, a service or the machine.",
    "Installing packages or changing settings outside the scratch folder.",
    "Going on to another task type without the user's decision.",
  ]
  next           = ["implementation-planning"]
  writers        = []
  required_roles = ["analyst", "report-writer"]
}

task_type "implementation-planning" {
  allowed = [
    "Reading the repository, its history, and the reports of earlier runs.",
    "Comparing at least two options by complexity, risk, reversibility, and cost of testing and rollout.",
    "Writing a plan in small steps with exact paths, commands and tests, and with stages that can stand alone.",
    "Saying how to validate before, during and after, and how to go back and on which signal.",
    "Asking for the user's approval, with every open question listed.",
  ]
  forbidden = [
    "Creating, editing or deleting any file of the project.",
    "Beginning the implementation, branches, commits and scaffolding included.",
    "Leaving a placeholder in the plan where a decision is needed.",
    "Hiding a disagreement between planners instead of asking for a decision.",
    "Taking the plan for approved without the user's explicit answer.",
    "Running commands that change the repository, a service or the machine.",
    "Installing packages or changing settings.",
  ]
  next           = ["implementation"]
  writers        = []
  required_roles = ["analyst", "report-writer"]
}

task_type "implementation" {
  allowed = [
    "The executor: creating, editing and deleting the files that the approved plan names, and committing them on the run's own branch.",
    "The executor: a failing test first, then the change that makes it pass, each committed apart.",
    "The executor: running builds, tests and formatters of the project.",
    "The executor: a small edit outside the plan that a step cannot do without, recorded as such in the result.",
    "Verifiers: reading the executor's changes and running checks that leave the working tree as it was.",
  ]
  forbidden = [
    "git push in any form, with --dry-run as well.",
    "Publishing a package, an image or a release, or making a tag that would.",
    "Changing a database, its schema or its data, other than one that the run's own tests made and throw away.",
    "Changing infrastructure: applying, deploying, scaling or configuring anything that others use.",
    "Calls that write to an API or a service outside this machine.",
    "Starting sub-agents, teams or other AI sessions.",
    "Editing or writing project files before the plan is approved and the gate is open.",
    "Any change of the working tree, the index or the branch by a worker that is not the executor; verifiers only read and check.",
    "Work beyond the stage that this run was given: later stages, unrelated refactoring, drive-by fixes.",
    "Rewriting history or discarding work: rebase, amend or reset of commits that this run did not make, stash, deletion of branches.",
    "Weakening a check to pass it: removing or skipping tests, loosening assertions, --no-verify, switched-off linters.",
    "Reading, printing, storing or committing credentials and personal data.",
    "Repairing in this run what a verifier has rejected, or starting the next phase; both are new runs.",
  ]
  next           = ["final-verification"]
  writers        = ["executor"]
  required_roles = ["executor", "verifier"]
}

task_type "final-verification" {
  allowed = [
    "Reading the change as a whole, the plan, and the reports of earlier runs.",
    "Running builds, tests and checks that leave the working tree as it was.",
    "Checking every requirement against an artifact that shows it, or naming it as a blocker.",
    "Giving one verdict, accepted, conditional-accept or blocked, with its blockers and where they should go.",
    "Keeping dissent between verifiers visible in the report.",
  ]
  forbidden = [
    "Creating, editing or deleting any file of the project, a one-line fix included.",
    "Commits, branches, tags and pushes.",
    "A verdict of accepted while a confirmed blocker stands.",
    "Leaving out a requirement, or a verifier's dissent.",
    "Proposing unrelated refactoring, or beginning follow-up work.",
    "Running commands that change a service, shared data or the machine.",
    "Going on to the handoff without the user's decision.",
  ]
  next           = ["release-handoff", "implementation", "implementation-planning", "error-analysis"]
  writers        = []
  required_roles = ["verifier", "report-writer"]
}

task_type "release-handoff" {
  allowed = [
    "Asking the user for the action: commit, commit and pull request, or nothing.",
    "Asking the user for the base branch of the pull request.",
    "Showing the messages, and using them as they are or as the user edited them.",
    "Running exactly the git and gh commands that follow from those answers, and showing what they said.",
  ]
  forbidden = [
    "git push --force.",
    "git push --force-with-lease.",
    "git push -f, also among other short flags.",
    "A push with a refspec that begins with a plus sign.",
    "A push to a base branch, the base of the pull request included.",
    "--no-verify, or any other way around hooks, signatures and branch protection.",
    "gh release create, gh release edit, or a release made in another way.",
    "Publishing: twine upload, npm publish, cargo publish, gem push, docker push and the like.",
    "Editing source, tests, documentation or configuration; what is handed over is what was verified.",
    "Any command that the user's answers did not select.",
    "Trying a failed command again with a weaker or more permissive flag.",
    "Starting workers, sub-agents or teams, TeamCreate and Agent included.",
    "Acting on an answer that is none of the offered ones, or on silence.",
    "Rewriting or deleting history: rebase, amend or squash of existing commits, reset, deletion of branches or tags.",
    "Merging, approving or closing a pull request.",
  ]
  next           = []
  writers        = []
  required_roles = ["lead"]
}

# The rules of a run that names no task type.
task_type "unknown" {
  allowed = [
    "Reading the repository and the material that the run names.",
    "What the duty's instructions ask for, within the access of the worker's role.",
    "Running builds, tests and checks of the project.",
  ]
  forbidden = [
    "Any change of the project by a worker whose role has no write access.",
    "git push in any form, publishing, and releases.",
    "Changing a database, infrastructure, or a service outside this machine.",
    "Rewriting or deleting history, branches or tags.",
    "Starting sub-agents, teams or other AI sessions.",
    "Reading, printing, storing or committing credentials and personal data.",
    "Work that the duty's instructions did not ask for.",
  ]
  next           = []
  writers        = ["executor"]
  required_roles = []
}
