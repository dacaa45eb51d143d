package tmux

import (
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParseTMUX(t *testing.T) {
	tests := []struct {
		value, socket string
		pid           int
		session       string
		ok            bool
	}{
		{"/tmp/tmux-0/default,12,3", "/tmp/tmux-0/default", 12, "3", true},
		{"/tmp/a,b,12,3", "/tmp/a,b", 12, "3", true},
		{"", "", 0, "", false},
		{"/tmp/cmux-claude-teams/x,y,0", "", 0, "", false},
		{"relative,1,2", "", 0, "", false},
	}
	for _, tt := range tests {
		socket, pid, session, ok := parseTMUX(tt.value)
		if socket != tt.socket || pid != tt.pid || session != tt.session || ok != tt.ok {
			t.Errorf("parseTMUX(%q) = %q, %d, %q, %v", tt.value, socket, pid, session, ok)
		}
	}
}

func TestFindLead(t *testing.T) {
	line := func(id, pid, dead string) string {
		return strings.Join([]string{markPane, id, "@1", "$0", pid, dead, "1", "80", "24", "0", "0", "80", "24", "0", "off", ""}, "\t") + "\n"
	}
	s, ok := parseSnapshot(markServer + "\t50\t1700000000\t3.3a\n" + line("%1", "100", "0") + line("%2", "200", "0") + line("%3", "300", "1"))
	if !ok || len(s.panes) != 3 {
		t.Fatalf("snapshot %+v, %v", s, ok)
	}
	tests := map[string]struct {
		env       string
		server    int // as TMUX says
		ancestors []int
		want      string
	}{
		"both agree":                  {"%1", 50, []int{900, 100, 1}, "%1"},
		"the ancestor wins":           {"%1", 50, []int{900, 200, 100}, "%2"},
		"ancestors only":              {"", 0, []int{200}, "%2"},
		"parent gone":                 {"%1", 50, []int{900}, "%1"},
		"popup":                       {"", 50, []int{50}, ""},
		"stale pane":                  {"%9", 50, nil, ""},
		"pane of an earlier server":   {"%1", 49, nil, ""},
		"dead panes have no children": {"", 50, []int{300}, ""},
		"no pane id":                  {"1", 50, nil, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := ""
			if p := findLead(s, tt.env, tt.server, tt.ancestors); p != nil {
				got = p.id
			}
			if got != tt.want {
				t.Errorf("findLead = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestEscapes(t *testing.T) {
	words := chain([]command{cmd("set-option", "a;", `b\;`, "c;d", ""), cmd("kill-pane", "-t", "%1")})
	want := []string{"set-optio", `a\;`, `b\\;`, "c;d", "", ";", "kill-pan", "-t", "%1"}
	if !slices.Equal(words, want) {
		t.Errorf("chain = %q, want %q", words, want)
	}
	for text, want := range map[string]string{
		"#(x) #{y} #": "##(x) ##{y} ##",
		"a\x1b[0m\n":  "a [0m ",
		"\u202eabc":   " abc",
		"\xff":        "\uFFFD",
		"漢字":          "漢字",
	} {
		if got := title(text); got != want {
			t.Errorf("title(%q) = %q, want %q", text, got, want)
		}
	}
	if n := utf8.RuneCountInString(title(strings.Repeat("é", 500))); n != maxTitle {
		t.Errorf("a long title has %d runes", n)
	}
}

// Every name that okstra uses is understood when it is cut short.
func TestBuiltinNames(t *testing.T) {
	w := newWorld(t, worldOptions{})
	for _, name := range names {
		file := w.files + "/line"
		if err := os.WriteFile(file, []byte(builtin(name)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		// Only parsed; too few words is an answer, not to know the name another.
		out, _ := tmuxCommand(w.socket, "source-file", "-n", file).CombinedOutput()
		if s := string(out); strings.Contains(s, "unknown command") || strings.Contains(s, "ambiguous") {
			t.Errorf("%q: %s", builtin(name), s)
		}
		if longName(builtin(name)) != name {
			t.Errorf("longName(%q) = %q", builtin(name), longName(builtin(name)))
		}
	}
	// The test can fail: this is no command.
	os.WriteFile(w.files+"/line", []byte("no-such-comman\n"), 0o600)
	if out, _ := tmuxCommand(w.socket, "source-file", "-n", w.files+"/line").CombinedOutput(); !strings.Contains(string(out), "unknown command") {
		t.Errorf("an unknown command gives %q", out)
	}
}

func TestRelease(t *testing.T) {
	for version, want := range map[string]string{"3.3a": "3.3.0", "next-3.6": "3.6.0", "3.2": "3.2.0", "2.9a": "2.9.0", "master": ""} {
		got := ""
		if v := release(version); v != nil {
			got = v.String()
		}
		if got != want {
			t.Errorf("release(%q) = %q, want %q", version, got, want)
		}
	}
}

func TestSamePanes(t *testing.T) {
	const l = "b25d,200x50,0,0{119x50,0,0,0,80x50,120,0[80x25,120,0,12,80x24,120,26,3]}"
	if !samePanes(l, []string{"%12", "%0", "%3"}) {
		t.Error("the panes of the layout are not found")
	}
	if samePanes(l, []string{"%12", "%0"}) || samePanes(l, []string{"%12", "%0", "%4"}) {
		t.Error("other panes are taken for those of the layout")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(markServer + "\t1\t2\t3.3a\n" + markPane + "\t%1\t@1\t$0\t1\t0\t1\t80\t24\t0\t0\t80\t24\t0\toff\tx\n")
	f.Add(markMade + "\t0\t%1\t@1\t5\n" + markMade + "\t-1\t%\t@\t\n")
	f.Fuzz(func(t *testing.T, out string) {
		if s, ok := parseSnapshot(out); ok {
			for _, p := range s.panes {
				if !isPane(p.id) || s.pane(p.id) == nil {
					t.Errorf("pane %+v", p)
				}
			}
		}
		for _, m := range parseMade(out) {
			if !isPane(m.pane) || !isWindow(m.window) {
				t.Errorf("made %+v", m)
			}
		}
	})
}

func FuzzTitle(f *testing.F) {
	f.Add("#(x);\x1b")
	f.Fuzz(func(t *testing.T, text string) {
		got := title(text)
		if strings.ContainsAny(got, "\x1b\n\t\x00\x07") || strings.Contains(strings.ReplaceAll(got, "##", ""), "#") || !utf8.ValidString(got) {
			t.Errorf("title(%q) = %q", text, got)
		}
	})
}
