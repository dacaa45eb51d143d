// Package tree takes pictures of a git work tree and tells two of them apart:
// head, tracked files and untracked files. It asks git for names and looks at
// the content of dirty files only, so a clean tree costs one call. It changes
// nothing, and knows no worker.
package tree

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ErrNoRepository means that a folder is in no git work tree.
var ErrNoRepository = errors.New("not in a git work tree")

// ErrTooMany means that a tree has more dirty files than are compared.
var ErrTooMany = errors.New("too many changed and untracked files to compare")

const (
	maxDirty  = 20_000
	maxHashed = 8 << 20 // bytes; larger files are compared by size and time
)

// Snapshot is a work tree at one moment.
type Snapshot struct {
	Root  string // of the work tree
	head  string
	files map[string]string // relative path → what is there, dirty files only
}

// Take takes a picture of the work tree that dir is in. Paths under leaveOut
// (absolute files or folders) are not looked at, nor are files of which ours is
// true; ours may be nil. The context bounds it.
func Take(ctx context.Context, dir string, leaveOut []string, ours func(fs.FileInfo) bool) (*Snapshot, error) {
	if !marked(dir) {
		return nil, ErrNoRepository
	}
	top, err := git(ctx, dir, "rev-parse", "--show-toplevel")
	if err != nil {
		if strings.Contains(err.Error(), "not a git repository") || strings.Contains(err.Error(), "must be run in a work tree") {
			return nil, ErrNoRepository
		}
		return nil, err
	}
	s := &Snapshot{Root: strings.TrimSuffix(string(top), "\n"), files: map[string]string{}}
	status, err := git(ctx, s.Root, "status", "--porcelain=v2", "-z", "--branch", "--untracked-files=all", "--ignore-submodules=none")
	if err != nil {
		return nil, err
	}
	entries, head, err := parse(status)
	if err != nil {
		return nil, err
	}
	s.head = head
	if len(entries) > maxDirty {
		return nil, ErrTooMany
	}
	for _, e := range entries {
		if s.leftOut(e.path, leaveOut) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("look at %s: %w", s.Root, err)
		}
		path := filepath.Join(s.Root, e.path)
		if ours != nil {
			if info, err := os.Lstat(path); err == nil && ours(info) {
				continue
			}
		}
		s.files[e.path] = e.state + " " + look(path)
	}
	return s, nil
}

// marked tells whether dir or a folder above it holds a .git, without which git
// finds no work tree there: it is not told of one in another way (see git).
func marked(dir string) bool {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return true // git says it better
	}
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return false
		}
		dir = parent
	}
}

// Changes lists what differs between two pictures of one tree, sorted: paths
// relative to its root, and "HEAD" where another commit is checked out.
func Changes(before, after *Snapshot) []string {
	var out []string
	if before.head != after.head {
		out = append(out, "HEAD")
	}
	for p, was := range before.files {
		if is, there := after.files[p]; !there || is != was {
			out = append(out, p)
		}
	}
	for p := range after.files {
		if _, there := before.files[p]; !there {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}

func (s *Snapshot) leftOut(path string, leaveOut []string) bool {
	if slices.Contains(strings.Split(path, "/"), ".okstra") {
		return true
	}
	abs := filepath.Join(s.Root, path)
	return slices.ContainsFunc(leaveOut, func(l string) bool {
		return abs == l || strings.HasPrefix(abs, strings.TrimSuffix(l, "/")+"/")
	})
}

// entry is one dirty path. The state is what git says of index and work tree.
type entry struct{ path, state string }

// parse reads "git status --porcelain=v2 -z --branch".
func parse(out []byte) (entries []entry, head string, err error) {
	records := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	for i := 0; i < len(records); i++ {
		r := records[i]
		// The path is the last field and may hold spaces.
		field := func(n int) (string, string, bool) {
			f := strings.SplitN(r, " ", n)
			if len(f) < n {
				return "", "", false
			}
			return f[n-1], strings.Join(f[:n-1], " "), true
		}
		var path, state string
		ok := true
		switch {
		case r == "":
			continue
		case strings.HasPrefix(r, "# branch.oid "):
			head = strings.TrimPrefix(r, "# branch.oid ")
			continue
		case r[0] == '#':
			continue
		case r[0] == '1':
			path, state, ok = field(9)
		case r[0] == '2':
			if path, state, ok = field(10); ok {
				if i++; i >= len(records) {
					ok = false
					break
				}
				state += " from " + records[i]
			}
		case r[0] == 'u':
			path, state, ok = field(11)
		case r[0] == '?':
			path, state, ok = field(2)
		default:
			ok = false
		}
		if !ok {
			return nil, "", fmt.Errorf("git status gave a line that is not known: %q", r)
		}
		entries = append(entries, entry{path, state})
	}
	return entries, head, nil
}

// look tells what is at a path, without following a link.
func look(path string) string {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "gone"
	case err != nil:
		return "unreadable"
	}
	mode := info.Mode().String()
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(path)
		if err != nil {
			return "unreadable"
		}
		return "link " + to
	case !info.Mode().IsRegular():
		return mode
	case info.Size() > maxHashed:
		return fmt.Sprintf("%s %d %d", mode, info.Size(), info.ModTime().UnixNano())
	}
	f, err := os.Open(path)
	if err != nil {
		return mode + " unreadable"
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return mode + " unreadable"
	}
	return mode + " " + hex.EncodeToString(h.Sum(nil))
}

// git runs one reading command. It must not write (the index is refreshed in
// memory only), start no monitor of the user's and obey no GIT_ variable that
// names another repository.
func git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	argv := append([]string{"--no-optional-locks", "-c", "core.fsmonitor=false", "-C", dir}, args...)
	cmd := exec.CommandContext(ctx, "git", argv...)
	cmd.Env = []string{"LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0"}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") && !strings.HasPrefix(v, "LC_ALL=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		said, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		return nil, fmt.Errorf("git %s in %s: %w: %s", args[0], dir, err, said)
	}
	return stdout.Bytes(), nil
}
