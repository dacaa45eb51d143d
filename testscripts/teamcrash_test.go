package testscripts

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/okstra/okstra/runtime/crash"
)

// TestTeamCrash kills a lead's command with SIGKILL at each point that it
// passes, and gives the same command again: the end is that of a run that
// nobody disturbed, and no worker was started twice. One worker runs at a time,
// so that await starts two of the three.
func TestTeamCrash(t *testing.T) {
	begin := func(t *testing.T) *project {
		p := newProject(t, "review", "unknown")
		// The first ends only when it is told to, so that dispatch returns before.
		p.write("workers/ada", "wait-file go-on\n"+p.read("workers/ada"))
		p.must(0, "render-bundle", "--var", "parallelism=1")
		return p
	}
	type crashes struct {
		verb string
		at   map[string]int // the points that it passes for certain, and how often
	}
	for _, c := range []crashes{
		{"dispatch", map[string]int{"runner.intent-written": 1, "runner.launch-written": 1, "runner.backend-started": 1, "runner.init-seen": 1,
			"runner.claim-recorded": 1, "runner.go-written": 1, "runner.state-written": 2}},
		{"await", map[string]int{"runner.intent-written": 1, "runner.launch-written": 1, "runner.backend-started": 1, "runner.init-seen": 1,
			"runner.claim-recorded": 1, "runner.go-written": 1, "runner.state-written": 5, "runner.settled": 2}},
	} {
		for point, passings := range c.at {
			for n := range passings {
				at := point + "#" + strconv.Itoa(n+1)
				t.Run(c.verb+"/"+at, func(t *testing.T) {
					t.Parallel()
					p := begin(t)
					if c.verb == "await" {
						p.must(0, p.team("dispatch")...)
						p.write("go-on", "")
					}
					if out := p.with([]string{crash.EnvVar + "=" + at}, "okstra", p.team(c.verb)...); out.code != 137 {
						t.Fatalf("not killed at %s: %s", at, out)
					}
					p.must(0, p.team(c.verb)...)
					p.write("go-on", "")
					p.must(0, p.team("await")...)
					p.undisturbed()
				})
			}
		}
	}
	var named []string
	for _, p := range crash.Points() {
		if p.Process == crash.Runner {
			named = append(named, p.Name)
		}
	}
	known := []string{"runner.intent-written", "runner.launch-written", "runner.backend-started", "runner.init-seen", "runner.claim-recorded",
		"runner.go-written", "runner.state-written", "runner.settled"}
	if diff := cmp.Diff(known, named); diff != "" {
		t.Errorf("a point of the runner is not in the table (-table +points):\n%s", diff)
	}
}

// undisturbed wants the first round as nobody disturbed it: each worker
// started once, in its first attempt, completed, and the next batch prepared.
func (p *project) undisturbed() {
	p.t.Helper()
	starts := strings.Fields(p.read("starts.log"))
	slices.Sort(starts)
	want := []string{"analysis/find-defects/ada@analysis#1", "analysis/find-defects/bert@analysis#1", "analysis/find-defects/cara@analysis#1"}
	if diff := cmp.Diff(want, starts); diff != "" {
		p.t.Errorf("other starts (-want +got):\n%s", diff)
	}
	st := p.state()
	for _, d := range st.WorkerDispatches {
		if d.Status != "completed" {
			p.t.Errorf("%s is %s/%s: %s", d.InvocationRef, d.Status, d.Reason, d.Detail)
		}
	}
	if r := st.FindRound("analysis"); r == nil || r.Result != "met" {
		p.t.Errorf("the round is %+v", r)
	}
	for _, d := range p.disagreements() {
		p.t.Errorf("verify: %s", d)
	}
	if _, err := os.Stat(p.run.ReverifyJobs(1)); err != nil {
		p.t.Errorf("the next batch is not prepared: %v", err)
	}
}

// TestTeardownCrash kills teardown at every passing of every point that it has,
// with all workers ended, and with one that still runs and is ended first.
func TestTeardownCrash(t *testing.T) {
	for _, force := range []bool{false, true} {
		total := 0
		for _, point := range []string{"runner.settled", "runner.state-written"} { // it starts nothing
			for n := 1; ; n++ {
				at := point + "#" + strconv.Itoa(n)
				killed := false
				t.Run(fmt.Sprintf("force=%v/%s", force, at), func(t *testing.T) { killed = tearDownAgain(t, force, at) })
				if !killed {
					break // it is passed no n times
				}
				total++
			}
		}
		if total == 0 {
			t.Errorf("force=%v: teardown passes no point at all", force)
		}
	}
}

func tearDownAgain(t *testing.T, force bool, at string) (killed bool) {
	p := newProject(t, "review", "unknown")
	screens[1].prepare(p)
	teardown := p.team("teardown")
	if force {
		teardown = append(teardown, "--force")
		p.write("workers/ada", "silent\n")
	}
	p.must(0, "render-bundle", "--backend", "tmux")
	p.must(0, p.team("dispatch")...)
	if force {
		p.must(7, p.team("await", "--timeout", "1ms")...)
	} else {
		p.must(0, p.team("await")...)
	}
	out := p.with([]string{crash.EnvVar + "=" + at}, "okstra", teardown...)
	if killed = out.code == 137; !killed && out.code != 0 {
		t.Fatalf("okstra %s: %s", strings.Join(teardown, " "), out)
	}
	if killed {
		p.must(0, teardown...)
	}
	for _, d := range p.state().WorkerDispatches {
		if !d.Closed || !d.Status.Terminal() {
			t.Errorf("%s is %s/%s, closed: %v", d.InvocationRef, d.Status, d.Reason, d.Closed)
		}
	}
	for _, d := range p.disagreements() {
		t.Errorf("verify: %s", d)
	}
	if !force {
		p.undisturbed()
	}
	return killed
}
