okstra {
  projct = "x" # ERROR: Unknown attribute
}

stage "x" { # ERROR: Unknown block
}

agent "y" { # ERROR: Unknown block
}

module "z" { # ERROR: Unknown block
}

sprovider "a" { # ERROR: Unknown block
}

duty "d" {
  prompt = "Do it." # ERROR: Unknown attribute
  instructions = "Do it."
}

duty "undone" { # ERROR: Missing attribute
}

provider "p" {
  entrypoint = ["x"] # ERROR: Unknown attribute
  command    = ["x"]
  secrets    = {} # ERROR: Unknown attribute
  access "execute" { # ERROR: Wrong labels
  }
}

provider "nothing" { # ERROR: Missing attribute
}

task_type "mine" { # ERROR: Only the catalog defines this
  allowed = ["a"]
}

run "r" {
  task_type = task_type.unknown
  panes = { # ERROR: Unknown attribute
    keep = "round"
  }
  round "a" {
    depends_on = ["x"] # ERROR: Unknown attribute
    assign {
      duty  = duty.d
      to    = provider.p
      count = 2 # ERROR: Unknown attribute
      cwd   = "." # ERROR: Unknown attribute
    }
    require { # ERROR: Unknown block
    }
  }
}

run { # ERROR: Wrong labels
}

override "provider" { # ERROR: Wrong labels
}
