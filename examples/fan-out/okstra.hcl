# One worker for each file of a folder. Who is added, removed or changed decides
# what is done again: identity comes from the file's name, never from its place
# in a list.

provider "script" {
  extends = provider.command
  command = ["${path.here}/workers/${worker.role}.sh"]
  args    = [worker.key] # the page; null, and so dropped, where there is none
}

participant "reader" {
  provider = provider.script
}

duty "proofread" {
  # A duty may take parameters; every assign gives them with "with".
  parameter "page" {
    type = string
  }
  parameter "words" {
    type    = number
    default = 200
  }
  instructions = <<-EOT
    Read ${path.here}/pages/${param.page}. Count its words, and say which lines
    have words twice in a row. A page should have at most ${param.words} words.
  EOT
}

duty "sum-up" {
  role         = role.report-writer
  instructions = "Make one table of all results in ${inputs.index}."
}

run "proofread" {
  description = "Read every page on its own, then sum up."
  parallelism = 4

  round "pages" {
    # Three of four pages are enough to go on; "all" is the default.
    require = "75%"

    assign {
      duty     = duty.proofread
      to       = participant.reader
      for_each = fileset("pages", "*.md")
      with     = { page = each.value }
      retry    = { attempts = 3, on = ["exit-nonzero"], backoff = "1s" }
    }
  }

  round "summary" {
    kind = "report-writer"
    assign {
      duty = duty.sum-up
      to   = participant.reader
    }
  }
}
