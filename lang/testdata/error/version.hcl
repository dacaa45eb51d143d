okstra {
  required_version = ">= 99" # ERROR: okstra version not met
}

something_new "x" {
}
