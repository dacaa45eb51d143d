duty "look" {
  instructions = "Look."
}

override "provider" "gemini" {
  prompt = "path"
}

provider "told" {
  extends = provider.codex
  prompt  = "path"
  access "read" {
    args = ["--sandbox", "read-only", prompt.reference]
  }
}

provider "twice" {
  command = ["told", prompt.text]
  prompt  = "argument"
}

provider "script" {
  command = ["told"]
}

run "prompts" {
  round "one" {
    assign {
      duty = duty.look
      to   = [provider.gemini, provider.told, provider.script] # WARNING: Prompt does not arrive once => prompt = "stdin"
    }
  }
  round "two" {
    assign {
      duty = duty.look
      to   = provider.twice # WARNING: Prompt does not arrive once => twice: by prompt = "argument"
    }
  }
}
