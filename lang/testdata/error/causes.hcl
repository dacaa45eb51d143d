# What follows from a mistake is not told beside it.
provider "p" {
  comand = ["sh"] # ERROR: Unknown attribute => Did you mean command?
}

paticipant "ada" { # ERROR: Unknown block => Did you mean participant?
  provider = provider.p
}

agent "bert" { # ERROR: Unknown block => called participant.
  provider = provider.p
}

duty "look" {
  instructions = "Look."
  emit         = "findings" # ERROR: Unknown attribute => Did you mean emits?
}

duty "build" {
  instructions = "Build."
  rol          = role.executor # ERROR: Unknown attribute => Did you mean role?
}

duty "judge" {
  instructions = "Judge."
  emitts       = "verdicts" # ERROR: Unknown attribute => Did you mean emits?
}

run "whole" {
  task_type = task_type.implementation
  round "a" {
    assign {
      duty = duty.build
      to   = participant.ada
    }
  }
}

run "looks" {
  round "a" {
    asign { # ERROR: Unknown block => Did you mean assign?
      duty = duty.look
      to   = participant.ada
    }
  }
  round "b" {
    assign {
      duty = duty.look
      to   = [participant.ada, participant.bert, participant.cleo] # ERROR: Unknown reference => There is no participant "cleo".
    }
  }
  round "c" {
    kind = "reverify"
    assign {
      duty = duty.judge
      to   = provider.p
    }
  }
}

run "empty" {
  rond "a" { # ERROR: Unknown block => Did you mean round?
  }
}
