# A budget below a worker's own limit lets that worker never start.
provider "p" {
  extends = provider.command
  command = ["sh"]
}

duty "long" {
  instructions = "Do."
}

duty "short" {
  instructions = "Do."
  timeout      = { wall = "5m" }
}

run "r" {
  budget = { wall = "10m" } # WARNING: Budget allows no start
  round "a" {
    assign {
      duty = duty.long
      to   = provider.p
    }
    assign {
      duty = duty.short
      to   = provider.p
    }
  }
}
