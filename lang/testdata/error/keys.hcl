# A key that stands twice in one object.
locals {
  map = {
    a     = 1
    (a)   = 2 # ERROR: Unknown reference
    "a"   = 3 # ERROR: Duplicate definition => The key "a" stands in this object already, at okstra.hcl:4:5.
    inner = { x = 1, y = 2, x = 3 } # ERROR: Duplicate definition => at okstra.hcl:7:15.
  }
  worked_out = { for k in ["a", "b"] : k => k }
}

provider "p" {
  extends = provider.command
  command = ["sh"]
  env     = { A = "1", A = "2" } # ERROR: Duplicate definition
  worst   = { usd = 1, usd = 2 } # ERROR: Duplicate definition
}

duty "d" {
  instructions = "Do ${jsonencode({ a = 1, a = 2 })}." # ERROR: Duplicate definition
  parameter "q" {
    type = object({ a = string, a = number }) # ERROR: Duplicate definition
  }
}

run "r" {
  task    = { id = "a", group = "g", id = "b" } # ERROR: Duplicate definition => The key "id" stands in this object already, at okstra.hcl:27:15.
  budget  = { dispatches = 20, dispatches = 2, wall = "1h" } # ERROR: Duplicate definition
  timeout = { wall = "20m", wall = "30m" } # ERROR: Duplicate definition
  round "a" {
    assign {
      duty  = duty.d
      to    = provider.p
      with  = { q = null, q = null } # ERROR: Duplicate definition
      retry = { attempts = 1, attempts = 2 } # ERROR: Duplicate definition
    }
  }
}
