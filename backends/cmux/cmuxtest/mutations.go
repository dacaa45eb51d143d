package cmuxtest

import (
	"encoding/base64"
	"math"
	"slices"
)

// started reads what a surface is to be made with.
func (s *Server) started(params map[string]any, cwd string) start {
	st := start{cwd: cwd}
	if !s.startsCommands() {
		return st
	}
	if dir := str(params, "working_directory"); dir != "" {
		st.cwd = dir
	}
	st.command, st.marker = str(params, "initial_command"), str(params, "tmux_start_command")
	if s.version.atLeast(0, 64, 24) {
		st.input = str(params, "initial_input")
	}
	st.env = map[string]string{}
	for _, key := range []string{"startup_environment", "initial_env"} {
		values, _ := params[key].(map[string]any)
		for k, v := range values {
			if text, ok := v.(string); ok {
				st.env[k] = text
			}
		}
	}
	return st
}

func (s *Server) surfaceSplit(params map[string]any) (any, *fault) {
	direction := str(params, "direction")
	if !slices.Contains([]string{"left", "right", "up", "down"}, direction) {
		return nil, &fault{code: "invalid_params", message: "direction must be left|right|up|down"}
	}
	target, f := s.surface(params, notFound("Surface"))
	if f != nil {
		return nil, f
	}
	if s.faults.Remote {
		out := map[string]any{"accepted": true}
		s.named(out, "workspace", target.pane.ws.id)
		return out, nil
	}
	divider := 0.5
	if d, ok := number(params, "initial_divider_position"); ok && s.startsCommands() {
		divider = math.Min(0.9, math.Max(0.1, d))
	}
	p := s.split(target.pane, direction, divider)
	return s.open(p, s.started(params, target.start.cwd), params)
}

func (s *Server) surfaceCreate(params map[string]any) (any, *fault) {
	target, f := s.surface(params, notFound("Surface"))
	if f != nil {
		return nil, f
	}
	p := target.pane
	for _, other := range p.ws.panes() {
		if s.names(str(params, "pane_id"), other.id) {
			p = other
		}
	}
	return s.open(p, s.started(params, target.start.cwd), params)
}

// open makes the surface of a pane and starts its process.
func (s *Server) open(p *pane, st start, params map[string]any) (any, *fault) {
	sf := s.addSurface(p, st)
	if focus, _ := params["focus"].(bool); focus {
		p.ws.focused = p
	}
	if err := s.launch(sf, false); err != nil {
		s.remove(sf)
		return nil, &fault{code: "internal_error", message: "Failed to create split"}
	}
	return s.where(sf), nil
}

func (s *Server) surfaceRespawn(params map[string]any) (any, *fault) {
	sf, f := s.surface(params, notFound("Surface"))
	if f != nil {
		return nil, f
	}
	sf.hangUp()
	sf.life++
	sf.start.command = str(params, "command")
	if c := str(params, "initial_command"); c != "" {
		sf.start.command = c
	}
	sf.start.marker = str(params, "tmux_start_command")
	if dir := str(params, "working_directory"); dir != "" {
		sf.start.cwd = dir
	}
	if err := s.launch(sf, true); err != nil {
		return nil, &fault{code: "internal_error", message: "Failed to respawn surface"}
	}
	return s.where(sf), nil
}

func (s *Server) surfaceClose(params map[string]any) (any, *fault) {
	sf, f := s.surface(params, notFound("Surface"))
	if f != nil {
		return nil, f
	}
	if len(sf.pane.ws.surfaces()) == 1 {
		return nil, &fault{code: "invalid_state", message: "Cannot close the last surface"}
	}
	where := s.where(sf)
	if s.faults.CloseIgnored > 0 {
		s.faults.CloseIgnored--
		return where, nil
	}
	if s.faults.CloseKillsOther && len(s.leads) > 0 && s.leads[0] != sf {
		s.end(s.leads[0])
	}
	s.end(sf)
	return where, nil
}

// end hangs a surface up and takes it away.
func (s *Server) end(sf *surface) {
	if s.faults.NoHangUp {
		sf.pid = 0
	} else {
		sf.hangUp()
	}
	sf.life++
	s.vanish(sf)
}

func (s *Server) surfaceFocus(params map[string]any) (any, *fault) {
	sf, f := s.surface(params, notFound("Surface"))
	if f != nil {
		return nil, f
	}
	sf.pane.ws.focused = sf.pane
	return s.where(sf), nil
}

// surfaceMove puts a surface into a pane of another workspace.
func (s *Server) surfaceMove(params map[string]any) (any, *fault) {
	sf, f := s.surface(map[string]any{"surface_id": str(params, "surface_id")}, notFound("Surface"))
	if f != nil {
		return nil, f
	}
	ws, f := s.workspace(map[string]any{"workspace_id": str(params, "workspace_id")})
	if f != nil {
		return nil, f
	}
	target := ws.focused
	s.remove(sf)
	sf.pane = target
	target.surfaces = append(target.surfaces, sf)
	sf.resize()
	return s.where(sf), nil
}

// notTerminal is what a wrong workspace gives when text is sent or read.
var notTerminal = &fault{code: "invalid_params", message: "Surface is not a terminal"}

func (s *Server) sendText(params map[string]any) (any, *fault) {
	sf, f := s.surface(params, notTerminal)
	if f != nil {
		return nil, f
	}
	if sf.terminal == nil || sf.pid == 0 {
		return nil, &fault{code: "process_exited", message: "terminal session has ended"}
	}
	if _, err := sf.terminal.WriteString(str(params, "text")); err != nil {
		return nil, &fault{code: "surface_unavailable", message: "not writable"}
	}
	out := s.where(sf)
	out["queued"] = false
	return out, nil
}

func (s *Server) readText(params map[string]any) (any, *fault) {
	sf, f := s.surface(params, notTerminal)
	if f != nil {
		return nil, f
	}
	if sf.cold {
		return nil, &fault{code: "internal_error", message: "Failed to read terminal text"}
	}
	lines, _ := number(params, "lines")
	text := sf.screen.text(int(lines))
	out := s.where(sf)
	out["text"], out["base64"] = text, base64.StdEncoding.EncodeToString([]byte(text))
	return out, nil
}

func (s *Server) reportTTY(params map[string]any) (any, *fault) {
	sf, f := s.surface(params, notFound("Surface"))
	if f != nil {
		return nil, f
	}
	sf.tty = str(params, "tty_name")
	return s.where(sf), nil
}

func (s *Server) tabAction(params map[string]any) (any, *fault) {
	sf, f := s.surface(params, notFound("Tab"))
	if f != nil {
		return nil, f
	}
	if str(params, "action") != "rename" {
		return nil, &fault{code: "not_supported", message: "Unknown action"}
	}
	if str(params, "title") == "" {
		return nil, &fault{code: "invalid_params", message: "Missing title"}
	}
	sf.title, sf.custom = str(params, "title"), true
	out := s.where(sf)
	out["action"], out["title"] = "rename", sf.title
	return out, nil
}

func (s *Server) workspaceList(params map[string]any) (any, *fault) {
	rows := []any{}
	if len(s.windows) > 0 { // those of the current window alone
		for i, ws := range s.windows[0].workspaces {
			rows = append(rows, map[string]any{"id": ws.id, "ref": s.ref("workspace", ws.id), "index": i, "title": ws.title, "selected": i == 0})
		}
	}
	return map[string]any{"workspaces": rows}, nil
}

func (s *Server) workspaceCreate(params map[string]any) (any, *fault) {
	if len(s.windows) == 0 {
		return nil, &fault{code: "unavailable", message: "TabManager not available"}
	}
	ws := s.addWorkspace(s.windows[0], str(params, "title"))
	cwd := str(params, "cwd")
	if cwd == "" {
		cwd = s.dir
	}
	return s.open(ws.focused, start{cwd: cwd}, nil)
}

func (s *Server) workspaceClose(params map[string]any) (any, *fault) {
	ws, f := s.workspace(params)
	if f != nil {
		return nil, f
	}
	out := map[string]any{}
	s.named(out, "workspace", ws.id)
	if len(ws.window.workspaces) == 1 && !s.version.atLeast(0, 64, 18) {
		return out, nil // answered, and nothing done
	}
	for _, sf := range ws.surfaces() {
		s.end(sf)
	}
	return out, nil
}

func (s *Server) equalizeSplits(params map[string]any) (any, *fault) {
	ws, f := s.workspace(params)
	if f != nil {
		return nil, f
	}
	orientation := str(params, "orientation")
	if orientation != "horizontal" {
		ws.root.equalize(true)
	}
	if orientation != "vertical" {
		ws.root.equalize(false)
	}
	s.layOut(ws)
	out := map[string]any{"equalized": true}
	s.named(out, "workspace", ws.id)
	return out, nil
}

func (s *Server) notify(params map[string]any) (any, *fault) {
	sf, f := s.surface(params, notFound("Surface"))
	if f != nil {
		return nil, f
	}
	s.notices = append(s.notices, params)
	return s.where(sf), nil
}
