package runtime

import (
	"fmt"

	"github.com/okstra/okstra/lang/plan"
)

// findReport fills in where the final report lies of the run that a plan comes
// after, if it comes after any. An error says what is wrong with its name.
func findReport(p *plan.Plan) error {
	if p.Run.After == "" || p.Run.AfterReport != "" {
		return nil
	}
	sel, err := ParseSelector(p.ProjectRoot, p.Run.After)
	if err != nil {
		return err
	}
	if sel.Seq == 0 {
		// The latest one would be the new run itself, once that exists.
		return fmt.Errorf("--after %s names no number; write %s@001 or the like", p.Run.After, p.Run.After)
	}
	run, err := Find(sel)
	if err != nil {
		return err
	}
	if !exists(run.FinalReport()) {
		return fmt.Errorf("run %s has no final report that another could come after", run.Ref())
	}
	p.Run.AfterReport = relative(p.ProjectRoot, run.FinalReport())
	return nil
}
