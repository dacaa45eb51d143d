# A report-writer is one by the kind of its round.
duty "write" {
  role         = role.report-writer
  instructions = "Write."
}

duty "write-audited" {
  role         = role.report-writer
  instructions = "Write."
  audit        = true
}

run "r" {
  round "a" {
    assign {
      duty = duty.write # WARNING: Report-writer outside its round => Write kind = "report-writer" in the round, or audit = true in the duty.
      to   = provider.claude
    }
    assign {
      duty = duty.write-audited
      to   = provider.claude
    }
  }
  round "b" {
    kind = "report-writer"
    assign {
      duty = duty.write
      to   = provider.claude
    }
  }
}
