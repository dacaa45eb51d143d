package host

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"
)

// look looks at a CLI on a machine with these files and variables.
func look(t *testing.T, command []string, env map[string]string, files map[string]string, change func(*Host, *CLI)) Report {
	t.Helper()
	fs := afero.NewMemMapFs()
	for path, text := range files {
		if err := afero.WriteFile(fs, path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h := Host{
		Fs:  afero.NewReadOnlyFs(fs),
		UID: 1000, OS: "linux",
		Getenv: func(name string) string {
			if name == "HOME" {
				return "/home/u"
			}
			return env[name]
		},
		Find: func(program string) string {
			if _, err := fs.Stat("/bin/" + program); err == nil {
				return "/bin/" + program
			}
			return ""
		},
	}
	c := CLI{Program: "/opt/" + command[0], Command: command, Folder: "/home/u/src/project"}
	if change != nil {
		change(&h, &c)
	}
	return Look(h, c)
}

func TestLook(t *testing.T) {
	const (
		claudeAsk = "run claude once and use /login, or set ANTHROPIC_API_KEY"
		codexAsk  = "run codex login, or set CODEX_API_KEY"
		geminiAsk = "run gemini once and sign in, or set GEMINI_API_KEY"
	)
	type env = map[string]string
	type files = map[string]string
	codexFree := []string{"codex", "exec", "--skip-git-repo-check"}
	geminiFree := []string{"gemini", "--skip-trust"}
	service := `
model_provider = "house" # ours
[model_providers.other]
env_key = "OTHER_KEY"
[model_providers."house"]
name = "house"
env_key = "HOUSE_KEY"
`
	fatal := func(what, do string) []Trouble { return []Trouble{{What: what, Do: do, Fatal: true}} }
	none := []Trouble(nil)
	for name, tc := range map[string]struct {
		command []string
		env     env
		files   files
		change  func(*Host, *CLI)
		signIn  string
		want    []Trouble
	}{
		"claude, nothing":        {command: []string{"claude"}, want: fatal("it is not signed in", claudeAsk)},
		"claude, a key":          {command: []string{"claude"}, env: env{"ANTHROPIC_API_KEY": "secret"}, signIn: "ANTHROPIC_API_KEY is set", want: none},
		"claude, a key of ours":  {command: []string{"claude"}, change: func(_ *Host, c *CLI) { c.Env = []string{"ANTHROPIC_API_KEY"} }, signIn: "ANTHROPIC_API_KEY is set", want: none},
		"claude, a login":        {command: []string{"claude"}, files: files{"/home/u/.claude/.credentials.json": "{}"}, signIn: "a login is stored", want: none},
		"claude, an empty login": {command: []string{"claude"}, files: files{"/home/u/.claude/.credentials.json": ""}, want: fatal("it is not signed in", claudeAsk)},
		"claude, a login elsewhere": {command: []string{"claude"}, env: env{"CLAUDE_CONFIG_DIR": "/c"}, files: files{"/c/.credentials.json": "{}"},
			signIn: "a login is stored", want: none},
		"claude, not that login": {command: []string{"claude"}, env: env{"CLAUDE_CONFIG_DIR": "/c"}, files: files{"/home/u/.claude/.credentials.json": "{}"},
			want: fatal("it is not signed in", claudeAsk)},
		"claude, a helper":     {command: []string{"claude"}, files: files{"/home/u/.claude/settings.json": `{"apiKeyHelper": "x"}`}, signIn: "its settings name an apiKeyHelper", want: none},
		"claude, a stored key": {command: []string{"claude"}, files: files{"/home/u/.claude.json": `{"primaryApiKey": "secret"}`}, signIn: "a key is stored", want: none},
		"claude, a keychain":   {command: []string{"claude"}, change: func(h *Host, _ *CLI) { h.OS = "darwin" }, want: none},
		"claude, as root": {command: []string{"claude"}, env: env{"ANTHROPIC_API_KEY": "secret"}, change: func(h *Host, _ *CLI) { h.UID = 0 },
			signIn: "ANTHROPIC_API_KEY is set",
			want:   []Trouble{{What: "as root it refuses write access", Do: "run okstra as another user, or set IS_SANDBOX=1 where this machine is a sandbox"}}},
		"claude, as root in a sandbox": {command: []string{"claude"}, env: env{"ANTHROPIC_API_KEY": "secret", "IS_SANDBOX": "1"}, change: func(h *Host, _ *CLI) { h.UID = 0 },
			signIn: "ANTHROPIC_API_KEY is set", want: none},

		"codex, nothing":      {command: codexFree, want: fatal("it is not signed in", codexAsk)},
		"codex, a key":        {command: codexFree, env: env{"CODEX_API_KEY": "secret"}, signIn: "CODEX_API_KEY is set", want: none},
		"codex, a login":      {command: codexFree, files: files{"/home/u/.codex/auth.json": "{}"}, signIn: "a login is stored", want: none},
		"codex, a keyring":    {command: codexFree, files: files{"/home/u/.codex/config.toml": "cli_auth_credentials_store = \"keyring\"\n"}, want: none},
		"codex, a service":    {command: codexFree, env: env{"HOUSE_KEY": "secret"}, files: files{"/home/u/.codex/config.toml": service}, signIn: "HOUSE_KEY is set", want: none},
		"codex, a key unset":  {command: codexFree, env: env{"OTHER_KEY": "secret"}, files: files{"/home/u/.codex/config.toml": service}, want: fatal("its configuration takes a key from HOUSE_KEY, which is not set", "set HOUSE_KEY")},
		"codex, no key asked": {command: codexFree, files: files{"/home/u/.codex/config.toml": "model_provider = 'ollama'\n"}, signIn: "its configuration takes the service ollama, which names no key", want: none},
		"codex, elsewhere":    {command: codexFree, env: env{"CODEX_HOME": "/c"}, files: files{"/c/auth.json": "{}"}, signIn: "a login is stored", want: none},
		"codex, no repository": {command: []string{"codex", "exec"}, env: env{"CODEX_API_KEY": "secret"}, signIn: "CODEX_API_KEY is set",
			want: fatal("it does not trust a folder outside a git repository", "run git init there, or add --skip-git-repo-check to the provider's command")},
		"codex, a repository": {command: []string{"codex", "exec"}, env: env{"CODEX_API_KEY": "secret"}, files: files{"/home/u/src/.git": "gitdir: x"}, signIn: "CODEX_API_KEY is set", want: none},

		"gemini, nothing":   {command: geminiFree, want: fatal("it is not signed in", geminiAsk)},
		"gemini, a key":     {command: geminiFree, env: env{"GEMINI_API_KEY": "secret"}, signIn: "GEMINI_API_KEY is set", want: none},
		"gemini, a file":    {command: geminiFree, files: files{"/home/u/.gemini/.env": "# mine\nexport GEMINI_API_KEY='secret'\n"}, signIn: "GEMINI_API_KEY is set", want: none},
		"gemini, elsewhere": {command: geminiFree, env: env{"GEMINI_CLI_HOME": "/g"}, files: files{"/g/.gemini/.env": "GEMINI_API_KEY=secret"}, signIn: "GEMINI_API_KEY is set", want: none},
		"gemini, a key wanted": {command: geminiFree, files: files{"/home/u/.gemini/settings.json": `{"security": {"auth": {"selectedType": "gemini-api-key"}}}`},
			want: fatal("its settings want a key, and GEMINI_API_KEY is not set", "set GEMINI_API_KEY")},
		"gemini, a login wanted": {command: geminiFree, files: files{"/home/u/.gemini/settings.json": `{"selectedAuthType": "oauth-personal"}`},
			want: fatal("its settings want a login, and none is stored", geminiAsk)},
		"gemini, a login": {command: geminiFree, files: files{"/home/u/.gemini/settings.json": `{"selectedAuthType": "oauth-personal"}`, "/home/u/.gemini/oauth_creds.json": "{}"},
			signIn: "a login is stored", want: none},
		"gemini, Vertex AI": {command: geminiFree, env: env{"GOOGLE_GENAI_USE_VERTEXAI": "true"},
			want: fatal("Vertex AI needs a key or a project, and neither is set", "set GOOGLE_API_KEY, or GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION")},
		"gemini, Vertex AI with a project": {command: geminiFree, env: env{"GOOGLE_GENAI_USE_VERTEXAI": "true", "GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "l"},
			signIn: "Vertex AI is set up", want: none},
		"gemini, settings with comments": {command: geminiFree, files: files{"/home/u/.gemini/settings.json": "// mine\n{}"}, want: none},
		"gemini, another way":            {command: geminiFree, files: files{"/home/u/.gemini/settings.json": `{"security": {"auth": {"selectedType": "gateway"}}}`}, signIn: "its settings say gateway", want: none},
		"gemini, no trust": {command: []string{"gemini"}, env: env{"GEMINI_API_KEY": "secret"}, signIn: "GEMINI_API_KEY is set",
			want: fatal("it does not trust the folder /home/u/src/project", "run gemini there once and trust it, or add --skip-trust to the provider's command")},
		"gemini, trust of a folder above": {command: []string{"gemini"}, env: env{"GEMINI_API_KEY": "secret"}, files: files{"/home/u/.gemini/trustedFolders.json": `{"/home/u": "TRUST_FOLDER"}`},
			signIn: "GEMINI_API_KEY is set", want: none},
		"gemini, trust of a folder beside": {command: []string{"gemini"}, env: env{"GEMINI_API_KEY": "secret"}, files: files{"/home/u/.gemini/trustedFolders.json": `{"/home/u/src/other": "TRUST_PARENT"}`},
			signIn: "GEMINI_API_KEY is set", want: none},
		"gemini, distrust below trust": {command: []string{"gemini"}, env: env{"GEMINI_API_KEY": "secret"},
			files:  files{"/home/u/.gemini/trustedFolders.json": `{"/home/u": "TRUST_FOLDER", "/home/u/src": "DO_NOT_TRUST"}`},
			signIn: "GEMINI_API_KEY is set",
			want:   fatal("it does not trust the folder /home/u/src/project", "run gemini there once and trust it, or add --skip-trust to the provider's command")},

		"a script without its interpreter": {command: []string{"other"}, files: files{"/opt/other": "#!/usr/bin/env -S node --quiet\n"},
			want: fatal("it runs with node, which is not here", "install Node.js, or put node on PATH")},
		"a script with its interpreter": {command: []string{"other"}, files: files{"/opt/other": "#!/usr/bin/env X=1 node\n", "/bin/node": "x"}, want: none},
		"a script with a fixed interpreter": {command: []string{"other"}, files: files{"/opt/other": "#!/opt/nobody\n"},
			want: fatal("it runs with /opt/nobody, which is not here", "install /opt/nobody")},
		"a program": {command: []string{"other"}, files: files{"/opt/other": "\x7fELF"}, want: none},
	} {
		t.Run(name, func(t *testing.T) {
			got := look(t, tc.command, tc.env, tc.files, tc.change)
			if diff := cmp.Diff(Report{SignIn: tc.signIn, Troubles: tc.want}, got); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
		})
	}
}

func TestKnown(t *testing.T) {
	for program, want := range map[string]bool{"claude": true, "/opt/bin/codex": true, "gemini.cmd": true, "claude-helper": false, "": false, "sh": false} {
		if got := Known(program); got != want {
			t.Errorf("%q: %v", program, got)
		}
	}
}
