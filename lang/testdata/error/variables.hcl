variable "missing" { # ERROR: Variable has no value
  type = string
}

variable "wrong" {
  type    = number
  default = "x" # ERROR: Variable not valid
}

variable "bad_type" {
  type    = strnig # ERROR: Wrong type
  default = "x"
}

variable "checked" {
  default = "a b"
  validation {
    condition     = can(regex("^[a-z]+$", var.checked)) # ERROR: Variable not valid
    error_message = "Letters only."
  }
}

variable "secret" {
  sensitive = true
  default   = "s3cr3t"
}

variable "secret_map" {
  sensitive = true
  type      = map(string) # ERROR: Wrong type
  default   = "x"
}

locals {
  up      = upper(var.secret) # ERROR: Sensitive value outside env
  decided = var.secret == "x" ? "a" : "b"
}

duty "d" {
  instructions = "Use ${var.secret}." # ERROR: Sensitive value outside env
}

duty "e" {
  instructions = local.decided # ERROR: Sensitive value outside env
}

duty "f" {
  instructions = "${var.missing} is quiet."
}

provider "p" {
  command = ["x", var.secret] # ERROR: Sensitive value outside env
  env     = { TOKEN = var.secret, BEARER = "Bearer ${var.secret}" }
}

provider "q" {
  command = ["x"]
  env     = var.secret == "" ? {} : { A = "b" } # ERROR: Sensitive value outside env
}

run "r" {
  description = var.secret # ERROR: Sensitive value outside env
  round "a" {
    assign {
      duty = duty.d
      to   = provider.p
    }
    assign {
      duty = duty.e
      to   = provider.q
    }
    assign {
      duty = duty.f
      to   = provider.q
    }
    assign {
      duty     = duty.f
      to       = provider.p
      for_each = [var.secret] # ERROR: Sensitive value outside env
    }
  }
}
