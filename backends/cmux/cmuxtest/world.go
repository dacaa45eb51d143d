package cmuxtest

import (
	"slices"
	"strings"
)

// Surface is a surface as a test sees it, without going through the protocol.
type Surface struct {
	ID, Pane, Workspace string
	Title               string
	Command, Marker     string
	PID                 int // of its process; 0 when there is none
	Columns, Rows       int
	X, Y                float64
	Focused             bool
}

// Surfaces lists all surfaces, the lead's first as long as it is there.
func (s *Server) Surfaces() []Surface {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Surface
	for _, sf := range s.surfaces() {
		f := sf.pane.node.frame
		out = append(out, Surface{
			ID: sf.id, Pane: sf.pane.id, Workspace: sf.pane.ws.id, Title: sf.title,
			Command: sf.start.command, Marker: sf.start.marker, PID: sf.pid,
			Columns: int(f.w / cellWidth), Rows: int(f.h / cellHeight), X: f.x, Y: f.y,
			Focused: sf.pane == sf.pane.ws.focused,
		})
	}
	return out
}

// Lead is the surface that the server began with.
func (s *Server) Lead() Surface {
	s.mu.Lock()
	id := s.leads[0].id
	s.mu.Unlock()
	for _, sf := range s.Surfaces() {
		if sf.ID == id {
			return sf
		}
	}
	return Surface{}
}

// LeadEnv is the environment of a process in the lead's surface.
func (s *Server) LeadEnv() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.environment(s.leads[0])
}

// StrippedEnv is what a wrapper of an agent leaves of it when it cannot reach
// the socket.
func (s *Server) StrippedEnv() []string {
	return slices.DeleteFunc(s.LeadEnv(), func(kv string) bool {
		return strings.HasPrefix(kv, "CMUX_")
	})
}

// Getenv looks up variables of an environment.
func Getenv(env []string) func(string) string {
	values := map[string]string{}
	for _, kv := range env {
		k, v, _ := strings.Cut(kv, "=")
		values[k] = v
	}
	return func(name string) string { return values[name] }
}

// AddWorkspace makes another workspace in the window, or in a new window, with
// a shell in it, as a user would.
func (s *Server) AddWorkspace(title string, newWindow bool) (Surface, error) {
	s.mu.Lock()
	w := s.windows[0]
	if newWindow {
		w = &window{id: newID()}
		s.windows = append(s.windows, w)
	}
	ws := s.addWorkspace(w, title)
	sf := s.addSurface(ws.focused, start{cwd: s.dir})
	err := s.launch(sf, true)
	id := sf.id
	s.mu.Unlock()
	return s.find(id), err
}

// Split splits a surface with a shell, as a user would, and focuses it.
func (s *Server) Split(surface, direction string) (Surface, error) {
	s.mu.Lock()
	for _, sf := range s.surfaces() {
		if sf.id != surface {
			continue
		}
		p := s.split(sf.pane, direction, 0.5)
		made := s.addSurface(p, start{cwd: s.dir})
		p.ws.focused = p
		err := s.launch(made, true)
		s.mu.Unlock()
		return s.find(made.id), err
	}
	s.mu.Unlock()
	return Surface{}, notFound("Surface")
}

// Move puts a surface into another workspace, as a user would.
func (s *Server) Move(surface, workspace string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, f := s.surfaceMove(map[string]any{"surface_id": surface, "workspace_id": workspace}); f != nil {
		return f
	}
	return nil
}

// Respawn gives a surface another process, as a user would.
func (s *Server) Respawn(surface, command string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, f := s.surfaceRespawn(map[string]any{"surface_id": surface, "command": command}); f != nil {
		return f
	}
	return nil
}

// Hide leaves a surface out of the next lists.
func (s *Server) Hide(surface string, lists int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sf := range s.surfaces() {
		if sf.id == surface {
			sf.hidden = lists
		}
	}
}

// Show draws a cold surface, which starts its process.
func (s *Server) Show(surface string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sf := range s.surfaces() {
		if sf.id == surface && sf.cold {
			return s.launch(sf, true)
		}
	}
	return nil
}

// ReportTTY tells the server the terminal of a surface, as shell integration
// does.
func (s *Server) ReportTTY(surface, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sf := range s.surfaces() {
		if sf.id == surface {
			sf.tty = name
		}
	}
}

// Sidebar returns the status entries, the progress and the log of the lead's
// workspace.
func (s *Server) Sidebar() (status map[string]string, progress string, log []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ws := s.leads[0].pane.ws
	status = map[string]string{}
	for k, v := range ws.status {
		status[k] = v
	}
	return status, ws.progress, append([]string(nil), ws.log...)
}

func (s *Server) find(id string) Surface {
	for _, sf := range s.Surfaces() {
		if sf.ID == id {
			return sf
		}
	}
	return Surface{}
}
