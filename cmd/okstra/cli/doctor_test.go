package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/okstra/okstra/cmd/okstra/view"
	"github.com/okstra/okstra/lang"
	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime/proc"
	"github.com/okstra/okstra/runtime/providers"
	"github.com/okstra/okstra/runtime/providers/host"
)

// TestWorkerFinding: what files say, what a job proves, and what is to be done.
func TestWorkerFinding(t *testing.T) {
	signIn := host.Report{Troubles: []host.Trouble{{What: "it is not signed in", Do: "sign in", Fatal: true}}}
	root := host.Report{SignIn: "KEY is set", Troubles: []host.Trouble{{What: "as root it refuses write access", Do: "be another user"}}}
	completed := &view.Probe{Status: plan.StatusCompleted}
	failed := func(s plan.Status, r plan.Reason) *view.Probe { return &view.Probe{Status: s, Reason: r} }
	for name, tc := range map[string]struct {
		looked lookedAt
		probe  *view.Probe
		state  view.State
		found  string
		do     string
	}{
		"sound":                 {lookedAt{found: "1.0"}, nil, view.StateOK, "1.0", ""},
		"not there":             {lookedAt{problem: "not on PATH", absent: true, remedy: "install it"}, nil, view.StateAbsent, "not on PATH", "install it"},
		"not there, and wanted": {lookedAt{cli: workerCLI{use: useWanted}, problem: "not on PATH", absent: true, remedy: "install it"}, nil, view.StateAttention, "not on PATH", "install it"},
		"cannot run":            {lookedAt{problem: "exit 127", remedy: "try", report: signIn}, nil, view.StateAttention, "exit 127", "sign in"},
		"some cannot":           {lookedAt{found: "1.0", report: root}, nil, view.StateOK, "1.0; KEY is set; as root it refuses write access", "be another user"},
		"none can":              {lookedAt{found: "1.0", report: signIn}, nil, view.StateAttention, "1.0; it is not signed in", "sign in"},
		"proven":                {lookedAt{found: "1.0", report: signIn}, completed, view.StateOK, "1.0", ""},
		"proven, as far as":     {lookedAt{found: "1.0", report: root}, completed, view.StateOK, "1.0; KEY is set; as root it refuses write access", "be another user"},
		"refuted":               {lookedAt{found: "1.0"}, failed(plan.StatusError, plan.ReasonSignal), view.StateAttention, "1.0", providers.HintFor(providers.Ended{Reason: plan.ReasonSignal, Provider: ""})},
		"explained":             {lookedAt{found: "1.0", report: signIn}, failed(plan.StatusError, plan.ReasonAuth), view.StateAttention, "1.0; it is not signed in", "sign in"},
		"silent, and explained": {lookedAt{found: "1.0", report: signIn}, failed(plan.StatusTimeout, plan.ReasonWallLimit), view.StateAttention, "1.0; it is not signed in", "sign in"},
		"silent":                {lookedAt{found: "1.0"}, failed(plan.StatusTimeout, plan.ReasonWallLimit), view.StateAttention, "1.0", "run it by hand: it does not answer, and does not say why"},
		"two things":            {lookedAt{found: "1.0", report: signIn}, failed(plan.StatusError, plan.ReasonSignal), view.StateAttention, "1.0; it is not signed in", "sign in; " + providers.HintFor(providers.Ended{Reason: plan.ReasonSignal, Provider: ""})},
	} {
		t.Run(name, func(t *testing.T) {
			want := view.Finding{Area: "worker", State: tc.state, Found: tc.found, Do: tc.do, Probe: tc.probe}
			if diff := cmp.Diff(want, tc.looked.finding(tc.probe)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestProbeDefinition: any path of a definition can be imported.
func TestProbeDefinition(t *testing.T) {
	dir := filepath.Join(t.TempDir(), `a "${x} %{y}`)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(dir, "okstra.hcl")
	if err := os.WriteFile(own, []byte("override provider \"codex\" {\n  command = [\"mine\"]\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	probe := t.TempDir()
	if err := os.WriteFile(filepath.Join(probe, "okstra.hcl"), probeDefinition(own, []string{"claude", "codex"}), 0o644); err != nil {
		t.Fatal(err)
	}
	env, _, _ := testEnv(t, probe)
	s := &session{env: env, globals: &globals{dir: probe}}
	src := s.source(nil)
	src.ProjectRoot = probe
	c, _, err := compile(src, probeName, lang.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, w := range c.Plan.Rounds[0].Workers {
		got[w.Provider] = fmt.Sprintf("%s %s %d", w.Argv[0], w.Limits.Wall, w.Retry.Attempts)
	}
	want := map[string]string{"claude": `claude 1m30s 1`, "codex": `mine 1m30s 1`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("workers (-want +got):\n%s", diff)
	}
}

// TestQueryEnds: a program that does not answer is ended with what it started.
func TestQueryEnds(t *testing.T) {
	dir := t.TempDir()
	env, _, _ := testEnv(t, dir)
	env.Environ = append(env.Environ, "PATH="+os.Getenv("PATH"))
	pid := filepath.Join(dir, "pid")
	writeFile(t, filepath.Join(dir, "slow"), "#!/bin/sh\nsleep 60 & echo $! > "+pid+"\nwait\n", 0o755)
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		// Its child is there: it cannot have answered.
		await(t, func() bool {
			b, err := os.ReadFile(pid)
			return err == nil && strings.HasSuffix(string(b), "\n")
		})
		cancel(errNoAnswer)
	}()
	_, err := query(ctx, time.Minute, env, dir, []string{filepath.Join(dir, "slow")}, nil)
	if !errors.Is(err, errNoAnswer) {
		t.Fatalf("error %v", err)
	}
	b, err := os.ReadFile(pid)
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	await(t, func() bool {
		id, err := proc.Of(child)
		return err != nil || !id.Alive()
	})
}

// await polls until ready says true, and fails the test where it never does.
func await(t *testing.T, ready func() bool) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	end := time.After(time.Minute)
	for !ready() {
		select {
		case <-tick.C:
		case <-end:
			t.Error("waited in vain")
			return
		}
	}
}

// TestQueryTime: it says how long it waited.
func TestQueryTime(t *testing.T) {
	dir := t.TempDir()
	env, _, _ := testEnv(t, dir)
	env.Environ = append(env.Environ, "PATH="+os.Getenv("PATH"))
	writeFile(t, filepath.Join(dir, "slow"), "#!/bin/sh\nexec sleep 60\n", 0o755)
	_, err := query(t.Context(), 20*time.Millisecond, env, dir, []string{filepath.Join(dir, "slow")}, nil)
	if !errors.Is(err, errNoAnswer) || !strings.Contains(err.Error(), "no answer within 20ms") {
		t.Errorf("error %v", err)
	}
}
