okstra {
  timeout = { wal = "5m" } # ERROR: Unknown attribute
  retry   = { attempts = 0 } # ERROR: Value out of range
  panes {
    lead_share  = 95 # ERROR: Value out of range
    min_columns = "wide" # ERROR: Wrong type
    placement   = "here" # ERROR: Value not allowed
  }
}

provider "p" {
  command    = ["p"]
  prompt     = "typed" # ERROR: Value not allowed
  output     = "json" # ERROR: Value not allowed
  exit_codes = {
    300 = "auth" # ERROR: Value out of range
    3   = "auht" # ERROR: Value not allowed
    4   = "completed" # ERROR: Value not allowed
  }
  worst = { tokens = -1 } # ERROR: Value out of range
}

role "r" {
  access = "execute" # ERROR: Value not allowed
}

duty "d" {
  instructions = "Do."
  role         = role.r
  emits        = "finding" # ERROR: Value not allowed
  timeout      = { idle = "0s" } # ERROR: Value out of range
  retry        = { on = ["pane-losst"] } # ERROR: Value not allowed
}

run "r" {
  parallelism = 0 # ERROR: Value out of range
  timeout     = { wall = 90 } # ERROR: Wrong type
  retry       = { backoff = "soon" } # ERROR: Value not allowed
  budget      = { dispatches = 1.5 } # ERROR: Value out of range
  lead {
    runtime = "vim" # ERROR: Value not allowed
  }
  round "a" {
    kind    = "wrok" # ERROR: Value not allowed
    require = "101%" # ERROR: Value out of range
    assign {
      duty = duty.d
      to   = provider.p
    }
  }
  round "b" {
    require = 3 # ERROR: Value out of range
    assign {
      duty    = duty.d
      to      = provider.p
      timeout = "5m" # ERROR: Wrong type
    }
  }
  round "c" {
    require = "most" # ERROR: Value not allowed
    assign {
      duty  = duty.d
      to    = provider.p
      retry = { backoff = "-1s" } # ERROR: Value out of range
    }
  }
  round "d" {
    kind = "reverify" # the duty emits nothing
    convergence {
      max_rounds = 4 # ERROR: Value out of range
      mode       = "deep" # ERROR: Value not allowed
    }
    assign {
      duty = duty.v
      to   = provider.p
    }
  }
  round "find" {
    assign {
      duty = duty.v
      to   = provider.p
    }
  }
}

duty "v" {
  instructions = "Verify."
  emits        = "verdicts"
}
