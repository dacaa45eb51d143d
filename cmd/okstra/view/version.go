package view

// Version is what okstra says of itself.
type Version struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"` // built from a changed tree
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Version shows it.
func (v *View) Version(doc Version) error {
	return v.show(doc, func(screen) []line {
		l := line{{strong, "okstra " + doc.Version}}
		if doc.Revision != "" {
			text := " (" + doc.Revision[:min(len(doc.Revision), 12)]
			if doc.Modified {
				text += ", changed"
			}
			l = append(l, span{plain, text + ")"})
		}
		return []line{l, {{faint, doc.Go + " " + doc.Platform}}}
	})
}
