variable "base" {
  default = "main"
}

variable "worked_out" {
  default = var.base # ERROR: Not in scope here
}

variable "checked" {
  default = 1
  validation {
    condition     = var.base == "main" # ERROR: Not in scope here
    error_message = "No."
  }
}

locals {
  who    = participant.adda # ERROR: Unknown reference
  what   = duty.find # ERROR: Unknown reference
  dynamic = participant[local.who] # ERROR: Unknown reference
  deep   = participant.ada.model # ERROR: Unknown reference
  text   = strlne("a") # ERROR: Unknown function
  bare   = main # ERROR: Unknown reference
  early  = result.path # ERROR: Not in scope here
  key    = each.key # ERROR: Not in scope here
  here   = path.there # ERROR: Unknown reference
  git    = git.hed # ERROR: Unknown reference
  v      = var.bsae # ERROR: Unknown reference
  l      = local.nothing # ERROR: Unknown reference
  quiet  = local.l
}

participant "ada" {
  provider = provider.claud # ERROR: Unknown reference
  args     = [worker.name] # ERROR: Unknown reference
}

participant "bert" {
  provider = role.analyst # ERROR: Wrong type
}

participant "carl" {
  provider = "provider.claude" # ERROR: Wrong type
}

duty "find-defects" {
  instructions = "With ${param.depth} and ${output.table.path}." # ERROR: Unknown reference | ERROR: Unknown reference
  role         = duty.find-defects # ERROR: Wrong type
}

duty "with" {
  instructions = "With ${param.depht} to ${output.tabel.path} or ${output.table}." # ERROR: Unknown reference | ERROR: Unknown reference | ERROR: Unknown reference
  parameter "depth" {
    default = 1
  }
  output "table" {
  }
}

duty "keyed" {
  instructions = "For ${each.key}." # ERROR: Not in scope here
}

duty "functions" {
  instructions = file("nothing.md") # ERROR: Invalid function argument
}

run "r" {
  backend = [backend.tmuxx] # ERROR: Unknown reference
  round "a" {
    assign {
      duty = duty.find-defects
      to   = [participant.ada, participant.bert, participant.carl]
    }
    assign {
      duty = duty.keyed
      to   = provider.claude
      with = { a = each.key } # ERROR: Not in scope here
    }
    assign {
      duty = duty.functions
      to   = provider.claude
    }
  }
}

run "s" {
  task_type = task_type.unknwon # ERROR: Unknown reference
  round "a" {
    assign {
      duty = duty.keyed
      to   = provider.claude
    }
    assign {
      duty = duty.with
      to   = provider.claude
    }
  }
}
