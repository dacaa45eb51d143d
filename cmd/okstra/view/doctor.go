package view

// Finding is one thing that doctor looked at.
type Finding struct {
	Area  string `json:"area"` // backend, worker, git, files, terminal
	Name  string `json:"name"`
	State State  `json:"state"`
	Found string `json:"found"`
	Do    string `json:"do,omitempty"` // what to do about it
}

// State is how well a finding is. The zero value is invalid.
type State string

const (
	StateOK      State = "ok"
	StateMissing State = "missing" // not here, and okstra works without it
	StateProblem State = "problem" // okstra cannot work like this
)

// Doctor shows findings and ends with what they come to.
func (v *View) Doctor(findings []Finding, summary string) error {
	doc := struct {
		Findings []Finding `json:"findings"`
		Summary  string    `json:"summary"`
	}{nonNil(findings), summary}
	return v.show(doc, func(width int) []line {
		var rows [][]span
		area := ""
		for _, f := range findings {
			shown := f.Area
			if shown == area {
				shown = ""
			}
			area = f.Area
			st := good
			switch f.State {
			case StateMissing:
				st = warn
			case StateProblem:
				st = bad
			}
			rows = append(rows, []span{{strong, shown}, {plain, f.Name}, {st, string(f.State)}, {plain, f.Found}})
			if f.Do != "" {
				rows = append(rows, []span{{plain, ""}, {plain, ""}, {plain, ""}, {faint, "→ " + f.Do}})
			}
		}
		return append(table(rows, "", width, false), blank, line{{strong, summary}})
	})
}
