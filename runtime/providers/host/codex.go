package host

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// codex keeps its login in a file or in a keyring, and takes a key from a
// variable that its configuration names for other services.
func codex(h Host, c CLI, r *Report) {
	if !slices.Contains(c.Command, "--skip-git-repo-check") && !h.insideGit(c.Folder) {
		r.fatal("it does not trust a folder outside a git repository", "run git init there, or add --skip-git-repo-check to the provider's command")
	}
	conf := readCodex(string(h.read(h.home("CODEX_HOME", ".codex", "config.toml"), maxFile)))
	if conf.service != "" && conf.service != "openai" {
		switch {
		case conf.key == "":
			r.SignIn = "its configuration takes the service " + conf.service + ", which names no key"
		case h.set(c, conf.key):
			r.SignIn = conf.key + " is set"
		default:
			r.fatal("its configuration takes a key from "+conf.key+", which is not set", "set "+conf.key)
		}
		return
	}
	switch v, ok := h.oneOf(c, "CODEX_API_KEY", "CODEX_ACCESS_TOKEN"); {
	case ok:
		r.SignIn = v + " is set"
	case h.there(h.home("CODEX_HOME", ".codex", "auth.json")):
		r.SignIn = "a login is stored"
	case conf.keyring:
		// The keyring is not looked into: it would ask the user.
	default:
		r.fatal("it is not signed in", "run codex login, or set CODEX_API_KEY")
	}
}

// codexConfig is what is wanted of codex's configuration.
type codexConfig struct {
	service string // model_provider
	key     string // env_key of that service
	keyring bool   // the login may be in a keyring
}

var codexSetting = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*([A-Za-z_]+)\s*=\s*["']([^"']*)["']`)
})

// readCodex reads plain settings of one line; what is written in another way
// tells nothing.
func readCodex(toml string) codexConfig {
	var conf codexConfig
	keys := map[string]string{}
	table := ""
	for line := range strings.Lines(toml) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "["); ok {
			name, _, _ = strings.Cut(name, "]")
			table = strings.NewReplacer(`"`, "", "'", "", " ", "").Replace(name)
			continue
		}
		m := codexSetting().FindStringSubmatch(line)
		if m == nil {
			continue
		}
		switch {
		case table == "" && m[1] == "model_provider":
			conf.service = m[2]
		case table == "" && m[1] == "cli_auth_credentials_store":
			conf.keyring = m[2] != "file"
		case m[1] == "env_key":
			keys[table] = m[2]
		}
	}
	conf.key = keys["model_providers."+conf.service]
	return conf
}
