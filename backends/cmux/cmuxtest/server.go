// Package cmuxtest is a cmux without a window: a server that speaks cmux's
// control protocol and behaves as the program was measured to behave, its
// faults included. Its surfaces run real child processes on terminals of their
// own, with the environment that cmux gives them.
//
// It owns the protocol, the model of windows, workspaces, panes and surfaces
// with their frames, and a cmux command (see Main). It draws nothing, keeps a
// screen as plain lines, and sends no events beyond the first.
package cmuxtest

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Options say which cmux to be.
type Options struct {
	// Version is the application's version. Default 0.64.25.
	Version string
	// Mode is the access mode: cmuxOnly (default), automation, password, allowAll.
	Mode string
	// Password is asked for in the mode password.
	Password string
	// Shell runs in a surface without a command. Default /bin/sh.
	Shell string
	// Env is the application's own environment; default PATH, HOME, LANG and
	// GORACE of this process.
	Env []string
	// Width and Height are the size of a workspace in points. Default 2320 by 1382.
	Width, Height float64
	// Faults are switched on from the beginning.
	Faults Faults
}

// Cell sizes in points.
const (
	cellWidth  = 7.5
	cellHeight = 15.0
)

// Server is one running application.
type Server struct {
	options  Options
	dir      string
	socket   string
	listener net.Listener
	served   sync.WaitGroup // connections and children
	version  version
	methods  map[string]method

	mu       sync.Mutex
	faults   Faults
	closed   bool
	conns    map[net.Conn]bool
	boot     string
	key      []byte // signs capabilities
	refs     map[string]string
	counts   map[string]int
	windows  []*window
	leads    []*surface
	requests []Request
	groups   map[int]bool // process groups that were started and not seen to end
	notices  []map[string]any
}

// Request is one request that the server read.
type Request struct {
	Method string // or the first word of a line of the older protocol
	Params map[string]any
	Line   string // of the older protocol
}

// New starts a server with one window, one workspace and one surface in it, the
// lead. The caller closes it.
func New(o Options) (*Server, error) {
	if o.Version == "" {
		o.Version = "0.64.25"
	}
	if o.Mode == "" {
		o.Mode = "cmuxOnly"
	}
	if o.Shell == "" {
		o.Shell = "/bin/sh"
	}
	if o.Width == 0 {
		o.Width, o.Height = 2320, 1382
	}
	v, err := parseVersion(o.Version)
	if err != nil {
		return nil, err
	}
	// A socket's path has to be short.
	dir, err := os.MkdirTemp("/tmp", "cmuxtest-")
	if err != nil {
		return nil, fmt.Errorf("make the folder of the server: %w", err)
	}
	s := &Server{
		options: o,
		version: v,
		methods: newMethods(),
		dir:     dir,
		socket:  filepath.Join(dir, "cmux.sock"),
		faults:  o.Faults,
		conns:   map[net.Conn]bool{},
		refs:    map[string]string{},
		counts:  map[string]int{},
		groups:  map[int]bool{},
		key:     random(32),
		boot:    newID(),
	}
	if err := s.begin(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) begin() error {
	if err := s.installCommand(); err != nil {
		return err
	}
	listener, err := net.Listen("unix", s.socket)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	s.listener = listener
	if err := os.Chmod(s.socket, 0o600); err != nil {
		return fmt.Errorf("protect the socket: %w", err)
	}
	s.mu.Lock()
	err = s.populate()
	s.mu.Unlock()
	if err != nil {
		return err
	}
	s.served.Add(1)
	go s.accept(listener)
	return nil
}

// populate makes the first window.
func (s *Server) populate() error {
	w := &window{id: newID()}
	s.windows = append(s.windows, w)
	ws := s.addWorkspace(w, "lead")
	lead := s.addSurface(ws.focused, start{cwd: s.dir})
	lead.hidden = 0
	s.leads = append(s.leads, lead)
	return s.launch(lead, true)
}

// Close ends the application: all surfaces with their processes, and the
// socket.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	for c := range s.conns {
		c.Close()
	}
	for _, sf := range s.surfaces() {
		sf.hangUp()
	}
	s.killGroups()
	s.mu.Unlock()
	if s.listener != nil {
		s.listener.Close()
	}
	done := make(chan struct{})
	go func() { s.served.Wait(); close(done) }()
	var stuck error
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		stuck = errors.New("cmuxtest: a child or a connection did not end")
	}
	return errors.Join(stuck, os.RemoveAll(s.dir))
}

// Socket is the path of the control socket.
func (s *Server) Socket() string { return s.socket }

// Dir is a folder of the server, of this process only.
func (s *Server) Dir() string { return s.dir }

// Command is the path of the cmux command.
func (s *Server) Command() string { return filepath.Join(s.dir, "bin", "cmux") }

// Requests returns what was read so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Notifications returns the notifications that were made.
func (s *Server) Notifications() []map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]map[string]any(nil), s.notices...)
}

// Set changes the faults while the server runs.
func (s *Server) Set(change func(*Faults)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.faults)
}

// Restart is an update of the application: every process ends, and every
// surface comes back with a fresh shell and new ids. keep leaves the ids of the
// surfaces, as newer versions do.
func (s *Server) Restart(keep bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.Close()
	}
	s.boot = newID()
	s.refs, s.counts = map[string]string{}, map[string]int{}
	for _, w := range s.windows {
		w.id = newID()
		for _, ws := range w.workspaces {
			ws.id = newID()
			for _, p := range ws.panes() {
				p.id = newID()
				for _, sf := range p.surfaces {
					sf.hangUp()
					sf.life++
					if !keep {
						sf.id = newID()
					}
					sf.start = start{cwd: sf.start.cwd}
					if err := s.launch(sf, true); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b)
	return b
}

// newID makes a UUID in the form of cmux.
func newID() string {
	h := strings.ToUpper(hex.EncodeToString(random(16)))
	return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-A" + h[17:20] + "-" + h[20:]
}

// version is a release as numbers.
type version [3]int

func parseVersion(s string) (version, error) {
	var v version
	if _, err := fmt.Sscanf(s, "%d.%d.%d", &v[0], &v[1], &v[2]); err != nil {
		return v, fmt.Errorf("version %q: %w", s, err)
	}
	return v, nil
}

func (v version) atLeast(major, minor, patch int) bool {
	o := version{major, minor, patch}
	for i := range v {
		if v[i] != o[i] {
			return v[i] > o[i]
		}
	}
	return true
}
