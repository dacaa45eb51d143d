// Package tmux is the backend that shows workers in tmux panes. It makes,
// sizes, labels, finds and closes panes of okstra's own, beside the lead, in
// windows of the lead's session, or on a private server; it touches nothing
// that it cannot prove to be okstra's. It never types into a pane and never
// judges a worker: tmux is asked whether a pane is there, and no more.
//
// Identity of a pane is the server (socket, pid, start time), the pane id, and
// a tag in an option of the pane. Ids of a server are never reused, but they
// begin anew with every server.
package tmux

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/backends/internal/ident"
	"github.com/okstra/okstra/backends/tmux/layout"
)

// Name of the backend.
const Name = "tmux"

// Placements of a policy.
const (
	placeBeside  = "beside-lead"
	placeWindow  = "window"
	placeSession = "session"
)

// Options of okstra's panes. They are set on the pane alone.
const (
	optionTag    = "@okstra-tag"
	optionLabel  = "@okstra-label"
	optionBefore = "@okstra-before" // the window's layout before the first worker came
	optionAfter  = "@okstra-after"  // the window's layout after our last change
)

// oldest is the first release whose pane options and formats suffice.
var oldest = semver.MustParse("3.2.0")

// Options of New. Production sets ProjectRoot; the rest has defaults.
type Options struct {
	ProjectRoot string   // the private server is one per project
	Environ     []string // nil: this process's; TMUX and TMUX_PANE are read from it
	Tmux        string   // the tmux program; empty: from PATH of Environ
	// Folder holds private sockets and locks; empty: okstra-UID in the
	// system's folder for sockets. Its path must be short.
	Folder       string
	CallTimeout  time.Duration // of one client call; 0: backends.CallTimeout
	CloseTimeout time.Duration // how long Close waits for a closed pane's process; 0: 30 s
	Size         layout.Size   // of a private server's windows; zero: 200x50
	Ancestors    []int         // pids above the lead, nearest first; nil: of this process
}

// Backend implements backends.Backend, Planner, Attacher and Sweeper.
type Backend struct {
	root         string
	environ      []string
	tmux         string
	tmuxErr      error
	folder       string
	callTimeout  time.Duration
	closeTimeout time.Duration
	size         layout.Size
	ancestors    []int
}

var (
	_ backends.Backend  = (*Backend)(nil)
	_ backends.Planner  = (*Backend)(nil)
	_ backends.Attacher = (*Backend)(nil)
	_ backends.Sweeper  = (*Backend)(nil)
)

// New returns the backend. It starts nothing and asks nothing.
func New(o Options) *Backend {
	b := &Backend{
		root: o.ProjectRoot, environ: o.Environ, tmux: o.Tmux, folder: o.Folder,
		callTimeout: o.CallTimeout, closeTimeout: o.CloseTimeout, size: o.Size, ancestors: o.Ancestors,
	}
	if b.environ == nil {
		b.environ = os.Environ()
	}
	if b.tmux == "" {
		b.tmux, b.tmuxErr = lookPath("tmux", b.getenv("PATH"))
	}
	if b.folder == "" {
		b.folder = fmt.Sprintf("/tmp/okstra-%d", os.Getuid())
	}
	if b.callTimeout == 0 {
		b.callTimeout = backends.CallTimeout
	}
	if b.closeTimeout == 0 {
		b.closeTimeout = 30 * time.Second
	}
	if b.size == (layout.Size{}) {
		b.size = layout.Size{Columns: 200, Rows: 50}
	}
	if b.ancestors == nil {
		b.ancestors = append([]int{os.Getpid()}, ident.Ancestors(os.Getpid())...)
	}
	return b
}

// Name returns "tmux".
func (b *Backend) Name() string { return Name }

// Probe looks for the program and for the server that we are in.
func (b *Backend) Probe(ctx context.Context) backends.Probe {
	const install = "install tmux 3.2 or later (apt-get install tmux, brew install tmux)"
	if b.tmuxErr != nil {
		return backends.Probe{Found: b.tmuxErr.Error(), Hint: install}
	}
	version, err := b.version(ctx)
	if err != nil {
		return backends.Probe{Found: err.Error(), Hint: install}
	}
	found := fmt.Sprintf("tmux %s at %s", version, b.tmux)
	if v := release(version); v != nil && v.LessThan(oldest) {
		return backends.Probe{Found: found, Hint: install}
	}
	w, why := b.where(ctx)
	switch {
	case w == nil && errors.Is(why, errTimeout):
		return backends.Probe{Found: found + "; " + why.Error(), Hint: "the tmux server of this terminal hangs; let it go on, or use another backend"}
	case w == nil:
		found += "; " + why.Error() + ", so workers go to a server of okstra's own"
	case w.lead == nil:
		found += "; in session " + w.session + " of " + w.client.socket + ", the lead's own pane is not known"
	default:
		found += fmt.Sprintf("; the lead is pane %s of %s", w.lead.id, w.client.socket)
	}
	if err := b.checkFolder(); err != nil {
		return backends.Probe{Found: found + "; " + err.Error(), Hint: "remove or repair " + b.folder}
	}
	return backends.Probe{Available: true, Found: found}
}

// version returns what the tmux program says of itself: "3.3a", "next-3.6".
func (b *Backend) version(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, b.callTimeout)
	defer cancel()
	p := exec.CommandContext(ctx, b.tmux, "-V")
	p.Env = b.clientEnviron()
	p.WaitDelay = time.Second
	out, err := p.CombinedOutput()
	words := strings.Fields(string(out))
	if err != nil || len(words) == 0 {
		return "", fmt.Errorf("ask %s for its version: %v: %s", b.tmux, err, strings.TrimSpace(string(out)))
	}
	return words[len(words)-1], nil
}

// release reads the number in a version; nil where there is none, which then
// has to prove itself by what it does.
func release(version string) *semver.Version {
	version = strings.TrimPrefix(version, "next-")
	v, err := semver.NewVersion(strings.TrimRight(version, "abcdefghijklmnopqrstuvwxyz-"))
	if err != nil {
		return nil
	}
	return v
}

func (b *Backend) getenv(name string) string {
	value := ""
	for _, e := range b.environ {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			value = v
		}
	}
	return value
}

// clientEnviron is the environment of tmux clients: which server is meant is
// said by -S alone.
func (b *Backend) clientEnviron() []string {
	var out []string
	for _, e := range b.environ {
		if !strings.HasPrefix(e, "TMUX=") && !strings.HasPrefix(e, "TMUX_PANE=") {
			out = append(out, e)
		}
	}
	return out
}

func (b *Backend) client(socket string) client {
	return client{tmux: b.tmux, socket: socket, environ: b.clientEnviron(), timeout: b.callTimeout}
}

func lookPath(name, path string) (string, error) {
	for _, dir := range strings.Split(path, ":") {
		if !strings.HasPrefix(dir, "/") {
			continue // a program found relative to here would not be found later
		}
		file := dir + "/" + name
		info, err := os.Stat(file)
		if err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", &fs.PathError{Op: "look for", Path: name, Err: errors.New("no such program on PATH")}
}
