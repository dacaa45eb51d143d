locals {
  a = local.b # ERROR: Definition refers to itself
  b = local.c
  c = local.a
  d = local.a
  self = local.self # ERROR: Definition refers to itself
}

provider "x" {
  extends = provider.y # ERROR: Definition refers to itself
}

provider "y" {
  extends = provider.x
}

provider "z" {
  extends = local.p # ERROR: Wrong type | ERROR: Unknown reference
}

run "r" { # ERROR: Run has nothing to do
  extends = "s" # ERROR: Definition refers to itself
}

run "s" { # ERROR: Run has nothing to do
  extends = run.r
}

run "t" { # ERROR: Run has nothing to do
  extends = "q" # ERROR: Unknown reference
}
