override "provider" "claude" {
  access "read" {
    result = "file" # ERROR: Result file with read access
  }
}

override "provider" "claud" { # ERROR: Nothing to override
}

override "run" "r" { # ERROR: Nothing to override
}

override "duty" "d" { # ERROR: Override of an own definition
  emits = "findings"
}

override "provider" "codex" {
  model = "gpt-4" # WARNING: Model not known
}

override "provider" "codex" { # ERROR: Duplicate definition
}

provider "restricted" {
  command = ["restricted"]
  result  = "file" # ERROR: Result file with read access
  access "read" {
    args = ["--read-only"]
  }
}

provider "absent" {
  command = ["missing-cli"] # WARNING: Program cannot be started
}

provider "unused" { # no warning: there are errors
  command = ["x"]
}

participant "codex" {
  provider = provider.claude
}

participant "ada" {
  provider = provider.claude
  model    = "opsu" # WARNING: Model not known
}

duty "d" {
  instructions = "Do."
  inputs       = ["../outside.md", "sub/../../x"] # ERROR: Path leaves the project | ERROR: Path leaves the project
  parameter "depth" {
    type = number
  }
  output "table" {
    schema = "nothing.json" # ERROR: File cannot be read
  }
}

run "r" {
  dir    = "../up" # ERROR: Path leaves the project
  budget = {
    tokens = 1000 # ERROR: Budget cannot be counted | ERROR: Budget cannot be counted
    usd    = 5 # ERROR: Budget cannot be counted | ERROR: Budget cannot be counted | ERROR: Budget cannot be counted
  }
  round "a" {
    assign {
      duty = duty.d
      to   = [provider.claude, provider.codex]
      with = { depth = 1 }
    }
    assign {
      duty = duty.d
      to   = [
        participant.ada,
        provider.absent,
      ]
      with = { depth = "deep" } # ERROR: Wrong type
    }
    assign {
      duty = duty.d
      to   = participant.codex # ERROR: Duplicate assignment
      with = { depht = 1 } # the parameter is never looked at: the participant is refused
    }
    assign { # ERROR: Parameter not given
      duty = duty.d
      to   = provider.restricted
    }
    assign {
      duty     = duty.d
      to       = provider.absent
      with     = { depth = 1, dept = each.value } # ERROR: Unknown parameter => Did you mean depth?
      for_each = { a = 1 }
    }
  }
}
