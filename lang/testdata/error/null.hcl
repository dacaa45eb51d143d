# One mistake each, and nothing of what stands in a ring.
locals {
  a = local.b # ERROR: Definition refers to itself => local.a
  b = "${local.c}x"
  c = [local.a]
}

provider "p" {
  command = ["true"]
  args    = ["k=${worker.key}"]    # ERROR: Null in a text => worker.key is null here: "p" is given its duty by an assign without for_each
  env     = { M = "${worker.model}" } # the whole value, not a part of a text
}
participant "quiet" {
  provider = provider.p
  args     = ["m=${worker.model}"] # ERROR: Null in a text => neither "quiet" nor its provider names a model
}

duty "d" {
  instructions = "On ${git.base}." # ERROR: Null in a text => ${coalesce(git.base, "none")}
}

run "r" {
  round "a" {
    assign {
      duty = duty.d
      to   = [provider.p, participant.quiet]
    }
  }
}
