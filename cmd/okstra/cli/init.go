package cli

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"text/template"

	"github.com/spf13/pflag"

	"github.com/okstra/okstra/cmd/okstra/view"
	"github.com/okstra/okstra/lang"
	"github.com/okstra/okstra/runtime/durable"
)

//go:embed init.hcl.tmpl
var initTemplate string

func initCommand() *command {
	return &command{
		name:  "init",
		group: groupWrite,
		short: "write a commented definition that fits this machine",
		long:  `Writes okstra.hcl (or the file that -f names) for the worker CLIs found on PATH: with two or more, a review by two of them and a report; with one, a review and a report by it; with none, the same with small scripts in their place, which runs as it stands. An existing definition is never overwritten.`,
		example: `okstra init
okstra init -f team.hcl`,
		bind: func(*pflag.FlagSet) run {
			return func(_ context.Context, s *session, _ []string) error { return s.initialize() }
		},
	}
}

func (s *session) initialize() error {
	target := filepath.Join(s.globals.dir, "okstra.hcl")
	if s.globals.file != "" {
		target = s.absolute(s.globals.file)
		if filepath.Ext(target) != ".hcl" {
			return usage(initCommand(), "init writes an .hcl file, not %s", s.globals.file)
		}
	} else {
		if found := lang.Conventional(s.source(nil).Fs, s.globals.dir); len(found) > 0 {
			return fmt.Errorf("there is a definition already: %s", s.display(filepath.Join(s.globals.dir, found[0])))
		}
	}
	clis, err := catalogCLIs()
	if err != nil {
		return err
	}
	var found []string
	for _, c := range clis {
		if lookProgram(s.env, c.command[0]).Problem == "" {
			found = append(found, c.provider)
		}
	}
	text, err := initDefinition(found)
	if err != nil {
		return err
	}
	if err := durable.CreateExclusive(target, text, 0o666&^umask()); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("there is a definition already: %s", s.display(target))
		}
		return fmt.Errorf("init: %w", err)
	}
	return s.view.Written(s.display(target), found, view.ShellQuote(append([]string{"okstra", "plan", "review"}, s.place()...)))
}

// umask is the mode bits that new files of this process are without. It can
// only be read by setting it; what is made meanwhile is nobody else's.
func umask() fs.FileMode {
	old := syscall.Umask(0o077)
	syscall.Umask(old)
	return fs.FileMode(old)
}

// initDefinition writes the definition for these providers.
func initDefinition(providers []string) ([]byte, error) {
	t, err := template.New("init").Delims("[[", "]]").Parse(initTemplate)
	if err != nil {
		return nil, err
	}
	data := struct {
		First, Second string
		Found         bool
	}{First: "provider.script", Second: "provider.script", Found: len(providers) > 0}
	if data.Found {
		data.First = "provider." + providers[0]
		data.Second = "provider." + providers[min(1, len(providers)-1)]
	}
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
