# The smallest definition that runs as it stands: one duty, one worker.
#
#   okstra plan     shows what would happen
#   okstra apply    does it
#   okstra status   shows what is recorded
#
# The worker is a script. Put provider.claude, provider.codex or
# provider.gemini in its place and the provider block can go.
provider "script" {
  extends = provider.command
  command = ["${path.here}/workers/explain.sh"]
}

duty "explain" {
  instructions = "Explain what this folder holds, in ten lines."
}

run "ask" {
  round "answer" {
    assign {
      duty = duty.explain
      to   = provider.script
    }
  }
}
