package supervise_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime/crash"
	"github.com/okstra/okstra/runtime/launch"
	"github.com/okstra/okstra/runtime/proc"
	"github.com/okstra/okstra/runtime/sidecar"
)

// drive plays a runner with no memory: it judges, starts what never started
// again, and ends what was lost, until the attempt is settled.
func drive(r *rig, crashAt string) (status string, starts int) {
	for {
		starts++
		if starts > 3 {
			r.t.Fatalf("never settled, at %s", crashAt)
		}
		if starts == 1 {
			r.start(crash.EnvVar + "=" + crashAt)
		} else {
			r.start() // the environment record is written anew
		}
		ended := false
		r.until("an end", func() bool {
			select {
			case <-r.done:
				ended = true
			default:
			}
			if s, err := sidecar.Read(r.rec.Paths.Status); err == nil && s.Stage == sidecar.StageInit && s.Supervisor.PID == r.cmd.Process.Pid {
				r.word(s.Claim, true)
			}
			return ended
		})
		switch j := r.judge(); j.Verdict {
		case sidecar.NeverStarted:
		case sidecar.Terminal:
			return r.verdict(j.Status), starts
		case sidecar.Lost:
			if left, err := proc.EndClaim(r.t.Context(), j.Status.Claim, 50*time.Millisecond); err != nil || len(left) > 0 {
				r.t.Errorf("left after the end of the claim: %v", left)
			}
			return string(plan.StatusError) + "/" + string(plan.ReasonSupervisorLost), starts
		default:
			r.t.Fatalf("judged %s after the supervisor's end", j.Verdict)
		}
	}
}

func TestCrashAtEveryPoint(t *testing.T) {
	t.Parallel()
	// Points before start lose nothing; between start and the terminal write
	// the attempt is lost; after it everything stands.
	started := map[string]string{}
	state := "completed"
	for _, p := range crash.Points() {
		switch p.Name {
		case "supervisor.start-written":
			state = "error/supervisor-lost"
		case "supervisor.after-terminal":
			state = "completed"
		}
		if p.Process == crash.Supervisor {
			started[p.Name] = state
		}
	}
	for name, want := range started {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ran := filepath.Join(t.TempDir(), "ran")
			steps := []string{"started:" + ran, "say:all", "child:hang"}
			switch name {
			case "supervisor.limit-reached", "supervisor.term-sent":
				steps = append(steps, "hang")
			case "supervisor.kill-sent":
				steps = append(steps, "ignore-term", "say:x", "hang")
			}
			r := newRig(t, steps...)
			r.rec.Result = plan.ResultStdout
			if steps[len(steps)-1] == "hang" {
				r.rec.Limits.Wall = 3 * sec
			}
			must(os.MkdirAll(filepath.Dir(r.rec.Paths.Result), 0o700))
			got, starts := drive(r, name)
			if got != want {
				t.Errorf("ended as %s, want %s\n%s", got, want, r.out.String())
			}
			b, err := os.ReadFile(ran)
			if n := strings.Count(string(b), "started"); n > 1 {
				t.Errorf("the worker ran %d times (%v)", n, err)
			}
			if starts > 2 {
				t.Errorf("%d supervisors", starts)
			}
			s, err := sidecar.Read(r.rec.Paths.Status)
			if err != nil {
				t.Fatal(err)
			}
			if left, err := proc.WithClaim(s.Claim); err != nil || len(left) > 0 {
				t.Errorf("processes left: %v", left)
			}
		})
	}
}

// TestNobodyIsLost judges in a tight loop while supervisors start and end.
func TestNobodyIsLost(t *testing.T) {
	// That many are enough here: the runtime's own test of readers does it with
	// two hundred workers of a whole run.
	const attempts = 40
	const beside = 8
	todo := make(chan *rig)
	var runs sync.WaitGroup
	var mu sync.Mutex
	var present []*launch.Record
	for range beside {
		runs.Go(func() {
			for r := range todo {
				mu.Lock()
				present = append(present, r.rec)
				mu.Unlock()
				r.start()
				r.release()
				if code := r.wait(); code != 0 {
					t.Errorf("supervisor ended with %d: %s", code, r.out.String())
				}
				if got := r.verdict(r.terminal()); got != "completed" {
					t.Errorf("verdict %s", got)
				}
				mu.Lock()
				for i, p := range present {
					if p == r.rec {
						present = append(present[:i], present[i+1:]...)
						break
					}
				}
				mu.Unlock()
			}
		})
	}
	stop := make(chan struct{})
	var judges sync.WaitGroup
	seen := map[sidecar.Verdict]int{}
	judges.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			mu.Lock()
			now := append([]*launch.Record(nil), present...)
			mu.Unlock()
			for _, rec := range now {
				j, err := sidecar.Judge(rec.Paths.Status, rec.Paths.Lock)
				if err != nil {
					t.Errorf("judge: %v", err)
					continue
				}
				seen[j.Verdict]++
				if j.Verdict == sidecar.Lost || j.Verdict == sidecar.Foreign {
					t.Errorf("judged %s while the supervisor lived or had ended well: %s", j.Verdict, j.Status.Encode())
				}
			}
		}
	})
	for range attempts {
		todo <- newRig(t, "result:fine")
	}
	close(todo)
	runs.Wait()
	close(stop)
	judges.Wait()
	t.Logf("judgements: %v", seen)
	if seen[sidecar.Live] == 0 || seen[sidecar.Terminal] == 0 {
		t.Errorf("the judge saw too little: %v", seen)
	}
}
