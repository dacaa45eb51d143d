package runtime

import (
	"fmt"

	"github.com/okstra/okstra/lang/plan"
)

// afterReport is the final report of the run that a plan comes after, and empty
// for a plan that comes after none. An error says what is wrong with the name.
func afterReport(p *plan.Plan) (string, error) {
	if p.Run.After == "" {
		return "", nil
	}
	sel, err := ParseSelector(p.ProjectRoot, p.Run.After)
	if err != nil {
		return "", err
	}
	if sel.Seq == 0 {
		// The latest one would be the new run itself, once that exists.
		return "", fmt.Errorf("--after %s names no number; write %s@001 or the like", p.Run.After, p.Run.After)
	}
	run, err := Find(sel)
	if err != nil {
		return "", err
	}
	if !exists(run.FinalReport()) {
		return "", fmt.Errorf("run %s has no final report that another could come after", run.Ref())
	}
	return run.FinalReport(), nil
}
