package cmuxtest

import (
	"slices"
	"strings"
)

type method struct {
	read bool // counts against the bucket of a connection
	do   func(*Server, map[string]any) (any, *fault)
}

// newMethods lists what the server knows; it is the whole of capabilities.
func newMethods() map[string]method {
	return map[string]method{
		"system.ping":                     {do: func(*Server, map[string]any) (any, *fault) { return map[string]any{"pong": true}, nil }},
		"system.capabilities":             {do: (*Server).capabilities},
		"system.identify":                 {do: (*Server).identify},
		"system.tree":                     {read: true, do: (*Server).tree},
		"window.list":                     {read: true, do: (*Server).windowList},
		"workspace.list":                  {read: true, do: (*Server).workspaceList},
		"workspace.create":                {do: (*Server).workspaceCreate},
		"workspace.close":                 {do: (*Server).workspaceClose},
		"workspace.equalize_splits":       {do: (*Server).equalizeSplits},
		"surface.list":                    {read: true, do: (*Server).surfaceList},
		"surface.split":                   {do: (*Server).surfaceSplit},
		"surface.create":                  {do: (*Server).surfaceCreate},
		"surface.respawn":                 {do: (*Server).surfaceRespawn},
		"surface.close":                   {do: (*Server).surfaceClose},
		"surface.focus":                   {do: (*Server).surfaceFocus},
		"surface.move":                    {do: (*Server).surfaceMove},
		"surface.send_text":               {do: (*Server).sendText},
		"surface.read_text":               {read: true, do: (*Server).readText},
		"surface.report_tty":              {do: (*Server).reportTTY},
		"pane.list":                       {read: true, do: (*Server).paneList},
		"pane.surfaces":                   {read: true, do: (*Server).paneSurfaces},
		"tab.action":                      {do: (*Server).tabAction},
		"notification.create_for_surface": {do: (*Server).notify},
		"auth.login":                      {},
		"events.stream":                   {},
	}
}

func str(params map[string]any, key string) string {
	v, _ := params[key].(string)
	return v
}

func number(params map[string]any, key string) (float64, bool) {
	v, ok := params[key].(float64)
	return v, ok
}

// named puts an object's UUID and ref into a result.
func (s *Server) named(out map[string]any, kind, id string) {
	if id == "" {
		out[kind+"_id"], out[kind+"_ref"] = nil, nil
		return
	}
	out[kind+"_id"], out[kind+"_ref"] = id, s.ref(kind, id)
}

func (s *Server) where(sf *surface) map[string]any {
	out := map[string]any{"type": "terminal"}
	ws := sf.pane.ws
	s.named(out, "window", ws.window.id)
	s.named(out, "workspace", ws.id)
	s.named(out, "pane", sf.pane.id)
	s.named(out, "surface", sf.id)
	return out
}

// workspace resolves the target of a request: the workspace that is named, that
// of the surface that is named, or the selected one.
func (s *Server) workspace(params map[string]any) (*workspace, *fault) {
	given := str(params, "workspace_id")
	for _, w := range s.windows {
		if id := str(params, "window_id"); given == "" && id != "" && !s.names(id, w.id) {
			continue
		}
		for _, ws := range w.workspaces {
			if given == "" || s.names(given, ws.id) {
				return ws, nil
			}
		}
	}
	return nil, notFound("Workspace")
}

// surface resolves a surface. Without a name it is the focused one; a ref that
// the registry does not know is the focused one too, up to 0.64.20.
func (s *Server) surface(params map[string]any, missing *fault) (*surface, *fault) {
	given := str(params, "surface_id")
	if given != "" && str(params, "workspace_id") == "" {
		for _, sf := range s.surfaces() {
			if s.names(given, sf.id) {
				return sf, nil
			}
		}
		return nil, missing
	}
	ws, f := s.workspace(params)
	if f != nil {
		return nil, f
	}
	for _, sf := range ws.surfaces() {
		if given != "" && s.names(given, sf.id) {
			return sf, nil
		}
	}
	stale := strings.HasPrefix(given, "surface:") && !s.version.atLeast(0, 64, 21)
	if (given == "" || stale) && len(ws.focused.surfaces) > 0 {
		return ws.focused.surfaces[0], nil
	}
	return nil, missing
}

func (s *Server) capabilities(map[string]any) (any, *fault) {
	var names []string
	for name := range s.methods {
		names = append(names, name)
	}
	slices.Sort(names)
	return map[string]any{
		"protocol": "cmux-socket", "version": 2, "socket_path": s.socket,
		"access_mode": s.options.Mode, "methods": names,
	}, nil
}

func (s *Server) identify(params map[string]any) (any, *fault) {
	out := map[string]any{
		"socket_path": s.socket, "bundle_identifier": bundleID, "app_cli_path": s.Command(),
		"caller": nil, "focused": nil,
	}
	if len(s.windows) > 0 {
		ws := s.windows[0].workspaces[0]
		out["focused"] = s.where(ws.focused.surfaces[0])
	}
	if s.faults.CallerNull {
		return out, nil
	}
	caller, _ := params["caller"].(map[string]any)
	for _, sf := range s.surfaces() {
		byID := s.names(str(caller, "surface_id"), sf.id) && s.names(str(caller, "workspace_id"), sf.pane.ws.id)
		tty := str(params, "caller_tty")
		if byID || (tty != "" && tty == sf.tty) {
			out["caller"] = s.where(sf)
		}
	}
	return out, nil
}

func (s *Server) windowList(map[string]any) (any, *fault) {
	rows := []any{}
	for i, w := range s.windows {
		rows = append(rows, map[string]any{"id": w.id, "ref": s.ref("window", w.id), "index": i})
	}
	return map[string]any{"windows": rows}, nil
}

func (s *Server) tree(params map[string]any) (any, *fault) {
	windows := []any{}
	for i, w := range s.windows {
		id := str(params, "window_id")
		if all, _ := params["all_windows"].(bool); (id == "" && !all && i > 0) || (id != "" && !s.names(id, w.id)) {
			continue
		}
		var workspaces []any
		for _, ws := range w.workspaces {
			var panes []any
			for _, p := range ws.panes() {
				var surfaces []any
				for _, sf := range p.surfaces {
					if s.faults.EmptyLists || sf.hidden > 0 {
						continue
					}
					row := map[string]any{"id": sf.id, "ref": s.ref("surface", sf.id), "title": sf.title, "type": "terminal", "tty": nil}
					if sf.tty != "" {
						row["tty"] = sf.tty
					}
					surfaces = append(surfaces, row)
				}
				panes = append(panes, map[string]any{"id": p.id, "ref": s.ref("pane", p.id), "surfaces": surfaces})
			}
			workspaces = append(workspaces, map[string]any{"id": ws.id, "ref": s.ref("workspace", ws.id), "title": ws.title, "panes": panes})
		}
		windows = append(windows, map[string]any{"id": w.id, "ref": s.ref("window", w.id), "workspaces": workspaces})
	}
	return map[string]any{"windows": windows, "active": nil, "caller": nil}, nil
}

func (s *Server) surfaceList(params map[string]any) (any, *fault) {
	ws, f := s.workspace(params)
	if f != nil {
		return nil, f
	}
	rows := []any{}
	for i, sf := range ws.surfaces() {
		if sf.hidden > 0 {
			sf.hidden--
			continue
		}
		if s.faults.EmptyLists {
			continue
		}
		row := map[string]any{
			"id": sf.id, "ref": s.ref("surface", sf.id), "index": i, "type": "terminal", "title": sf.title,
			"focused": sf.pane == ws.focused, "pane_id": sf.pane.id, "pane_ref": s.ref("pane", sf.pane.id),
		}
		if s.startsCommands() {
			row["requested_working_directory"] = null(sf.start.cwd)
			row["initial_command"] = null(sf.start.command)
			row["tmux_start_command"] = null(sf.start.marker)
			row["resume_binding"] = nil
		}
		rows = append(rows, row)
	}
	out := map[string]any{"surfaces": rows}
	s.named(out, "workspace", ws.id)
	s.named(out, "window", ws.window.id)
	return out, nil
}

func null(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func (s *Server) paneList(params map[string]any) (any, *fault) {
	ws, f := s.workspace(params)
	if f != nil {
		return nil, f
	}
	rows := []any{}
	for i, p := range ws.panes() {
		ids, refs := []string{}, []string{}
		for _, sf := range p.surfaces {
			ids, refs = append(ids, sf.id), append(refs, s.ref("surface", sf.id))
		}
		row := map[string]any{
			"id": p.id, "ref": s.ref("pane", p.id), "index": i, "focused": p == ws.focused,
			"surface_ids": ids, "surface_refs": refs, "surface_count": len(ids),
			"columns": nil, "rows": nil, "pixel_frame": nil,
		}
		if !s.faults.NullSizes {
			f := p.node.frame
			row["pixel_frame"] = map[string]any{"x": f.x, "y": f.y, "width": f.w, "height": f.h}
			row["columns"], row["rows"] = int(f.w/cellWidth), int(f.h/cellHeight)
			row["cell_width_points"], row["cell_height_points"] = cellWidth, cellHeight
		}
		rows = append(rows, row)
	}
	out := map[string]any{"panes": rows, "container_frame": map[string]any{"width": s.options.Width, "height": s.options.Height}}
	s.named(out, "workspace", ws.id)
	s.named(out, "window", ws.window.id)
	return out, nil
}

func (s *Server) paneSurfaces(params map[string]any) (any, *fault) {
	ws, f := s.workspace(params)
	if f != nil {
		return nil, f
	}
	for _, p := range ws.panes() {
		if s.names(str(params, "pane_id"), p.id) {
			rows := []any{}
			for i, sf := range p.surfaces {
				rows = append(rows, map[string]any{"id": sf.id, "ref": s.ref("surface", sf.id), "index": i, "title": sf.title, "type": "terminal", "selected": i == 0})
			}
			return map[string]any{"surfaces": rows}, nil
		}
	}
	return nil, notFound("Pane or workspace")
}
