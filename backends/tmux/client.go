package tmux

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// client runs the tmux program against one server.
type client struct {
	tmux    string   // path of the program
	socket  string   // absolute path of the server's socket
	environ []string // without TMUX and TMUX_PANE
	timeout time.Duration
}

// What a failed call says about the server. Everything else is a command that
// the server refused.
var (
	// errNoServer: nothing listens on the socket. The server may live all the
	// same, if somebody removed its socket.
	errNoServer = errors.New("no tmux server answers on this socket")
	// errTimeout: no answer within the deadline. What was asked may have been
	// done.
	errTimeout = errors.New("tmux did not answer in time")
)

// callError is a client call that went wrong, with what tmux said.
type callError struct {
	what string // the first command, for people
	text string // standard error of the client
	err  error
}

func (e *callError) Error() string {
	s := "tmux " + e.what + ": "
	if e.text != "" {
		return s + e.text
	}
	return s + e.err.Error()
}

func (e *callError) Unwrap() error { return e.err }

// both joins two errors in one line; either may be nil.
func both(a, b error) error {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return fmt.Errorf("%w; %w", a, b)
}

// patience is the deadline of a call that makes or closes n panes: each may
// run a slow hook of the user's.
func (c client) patience(n int) time.Duration {
	return c.timeout + time.Duration(n)*c.timeout/4
}

// run makes one client call of the commands and returns what they printed.
// Output may be returned along with an error: a user's hook that fails makes
// the call fail, although all was done.
func (c client) run(ctx context.Context, timeout time.Duration, cmds ...command) (string, error) {
	return c.exec(ctx, timeout, nil, cmds...)
}

func (c client) exec(ctx context.Context, timeout time.Duration, global []string, cmds ...command) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// -u, or a client in a plain locale prints tabs and all that is not ASCII
	// as underscores.
	args := append([]string{"-u", "-S", c.socket}, global...)
	p := exec.CommandContext(ctx, c.tmux, append(args, chain(cmds)...)...)
	p.Env = c.environ
	p.Dir = "/" // a server started here must not keep a folder busy
	// A server that hangs may hold our pipes beyond the client's death.
	p.WaitDelay = 200 * time.Millisecond
	var stdout, stderr bytes.Buffer
	p.Stdout, p.Stderr = &stdout, &stderr
	err := p.Run()
	if errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil {
		err = nil // the client ended well
	}
	text := strings.TrimSpace(stderr.String())
	if err == nil && text == "" {
		return stdout.String(), nil
	}
	if err == nil && strings.Contains(text, "access not allowed") { // said with exit code 0
		err = errors.New(text)
	}
	if err == nil {
		return stdout.String(), nil
	}
	switch {
	case ctx.Err() != nil:
		err = errTimeout
	case strings.Contains(text, "no server running on"),
		strings.Contains(text, "error connecting to") &&
			(strings.Contains(text, "No such file") || strings.Contains(text, "Connection refused")),
		strings.Contains(text, "server exited unexpectedly"), strings.Contains(text, "lost server"):
		err = errNoServer
	}
	return stdout.String(), &callError{what: longName(cmds[0][0]), text: text, err: err}
}

// server is the identity of a tmux server: pane ids mean something only
// together with it.
type server struct {
	pid     int
	start   string // seconds since the epoch, as tmux reports it
	version string
}

// pane is one pane as the server lists it.
type pane struct {
	id, window, session string
	pid                 int // of its first process, also after that has ended
	dead                bool
	active              bool
	width, height       int
	left, top           int
	windowW, windowH    int
	zoomed              bool
	borders             bool   // its window draws border lines with labels
	tag                 string // as a format shows it: may be inherited
}

// snapshot is everything that one query says.
type snapshot struct {
	server server
	panes  []pane
	byID   map[string]*pane
}

func (s *snapshot) pane(id string) *pane {
	if s == nil {
		return nil
	}
	return s.byID[id]
}

// inWindow returns the panes of a window in tmux's order.
func (s *snapshot) inWindow(window string) []pane {
	var out []pane
	for _, p := range s.panes {
		if p.window == window {
			out = append(out, p)
		}
	}
	return out
}

// Marks at the beginning of the lines that we ask for. A user's hook may print
// lines of its own into our output.
const (
	markServer = "okstra-server"
	markPane   = "okstra-pane"
	markMade   = "okstra-made"
	markOption = "okstra-option"
)

const serverFormat = markServer + "\t#{pid}\t#{start_time}\t#{version}"

const paneFormat = markPane + "\t#{pane_id}\t#{window_id}\t#{session_id}\t#{pane_pid}\t#{pane_dead}\t#{pane_active}" +
	"\t#{pane_width}\t#{pane_height}\t#{pane_left}\t#{pane_top}\t#{window_width}\t#{window_height}" +
	"\t#{window_zoomed_flag}\t#{pane-border-status}\t#{" + optionTag + "}"

// query asks for the server's identity and all of its panes, in one call that
// may do other things first. An error means that nothing is known.
func (c client) query(ctx context.Context, before ...command) (*snapshot, string, error) {
	cmds := append(before[:len(before):len(before)],
		cmd("display-message", "-p", serverFormat), cmd("list-panes", "-a", "-F", paneFormat))
	out, err := c.run(ctx, c.timeout, cmds...)
	s, ok := parseSnapshot(out)
	if ok && err != nil && len(s.panes) == 0 && !strings.Contains(err.Error(), "no current target") {
		ok = false // the list itself failed, for a reason that we do not know
	}
	if !ok {
		if err == nil {
			err = &callError{what: "list-panes", err: fmt.Errorf("the answer names no server: %q", out)}
		}
		return nil, out, err
	}
	return s, out, nil
}
