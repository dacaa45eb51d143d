package cmux

import (
	"context"
	"encoding/json"
	"fmt"
)

// markerPrefix begins the text by which a surface is known to be okstra's. cmux
// shows it back and gives it no meaning.
const markerPrefix = "okstra:"

func marker(tag string) string { return markerPrefix + tag }

// row is a surface as the list of its workspace shows it.
type row struct {
	ID      string `json:"id"`
	Pane    string `json:"pane_id"`
	Type    string `json:"type"`
	Title   string `json:"title"`
	mark    string // the marker; "" is none
	marks   bool   // the server lists markers at all
	command string
}

// list returns the surfaces of a workspace. An empty answer is an error: a
// workspace has at least one surface, so the list cannot be believed.
func (s *session) list(ctx context.Context, workspace string) ([]row, error) {
	var res struct {
		Surfaces []json.RawMessage `json:"surfaces"`
	}
	if err := s.call(ctx, "surface.list", map[string]string{"workspace_id": workspace}, &res); err != nil {
		return nil, err
	}
	if len(res.Surfaces) == 0 {
		return nil, fmt.Errorf("surface.list: workspace %s shows no surface at all", workspace)
	}
	rows := make([]row, 0, len(res.Surfaces))
	for _, raw := range res.Surfaces {
		var r row
		var more map[string]json.RawMessage
		if err := json.Unmarshal(raw, &r); err != nil {
			return nil, fmt.Errorf("surface.list: %w", err)
		}
		if err := json.Unmarshal(raw, &more); err != nil {
			return nil, fmt.Errorf("surface.list: %w", err)
		}
		r.ID, r.Pane = upperUUID(r.ID), upperUUID(r.Pane)
		if v, ok := more["tmux_start_command"]; ok {
			r.marks = true
			r.mark = text(v)
		}
		r.command = text(more["initial_command"])
		rows = append(rows, r)
	}
	return rows, nil
}

// text decodes a JSON string; anything else is "".
func text(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// find returns the row with a surface id, or nil.
func find(rows []row, id string) *row {
	for i := range rows {
		if rows[i].ID == id && id != "" {
			return &rows[i]
		}
	}
	return nil
}

// marked returns the row that carries the marker of tag, or nil.
func marked(rows []row, tag string) *row {
	for i := range rows {
		if rows[i].mark == marker(tag) {
			return &rows[i]
		}
	}
	return nil
}

// tree maps every surface of every window to its place. It asks window by
// window: a tree that left one out would make what was moved there look gone.
func (s *session) tree(ctx context.Context) (map[string]location, error) {
	var windows struct {
		Windows []struct {
			ID string `json:"id"`
		} `json:"windows"`
	}
	all := map[string]location{}
	err := s.call(ctx, "window.list", struct{}{}, &windows)
	switch {
	case code(err) == codeMethodNotFound:
		err = s.addTree(ctx, map[string]any{"all_windows": true}, all)
	case err == nil && len(windows.Windows) == 0:
		err = fmt.Errorf("window.list: no window at all")
	}
	if err != nil {
		return nil, err
	}
	for _, w := range windows.Windows {
		if err := s.addTree(ctx, map[string]any{"window_id": w.ID}, all); err != nil {
			return nil, err
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("system.tree: no surface at all")
	}
	return all, nil
}

func (s *session) addTree(ctx context.Context, params map[string]any, all map[string]location) error {
	var res struct {
		Windows []struct {
			Workspaces []struct {
				ID    string `json:"id"`
				Panes []struct {
					ID       string `json:"id"`
					Surfaces []struct {
						ID string `json:"id"`
					} `json:"surfaces"`
				} `json:"panes"`
			} `json:"workspaces"`
		} `json:"windows"`
	}
	if err := s.call(ctx, "system.tree", params, &res); err != nil {
		return err
	}
	for _, w := range res.Windows {
		for _, ws := range w.Workspaces {
			for _, p := range ws.Panes {
				for _, sf := range p.Surfaces {
					if id := upperUUID(sf.ID); id != "" {
						all[id] = location{upperUUID(ws.ID), upperUUID(p.ID), id}
					}
				}
			}
		}
	}
	return nil
}

// frame is a rectangle in points.
type frame struct {
	X, Y, Width, Height float64
}

// paneRow is a pane as the list of its workspace shows it. Columns and rows are
// null until it was drawn once, and lag behind the frame.
type paneRow struct {
	ID         string   `json:"id"`
	Surfaces   []string `json:"surface_ids"`
	Frame      frame    `json:"pixel_frame"`
	Columns    int      `json:"columns"`
	Rows       int      `json:"rows"`
	CellWidth  float64  `json:"cell_width_points"`
	CellHeight float64  `json:"cell_height_points"`
}

type paneList struct {
	Container struct {
		Width  float64 `json:"width"`
		Height float64 `json:"height"`
	} `json:"container_frame"`
	Panes []paneRow `json:"panes"`
}

// panes returns the panes of a workspace with their frames.
func (s *session) panes(ctx context.Context, workspace string) (paneList, error) {
	var res paneList
	if err := s.call(ctx, "pane.list", map[string]string{"workspace_id": workspace}, &res); err != nil {
		return paneList{}, err
	}
	for i := range res.Panes {
		res.Panes[i].ID = upperUUID(res.Panes[i].ID)
		for j, id := range res.Panes[i].Surfaces {
			res.Panes[i].Surfaces[j] = upperUUID(id)
		}
	}
	return res, nil
}
