# A team's definition over the house's library. Providers, participants and
# duties that everybody shares stand in house/; the team says what differs.

import {
  source = "house"
}

# A name is defined once. To change what an import or the catalog defines, say
# so; the plan shows what was overridden, and where.
override participant "reader" {
  timeout = { wall = "10m" }
}

# The catalog's rules can be made stricter; forbidden actions are only added.
override task_type "error-analysis" {
  forbidden = ["Reading files below private/."]
}

run "why-red" {
  description = "Why is the build red?"
  task_type   = task_type.error-analysis

  round "look" {
    assign {
      duty = duty.find-cause
      to   = participant.reader
      with = { log = "${path.here}/build.log" }
    }
  }

  round "report" {
    kind = "report-writer"
    assign {
      duty = duty.house-report
      to   = participant.reader
    }
  }
}
