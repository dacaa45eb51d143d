okstra {
  required_version = ">= 0.1"
  default_run      = "review"
  timeout          = { wall = "45m" }
  panes {
    title = "${worker.participant} in ${round.name}"
  }
}

variable "base" {
  type    = string
  default = "main"
  validation {
    condition     = can(regex("^[a-z]+$", var.base))
    error_message = "Letters only."
  }
}

provider "script" {
  extends = provider.command
  command = ["./bin/worker", "--out", result.path]
  env = {
    PROMPT = prompt.path
    TABLE  = "at ${path.root}"
  }
  exit_codes = {
    "3" = "auth"
  }
  access "read" {
    args = [worker.model]
  }
  models = {
    big = "big-1"
  }
  model_args = ["--model", worker.model]
}

override "provider" "claude" {
  timeout = { idle = "7m" }
}

participant "ada" {
  provider = provider.claude
  model    = "opus"
}

participant "bert" {
  provider = provider.script
  model    = "big"
  retry    = { attempts = 3, on = ["auth"] }
}

locals {
  reviewers = [participant.ada, participant.bert]
  one       = var.base == "main" ? participant.ada : participant.bert
}

duty "find" {
  instructions = "Compare with ${var.base}, look at ${param.area}, write ${emit.path}."
  emits        = "findings"
  inputs       = ["README.md"]
  parameter "area" {
    type    = string
    default = "all"
  }
}

duty "check" {
  role         = role.verifier
  instructions = "Check. {{PHASE_FORBIDDEN_ACTIONS}}"
  emits        = "verdicts"
}

duty "write" {
  role         = role.report-writer
  instructions = "Write ${output.table.path}, the index is ${inputs.index}."
  output "table" {
    description = "A table."
    required    = false
  }
}

run "review" {
  task_type   = task_type.final-verification
  task        = { project = "shop", group = "auth", id = "AUTH-12" }
  backend     = [backend.tmux, backend.process]
  fingerprint = [git.head]
  budget      = { dispatches = 30, wall = "2h" }

  round "analysis" {
    require = "50%"
    assign {
      duty     = duty.find
      to       = local.reviewers
      for_each = { web = 1, api = 2 }
      with     = { area = "${each.key}-${each.value}" }
      timeout  = { wall = "10m" }
    }
  }
  round "cross-check" {
    kind = "reverify"
    convergence {
      max_rounds = 3
      critic     = true
    }
    assign {
      duty = duty.check
      to   = [local.one, provider.script]
    }
  }
  round "report" {
    kind  = "report-writer"
    after = ["cross-check"]
    gate {
      reason  = "Read it."
      choices = ["go", "stop"]
    }
    assign {
      duty = duty.write
      to   = participant.ada
    }
  }
}

run "handoff" {
  extends = run.review
  task    = { id = "AUTH-13" }
  lead {
    runtime      = "codex"
    instructions = "For ${task.key} in ${task_type.name}."
  }
  round "analysis" {
    assign {
      duty = duty.find
      to   = participant.bert
    }
    assign {
      duty = duty.find
      to   = participant.ada
    }
  }
}
