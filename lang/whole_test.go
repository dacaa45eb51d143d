package lang

import "testing"

// larger uses most of the language.
var larger = map[string]string{
	"okstra.hcl": `
okstra {
  required_version = ">= 0.1"
  project          = "shop"
  timeout          = { wall = "45m" }
  panes {
    keep  = "never"
    title = "${worker.participant}: ${round.name}"
  }
}

variable "base" {
  type        = string
  default     = "main"
  description = "The ref that the change is compared with."
  validation {
    condition     = can(regex("^[A-Za-z0-9._/-]+$", var.base))
    error_message = "base must be a git ref."
  }
}

variable "token" {
  sensitive = true
  default   = "hunter2"
}

participant "ada" {
  provider = provider.claude
  model    = "opus"
  env      = { TOKEN = "x-${var.token}" }
}

participant "bert" {
  provider = provider.codex
  timeout  = { wall = "90m", idle = "10m" }
}

locals {
  reviewers = [participant.ada, participant.bert]
}

duty "find-defects" {
  instructions = templatefile("prompts/find-defects.md", { base = var.base })
  emits        = "findings"
}

duty "check-findings" {
  role         = role.verifier
  instructions = "Check. {{PHASE_FORBIDDEN_ACTIONS}} Write to ${emit.path}."
  emits        = "verdicts"
}

duty "write-report" {
  role         = role.report-writer
  instructions = file("prompts/write-report.md")
  output "table" {
    schema = "table.schema.json"
  }
}

run "review" {
  description = "Two models look for defects, check each other, and one writes it up."
  task_type   = task_type.final-verification
  task        = { group = "auth", id = "AUTH-12" }
  backend     = [backend.tmux, backend.process]
  parallelism = 4
  fingerprint = [git.head]

  panes {
    per_window = 2
  }

  round "analysis" {
    assign {
      duty = duty.find-defects
      to   = local.reviewers
    }
  }
  round "cross-check" {
    kind = "reverify"
    convergence {
      max_rounds = 3
    }
    assign {
      duty = duty.check-findings
      to   = [for r in local.reviewers : r]
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
`,
	"prompts/find-defects.md": "Compare with ${base}.",
	"prompts/write-report.md": "Write it up.",
	"table.schema.json":       "{}",
}

func TestLarger(t *testing.T) {
	src := tree(t, larger)
	diags, _ := complaints(src)
	if len(diags) > 0 {
		t.Error(texts(diags))
	}
}
