package plan

import (
	"fmt"
	"regexp"
	"sync"
)

// Forms of what becomes a part of a path or of an identity. The language keeps
// to them; a plan that was read from a file is held against them again.
var (
	taskPart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`) })
	name     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`) })
)

// Check returns the first name in a plan that is none. Names become folders and
// files, so a plan from outside is checked before anything is done with it.
func (p *Plan) Check() error {
	for _, part := range []struct{ what, value string }{{"project", p.Run.Task.Project}, {"group", p.Run.Task.Group}, {"id", p.Run.Task.ID}} {
		if !taskPart().MatchString(part.value) {
			return fmt.Errorf("the task's %s is %q; it begins with a letter or a digit and holds letters, digits, dots, dashes and underscores", part.what, part.value)
		}
	}
	check := func(what, value string) error {
		if name().MatchString(value) {
			return nil
		}
		return fmt.Errorf("%s %q is no name; it begins with a letter and holds letters, digits, dashes and underscores", what, value)
	}
	if err := check("run", p.Run.Name); err != nil {
		return err
	}
	if err := check("task type", p.Run.TaskType); err != nil {
		return err
	}
	for _, r := range p.Rounds {
		if err := check("round", r.Name); err != nil {
			return err
		}
		for _, w := range r.Workers {
			for what, value := range map[string]string{"role": w.Role, "duty": w.Duty, "participant": w.ParticipantRef} {
				if err := check(what, value); err != nil {
					return err
				}
			}
			for _, o := range w.Outputs {
				if err := check("output", o.Name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
