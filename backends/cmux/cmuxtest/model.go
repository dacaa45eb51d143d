package cmuxtest

import (
	"fmt"
	"strings"
)

type window struct {
	id         string
	workspaces []*workspace
}

type workspace struct {
	id       string
	title    string
	window   *window
	root     *node
	focused  *pane
	status   map[string]string
	progress string
	log      []string
}

type pane struct {
	id       string
	node     *node
	ws       *workspace
	surfaces []*surface
}

type frame struct{ x, y, w, h float64 }

// node is a pane or a split of two nodes.
type node struct {
	parent  *node
	pane    *pane
	stacked bool    // b stands below a, not right of it
	divider float64 // the part of a
	a, b    *node
	frame   frame
}

func (n *node) layOut(f frame) {
	n.frame = f
	if n.pane != nil {
		return
	}
	fa, fb := f, f
	if n.stacked {
		fa.h = f.h * n.divider
		fb.y, fb.h = f.y+fa.h, f.h-fa.h
	} else {
		fa.w = f.w * n.divider
		fb.x, fb.w = f.x+fa.w, f.w-fa.w
	}
	n.a.layOut(fa)
	n.b.layOut(fb)
}

// equalize gives the panes along an orientation equal parts.
func (n *node) equalize(stacked bool) {
	if n.pane != nil {
		return
	}
	if n.stacked == stacked {
		a, b := n.a.along(stacked), n.b.along(stacked)
		n.divider = float64(a) / float64(a+b)
	}
	n.a.equalize(stacked)
	n.b.equalize(stacked)
}

func (n *node) along(stacked bool) int {
	if n.pane != nil || n.stacked != stacked {
		return 1
	}
	return n.a.along(stacked) + n.b.along(stacked)
}

func (n *node) walk(f func(*pane)) {
	if n == nil {
		return
	}
	if n.pane != nil {
		f(n.pane)
		return
	}
	n.a.walk(f)
	n.b.walk(f)
}

func (w *workspace) panes() []*pane {
	var out []*pane
	w.root.walk(func(p *pane) { out = append(out, p) })
	return out
}

func (w *workspace) surfaces() []*surface {
	var out []*surface
	for _, p := range w.panes() {
		out = append(out, p.surfaces...)
	}
	return out
}

func (s *Server) surfaces() []*surface {
	var out []*surface
	for _, w := range s.windows {
		for _, ws := range w.workspaces {
			out = append(out, ws.surfaces()...)
		}
	}
	return out
}

func (s *Server) addWorkspace(w *window, title string) *workspace {
	ws := &workspace{id: newID(), title: title, window: w, status: map[string]string{}}
	p := &pane{id: newID(), ws: ws}
	p.node = &node{pane: p}
	ws.root, ws.focused = p.node, p
	w.workspaces = append(w.workspaces, ws)
	s.layOut(ws)
	return ws
}

func (s *Server) addSurface(p *pane, st start) *surface {
	sf := &surface{id: newID(), pane: p, start: st, hidden: s.faults.ListLag}
	p.surfaces = append(p.surfaces, sf)
	return sf
}

// split puts a new pane beside p.
func (s *Server) split(p *pane, direction string, divider float64) *pane {
	made := &pane{id: newID(), ws: p.ws}
	made.node = &node{pane: made}
	old := p.node
	n := &node{parent: old.parent, stacked: direction == "up" || direction == "down", divider: divider}
	if direction == "left" || direction == "up" {
		n.a, n.b = made.node, old
	} else {
		n.a, n.b = old, made.node
	}
	switch {
	case old.parent == nil:
		p.ws.root = n
	case old.parent.a == old:
		old.parent.a = n
	default:
		old.parent.b = n
	}
	old.parent, made.node.parent = n, n
	s.layOut(p.ws)
	return made
}

// layOut computes the frames and tells the terminals.
func (s *Server) layOut(ws *workspace) {
	if ws.root == nil {
		return
	}
	ws.root.layOut(frame{0, 0, s.options.Width, s.options.Height})
	for _, sf := range ws.surfaces() {
		sf.resize()
	}
}

// remove takes a surface away; a pane goes with its last surface, a workspace
// with its last pane, a window with its last workspace.
func (s *Server) remove(sf *surface) {
	p := sf.pane
	for i, other := range p.surfaces {
		if other == sf {
			p.surfaces = append(p.surfaces[:i:i], p.surfaces[i+1:]...)
			break
		}
	}
	if len(p.surfaces) > 0 {
		return
	}
	ws := p.ws
	parent := p.node.parent
	if parent == nil {
		ws.root = nil
		s.removeWorkspace(ws)
		return
	}
	rest := parent.a
	if rest == p.node {
		rest = parent.b
	}
	rest.parent = parent.parent
	switch {
	case parent.parent == nil:
		ws.root = rest
	case parent.parent.a == parent:
		parent.parent.a = rest
	default:
		parent.parent.b = rest
	}
	if ws.focused == p {
		ws.focused = ws.panes()[0]
	}
	s.layOut(ws)
}

func (s *Server) removeWorkspace(ws *workspace) {
	w := ws.window
	for i, other := range w.workspaces {
		if other == ws {
			w.workspaces = append(w.workspaces[:i:i], w.workspaces[i+1:]...)
			break
		}
	}
	if len(w.workspaces) > 0 {
		return
	}
	for i, other := range s.windows {
		if other == w {
			s.windows = append(s.windows[:i:i], s.windows[i+1:]...)
			break
		}
	}
}

// ref mints a short name on first sight.
func (s *Server) ref(kind, id string) string {
	if r, ok := s.refs[id]; ok {
		return r
	}
	s.counts[kind]++
	r := fmt.Sprintf("%s:%d", kind, s.counts[kind])
	s.refs[id] = r
	return r
}

// names reports whether a UUID or a ref of a request means the object id.
func (s *Server) names(given, id string) bool {
	return strings.EqualFold(given, id) || (given != "" && s.refs[id] == given)
}
