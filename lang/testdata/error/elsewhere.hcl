# Words of other tools, in blocks where what they mean does not stand.
duty "d" {
  instructions = "x"
}

run "r" {
  depends_on = ["x"] # ERROR: Unknown attribute => after, which belongs in a round block.
  stage "y" {        # ERROR: Unknown block => called round.
  }
  round "a" {
    needs  = ["x"]   # ERROR: Unknown attribute => called after.
    matrix = ["a"]   # ERROR: Unknown attribute => for_each, which belongs in an assign block.
    module = "x"     # ERROR: Unknown attribute => import, which belongs at the top of a file.
    job "x" {        # ERROR: Unknown block => round, which belongs in a run block.
    }
    assign {
      inherits = 1 # ERROR: Unknown attribute => extends, which belongs in a provider block or a run block.
      cwd      = 1 # ERROR: Unknown attribute => called dir.
      duty     = duty.d
      to       = provider.claude
    }
  }
}
