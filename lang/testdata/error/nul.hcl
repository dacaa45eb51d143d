duty "nul" {
  instructions = "a\u0000b" # ERROR: NUL character
}

duty "forged" {
  instructions = "\u0000prompt.path\u0000" # ERROR: NUL character
}
