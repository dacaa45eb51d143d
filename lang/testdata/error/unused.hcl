variable "v" { # WARNING: Never used
  default = 1
}

locals {
  l = 1 # WARNING: Never used
}

participant "p" { # WARNING: Never used
  provider = provider.claude
}

provider "c" { # WARNING: Never used
  command = ["c"]
}

role "r" { # WARNING: Never used
}

duty "d" { # WARNING: Never used
  instructions = "Do."
}

duty "e" {
  instructions = "Do."
  inputs       = ["not-there.md"] # WARNING: Input not there
}

run "a" {
  round "x" {
    assign {
      duty = duty.e
      to   = provider.gemini
    }
  }
}
