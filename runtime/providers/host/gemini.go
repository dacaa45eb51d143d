package host

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
)

// Ways in which gemini signs in, as its settings name them.
const (
	geminiLogin  = "oauth-personal"
	geminiKey    = "gemini-api-key"
	geminiVertex = "vertex-ai"
)

// gemini takes the way of signing in from its settings, else from the
// environment, which its .env files add to.
func gemini(h Host, c CLI, r *Report) {
	if !slices.Contains(c.Command, "--skip-trust") && h.Getenv("GEMINI_CLI_TRUST_WORKSPACE") != "true" && !h.geminiTrusts(c.Folder) {
		r.fatal("it does not trust the folder "+c.Folder, "run gemini there once and trust it, or add --skip-trust to the provider's command")
	}

	way, read := h.geminiWay()
	if way == "" {
		switch {
		case h.Getenv("GOOGLE_GENAI_USE_GCA") == "true":
			way = geminiLogin
		case h.Getenv("GOOGLE_GENAI_USE_VERTEXAI") == "true":
			way = geminiVertex
		case h.geminiVariable(c, "GEMINI_API_KEY"):
			way = geminiKey
		}
	}
	const ask = "run gemini once and sign in, or set GEMINI_API_KEY"
	switch way {
	case "":
		if read {
			r.fatal("it is not signed in", ask)
		}
	case geminiKey:
		switch {
		case h.geminiVariable(c, "GEMINI_API_KEY"):
			r.SignIn = "GEMINI_API_KEY is set"
		case h.there(h.geminiFile("gemini-credentials.json")):
			r.SignIn = "a key is stored"
		case h.OS == "darwin": // perhaps in the keychain
		default:
			r.fatal("its settings want a key, and GEMINI_API_KEY is not set", "set GEMINI_API_KEY")
		}
	case geminiLogin:
		switch {
		case h.there(h.geminiFile("oauth_creds.json")) || h.there(h.geminiFile("gemini-credentials.json")):
			r.SignIn = "a login is stored"
		case h.OS == "darwin":
		default:
			r.fatal("its settings want a login, and none is stored", ask)
		}
	case geminiVertex:
		if h.geminiVariable(c, "GOOGLE_API_KEY") || h.geminiVariable(c, "GOOGLE_CLOUD_PROJECT") && h.geminiVariable(c, "GOOGLE_CLOUD_LOCATION") {
			r.SignIn = "Vertex AI is set up"
			return
		}
		r.fatal("Vertex AI needs a key or a project, and neither is set", "set GOOGLE_API_KEY, or GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION")
	default:
		r.SignIn = "its settings say " + way
	}
}

// geminiFile is a file of gemini's folder, which stands below the home folder
// or the one that a variable names.
func (h Host) geminiFile(name string) string {
	home := h.Getenv("GEMINI_CLI_HOME")
	if home == "" {
		home = h.Getenv("HOME")
	}
	return filepath.Join(home, ".gemini", name)
}

// geminiWay is the way of signing in that the settings name. ok is false where
// they cannot be read, which tells nothing: they may hold comments.
func (h Host) geminiWay() (way string, ok bool) {
	var s struct {
		Security struct {
			Auth struct {
				Type string `json:"selectedType"`
			} `json:"auth"`
		} `json:"security"`
		Old string `json:"selectedAuthType"` // before its settings had sections
	}
	settings := h.read(h.geminiFile("settings.json"), maxFile)
	if len(settings) > 0 && json.Unmarshal(settings, &s) != nil {
		return "", false
	}
	if s.Security.Auth.Type != "" {
		return s.Security.Auth.Type, true
	}
	return s.Old, true
}

// geminiVariable reports whether a variable is set, in the environment or in
// the .env file of the user's home.
func (h Host) geminiVariable(c CLI, name string) bool {
	if h.set(c, name) {
		return true
	}
	for line := range strings.Lines(string(h.read(h.geminiFile(".env"), maxFile))) {
		key, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		if ok && strings.TrimSpace(key) == name && strings.Trim(strings.TrimSpace(value), `"'`) != "" {
			return true
		}
	}
	return false
}

// geminiTrusts reports whether a rule of the trusted folders holds for this
// one: that of the nearest folder counts.
func (h Host) geminiTrusts(folder string) bool {
	file := h.Getenv("GEMINI_CLI_TRUSTED_FOLDERS_PATH")
	if file == "" {
		file = h.geminiFile("trustedFolders.json")
	}
	trusts := map[string]bool{}
	for dir, raw := range h.members(file) {
		var rule string
		if json.Unmarshal(raw, &rule) != nil {
			continue
		}
		dir = filepath.Clean(dir)
		if rule == "TRUST_PARENT" {
			dir = filepath.Dir(dir)
		}
		trusts[dir] = trusts[dir] || rule == "TRUST_FOLDER" || rule == "TRUST_PARENT"
	}
	for dir := filepath.Clean(folder); ; dir = filepath.Dir(dir) {
		if trusted, ok := trusts[dir]; ok || dir == filepath.Dir(dir) {
			return trusted
		}
	}
}
