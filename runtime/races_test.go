package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime"
	"github.com/okstra/okstra/runtime/durable"
	"github.com/okstra/okstra/runtime/sidecar"
)

// beside calls f again and again beside the test until stop is called, which
// returns how often that was.
func beside(f func()) (stop func() int) {
	done, ended := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		for {
			select {
			case <-done:
				ended <- n
				return
			default:
				f()
				n++
			}
		}
	}()
	return func() int {
		close(done)
		return <-ended
	}
}

// TestReadersNeverReportOneLost judges in a tight loop, as status and as
// whoever reads one sidecar, while 200 workers start and end. No supervisor is
// killed here, so nobody may ever look lost, and nothing may fail for having
// been looked at.
func TestReadersNeverReportOneLost(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	round := plan.Round{Name: "one"}
	for i := range 200 {
		round.Workers = append(round.Workers, r.worker("one", fmt.Sprintf("w%03d", i), `: > "$OKSTRA_RESULT.tmp"; echo done > "$OKSTRA_RESULT"`))
	}
	p := r.plan(round)
	p.Run.Parallelism = 8
	var mu sync.Mutex
	seen := map[string]int{}
	say := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		seen[what]++
	}
	status := beside(func() {
		st, err := runtime.Status(context.Background(), r.env, runtime.Selector{ProjectRoot: r.root, Name: "test"})
		if err != nil {
			if !errors.Is(err, runtime.ErrNotFound) {
				say("status: " + err.Error())
			}
			return
		}
		for _, w := range st.Workers {
			if strings.Contains(w.Detail, "killed") || w.Reason == plan.ReasonSupervisorLost {
				say(fmt.Sprintf("status: %s %s/%s %s", w.WorkerKey, w.Status, w.Reason, w.Detail))
			}
		}
	})
	pattern := filepath.Join(r.root, ".okstra/tasks/p/g/t/runs/unknown/prompts/one/*.md.status.json")
	judging := beside(func() {
		files, err := filepath.Glob(pattern)
		if err != nil {
			say(err.Error())
		}
		for _, f := range files[max(0, len(files)-16):] {
			j, err := sidecar.Judge(f, strings.TrimSuffix(f, ".status.json")+".lock")
			switch {
			case err != nil:
				say("judge: " + err.Error())
			case j.Verdict == sidecar.Lost || j.Verdict == sidecar.Foreign:
				say(fmt.Sprintf("%s: %s", filepath.Base(f), j.Verdict))
			}
		}
	})
	out := r.apply(t.Context(), p)
	if looks, judgements := status(), judging(); looks == 0 || judgements == 0 {
		t.Errorf("only %d looks and %d judgements", looks, judgements)
	}
	for what, n := range seen {
		t.Errorf("seen %d times: %s", n, what)
	}
	if out.Exit != 0 {
		t.Errorf("exit %d: %s", out.Exit, out.Summary)
	}
	for _, d := range out.State.WorkerDispatches {
		if d.Status != plan.StatusCompleted || d.Attempt != 1 {
			t.Errorf("%s is %s/%s: %s", d.InvocationRef, d.Status, d.Reason, d.Detail)
		}
	}
}

// TestLookingHoldsNobodyUp takes and leaves a run while others look at it in a
// tight loop: who only looks is no reason to be refused.
func TestLookingHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.apply(t.Context(), r.plan(plan.Round{Name: "one", Workers: []plan.Worker{r.worker("one", "ada", `exit 1`)}}))
	sel := runtime.Selector{ProjectRoot: r.root, Name: "test"}
	run, err := runtime.Find(sel)
	if err != nil {
		t.Fatal(err)
	}
	// What status does to tell whether a run is driven, and nothing else.
	look := func() {
		if l, err := durable.TryRLock(run.Lock()); err == nil {
			l.Close()
		}
	}
	one, two := beside(look), beside(look)
	for range 20 {
		if _, err := runtime.Teardown(t.Context(), r.env, sel, false); err != nil {
			t.Errorf("teardown: %v", err)
			break
		}
	}
	one()
	two()
}

// TestTwoRunnersAtOnce lets several runners begin the same new run at the same
// instant: one drives it, and no worker is started twice.
func TestTwoRunnersAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := func() *plan.Plan {
		return r.plan(plan.Round{Name: "one", Workers: []plan.Worker{r.worker("one", "ada", `echo "$OKSTRA_INVOCATION" >> starts; `+writeResult)}})
	}
	var wg sync.WaitGroup
	errs := make([]error, 4)
	begin := make(chan struct{})
	for i := range errs {
		wg.Go(func() {
			<-begin
			_, errs[i] = runtime.Apply(t.Context(), r.env, runtime.ApplyOptions{Plan: p()})
		})
	}
	close(begin)
	wg.Wait()
	drove := 0
	for _, err := range errs {
		switch {
		case err == nil:
			drove++
		case !errors.Is(err, runtime.ErrHeld):
			t.Errorf("a runner ended with %v", err)
		}
	}
	if drove == 0 {
		t.Error("nobody drove the run")
	}
	b, err := os.ReadFile(filepath.Join(r.root, "starts"))
	if err != nil {
		t.Fatal(err)
	}
	starts := strings.Fields(string(b))
	slices.Sort(starts)
	if len(slices.Compact(slices.Clone(starts))) != len(starts) || len(starts) != 1 {
		t.Errorf("started %v", starts)
	}
}

// TestStopAgainstApply stops a run again and again at different instants of its
// life: whatever it hits, nothing is left running and the run can go on.
func TestStopAgainstApply(t *testing.T) {
	for _, after := range []time.Duration{0, 5 * time.Millisecond, 20 * time.Millisecond, 60 * time.Millisecond, 150 * time.Millisecond} {
		t.Run(after.String(), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			p := func() *plan.Plan {
				round := plan.Round{Name: "one"}
				for i := range 6 {
					round.Workers = append(round.Workers, r.worker("one", fmt.Sprintf("w%d", i), `echo "$OKSTRA_INVOCATION" >> starts; until [ -e go-on ]; do sleep 0.02; done; `+writeResult))
				}
				p := r.plan(round)
				p.Run.Parallelism = 3
				return p
			}
			ended := make(chan error, 1)
			go func() {
				out, err := runtime.Apply(t.Context(), r.env, runtime.ApplyOptions{Plan: p()})
				if err == nil && out.Exit != 3 {
					err = fmt.Errorf("exit %d: %s", out.Exit, out.Summary)
				}
				ended <- err
			}()
			sel := runtime.Selector{ProjectRoot: r.root, Name: "test"}
			poll(t, "the run", func() bool {
				_, err := runtime.Find(sel)
				return err == nil
			})
			<-time.After(after) // the instant is what differs; nothing relies on it
			if _, err := runtime.Stop(t.Context(), r.env, sel, nil); err != nil {
				t.Errorf("stop: %v", err)
			}
			if err := <-ended; err != nil {
				t.Errorf("apply: %v", err)
			}
			st, err := runtime.Status(t.Context(), r.env, sel)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range st.Workers {
				if w.Live || !w.Status.Terminal() || w.Status == plan.StatusCompleted {
					t.Errorf("after stop %s is %s/%s, live %v", w.WorkerKey, w.Status, w.Reason, w.Live)
				}
			}
			if err := os.WriteFile(filepath.Join(r.root, "go-on"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if out := r.apply(t.Context(), p()); out.Exit != 0 {
				t.Errorf("the next apply ended with %d: %s", out.Exit, out.Summary)
			}
			b, err := os.ReadFile(filepath.Join(r.root, "starts"))
			if err != nil {
				t.Fatal(err)
			}
			starts := strings.Fields(string(b))
			slices.Sort(starts)
			if len(slices.Compact(slices.Clone(starts))) != len(starts) {
				t.Errorf("an attempt was started twice: %v", starts)
			}
		})
	}
}

// poll waits until f is true.
func poll(t *testing.T, what string, f func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !f() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited for %s: %v", what, ctx.Err())
		case <-tick.C:
		}
	}
}
