package view

// Problem is the JSON face of a verb that could not do what it was asked.
type Problem struct {
	Error  string   `json:"error"`
	Exit   int      `json:"exit"`
	Moved  []string `json:"moved,omitempty"`
	Remedy string   `json:"remedy,omitempty"`
}

// Problem shows why a verb failed: on Err, or with JSON as a document on Out.
func (v *View) Problem(p Problem) error {
	if v.JSON {
		return v.document(p)
	}
	text := CleanLines(p.Error)
	sc := v.Err.screen()
	out := sc.folds(line{{bad, "error: "}, {plain, text[0]}})
	for _, l := range text[1:] {
		out = append(out, sc.folds(plainLine("  "+l))...)
	}
	for _, m := range p.Moved {
		out = append(out, sc.folds(plainLine("  "+m))...)
	}
	if p.Remedy != "" {
		out = append(out, wrapped(p.Remedy, "  ", v.Err.width, faint)...)
	}
	return v.Err.print(out...)
}
