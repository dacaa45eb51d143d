package host

import "path/filepath"

// claude keeps its login in a file, on macOS in the keychain.
func claude(h Host, c CLI, r *Report) {
	if h.UID == 0 && !h.set(c, "IS_SANDBOX") {
		r.Troubles = append(r.Troubles, Trouble{
			What: "as root it refuses write access",
			Do:   "run okstra as another user, or set IS_SANDBOX=1 where this machine is a sandbox",
		})
	}
	switch v, ok := h.oneOf(c, "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"); {
	case ok:
		r.SignIn = v + " is set"
	case h.there(h.home("CLAUDE_CONFIG_DIR", ".claude", ".credentials.json")):
		r.SignIn = "a login is stored"
	case h.members(h.home("CLAUDE_CONFIG_DIR", ".claude", "settings.json"))["apiKeyHelper"] != nil:
		r.SignIn = "its settings name an apiKeyHelper"
	case h.claudeKey():
		r.SignIn = "a key is stored"
	case h.OS == "darwin":
		// The keychain is not looked into: it would ask the user.
	default:
		r.fatal("it is not signed in", "run claude once and use /login, or set ANTHROPIC_API_KEY")
	}
}

// claudeKey reports whether the global configuration holds a key.
func (h Host) claudeKey() bool {
	file := filepath.Join(h.Getenv("HOME"), ".claude.json")
	if dir := h.Getenv("CLAUDE_CONFIG_DIR"); dir != "" {
		file = filepath.Join(dir, ".claude.json")
	}
	return h.members(file)["primaryApiKey"] != nil
}
