package supervise

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/okstra/okstra/runtime/launch"
	"github.com/okstra/okstra/runtime/sidecar"
)

func TestSplitParts(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, result, parts string }{
		{"nothing", "", "", ""},
		{"result only", "a\nb", "a\nb", ""},
		{"parts", "r\n=== okstra:audit ===\na\n=== okstra:emit ===\n{}\n", "r\n", "audit=a\n|emit={}\n"},
		{"no result", "=== okstra:audit ===\na", "", "audit=a"},
		{"line ends of Windows", "r\r\n=== okstra:audit ===\r\na\r\n", "r\r\n", "audit=a\r\n"},
		{"the last one counts", "=== okstra:a ===\n1\n=== okstra:a ===\n2\n", "", "a=2\n"},
		{"not alone on its line", "x === okstra:a ===\n=== okstra:a === x\n=== okstra: ===\n=== okstra:a b ===\n", "x === okstra:a ===\n=== okstra:a === x\n=== okstra: ===\n=== okstra:a b ===\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := splitParts(tt.text)
			var parts []string
			for _, n := range p.order {
				parts = append(parts, n+"="+p.named[n])
			}
			if p.result != tt.result || strings.Join(parts, "|") != tt.parts {
				t.Errorf("result %q, parts %q", p.result, parts)
			}
		})
	}
}

func TestUnfence(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"{}": "{}", "```json\n{}\n```\n": "{}\n", "\n```\n[1]\n```": "[1]\n", "```": "```", "```json {}```": "```json {}```",
	} {
		if got := unfence(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	env := []string{"PATH=/usr/bin", "API_KEY=abcdef123", "TOKEN=1", "DSN=db", "HOME=/home/someone"}
	for in, want := range map[string]string{
		"key abcdef123 failed":                 "key [redacted] failed",
		"cannot open db":                       "cannot open [redacted]",
		"1 error in /home/someone":             "1 error in /home/someone",
		"Authorization: Bearer abc.def-ghi123": "Authorization: [redacted]",
		"sk-ant-x1y2z3w4v5 and task-list":      "[redacted] and task-list",
		"AKIAX1Y2Z3W4V5U6 and AIzax1y2z3w4v5":  "[redacted] and [redacted]",
		"--dangerously-skip-permissions":       "--dangerously-skip-permissions",
		"sk-learn-extra, pk_some_constraint":   "sk-learn-extra, pk_some_constraint",
		"the bearer authentication failed":     "the bearer authentication failed",
		"red \x1b[31malert\x1b[0m":             "red alert",
	} {
		if got := redact(in, env, []string{"DSN"}); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"short": "short", "0123456789": "0123456789", "0123456789a": "0123456…", "0123456ü89": "0123456…"} {
		if got := cut(in, 10); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	tl := tail{max: 5}
	for _, s := range []string{"ab", "cd", "efg", "", "h", "123456789"} {
		tl.add([]byte(s))
		if len(tl.b) > 5 {
			t.Fatalf("%q", tl.b)
		}
	}
	if string(tl.b) != "56789" {
		t.Errorf("%q", tl.b)
	}
	tl.add([]byte("xy"))
	if string(tl.b) != "789xy" {
		t.Errorf("%q", tl.b)
	}
}

// FuzzLines compares with cutting the whole text at once, however it arrives.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nbb\r\n\nccccccccccc\nd"), 3)
	f.Add([]byte("\r\n\r"), 1)
	f.Add(bytes.Repeat([]byte("x"), 40), 7)
	f.Fuzz(func(t *testing.T, text []byte, step int) {
		const most = 8
		var got []string
		var open strings.Builder
		l := &lines{max: most, take: func(line []byte, more bool) {
			if len(line) > most {
				t.Errorf("a piece of %d bytes", len(line))
			}
			open.Write(line)
			if !more {
				got = append(got, open.String())
				open.Reset()
			}
		}}
		step = max(1, step%16)
		for rest := text; len(rest) > 0; {
			n := min(step, len(rest))
			l.feed(rest[:n])
			rest = rest[n:]
		}
		l.end()
		var want []string
		for line := range strings.Lines(string(text)) {
			want = append(want, strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"))
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") || len(got) != len(want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

// TestTheLargestSidecarFits fills every bounded member of a terminal sidecar.
func TestTheLargestSidecarFits(t *testing.T) {
	t.Parallel()
	s := &supervisor{rec: &launch.Record{}}
	for i := range 2 * maxNotes {
		s.note("%d %s", i, strings.Repeat("\"", 2*maxNote))
	}
	if len(s.status.Notes) != maxNotes {
		t.Errorf("%d notes", len(s.status.Notes))
	}
	s.status.SchemaVersion, s.status.Claim = sidecar.SchemaVersion, newClaim()
	s.cannotStart(fmt.Errorf("%s", strings.Repeat("<", 2*maxDetail)))
	paths := make([]string, maxChanged)
	for i := range paths {
		paths[i] = strings.Repeat("p", maxNote)
	}
	s.status.Changed = &sidecar.Changed{Paths: paths}
	if n := len(s.status.Encode()); n > reserved {
		t.Errorf("%d bytes, %d are reserved", n, reserved)
	}
}

func TestTmuxSocket(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"/tmp/a,b/default,123,0": "/tmp/a,b/default", "": "", "x": "x"} {
		if got := tmuxSocket(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
	env := map[string]string{"TMUX": "/tmp/s,1,0", "TMUX_PANE": "%3"}
	if p := pane("tmux", func(k string) string { return env[k] }); p == nil || p.ID != "%3" || p.Socket != "/tmp/s" {
		t.Errorf("%+v", p)
	}
	if p := pane("process", os.Getenv); p != nil {
		t.Errorf("%+v", p)
	}
}
