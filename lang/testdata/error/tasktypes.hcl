role "doer" {
  access = "write"
}

override "task_type" "unknown" {
  writers        = ["nope"]         # ERROR: Unknown reference => There is no role "nope".
  next           = ["zork"]         # ERROR: Unknown reference => There is no task type "zork".
  required_roles = ["analist"]      # ERROR: Unknown reference => Did you mean role.analyst?
}

# References are values; what was meant by a wrong one says nothing more.
override "task_type" "implementation" {
  writers        = [role.executor, role.doer]
  required_roles = []
}
override "task_type" "error-analysis" {
  writers = [role.doer, duty.change] # ERROR: Wrong type => An element of writers is role.NAME, not duty.change.
}

duty "change" {
  role         = role.doer
  instructions = "x"
}

run "wrong-list" {
  round "a" {
    assign {
      duty = duty.change
      to   = provider.claude
    }
  }
}
run "allowed" {
  task_type = task_type.implementation
  round "a" {
    assign {
      duty = duty.change
      to   = provider.claude
    }
  }
}
run "nobody" {
  task_type = task_type.release-handoff
  round "a" {
    assign {
      duty = duty.change # ERROR: Role may not write => let this one write: override "task_type" "release-handoff" { writers = ["doer"] }.
      to   = provider.claude
    }
  }
}
