# What the stories run: the catalog's providers as they stand. The model's name
# chooses what the model server answers.

variable "cli" {
  type        = string
  description = "The provider under test."
}

variable "model" {
  type = string
}

variable "idle" {
  type    = string
  default = "60s"
}

variable "dir" {
  type    = string
  default = "."
}

variable "attempts" {
  type    = number
  default = 1
}

locals {
  providers = {
    claude = provider.claude
    codex  = provider.codex
    gemini = provider.gemini
  }
  analysts = {
    claude = participant.ada
    codex  = participant.bert
    gemini = participant.cleo
  }
}

okstra {
  project = "clis"
  timeout = { wall = "2m" }
  retry   = { attempts = var.attempts, backoff = "1s" }
}

participant "worker" {
  provider = local.providers[var.cli]
  model    = var.model
  timeout  = { idle = var.idle }
}

participant "ada" {
  provider = provider.claude
  model    = "story-analyst"
}

participant "bert" {
  provider = provider.codex
  model    = "story-analyst"
}

participant "cleo" {
  provider = provider.gemini
  model    = "story-analyst"
}

duty "make" {
  role         = role.executor
  instructions = "Write the result."
}

duty "look" {
  instructions = "Say what this project is."
}

duty "find-defects" {
  instructions = "Find defects."
  emits        = "findings"
}

duty "check-findings" {
  role         = role.verifier
  instructions = "Check the findings of the others."
  emits        = "verdicts"
}

run "write" {
  description = "A worker with write access."

  round "work" {
    assign {
      duty = duty.make
      to   = participant.worker
    }
  }
}

run "read" {
  description = "A worker with read access."

  round "work" {
    assign {
      duty = duty.look
      to   = participant.worker
      dir  = var.dir
    }
  }
}

variable "team" {
  type    = list(string)
  default = ["claude", "codex", "gemini"]
}

run "cross-check" {
  description = "CLIs find, and judge what the others found."

  round "analysis" {
    assign {
      duty = duty.find-defects
      to   = [for cli in var.team : local.analysts[cli]]
    }
  }
  round "cross-check" {
    kind = "reverify"
    assign {
      duty = duty.check-findings
      to   = [for cli in var.team : local.analysts[cli]]
    }
  }
}
