# An executor makes a change, two verifiers judge it on their own, and a person
# decides before the report is written.
#
# okstra holds to the order: a verifier beside the executor would read the state
# before the change, so a definition that puts both into one round is refused.
# A verifier that says "blocked" ends the run; the fix is a new run.

provider "script" {
  extends = provider.command
  command = ["${path.here}/workers/${worker.participant}.sh"]
}

# Each participant is a script of its own in workers/.
participant "builder" {
  provider = provider.script
}

participant "test-runner" {
  provider = provider.script
}

participant "diff-reader" {
  provider = provider.script
}

participant "scribe" {
  provider = provider.script
}

duty "fix" {
  role         = role.executor # the only role with write access
  instructions = <<-EOT
    ${path.here}/slug.sh leaves spaces in its output. Make it put a dash in
    their place. Change nothing else.
  EOT

  output "patch" {
    description = "What you changed, as a diff."
  }
}

duty "verify" {
  role         = role.verifier
  emits        = "verdict" # accepted, conditional-accept or blocked
  instructions = <<-EOT
    Try to show that the change is wrong or does more than was asked. The diff
    is among the outputs in ${inputs.index}.
  EOT
}

duty "summarise" {
  role         = role.report-writer
  instructions = "Say what was changed, what the verifiers found, and what was decided."
}

run "fix-slug" {
  description = "Fix slug.sh: one executor, two verifiers, one decision."
  task_type   = task_type.implementation
  task        = { project = "tools", group = "text", id = "slug-spaces" }

  # Limits of one worker, and bounds of the whole run, retries included.
  timeout = { wall = "3m" }
  budget  = { dispatches = 8, wall = "15m" }

  round "change" {
    assign {
      duty = duty.fix
      to   = participant.builder
    }
  }

  round "check" {
    assign {
      duty = duty.verify
      to   = [participant.test-runner, participant.diff-reader]
    }
  }

  round "report" {
    kind = "report-writer"

    # On a terminal okstra asks; elsewhere it ends with 4 and prints the command
    # that answers: okstra approve fix-slug report --choice merge
    gate {
      reason  = "Read the diff and both verdicts."
      choices = ["merge", "rework"]
    }

    assign {
      duty = duty.summarise
      to   = participant.scribe
    }
  }
}
