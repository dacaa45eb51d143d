package testscripts

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/okstra/okstra/backends/cmux/cmuxtest"
	"github.com/okstra/okstra/runtime/lead"
)

// screens are the backends, with what each needs around it.
var screens = []struct {
	backend, mode string
	prepare       func(p *project) // nil needs nothing
}{
	{backend: "process", mode: "cli-wrapper"},
	{"tmux", "tmux-pane", func(p *project) {
		if _, err := exec.LookPath("tmux"); errors.Is(err, exec.ErrNotFound) && os.Getenv("OKSTRA_REQUIRE_TMUX") != "1" {
			p.t.Skip("there is no tmux here")
		}
	}},
	{"cmux", "cmux-pane", func(p *project) {
		s, err := cmuxtest.New(cmuxtest.Options{})
		if err != nil {
			p.t.Fatal(err)
		}
		p.t.Cleanup(func() {
			if err := s.Close(); err != nil {
				p.t.Error(err)
			}
		})
		p.env = append(p.env, s.LeadEnv()...)
	}},
}

var leadRuntimes = []string{"claude-code", "codex", "external"}

// everyLead runs a test for each lead runtime on each backend, each in a
// project of its own.
func everyLead(t *testing.T, test func(p *project, leadRuntime, backend, mode string)) {
	for _, host := range leadRuntimes {
		for _, s := range screens {
			t.Run(host+"/"+s.backend, func(t *testing.T) {
				t.Parallel()
				p := newProject(t, "review", "unknown")
				if s.prepare != nil {
					s.prepare(p)
				}
				test(p, host, s.backend, s.mode)
			})
		}
	}
}

// shell runs one line of a bundle as its reader would, in another folder.
func (p *project) shell(line string) ended {
	p.t.Helper()
	return p.with(nil, "sh", "-c", "cd / && "+line)
}

// TestBundleCommands runs every command line of every bundle: with --help,
// which wants every flag known, and, what can start or change something, with
// --dry-run or not at all.
func TestBundleCommands(t *testing.T) {
	everyLead(t, func(p *project, host, backend, mode string) {
		bundle := p.must(0, "render-bundle", "review", "--lead-runtime", host, "--backend", backend).stdout
		for _, want := range []string{"| `workerDispatchBackend` | `" + mode + "` |", "`artifact-only`"} {
			if !strings.Contains(bundle, want) {
				p.t.Errorf("the bundle does not say %s:\n%s", want, bundle)
			}
		}
		if again := p.must(0, "render-bundle", "review@001", "--lead-runtime", host).stdout; again != bundle {
			p.t.Error("a second rendering differs from the first")
		}
		lines := lead.CommandLines(bundle)
		if len(lines) < 15 {
			p.t.Fatalf("only %d command lines", len(lines))
		}
		if host != "external" {
			// One lead's lines are the other's, but for the name and the number.
			other := lead.CommandLines(p.must(0, "render-bundle", "review", "--new", "--lead-runtime", "external", "--backend", backend).stdout)
			same := strings.NewReplacer("@002", "@001", "-unknown-002", "-unknown-001", "--lead-runtime external", "--lead-runtime "+host)
			for i := range other {
				other[i] = same.Replace(other[i])
			}
			if diff := cmp.Diff(other, lines); diff != "" {
				p.t.Errorf("the commands depend on who leads (-external +%s):\n%s", host, diff)
			}
			return
		}
		before := p.snapshot()
		for _, line := range lines {
			if out := p.shell(line + " --help"); out.code != 0 || !strings.HasPrefix(out.stdout, "okstra ") {
				p.t.Errorf("%s --help: %s", line, out)
			}
			verb := strings.Fields(line)[1]
			switch {
			case strings.Contains(line, " team dispatch "):
				line = strings.TrimSuffix(line, " --dry-run") + " --dry-run"
			case slices.Contains([]string{"status", "usage", "verify", "plan", "render-bundle"}, verb):
			case slices.Contains([]string{"why", "logs", "team", "event", "stop"}, verb):
				continue
			default:
				p.t.Errorf("a bundle names %q", verb)
			}
			out := p.shell(line)
			switch {
			case out.code == 0, out.code == 5: // what is not ready yet is refused
			case out.code == 1 && strings.Contains(line, "--jobs-file"): // it is not written yet
			case out.code == 1 && strings.Contains(plainText(out.stderr), "has no final report"): // nor is that
			default:
				p.t.Errorf("%s: %s", line, out)
			}
		}
		if after := p.snapshot(); after != before {
			p.t.Errorf("something was written.\nbefore:\n%s\nafter:\n%s", before, after)
		}
	})
}

// TestFollowBundle is a lead that has read nothing but its bundle. It drives
// the whole run with the lines that stand there, in their order.
func TestFollowBundle(t *testing.T) {
	everyLead(t, func(p *project, host, backend, mode string) {
		if host == "codex" && backend != "process" {
			return // two leads on each backend are enough
		}
		bundle := p.must(0, "render-bundle", "review", "--lead-runtime", host, "--backend", backend).stdout
		if err := follow(p, bundle); err != nil {
			p.t.Fatal(err)
		}
		st := p.state()
		if st.Ended != "completed" || st.LeadRuntime != host || st.DispatchMode != mode {
			p.t.Errorf("ended %q, lead %s, dispatch mode %s", st.Ended, st.LeadRuntime, st.DispatchMode)
		}
		for _, d := range st.WorkerDispatches {
			if d.DispatchMode != mode || d.BackendType != "fake-cli" || (d.PaneID == "") != (backend == "process") {
				p.t.Errorf("%s: dispatch mode %s, backend type %s, pane %q", d.InvocationRef, d.DispatchMode, d.BackendType, d.PaneID)
			}
		}
		p.must(0, "verify")
		if out := p.must(0, p.team("teardown")...); strings.Contains(out.stdout, "closed") {
			p.t.Errorf("the lead's teardown left something: %s", out)
		}
	})
}

// TestFollowExample is the run of docs/lead.md that a person can follow by
// hand: the shipped example, by the lines of its bundle.
func TestFollowExample(t *testing.T) {
	t.Parallel()
	p := newProject(t, "review", "unknown")
	p.empty()
	if err := os.CopyFS(p.root, os.DirFS(examplesDir+"/cross-check")); err != nil {
		t.Fatal(err)
	}
	bundle := p.must(0, "render-bundle", "review", "--lead-runtime", "external", "--backend", "process").stdout
	if err := follow(p, bundle); err != nil {
		t.Fatal(err)
	}
	if out := p.must(0, "status", "review"); !strings.Contains(out.stdout, "completed") {
		t.Errorf("the run is not completed: %s", out)
	}
	p.must(0, "verify", "review")
}

// follow reads a bundle from top to bottom: each round's dispatch where its
// jobs file is there, the await line after each, and the cleanup at the end.
func follow(p *project, bundle string) error {
	sections := map[string][]string{}
	at := ""
	for line := range strings.SplitSeq(bundle, "\n") {
		if strings.HasPrefix(line, "## ") || strings.HasPrefix(line, "### ") {
			at = strings.TrimLeft(line, "# ")
		}
		sections[at] = append(sections[at], line)
	}
	commands := func(section string) []string { return lead.CommandLines(strings.Join(sections[section], "\n")) }
	await := commands("Await")
	if len(await) != 1 {
		return fmt.Errorf("the bundle names %d ways to wait", len(await))
	}
	for _, line := range commands("Round by round") {
		if _, rest, ok := strings.Cut(line, "--jobs-file "); ok {
			if _, err := os.Stat(strings.Fields(rest)[0]); err != nil {
				continue // this round of the re-verification is not needed
			}
		}
		if out := p.shell(line); out.code != 0 {
			return fmt.Errorf("%s: %s", line, out)
		}
		if strings.HasSuffix(line, "--dry-run") {
			continue
		}
		if out := p.shell(await[0]); out.code != 0 {
			return fmt.Errorf("%s: %s", await[0], out)
		}
	}
	for _, line := range slices.Concat(commands("Looking"), commands("Re-verification"), commands("Cleanup"), commands("Resuming")) {
		if out := p.shell(line); out.code != 0 {
			return fmt.Errorf("%s: %s", line, out)
		}
	}
	return nil
}
