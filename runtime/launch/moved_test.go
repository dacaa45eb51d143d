package launch

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAt(t *testing.T) {
	r := &Record{
		ProjectRoot: "/old", Program: "/old/bin/x", Argv: []string{"/old/bin/x"}, Dir: "/old/sub",
		Paths:   Paths{Prompt: "/old/.okstra/p.md", Result: "/old/.okstra/r.md", Log: "/older/x.log"},
		Outputs: []Output{{Name: "a", Path: "/old/.okstra/a", Schema: "/house/a.json"}},
	}
	got := r.At("/new/place")
	want := &Record{
		ProjectRoot: "/new/place", Program: "/old/bin/x", Argv: []string{"/old/bin/x"}, Dir: "/old/sub",
		Paths:   Paths{Prompt: "/new/place/.okstra/p.md", Result: "/new/place/.okstra/r.md", Log: "/older/x.log"},
		Outputs: []Output{{Name: "a", Path: "/new/place/.okstra/a", Schema: "/house/a.json"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("moved record (-want +got):\n%s", diff)
	}
	if r.Outputs[0].Path != "/old/.okstra/a" || r.At("/old") != r {
		t.Error("the record itself was changed")
	}
}
