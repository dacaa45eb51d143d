package lang

import (
	"slices"
	"testing"
)

// TestProviderEnv: the names of a provider's variables are told without their
// values, overrides and access blocks included.
func TestProviderEnv(t *testing.T) {
	def, diags := Load(tree(t, map[string]string{"okstra.hcl": `
variable "token" {
  type      = string
  sensitive = true
  default   = "s"
}
override provider "claude" {
  env = { ANTHROPIC_API_KEY = var.token, LABEL = worker.model }
  access "write" {
    env = { IS_SANDBOX = "1", LABEL = "x" }
  }
}
`}))
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for _, p := range def.Providers() {
		if p.Name == "claude" && !slices.Equal(p.Env, []string{"ANTHROPIC_API_KEY", "IS_SANDBOX", "LABEL"}) {
			t.Errorf("variables of claude: %q", p.Env)
		}
	}
}
