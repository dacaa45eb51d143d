package runtime_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime"
	"github.com/okstra/okstra/runtime/schema"
)

// FuzzDecodePlan reads anything as a plan. What is taken for one is written and
// read again without a difference, and every prompt of one that also fits its
// schema can be rendered.
func FuzzDecodePlan(f *testing.F) {
	golden, err := filepath.Glob("../lang/testdata/golden/*.json")
	if err != nil || len(golden) == 0 {
		f.Fatal("no plans", err)
	}
	for _, file := range golden {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	for _, text := range []string{
		``, `null`, `{"format": "okstra.plan/1"}`, `{"format": "okstra.plan/2"}`,
		`{"format": "okstra.plan/1", "rounds": [{"workers": [{"instructions": ["a", null, {"ref": "nothing"}]}]}]}`,
		`{"format": "okstra.plan/1", "rounds": [{"workers": [{"instructions": [{"ref": "var.token"}], "argv": [[{"ref": "output..path"}]]}]}]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := runtime.DecodePlan(b, "fuzz")
		if err != nil {
			return
		}
		once, err := plan.Indented(p)
		if err != nil {
			t.Fatalf("a plan that was read cannot be written: %v", err)
		}
		again, err := runtime.DecodePlan(once, "again")
		if err != nil {
			t.Fatalf("a plan that was written cannot be read: %v\n%s", err, once)
		}
		twice, err := plan.Indented(again)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("read again it is another plan (%v):\n%s\n%s", err, once, twice)
		}
		p.Difference.Work()
		p.Identity()
		if schema.Validate(schema.Plan, b) != nil {
			return
		}
		for i := range p.Rounds {
			r := &p.Rounds[i]
			for j := range r.Workers {
				w := &r.Workers[j]
				a := paths.Attempt{
					Run:   paths.Run{Root: "/p", Task: p.Run.Task, TaskType: p.Run.TaskType, Seq: 1},
					Batch: r.Name, Stem: paths.Stem(w.Role, w.Duty, w.ParticipantRef, w.EachKey), Number: 1,
				}
				runtime.Prompt(p, r, w, a, "initial", "")
			}
		}
	})
}
