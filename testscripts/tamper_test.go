package testscripts

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/okstra/okstra/runtime"
	"github.com/okstra/okstra/runtime/record"
	"github.com/okstra/okstra/runtime/verify"
)

// judged tells whether a status rests on a file: not on what a worker printed, or
// what processes told each other while they ran.
func judged(name string) bool {
	for _, end := range []string{".lock", ".log", ".go", ".launch.json", ".gitignore"} {
		if strings.HasSuffix(name, end) {
			return false
		}
	}
	return true
}

// disagreements verifies in this process what okstra verify does in its own.
func (p *project) disagreements() []verify.Disagreement {
	p.t.Helper()
	r, err := verify.Verify(p.run, verify.Rules{Validate: runtime.Validate, Overlapping: runtime.Overlapping})
	if err != nil {
		return []verify.Disagreement{{Subject: p.run.TeamState(), Found: err.Error()}}
	}
	return r.Disagreements
}

// TestTampered changes one byte of every file of a finished run, then removes
// it, and wants okstra verify to find each.
func TestTampered(t *testing.T) {
	t.Parallel()
	p := newProject(t, "review", "unknown")
	p.must(0, "apply")
	p.must(0, "verify")
	var files []string
	err := filepath.WalkDir(p.run.Dir(), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && judged(d.Name()) {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 40 {
		t.Fatalf("only %d files hold what a status rests on", len(files))
	}
	found := func(what, path string) {
		t.Helper()
		if len(p.disagreements()) == 0 {
			t.Errorf("%s of %s is not found", what, strings.TrimPrefix(path, p.root))
		}
	}
	for _, path := range files {
		content := p.read(path)
		for _, at := range []int{0, len(content) / 2} {
			if at < 0 || at >= len(content) {
				continue
			}
			b := []byte(content)
			b[at] ^= 1
			p.write(path, string(b))
			if path != p.run.Events() { // its lines are not sealed, only counted and compared
				found("a changed byte", path)
			}
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		found("the removal", path)
		p.write(path, content)
	}
	p.must(0, "verify")
}

// TestTamperedRecord changes what is recorded: a record too many, one less, a
// status, an event dropped, and files that no record accounts for.
func TestTamperedRecord(t *testing.T) {
	t.Parallel()
	p := newProject(t, "review", "unknown")
	p.must(0, "apply")
	state, events := p.read(p.run.TeamState()), p.read(p.run.Events())
	edit := func(change func(st *record.State)) string {
		st := p.state()
		change(st)
		b, err := json.MarshalIndent(st, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	const invented = "analysis/find-defects/ada@analysis#2"
	for _, c := range []struct{ name, state, subject string }{
		{"a record without files", edit(func(st *record.State) {
			more := *st.WorkerDispatches[0]
			more.InvocationRef, more.Attempt = invented, 2
			st.WorkerDispatches = append(st.WorkerDispatches, &more)
			st.Project()
		}), invented},
		{"a record less", edit(func(st *record.State) { st.WorkerDispatches = st.WorkerDispatches[1:]; st.Project() }), "analyst.find-defects.ada"},
		{"another status", edit(func(st *record.State) { st.WorkerDispatches[0].Status = "error"; st.Project() }), "analysis/find-defects/ada@analysis#1"},
		{"another round result", edit(func(st *record.State) { st.FindRound("analysis").Result = "unmet" }), "analysis"},
		{"another ending", edit(func(st *record.State) { st.Ended = "rejected" }), "ended"},
		{"another result digest", edit(func(st *record.State) { st.WorkerDispatches[0].Artifacts[0].Digest = "sha256:00" }), "analysis/find-defects/ada@analysis#1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p.t = t
			p.write(p.run.TeamState(), c.state)
			if out := p.must(3, "verify"); !strings.Contains(out.stdout, c.subject) {
				t.Errorf("%s is not named: %s", c.subject, out)
			}
		})
	}
	p.t = t
	p.write(p.run.TeamState(), state)

	lines := strings.SplitAfter(strings.TrimSuffix(events, "\n"), "\n")
	for i := range lines {
		p.write(p.run.Events(), strings.Join(append(append([]string{}, lines[:i]...), lines[i+1:]...), "")+"\n")
		if len(p.disagreements()) == 0 {
			t.Errorf("event %d is dropped and not missed: %s", i+1, lines[i])
		}
	}
	p.write(p.run.Events(), events)
	stray := filepath.Join(p.run.Dir(), "worker-results", "analysis", "analyst.find-defects.dora-worker-unknown-001.md")
	p.write(stray, "Nobody wrote this.\n")
	if out := p.must(3, "verify"); !strings.Contains(out.stdout, "dora") {
		t.Errorf("the stray result is not named: %s", out)
	}
	if err := os.Remove(stray); err != nil {
		t.Fatal(err)
	}
	p.must(0, "verify")
}
