package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/okstra/okstra/cmd/okstra/view"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/durable"
)

func doctorCommand() *command {
	return &command{
		name:  "doctor",
		group: groupOkstra,
		short: "show what works here, and what to do about what does not",
		long: `Looks at the backends and the version of each, at the worker CLIs of the catalog, or of the definition where there is one: their versions, whether they can run as this user, and whether they are signed in, as far as the environment and their own files tell; at git, at file locks under the project root, and at the terminal. Where there is a definition, the CLIs that no run of it uses are listed apart. Each finding says what to do about it.

It starts no worker. To prove that file locks exclude, it makes a temporary folder under the project root and removes it. The exit code is 1 only where okstra cannot work at all.

--probe also gives every CLI that was found one tiny job, the way a run would, in a project of its own that is removed after: what its files promise is then proven. It asks each CLI's model once, which is charged as any other call. The exit code is 3 where a job was not completed.`,
		example: `okstra doctor
okstra doctor --probe
okstra doctor --json`,
		bind: func(fs *pflag.FlagSet) run {
			probe := fs.Bool("probe", false, "give each worker CLI one tiny job")
			return func(ctx context.Context, s *session, _ []string) error { return s.doctor(ctx, *probe) }
		},
	}
}

func (s *session) doctor(ctx context.Context, probe bool) error {
	root, err := s.projectRoot()
	if err != nil {
		return err
	}
	var found []view.Finding
	found = append(found, s.backendFindings(ctx, root)...)
	workers, unproven, err := s.workerFindings(ctx, root, probe)
	if err != nil {
		return err
	}
	found = append(found, workers...)
	found = append(found, s.gitFinding(ctx, root), lockFinding(root), s.terminalFinding())

	problems, attention := 0, 0
	for _, f := range found {
		switch f.State {
		case view.StateProblem:
			problems++
		case view.StateAttention:
			attention++
		}
	}
	summary := "okstra works here."
	switch {
	case problems > 0:
		summary = fmt.Sprintf("okstra cannot work here: %d to mend.", problems)
	case attention == 1:
		summary = "okstra works here; 1 thing needs attention."
	case attention > 1:
		summary = fmt.Sprintf("okstra works here; %d things need attention.", attention)
	}
	if err := s.view.Doctor(found, summary); err != nil {
		return err
	}
	switch {
	case problems > 0:
		return exit(ExitError)
	case unproven:
		return exit(ExitUnmet)
	}
	return nil
}

// backendOrder is the order of preference where a definition does not say.
var backendOrder = []string{"cmux", "tmux", "process"}

func (s *session) backendFindings(ctx context.Context, root string) []view.Finding {
	all := s.env.Backends(s.env, root)
	var out []view.Finding
	usable := false
	for _, name := range backendOrder {
		b, ok := all[name]
		if !ok {
			continue
		}
		p := b.Probe(ctx)
		f := view.Finding{Area: "backend", Name: name, State: view.StateOK, Found: p.Found, Do: p.Hint}
		if !p.Available {
			f.State = view.StateAbsent
		}
		usable = usable || p.Available
		out = append(out, f)
	}
	if !usable {
		for i := range out {
			out[i].State = view.StateProblem
		}
	}
	return out
}

func (s *session) gitFinding(ctx context.Context, root string) view.Finding {
	f := view.Finding{Area: "git", Name: "git", State: view.StateOK}
	version, err := versionOf(ctx, s.env, root, []string{"git", "--version"})
	switch {
	case err != nil:
		f.State, f.Found = view.StateAttention, err.Error()
		f.Do = "install git: without it git.head is null, and read-only work is not checked"
	case !insideGit(root):
		f.State, f.Found = view.StateAttention, version+", but "+root+" is in no repository"
		f.Do = "run git init: without a repository read-only work is not checked"
	default:
		f.Found = version
	}
	return f
}

// lockFinding proves locks where the records would be, or are.
func lockFinding(root string) view.Finding {
	f := view.Finding{Area: "files", Name: "locks", State: view.StateOK, Found: "locks under " + root + " exclude"}
	parent := root
	if info, err := os.Stat(paths.Home(root)); err == nil && info.IsDir() {
		parent = paths.Home(root)
	}
	dir, err := os.MkdirTemp(parent, ".okstra-doctor-")
	if err == nil {
		err = durable.ProveLocks(dir)
		if gone := os.RemoveAll(dir); err == nil {
			err = gone
		}
	}
	if err != nil {
		f.State, f.Found = view.StateProblem, err.Error()
		f.Do = "use a project root on a local file system that you may write to"
	}
	return f
}

func (s *session) terminalFinding() view.Finding {
	f := view.Finding{Area: "terminal", Name: "terminal", State: view.StateAbsent, Found: "standard output is no terminal"}
	if file, ok := s.env.Stdout.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		columns, rows, err := term.GetSize(int(file.Fd()))
		if err != nil {
			f.Found = err.Error()
			return f
		}
		f.State, f.Found = view.StateOK, fmt.Sprintf("%d columns, %d rows, TERM=%s", columns, rows, s.env.getenv("TERM"))
		if columns < 100 {
			f.Do = "panes beside the lead need about 100 columns; narrower, workers get a window of their own"
		}
	}
	return f
}

// display shortens a path below the working directory.
func (s *session) display(path string) string {
	if r, err := filepath.Rel(s.globals.dir, path); err == nil && filepath.IsLocal(r) {
		return r
	}
	return path
}
