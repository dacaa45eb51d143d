# The right word in the wrong form: said is how it is written.
variable "n" {
  type    = "number" # ERROR: Wrong type => write type = number.
  default = 1
}

variable "l" {
  type    = "list(string)" # ERROR: Wrong type => write type = list(string).
  default = []
}

variable "x" {
  type    = "text" # ERROR: Wrong type => This is not a type.
  default = 1
}

participant { # ERROR: Wrong labels => Write participant "NAME" { … }.
  provider = provider.claude
}

override "claude" { # ERROR: Wrong labels => Write override "KIND" "NAME" { … }.
  model = "opus"
}

okstra "here" { # ERROR: Wrong labels => okstra has no name: write okstra { … }.
}

task "t" { # ERROR: Unknown block => called duty (what is asked) or round (when).
}

step "s" { # ERROR: Unknown block => called duty (what is asked) or round (when).
}

provider "p" {
  command = ["sh"]
  access  = "read" # ERROR: Unknown attribute => access is a block: write access "read" { … }, without an equals sign.
}

duty "d" {
  instructions = "Do it."
  access       = "write" # ERROR: Unknown attribute => Write role = role.executor in the duty
  parameter { # ERROR: Wrong labels => Write parameter "NAME" { … }.
  }
}

duty "e" {
  instructions = "Do it."
  retry        = { on = ["overloaded", "crash", "auht"] } # ERROR: Value not allowed => The reasons are not-started, cannot-start, exit-nonzero | ERROR: Value not allowed => Did you mean "auth"?
}

run "r" {
  task   = "x" # ERROR: Wrong type => write task = { project = …, group = …, id = … }
  retry  = 3 # ERROR: Wrong type => write retry = { attempts = …, on = …, backoff = … }
  round  = "a" # ERROR: Unknown attribute => write round "NAME" { … }
  panes  = "tiled" # ERROR: Unknown attribute => write panes { … }
  budget {} # ERROR: Unknown block => write budget = …, with an equals sign.
  round "a" "b" { # ERROR: Wrong labels => Write round "NAME" { … }.
  }
  round "c" {
    assign "x" { # ERROR: Wrong labels => assign has no name: write assign { … }.
    }
    assign {
      duty   = duty.e
      to     = provider.claude
      access = "write" # ERROR: Unknown attribute => access comes from the role of the duty.
      with   = { area = "x" } # ERROR: Unknown parameter => It has none at all: write parameter "area" { … } in it
    }
  }
}
