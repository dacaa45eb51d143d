# A bare word, or one in quotes, where a reference belongs: said is what to write.
variable "topic" {
  default = "x"
}

locals {
  who   = [fay] # ERROR: Unknown reference => Did you mean participant.fay?
  step  = fix.topic # ERROR: Unknown reference => There is nothing called "fix". Did you mean duty.fix?
  short = fay.topic # ERROR: Unknown reference => There is nothing called "fay". Did you mean participant.fay?
  other = fab.topic # ERROR: Unknown reference => There is nothing called "fab".
  about = topic # ERROR: Unknown reference => Did you mean var.topic? If the text is meant, put it in quotes: "topic".
}

provider "fixer" {
  extends = command # ERROR: Unknown reference => Did you mean provider.command?
  command = ["sh"]
}

provider "second" {
  extends = "command" # ERROR: Wrong type => write provider.command, without quotes.
  command = ["sh"]
}

provider "third" {
  extends = fixre # ERROR: Unknown reference => Did you mean provider.fixer?
  command = ["sh"]
}

participant "fay" {
  provider = fixer # ERROR: Unknown reference => Did you mean provider.fixer?
  model    = big # ERROR: Unknown reference => put it in quotes: "big".
}

participant "gus" {
  provider = "fixer" # ERROR: Wrong type => write provider.fixer, without quotes.
}

duty "fix" {
  role         = executor # ERROR: Unknown reference => Did you mean role.executor?
  instructions = "Fix it."
}

duty "look" {
  role         = "verifier" # ERROR: Wrong type => write role.verifier, without quotes.
  instructions = "Look."
}

duty "run" {
  role         = "verifer" # ERROR: Wrong type => write role.NAME, without quotes. Did you mean role.verifier?
  instructions = "Run."
}

run "team" {
  task_type = "implementation" # ERROR: Wrong type => write task_type.implementation, without quotes.
  backend   = tmux # ERROR: Unknown reference => Did you mean backend.tmux?
  round "analysis" {
    assign {
      duty = fix # ERROR: Unknown reference => Did you mean duty.fix?
      to   = fay # ERROR: Unknown reference => Did you mean participant.fay?
    }
    assign {
      duty = run # ERROR: Unknown reference => Did you mean duty.run?
      to   = nobody # ERROR: Unknown reference => to takes participant.NAME or provider.NAME.
    }
  }
  round "report" {
    after = [round.analysis] # ERROR: Not in scope here => write "analysis".
    assign {
      duty = "look" # ERROR: Wrong type => write duty.look, without quotes.
      to   = ["gus", "participant.gus"] # ERROR: Wrong type => write participant.gus, without quotes. | ERROR: Wrong type => write participant.gus, without quotes.
    }
  }
  round "last" {
    after = [analysis] # ERROR: Unknown reference => put it in quotes: "analysis".
    assign {
      duty = duty.run
      to   = participant.gus
    }
    assign {
      duty = duty.look
      to   = provider.claude
    }
  }
}

okstra {
  default_run = team # ERROR: Unknown reference => Did you mean run.team?
}
