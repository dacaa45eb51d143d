// Package cmux shows workers in panes of the cmux terminal. It speaks cmux's
// control socket itself, splits the workspace of the lead, and finds, shows and
// closes the surfaces that it made. It knows no worker and no run: a surface is
// okstra's when cmux lists it with the marker of the recorded tag.
//
// cmux tells nothing of how a process ended and keeps no screen of its own, so
// this backend is asked only whether a surface is there. Nothing is ever typed
// into one.
package cmux

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/okstra/okstra/backends"
)

// Name is the backend's name in definitions and records.
const Name = "cmux"

// Options are what the backend takes from the process that it lives in. Every
// field has a default, but for Getenv.
type Options struct {
	// Getenv looks up a variable of the caller's environment.
	Getenv func(name string) string
	// ProjectRoot becomes the working directory that cmux shows for a surface.
	// The supervisor changes directory itself.
	ProjectRoot string
	// Dir is a folder (0700) for launch scripts and the lock that keeps two
	// okstras from changing one cmux at once. Its path may hold no character
	// that means something to a shell.
	Dir string
	// Program is the cmux command; default: the bundled one that cmux names in
	// the environment, the one on PATH, the one in /Applications.
	Program string
	// TTY is the caller's terminal device, by which cmux knows the caller when
	// the environment was stripped. Default /dev/tty.
	TTY string
	// CallTimeout bounds one request. Default backends.CallTimeout.
	CallTimeout time.Duration
	// Settle is how long a surface must be missing from every list before it is
	// called gone: lists lag behind. Default 5 s.
	Settle time.Duration
	// CloseWait is how long a closed surface may stay listed before it is closed
	// once more. Default 4 s.
	CloseWait time.Duration
	// EndWait is how long the process of a closed surface may take to end.
	// Default 10 s.
	EndWait time.Duration
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// Backend is the cmux backend. It is safe for concurrent use.
type Backend struct {
	getenv      func(string) string
	projectRoot string
	dir         string
	program     string
	tty         string
	callTimeout time.Duration
	settle      time.Duration
	closeWait   time.Duration
	endWait     time.Duration
	now         func() time.Time

	mutating chan struct{} // holds one token: one mutation at a time

	mu      sync.Mutex
	missing map[string]time.Time // when it was first not listed, zero: it was closed here
	harm    map[string]error     // by socket: a close took another surface with it
}

var (
	_ backends.Backend   = (*Backend)(nil)
	_ backends.Planner   = (*Backend)(nil)
	_ backends.Announcer = (*Backend)(nil)
)

// New returns the backend. It touches nothing.
func New(o Options) *Backend {
	b := &Backend{
		getenv:      o.Getenv,
		projectRoot: o.ProjectRoot,
		dir:         o.Dir,
		program:     o.Program,
		tty:         o.TTY,
		callTimeout: o.CallTimeout,
		settle:      o.Settle,
		closeWait:   o.CloseWait,
		endWait:     o.EndWait,
		now:         o.Now,
		mutating:    make(chan struct{}, 1),
		missing:     map[string]time.Time{},
		harm:        map[string]error{},
	}
	if b.getenv == nil {
		panic("cmux: Options.Getenv is nil")
	}
	if b.dir == "" {
		b.dir = defaultDir(b.getenv)
	}
	if b.tty == "" {
		b.tty = "/dev/tty"
	}
	if b.callTimeout == 0 {
		b.callTimeout = backends.CallTimeout
	}
	if b.settle == 0 {
		b.settle = 5 * time.Second
	}
	if b.closeWait == 0 {
		b.closeWait = 4 * time.Second
	}
	if b.endWait == 0 {
		b.endWait = 10 * time.Second
	}
	if b.now == nil {
		b.now = time.Now
	}
	return b
}

// Name implements backends.Backend.
func (b *Backend) Name() string { return Name }

// bundledProgram is where an ordinary installation keeps the command.
const bundledProgram = "/Applications/cmux.app/Contents/Resources/bin/cmux"

// findProgram returns the path of the cmux command, or "".
func (b *Backend) findProgram() string {
	if b.program != "" {
		return b.program
	}
	if p := b.getenv("CMUX_BUNDLED_CLI_PATH"); filepath.IsAbs(p) && executable(p) {
		return p
	}
	for _, dir := range filepath.SplitList(b.getenv("PATH")) {
		if p := filepath.Join(dir, "cmux"); filepath.IsAbs(p) && executable(p) {
			return p
		}
	}
	if executable(bundledProgram) {
		return bundledProgram
	}
	return ""
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&fs.FileMode(0o111) != 0
}

// command prepares a call of the cmux program with the caller's environment as
// this backend sees it.
func (b *Backend) command(cmd *exec.Cmd, socket string) *exec.Cmd {
	for _, name := range []string{"HOME", "PATH", "TMPDIR", "LANG", "CMUX_SOCKET_CAPABILITY", "CMUX_SOCKET_PASSWORD", "CMUX_WORKSPACE_ID", "CMUX_SURFACE_ID"} {
		if v := b.getenv(name); v != "" {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	cmd.Env = append(cmd.Env, "CMUX_QUIET=1")
	if socket != "" {
		cmd.Env = append(cmd.Env, "CMUX_SOCKET_PATH="+socket)
	}
	cmd.WaitDelay = time.Second
	return cmd
}
