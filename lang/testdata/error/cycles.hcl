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
  extends = local.p # ERROR: Wrong type
}

run "r" {
  extends = "s" # ERROR: Definition refers to itself
}

run "s" {
  extends = run.r
}

run "t" {
  extends = "q" # ERROR: Unknown reference
}
