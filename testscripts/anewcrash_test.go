package testscripts

import (
	"strconv"
	"strings"
	"testing"

	"github.com/okstra/okstra/runtime/crash"
)

// TestAnewCrash kills the commands by which a re-verification starts anew, the
// await that takes in a reported worker and the dispatch that has it done again,
// at each state that they write. Whoever goes on finds a run that can be finished
// and that agrees with what is on disk.
func TestAnewCrash(t *testing.T) {
	const ada = "analysis/find-defects/ada@analysis#1"
	judged := func(t *testing.T) *project {
		p := newProject(t, "review", "unknown")
		p.must(0, "render-bundle")
		for range 2 {
			p.must(0, p.team("dispatch")...)
			p.must(0, p.team("await")...)
		}
		p.must(0, "event", "--run-manifest", p.run.Manifest(), "--type", "forbidden-action", "--invocation", ada, "--message", "it pushed")
		return p
	}
	for _, verb := range []string{"await", "dispatch"} {
		passed := 0
		for n := 1; ; n++ {
			at := "runner.state-written#" + strconv.Itoa(n)
			killed := false
			t.Run(verb+"/"+at, func(t *testing.T) {
				p := judged(t)
				command := p.team("await")
				if verb == "dispatch" {
					p.must(3, command...)
					command = p.team("dispatch", "--dispatch-kind", "retry", "--workers", "analysis.find-defects.ada")
				}
				out := p.with([]string{crash.EnvVar + "=" + at}, "okstra", command...)
				if killed = out.code == 137; !killed {
					p.must(0, "apply") // what it started writes here until it ends
					return
				}
				p.must(0, "apply")
				for _, d := range p.disagreements() {
					t.Errorf("verify: %s", d)
				}
				if report := p.read(p.run.FinalReport()); !strings.Contains(report, "ada/A1") {
					t.Errorf("what was done again is not in the report:\n%s", report)
				}
			})
			if !killed {
				break // it writes no n states
			}
			passed++
		}
		if passed < 2 {
			t.Errorf("%s writes %d states", verb, passed)
		}
	}
}
