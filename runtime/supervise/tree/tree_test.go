package tree

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository makes a work tree with two commits' worth of files.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	run(t, dir, "init", "-q")
	write(t, dir, "a.txt", "a")
	write(t, dir, "dir/b with space.txt", "b")
	write(t, dir, ".gitignore", "*.ignored\n")
	run(t, dir, "add", ".")
	run(t, dir, "commit", "-q", "-m", "one")
	return dir
}

func run(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestChanges(t *testing.T) {
	tests := []struct {
		name   string
		before func(t *testing.T, dir string)
		do     func(t *testing.T, dir string)
		want   string
	}{
		{"nothing", nil, func(t *testing.T, dir string) {}, ""},
		{"tracked", nil, func(t *testing.T, dir string) { write(t, dir, "a.txt", "A") }, "a.txt"},
		{"deleted", nil, func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, "dir/b with space.txt")) }, "dir/b with space.txt"},
		{"untracked", nil, func(t *testing.T, dir string) { write(t, dir, "new/ü\nx", "n") }, "new/ü\nx"},
		{"ignored", nil, func(t *testing.T, dir string) { write(t, dir, "x.ignored", "n") }, ""},
		{"mode", nil, func(t *testing.T, dir string) { os.Chmod(filepath.Join(dir, "a.txt"), 0o755) }, "a.txt"},
		{"okstra's own", nil, func(t *testing.T, dir string) { write(t, dir, ".okstra/x", "n") }, ""},
		{"left out", nil, func(t *testing.T, dir string) { write(t, dir, "out/x", "n"); write(t, dir, "outside", "n") }, "outside"},
		{"dirty before and the same", func(t *testing.T, dir string) { write(t, dir, "a.txt", "A"); write(t, dir, "n", "n") }, func(t *testing.T, dir string) {}, ""},
		{"dirty before and changed again", func(t *testing.T, dir string) { write(t, dir, "a.txt", "A"); write(t, dir, "n", "n") }, func(t *testing.T, dir string) {
			write(t, dir, "a.txt", "B")
			write(t, dir, "n", "m")
		}, "a.txt,n"},
		{"dirty before and clean after", func(t *testing.T, dir string) { write(t, dir, "a.txt", "A") }, func(t *testing.T, dir string) { write(t, dir, "a.txt", "a") }, "a.txt"},
		{"staged only", func(t *testing.T, dir string) { write(t, dir, "a.txt", "A") }, func(t *testing.T, dir string) { run(t, dir, "add", "a.txt") }, "a.txt"},
		{"renamed", nil, func(t *testing.T, dir string) { run(t, dir, "mv", "a.txt", "c.txt") }, "c.txt"},
		{"committed", nil, func(t *testing.T, dir string) { run(t, dir, "commit", "-q", "--allow-empty", "-m", "two") }, "HEAD"},
		{"link", nil, func(t *testing.T, dir string) { os.Symlink("/nobody", filepath.Join(dir, "l")) }, "l"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := repository(t)
			if tt.before != nil {
				tt.before(t, dir)
			}
			take := func() *Snapshot {
				// A folder below the root stands for the whole tree.
				s, err := Take(context.Background(), filepath.Join(dir, "dir"), []string{filepath.Join(mustEval(t, dir), "out")}, nil)
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			index, err := os.ReadFile(filepath.Join(dir, ".git", "index"))
			if err != nil {
				t.Fatal(err)
			}
			before := take()
			if now, err := os.ReadFile(filepath.Join(dir, ".git", "index")); err != nil || string(now) != string(index) {
				t.Errorf("the index was written (%v)", err)
			}
			tt.do(t, dir)
			if got := strings.Join(Changes(before, take()), ","); got != tt.want {
				t.Errorf("changes %q, want %q", got, tt.want)
			}
		})
	}
}

func mustEval(t *testing.T, dir string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return real
}

func TestBeforeTheFirstCommit(t *testing.T) {
	dir := t.TempDir()
	run(t, dir, "init", "-q")
	before, err := Take(context.Background(), dir, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "x", "x")
	after, err := Take(context.Background(), dir, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := Changes(before, after); len(got) != 1 || got[0] != "x" {
		t.Error(got)
	}
}

func TestNoRepository(t *testing.T) {
	if _, err := Take(context.Background(), t.TempDir(), nil, nil); !errors.Is(err, ErrNoRepository) {
		t.Errorf("%v", err)
	}
	dir := repository(t)
	if _, err := Take(context.Background(), filepath.Join(dir, ".git"), nil, nil); !errors.Is(err, ErrNoRepository) {
		t.Errorf("inside .git: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Take(ctx, dir, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("# branch.oid abc\x001 .M N... 100644 100644 100644 a b a file\x002 R. N... 1 1 1 a b R100 new\x00old\x00? un tracked\x00"))
	f.Add([]byte("2 R. N... 1 1 1 a b R100 new\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, _, err := parse(b)
		if err != nil && entries != nil {
			t.Error("entries beside an error")
		}
	})
}
