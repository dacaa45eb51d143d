# A review of a change by three real worker CLIs, cross-checked by each other.
# It needs claude, codex and gemini on PATH, each logged in; okstra doctor says
# what of this is there.
#
#   okstra plan review --var base=main     shows prompts, limits and the worst case
#   okstra apply review --var base=main

variable "base" {
  type        = string
  default     = "main"
  description = "The ref that the change is compared with."

  validation {
    condition     = can(regex("^[A-Za-z0-9._/-]+$", var.base))
    error_message = "base must be a git ref."
  }
}

# A participant is a worker CLI with a model. How each CLI is called, with read
# and with write access, stands in the catalog: okstra catalog
participant "ada" {
  provider = provider.claude
  model    = "opus"
}

participant "bert" {
  provider = provider.codex
  timeout  = { wall = "90m", idle = "10m" }
}

participant "cleo" {
  provider = provider.gemini
  model    = "pro"
}

locals {
  reviewers = [participant.ada, participant.bert, participant.cleo]
}

duty "find-defects" {
  instructions = templatefile("prompts/find-defects.md", { base = var.base })
  emits        = "findings"
}

duty "check-findings" {
  role         = role.verifier
  instructions = file("prompts/check-findings.md")
  emits        = "verdicts"
}

duty "write-report" {
  role         = role.report-writer
  instructions = <<-EOT
    ${file("prompts/write-report.md")}
    The settled findings and the results of all reviewers are listed in
    ${inputs.index}.
  EOT
}

run "review" {
  description = "Three models look for defects, check each other, and one writes it up."
  task_type   = task_type.final-verification
  backend     = [backend.cmux, backend.tmux, backend.process]
  parallelism = 3
  budget      = { dispatches = 20, wall = "6h" }

  # A finished review is repeated when the commit has changed.
  fingerprint = [git.head]

  panes {
    lead_share  = 50 # percent of the window that stays with the lead
    min_columns = 60
  }

  round "analysis" {
    require = 2 # two of three are enough to cross-check

    assign {
      duty = duty.find-defects
      to   = local.reviewers
    }
  }

  round "cross-check" {
    kind = "reverify"

    convergence {
      max_rounds = 2
    }

    assign {
      duty = duty.check-findings
      to   = local.reviewers
    }
  }

  round "report" {
    kind = "report-writer"

    gate {
      reason = "Read the settled findings first."
    }

    assign {
      duty = duty.write-report
      to   = participant.ada
    }
  }
}
