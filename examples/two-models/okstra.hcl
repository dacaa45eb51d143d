# Two models answer the same question beside each other, each in a session of
# its own. A report-writer then reads both and says where they differ.
#
# Both models are one script here; what the model changes is what it looks at.

provider "script" {
  extends    = provider.command
  command    = ["${path.here}/workers/${worker.role}.sh"]
  model_args = [worker.model] # appended where the participant has a model
  models = {
    loose-ends = "loose-ends"
    sizes      = "sizes"
  }
}

participant "ada" {
  provider = provider.script
  model    = "loose-ends"
}

participant "bert" {
  provider = provider.script
  model    = "sizes"
}

participant "scribe" {
  provider = provider.script
}

duty "improve" {
  instructions = <<-EOT
    Read everything below ${path.here}/src. Name what you would improve first,
    each point with the file and the line that shows it.
  EOT
}

duty "compare" {
  role         = role.report-writer # so it also writes an audit file
  instructions = <<-EOT
    Read the results that ${inputs.index} lists. Write one page: what each of
    them saw, and which files both of them name.
  EOT
}

run "improve" {
  description = "Two models look for improvements, and one page compares them."
  task_type   = task_type.improvement-discovery
  timeout     = { wall = "5m", idle = "1m" }

  round "look" {
    assign {
      duty = duty.improve
      to   = [participant.ada, participant.bert] # beside each other
    }
  }

  round "report" {
    kind = "report-writer" # after all rounds before it, by default

    assign {
      duty = duty.compare
      to   = participant.scribe
    }
  }
}
