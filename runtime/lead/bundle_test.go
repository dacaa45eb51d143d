package lead

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func bundle(root string, r Runtime, m Mode) Bundle {
	run, p := runOf(root), reviewPlan(root)
	return Bundle{Run: run, Plan: p, Runtime: r, Mode: m, Manifest: NewManifest(run, p, run.Plan(1), BackendOf(m), r), Why: "tmux is not installed"}
}

func TestBundles(t *testing.T) {
	for _, h := range hosts {
		for _, m := range modes {
			name := string(h.runtime) + "-" + string(m.mode) + ".md"
			t.Run(name, func(t *testing.T) {
				got, err := Render(bundle("/srv/my shop", h.runtime, m.mode))
				if err != nil {
					t.Fatal(err)
				}
				golden(t, name, got)
				for _, part := range []string{"<no value>", "{{", "%!"} {
					if strings.Contains(got, part) {
						t.Errorf("holds %q", part)
					}
				}
			})
		}
	}
}

// TestAxes: what one axis says does not depend on the other, but for what the
// cmux adapter says for every lead alike.
func TestAxes(t *testing.T) {
	value := func(text, field string) string {
		_, rest, _ := strings.Cut(text, "| `"+field+"` | ")
		v, _, _ := strings.Cut(rest, " |\n")
		return v
	}
	for _, h := range hosts {
		for _, m := range modes {
			text, err := Render(bundle("/srv/shop", h.runtime, m.mode))
			if err != nil {
				t.Fatal(err)
			}
			if got := value(text, "workerDispatchBackend"); got != "`"+string(m.mode)+"`" {
				t.Errorf("%s %s: backend %s", h.runtime, m.mode, got)
			}
			if got := value(text, "teardownMode"); got != "`"+m.teardown+"`" {
				t.Errorf("%s %s: teardown %s", h.runtime, m.mode, got)
			}
			label, runtime := "`"+h.label+"`", "`"+string(h.runtime)+"`"
			if m.mode == ModeCmuxPane {
				label, runtime = "`Okstra lead`", "`environment-selected`: you run as "+runtime
			}
			if got := value(text, "leadRoleLabel"); got != label {
				t.Errorf("%s %s: label %s", h.runtime, m.mode, got)
			}
			if got := value(text, "runtime"); got != runtime {
				t.Errorf("%s %s: runtime %s", h.runtime, m.mode, got)
			}
			if !strings.Contains(value(text, "sessionAccounting"), "`artifact-only`") {
				t.Errorf("%s %s: accounting %s", h.runtime, m.mode, value(text, "sessionAccounting"))
			}
		}
	}
}

// verbs are the commands that a bundle may name.
var verbs = []string{"team dispatch", "team await", "team teardown", "event", "usage", "verify", "status", "why", "logs", "stop", "render-bundle", "plan"}

func TestCommandLines(t *testing.T) {
	text, err := Render(bundle("/srv/it's $(a) shop", RuntimeExternal, ModeTmuxPane))
	if err != nil {
		t.Fatal(err)
	}
	lines := CommandLines(text)
	if len(lines) < 15 {
		t.Fatalf("only %d command lines", len(lines))
	}
	used := map[string]bool{}
	for _, l := range lines {
		out, err := exec.Command("/bin/sh", "-c", `okstra() { for w; do printf '%s\n' "$w"; done; }; `+l).Output()
		if err != nil {
			t.Fatalf("%s: %v", l, err)
		}
		words := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
		i := slices.IndexFunc(verbs, func(v string) bool { return strings.HasPrefix(strings.Join(words, " ")+" ", v+" ") })
		if i < 0 {
			t.Errorf("names an unknown command: %s", l)
			continue
		}
		used[verbs[i]] = true
		root := slices.Index(words, "--project-root")
		if root < 0 || words[root+1] != "/srv/it's $(a) shop" {
			t.Errorf("the project root does not survive a shell: %s", l)
		}
	}
	for _, v := range verbs {
		if !used[v] {
			t.Errorf("no command line for %s", v)
		}
	}
	none, err := Render(bundle("/srv/shop", RuntimeExternal, ModeRenderOnly))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range CommandLines(none) {
		if strings.Contains(l, "team ") {
			t.Errorf("a render-only bundle dispatches: %s", l)
		}
	}
}

func TestQuote(t *testing.T) {
	for _, word := range []string{"plain", "", "a b", "it's", "$(touch x)", "`x`", "a\"b", "semi;colon", "ü", "-rf", "a\\b"} {
		out, err := exec.Command("/bin/sh", "-c", "printf %s "+Quote(word)).Output()
		if word == "-rf" { // printf's own option
			out, err = exec.Command("/bin/sh", "-c", "printf %s -- "+Quote(word)).Output()
			out = []byte(strings.TrimPrefix(string(out), "--"))
		}
		if err != nil || string(out) != word {
			t.Errorf("%q came back as %q (%v)", word, out, err)
		}
	}
	if got := Quote("a\nb'c"); strings.Contains(got, "\n") {
		t.Errorf("a line end got through: %q", got)
	}
}

func TestHostileTextStaysInItsPlace(t *testing.T) {
	b := bundle("/srv/shop", RuntimeCodex, ModeTmuxPane)
	b.Plan.Run.Forbidden = []string{"one\n```sh\nokstra evil\n```"}
	b.Plan.Rounds[1].Gate.Reason = "a\n```sh\nokstra evil\n```"
	b.Plan.Rounds[0].Workers[0].Label = "x | y\nz"
	text, err := Render(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range CommandLines(text) {
		if strings.Contains(l, "evil") {
			t.Errorf("text became a command: %s", l)
		}
	}
	if !strings.Contains(text, `x \| y z`) {
		t.Error("a label breaks the table")
	}
}

func TestManyWorkers(t *testing.T) {
	b := bundle("/srv/shop", RuntimeCodex, ModeTmuxPane)
	w := b.Plan.Rounds[0].Workers[0]
	for range 1000 {
		b.Plan.Rounds[0].Workers = append(b.Plan.Rounds[0].Workers, w)
	}
	text, err := Render(b)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text, "and 805 more; the plan lists them all") || len(text) > 60_000 {
		t.Errorf("%d bytes", len(text))
	}
}
