# What the house asks again and again.

duty "find-cause" {
  parameter "log" {
    type = string
  }
  instructions = <<-EOT
    Read the build log ${param.log}. Name the first error, the step it belongs
    to, and the likely cause.

    What you must not do:
    {{PHASE_FORBIDDEN_ACTIONS}}
  EOT
}

duty "house-report" {
  role         = role.report-writer
  instructions = file("house-report.md")
}
