package cli

import (
	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/backends/cmux"
	"github.com/okstra/okstra/backends/process"
	"github.com/okstra/okstra/backends/tmux"
)

// realBackends makes the backends of this machine. Making them touches nothing.
func realBackends(env Env, projectRoot string) map[string]backends.Backend {
	return map[string]backends.Backend{
		cmux.Name:    cmux.New(cmux.Options{Getenv: env.getenv, ProjectRoot: projectRoot}),
		tmux.Name:    tmux.New(tmux.Options{Environ: env.Environ, ProjectRoot: projectRoot}),
		process.Name: process.New(process.Options{Environ: env.Environ}),
	}
}
