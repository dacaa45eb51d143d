duty "d" {
  instructions = "Do it."
  parameter "p" {
    default = 1
  }
  parameter "P" { # ERROR: Duplicate definition
    default = 1
  }
  output "a-b" {
  }
  output "a_b" { # ERROR: Duplicate definition
  }
  output "x y" { # ERROR: Name not allowed
  }
}

duty "d" { # ERROR: Duplicate definition
  instructions = "Again."
}

duty "D" { # ERROR: Duplicate definition
  instructions = "Again."
}

provider "claude" { # ERROR: Duplicate definition
  command = ["x"]
}

role "a-worker-b" { # ERROR: Name not allowed
}

participant "1st" { # ERROR: Name not allowed
  provider = provider.claude
}

participant "日本" { # ERROR: Name not allowed
  provider = provider.claude
}

locals {
  one = 1
  One = 2 # ERROR: Duplicate definition
}

okstra {
  group = "a b" # ERROR: Name not allowed
}

okstra { # ERROR: Duplicate definition
}

run "r" {
  task = { id = "../up" } # ERROR: Name not allowed
  round "initial" { # ERROR: Name not allowed
  }
  round "reverify-r2" { # ERROR: Name not allowed
  }
  round "a" {
    assign {
      duty = duty.d
      to   = provider.claude
    }
  }
  round "A" { # ERROR: Duplicate definition
  }
  lead {
    runtime = "codex"
  }
  lead { # ERROR: Duplicate definition
  }
}
