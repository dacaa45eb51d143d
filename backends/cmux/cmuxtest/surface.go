package cmuxtest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"
)

// start is what a surface was made with.
type start struct {
	command string // replaces the shell
	marker  string // tmux_start_command
	cwd     string
	env     map[string]string
	input   string // typed into the shell, from 0.64.24 on
}

type surface struct {
	id       string
	pane     *pane
	title    string
	custom   bool
	start    start
	hidden   int // lists that still leave it out
	life     int // counts processes, so that the end of an old one says nothing
	terminal *os.File
	tty      string // as shell integration reports it
	pid      int
	began    time.Time
	screen   screen
	cold     bool
}

// launch starts the process of a surface, or leaves it for Show.
func (s *Server) launch(sf *surface, shown bool) error {
	if s.faults.Cold && !shown {
		sf.cold = true
		return nil
	}
	sf.cold = false
	argv := []string{s.options.Shell}
	if sf.start.command != "" {
		// The terminal hands the text to a shell to be executed, as a login.
		argv = []string{"/bin/bash", "-c", "exec -l " + sf.start.command}
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = s.environment(sf)
	if info, err := os.Stat(sf.start.cwd); err == nil && info.IsDir() {
		cmd.Dir = sf.start.cwd
	} else {
		cmd.Dir = "/"
	}
	terminal, err := pty.StartWithSize(cmd, sf.size())
	if err != nil {
		return fmt.Errorf("start a surface: %w", err)
	}
	sf.terminal, sf.pid, sf.began = terminal, cmd.Process.Pid, time.Now()
	sf.screen = screen{}
	s.groups[sf.pid] = true
	life := sf.life
	s.served.Add(2)
	read := make(chan struct{})
	go func() {
		defer s.served.Done()
		defer close(read)
		buffer := make([]byte, 32<<10)
		for {
			n, err := terminal.Read(buffer)
			s.mu.Lock()
			if sf.life == life {
				sf.screen.write(buffer[:n])
			}
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	go func() {
		defer s.served.Done()
		// The exit status is nothing that cmux would tell.
		_ = cmd.Wait()
		// What it said last belongs on the screen before its end is told;
		// whoever still holds the terminal may do so for ever.
		select {
		case <-read:
		case <-time.After(time.Second):
		}
		s.exited(sf, life, cmd.Process.Pid)
		terminal.Close()
		<-read
	}()
	if sf.start.input != "" {
		// What does not fit is lost, as in the real program.
		_, _ = terminal.WriteString(sf.start.input)
	}
	return nil
}

// exited follows the end of a process.
func (s *Server) exited(sf *surface, life, pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.groups, pid)
	if sf.life != life || s.closed {
		return
	}
	sf.life++
	sf.pid = 0
	lived := time.Since(sf.began)
	if s.faults.KeepOnExit {
		return
	}
	if lived <= s.abnormal() {
		sf.screen.write([]byte("\nthe process ended at once\n"))
		return
	}
	s.vanish(sf)
}

// vanish takes a surface off the screen, late if so switched.
func (s *Server) vanish(sf *surface) {
	if delay := s.faults.ExitDelay; delay > 0 {
		s.served.Add(1)
		time.AfterFunc(delay, func() {
			defer s.served.Done()
			s.mu.Lock()
			defer s.mu.Unlock()
			s.vanishNow(sf)
		})
		return
	}
	s.vanishNow(sf)
}

func (s *Server) vanishNow(sf *surface) {
	if !slices.Contains(sf.pane.surfaces, sf) {
		return
	}
	ws := sf.pane.ws
	if len(ws.surfaces()) == 1 && len(ws.window.workspaces) == 1 && !s.version.atLeast(0, 64, 18) && !s.closed {
		// Older versions give the last workspace of a window a fresh shell.
		sf.id, sf.start = newID(), start{cwd: sf.start.cwd}
		if err := s.launch(sf, true); err == nil {
			return
		}
	}
	s.remove(sf)
}

// hangUp ends the process of a surface as closing its terminal does: whoever
// left the session or ignores the signal lives on.
func (sf *surface) hangUp() {
	if sf.terminal == nil || sf.pid == 0 {
		return
	}
	// The group may have ended by itself.
	_ = syscall.Kill(-sf.pid, syscall.SIGHUP)
	sf.terminal.Close()
	sf.pid = 0
}

// killGroups ends what is left of the processes that this server started.
func (s *Server) killGroups() {
	for pid := range s.groups {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
}

func (sf *surface) size() *pty.Winsize {
	f := sf.pane.node.frame
	return &pty.Winsize{Cols: uint16(max(f.w/cellWidth, 1)), Rows: uint16(max(f.h/cellHeight, 1))}
}

func (sf *surface) resize() {
	if sf.terminal != nil && sf.pid != 0 {
		// A terminal that was just closed has no size.
		_ = pty.Setsize(sf.terminal, sf.size())
	}
}

// environment is what cmux gives a process. What it sets itself wins over what
// a request asks for.
func (s *Server) environment(sf *surface) []string {
	env := map[string]string{}
	for _, kv := range s.appEnv() {
		k, v, _ := strings.Cut(kv, "=")
		env[k] = v
	}
	for _, k := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_MODEL", "ANTHROPIC_SMALL_FAST_MODEL", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"} {
		if _, ok := env[k]; ok {
			env[k] = ""
		}
	}
	maps.Copy(env, sf.start.env)
	env["PATH"] = filepath.Join(s.dir, "bin") + ":" + env["PATH"]
	maps.Copy(env, map[string]string{
		"CMUX_WORKSPACE_ID":     sf.pane.ws.id,
		"CMUX_SURFACE_ID":       sf.id,
		"CMUX_PANEL_ID":         sf.id,
		"CMUX_TAB_ID":           sf.pane.ws.id,
		"CMUX_SOCKET_PATH":      s.socket,
		"CMUX_SOCKET":           "",
		"CMUX_BUNDLED_CLI_PATH": s.Command(),
		"CMUX_BUNDLE_ID":        bundleID,
		"__CFBundleIdentifier":  bundleID,
		"CMUX_PORT":             "9100",
		"TERM":                  "xterm-256color",
		"TERM_PROGRAM":          "ghostty",
		"COLORTERM":             "truecolor",
	})
	if s.version.atLeast(0, 64, 20) {
		env["CMUX_SOCKET_CAPABILITY"] = s.capability()
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(env)) {
		out = append(out, k+"="+env[k])
	}
	return out
}

const bundleID = "com.cmuxterm.app"

func (s *Server) appEnv() []string {
	if s.options.Env != nil {
		return s.options.Env
	}
	var out []string
	for _, k := range []string{"PATH", "HOME", "LANG", "GORACE"} {
		if v, ok := os.LookupEnv(k); ok {
			out = append(out, k+"="+v)
		}
	}
	return out
}

// capability mints a token.
func (s *Server) capability() string {
	nonce := hex.EncodeToString(random(8))
	return "v1." + nonce + "." + s.sign(nonce)
}

func (s *Server) sign(nonce string) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(nonce))
	return hex.EncodeToString(mac.Sum(nil))
}

func (s *Server) capable(token string) bool {
	nonce, ok := strings.CutPrefix(token, "v1.")
	if !ok {
		return false
	}
	nonce, signature, ok := strings.Cut(nonce, ".")
	return ok && hmac.Equal([]byte(signature), []byte(s.sign(nonce)))
}

// screen keeps the last lines that a process wrote.
type screen struct {
	lines   []string
	current []byte
	escape  bool
}

const keptLines = 10000

func (c *screen) write(data []byte) {
	for _, b := range data {
		switch {
		case c.escape:
			c.escape = !(b >= '@' && b <= '~' && b != '[')
		case b == 0x1b:
			c.escape = true
		case b == '\n':
			c.lines = append(c.lines, string(c.current))
			c.current = c.current[:0]
			if len(c.lines) > keptLines {
				c.lines = c.lines[len(c.lines)-keptLines:]
			}
		case b == '\r':
		default:
			c.current = append(c.current, b)
		}
	}
}

func (c *screen) text(lines int) string {
	all := append(append([]string(nil), c.lines...), string(c.current))
	if lines > 0 && len(all) > lines {
		all = all[len(all)-lines:]
	}
	return strings.Join(all, "\n")
}
