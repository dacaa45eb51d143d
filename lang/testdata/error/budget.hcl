# A budget below a worker's own limit lets that worker never start.
provider "p" {
  extends = provider.command
  command = ["sh"]
}

duty "long" {
  instructions = "Do."
}

duty "longer" {
  instructions = "Do."
  timeout      = { wall = "90m" }
}

duty "short" {
  instructions = "Do."
  timeout      = { wall = "5m" }
}

run "r" {
  budget = { wall = "10m" } # WARNING: Budget allows no start => A worker of duty "long", "longer" may take 1h30m, its wall limit, and the whole run 10m:
  round "a" {
    assign {
      duty = duty.long
      to   = provider.p
    }
    assign {
      duty = duty.longer
      to   = provider.p
    }
    assign {
      duty = duty.short
      to   = provider.p
    }
  }
}
