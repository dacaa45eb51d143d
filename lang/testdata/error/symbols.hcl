duty "function" {
  instructions = upper(result.path) # ERROR: Path not known yet
}

duty "decided" {
  instructions = result.path == "x" ? "a" : "b" # ERROR: Path not known yet
}

duty "inputs" {
  instructions = "Write to ${result.path}, read ${inputs.index}."
  inputs       = [prompt.path] # ERROR: Path not known yet
}

duty "null" {
  instructions = null # ERROR: Wrong type
}

duty "empty" {
  instructions = " " # ERROR: Value not allowed
}

duty "list" {
  instructions = ["a"] # ERROR: Wrong type
}

duty "placeholder" {
  instructions = "{{PHASE_FORBIDDEN_ACTIONS}} and {{SOMETHING}}" # WARNING: Placeholder left as it is
}

provider "p" {
  command = ["x", [result.path]] # ERROR: Wrong type
}

provider "q" {
  command = [result.path] # ERROR: Provider has no command
}

provider "r" {
  command = "run it" # ERROR: Wrong type
}

provider "s" {
  command = ["s"]
  env = {
    "A B"    = "c" # ERROR: Name not allowed
    OKSTRA_X = "y" # ERROR: Name not allowed
    FINE     = result.path
    LIST     = [1] # ERROR: Wrong type
  }
}

run "r" {
  dir = prompt.path # ERROR: Path not known yet
  panes {
    title = result.path # ERROR: Path not known yet
  }
  round "a" {
    dynamic "x" { # ERROR: Unknown block
    }
    assign {
      duty = duty.function
      to   = provider.p
    }
    assign {
      duty = duty.decided
      to   = provider.q
    }
    assign {
      duty = duty.inputs
      to   = provider.r
    }
    assign {
      duty = duty.null
      to   = provider.s
    }
    assign {
      duty = duty.empty
      to   = provider.s
    }
    assign {
      duty = duty.list
      to   = provider.s
    }
    assign {
      duty = duty.placeholder
      to   = provider.s
    }
    assign {
      duty = duty.function
      to   = provider.command # ERROR: Provider has no command
    }
  }
}
