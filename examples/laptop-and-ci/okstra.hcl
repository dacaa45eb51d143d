# One definition for a laptop and for continuous integration.
#
#   laptop   okstra apply                           panes where there is tmux
#   CI       okstra apply --var-file ci.vars.hcl    plain processes, shorter limits
#
# Values come from, weakest first: the default, OKSTRA_VAR_name, okstra.vars.hcl
# beside this file, then --var-file and --var as they are given.

okstra {
  required_version = ">= 0.1"
  project          = "shop"
  group            = "web"
}

variable "ci" {
  type        = bool
  default     = false
  description = "Nobody watches: no panes, and nothing waits long."
}

variable "threshold" {
  type        = number
  default     = 120
  description = "Lines longer than this are named."

  validation {
    condition     = var.threshold >= 40 && var.threshold <= 400
    error_message = "threshold must be between 40 and 400."
  }
}

variable "token" {
  type        = string
  default     = "none"
  sensitive   = true # goes to env only; never in a plan, a log or an event
  description = "What the worker may log in with."
}

provider "script" {
  extends = provider.command
  command = ["${path.here}/workers/analyst.sh", tostring(var.threshold)]
  env     = { SHOP_TOKEN = var.token }
}

duty "long-lines" {
  instructions = "Name every line of ${path.here} that is longer than ${var.threshold} characters."
}

locals {
  here_and_now = var.ci ? [backend.process] : [backend.cmux, backend.tmux, backend.process]
}

run "style" {
  description = "Lines that are too long."

  # The first that is available; the plan says why the others were not.
  backend = local.here_and_now

  timeout = var.ci ? { wall = "2m", idle = "30s" } : { wall = "30m" }
  panes {
    per_window = 2
    keep       = "on-failure"
  }

  # A finished run is repeated when one of these has changed.
  fingerprint = [coalesce(git.head, "not in git"), filesha256("page.html")]

  round "look" {
    assign {
      duty = duty.long-lines
      to   = provider.script
    }
  }
}
