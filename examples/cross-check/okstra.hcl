# Three reviewers look for defects on their own, then judge each other's
# findings, and one writes up what held.
#
# Nobody is asked about a finding of their own. What all judges agree on is
# confirmed, what all reject is rejected, and the rest is contested and asked
# again, in fresh sessions, until nothing moves or max_rounds is reached.

variable "pace" {
  type        = number
  default     = 0
  description = "Seconds that a worker takes; more than 0 to watch the panes."
}

provider "script" {
  extends = provider.command
  command = ["${path.here}/workers/${worker.role}.sh", worker.participant]
  env     = { PACE = tostring(var.pace) }
}

participant "ada" {
  provider = provider.script
}

participant "bert" {
  provider = provider.script
}

participant "cleo" {
  provider = provider.script
}

locals {
  reviewers = [participant.ada, participant.bert, participant.cleo]
}

duty "find-defects" {
  emits        = "findings" # JSON that okstra checks: okstra schema findings
  instructions = <<-EOT
    Look for defects in the scripts below ${path.here}/src. Each finding names
    one line and quotes it as its evidence.
  EOT
}

duty "check-findings" {
  role         = role.verifier
  emits        = "verdicts" # okstra puts the findings into the prompt
  instructions = "Judge each finding below by opening the line that it names."
}

duty "write-report" {
  role         = role.report-writer
  instructions = "Say what held and what did not. The settled findings are in ${inputs.index}."
}

run "review" {
  description = "Three reviewers, cross-checked, and a report."
  task_type   = task_type.final-verification
  timeout     = { wall = "5m" }

  round "analysis" {
    assign {
      duty = duty.find-defects
      to   = local.reviewers
    }
  }

  round "cross-check" {
    kind = "reverify"

    convergence {
      max_rounds = 2
      mode       = "lightweight"
    }

    assign {
      duty = duty.check-findings
      to   = local.reviewers
    }
  }

  round "report" {
    kind = "report-writer"
    assign {
      duty = duty.write-report
      to   = participant.ada
    }
  }
}
