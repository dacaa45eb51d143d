package plan

import "testing"

// TestCheck refuses names that would lead out of a run's folder.
func TestCheck(t *testing.T) {
	good := func() *Plan {
		return &Plan{
			Run:    Run{Name: "review", TaskType: "unknown", Task: Task{Project: "shop", Group: "default", ID: "A-1"}},
			Rounds: []Round{{Name: "one", Workers: []Worker{{Role: "analyst", Duty: "look", ParticipantRef: "ada", Outputs: []Output{{Name: "notes"}}}}}},
		}
	}
	if err := good().Check(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(p *Plan){
		"project":     func(p *Plan) { p.Run.Task.Project = "../../../elsewhere" },
		"group":       func(p *Plan) { p.Run.Task.Group = "" },
		"id":          func(p *Plan) { p.Run.Task.ID = "a/b" },
		"task type":   func(p *Plan) { p.Run.TaskType = ".." },
		"run":         func(p *Plan) { p.Run.Name = "a b" },
		"round":       func(p *Plan) { p.Rounds[0].Name = "../x" },
		"role":        func(p *Plan) { p.Rounds[0].Workers[0].Role = "/" },
		"duty":        func(p *Plan) { p.Rounds[0].Workers[0].Duty = "a.b" },
		"participant": func(p *Plan) { p.Rounds[0].Workers[0].ParticipantRef = "\n" },
		"output":      func(p *Plan) { p.Rounds[0].Workers[0].Outputs[0].Name = "../../out" },
	} {
		p := good()
		spoil(p)
		if p.Check() == nil {
			t.Errorf("a %s that is no name passed", name)
		}
	}
}
