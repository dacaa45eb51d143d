duty "build" {
  instructions = "Build."
  role         = role.executor
}

duty "verify" {
  instructions = "Verify."
  role         = role.verifier
}

duty "find" {
  instructions = "Find."
  emits        = "findings"
}

duty "judge" {
  instructions = "Judge."
  emits        = "verdicts"
}

duty "write" {
  instructions = "Write."
  role         = role.report-writer
}

participant "ada" {
  provider = provider.claude
}

participant "bert" {
  provider = provider.codex
}

run "order" { # WARNING: Required role missing
  task_type = task_type.implementation
  round "first" {
    after = ["first", "later", "nowhere"] # ERROR: Round cannot wait for this | ERROR: Round cannot wait for this | ERROR: Round cannot wait for this
    assign {
      duty = duty.build
      to   = participant.ada
    }
  }
  round "later" {
    after = ["first", "first"] # ERROR: Duplicate definition
    assign {
      duty = duty.build
      to   = participant.bert # ERROR: More than one executor
    }
  }
}

run "together" {
  task_type = task_type.implementation
  round "all" { # ERROR: Implementation phase order
    assign {
      duty = duty.build
      to   = participant.ada
    }
    assign {
      duty = duty.verify
      to   = participant.bert
    }
  }
}

run "backwards" {
  task_type = task_type.implementation
  round "verify" { # ERROR: Implementation phase order
    assign {
      duty = duty.verify
      to   = participant.bert
    }
  }
  round "build" {
    assign { # ERROR: More than one executor
      duty     = duty.build
      to       = participant.ada
      for_each = ["a", "b"]
    }
  }
}

run "twice" {
  round "a" {
    assign {
      duty = duty.find
      to   = [participant.ada, participant.ada] # ERROR: Duplicate assignment
    }
    assign {
      duty = duty.find
      to   = [] # ERROR: Nobody to do it
    }
    assign {
      duty     = duty.find
      to       = participant.bert
      for_each = ["x", "x"] # ERROR: for_each cannot use this
    }
    assign {
      duty     = duty.find
      to       = participant.bert
      for_each = [1] # ERROR: for_each cannot use this
    }
    assign {
      duty     = duty.find
      to       = participant.bert
      for_each = "x" # ERROR: for_each cannot use this
    }
    assign {
      duty     = duty.find
      to       = participant.bert
      for_each = null # ERROR: for_each cannot use this
    }
    convergence { # ERROR: Convergence outside a reverify round
    }
  }
  round "nothing" { # ERROR: Run has nothing to do
  }
}

run "kinds" {
  round "find" {
    assign {
      duty = duty.find
      to   = participant.ada
    }
  }
  round "again" { # WARNING: Too few analysts to verify again
    kind = "reverify"
    assign {
      duty = duty.find # ERROR: Nothing to verify again
      to   = participant.ada
    }
  }
  round "again-2" { # ERROR: Two rounds of one kind | WARNING: Too few analysts to verify again
    kind = "reverify"
    convergence {
      adversarial = true
      mode        = "lightweight" # ERROR: Value not allowed
    }
    assign {
      duty = duty.judge
      to   = participant.ada
    }
  }
  round "report" { # ERROR: Report-writer round needs one worker
    kind = "report-writer"
    assign {
      duty = duty.write
      to   = [participant.ada, participant.bert]
    }
  }
}

run "early" {
  round "again" { # ERROR: Nothing to verify again
    kind = "reverify"
    assign {
      duty = duty.judge
      to   = participant.ada
    }
  }
}

run "empty" { # ERROR: Run has nothing to do
}

run "same" { # ERROR: Two runs of one task
  task = { id = "kinds" }
  round "a" {
    assign {
      duty = duty.find
      to   = participant.ada
    }
  }
}

run "writing" { # WARNING: Required role missing | WARNING: Required role missing
  task_type = task_type.error-analysis
  round "a" {
    assign {
      duty = duty.build # ERROR: Role may not write
      to   = participant.ada
    }
  }
}

# Which role was meant by a duty that is not there is not known, so nothing is
# said of roles that are missing.
run "misspelt" {
  task_type = task_type.error-analysis
  round "a" {
    assign {
      duty = duty.biuld # ERROR: Unknown reference
      to   = participant.ada
    }
    assign {
      duty = duty.build # ERROR: Role may not write
      to   = participant.ada
    }
  }
}
