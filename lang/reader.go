package lang

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/afero"

	"github.com/okstra/okstra/lang/plan"
)

// maxRead bounds a file that a function or a digest reads, in bytes.
const maxRead = 16 << 20

// maxLinks bounds the links that one path may go through.
const maxLinks = 40

// reader gives file functions what they may read: regular files inside the
// project root and the folders of the definition and its imports, links
// followed only while they stay there. Everything read is an input of the plan.
type reader struct {
	fsys  afero.Fs
	root  string
	roots []string // with the folders of links resolved
	read  map[string]plan.InputFile
	// looked holds answers that came from folders and not from a file's content:
	// what a pattern matched, whether a file is there. They are inputs too.
	looked map[string]plan.InputFile
	cache  map[string][]byte
}

func newReader(fsys afero.Fs, root string, folders []string) *reader {
	r := &reader{fsys: fsys, root: root, read: map[string]plan.InputFile{}, looked: map[string]plan.InputFile{}, cache: map[string][]byte{}}
	for _, dir := range append([]string{root}, folders...) {
		r.roots = append(r.roots, dir)
		// A project may itself stand behind a link.
		if real, err := r.follow(dir, false); err == nil && real != dir {
			r.roots = append(r.roots, real)
		}
	}
	return r
}

// relative names a path as plans do: relative to the project root inside it,
// absolute outside.
func (r *reader) relative(p string) string { return relativeTo(r.root, p) }

func relativeTo(root, p string) string {
	rel, err := filepath.Rel(root, p)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return p
	}
	return filepath.ToSlash(rel)
}

// inside reports whether p is root or below it.
func inside(root, p string) bool {
	rel, err := filepath.Rel(root, p)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

func (r *reader) allowed(p string) bool {
	return slices.ContainsFunc(r.roots, func(root string) bool { return inside(root, p) })
}

// resolve makes a path absolute, follows its links, and refuses what is
// outside.
func (r *reader) resolve(base, p string) (string, error) {
	if p == "" || strings.ContainsRune(p, 0) {
		return "", errors.New("the path is empty or holds a NUL character")
	}
	full := p
	if !filepath.IsAbs(full) {
		if base == "" {
			return "", errors.New("no file can be read from here")
		}
		full = filepath.Join(base, full)
	}
	full = filepath.Clean(full)
	if !r.allowed(full) {
		return "", fmt.Errorf("%s is outside the project root and the definition's folders, where nothing is read; copy or import it", p)
	}
	if _, err := r.follow(full, true); err != nil {
		return "", err
	}
	return full, nil
}

// follow resolves every link on the way to p. With confined it refuses to
// leave the allowed folders. What does not exist resolves to itself.
func (r *reader) follow(p string, confined bool) (string, error) {
	lst, canStat := r.fsys.(afero.Lstater)
	links, canRead := r.fsys.(afero.LinkReader)
	if !canStat || !canRead {
		return p, nil // a file system without links
	}
	todo := strings.Split(strings.TrimPrefix(p, "/"), "/")
	at, seen := "/", 0
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		if name == "" || name == "." {
			continue
		}
		if name == ".." {
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		info, _, err := lst.LstatIfPossible(next)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		if seen++; seen > maxLinks {
			return "", fmt.Errorf("%s goes through too many links", p)
		}
		target, err := links.ReadlinkIfPossible(next)
		if err != nil {
			return "", plainError(err)
		}
		if filepath.IsAbs(target) {
			at = "/"
		}
		todo = append(strings.Split(strings.Trim(target, "/"), "/"), todo...)
	}
	if confined && !r.allowed(at) {
		return "", fmt.Errorf("%s is a link that leaves the project root and the definition's folders; links out are not followed", r.relative(p))
	}
	return at, nil
}

// note records a file that was read.
func (r *reader) note(kind plan.InputKind, full string, content []byte) string {
	digest := plan.DigestBytes(content)
	r.noteDigest(kind, full, digest)
	return digest
}

func (r *reader) noteDigest(kind plan.InputKind, full, digest string) {
	name := r.relative(full)
	if old, ok := r.read[name]; ok && old.Kind == plan.InputDefinition {
		return // a change of it is a redo already
	}
	r.read[name] = plan.InputFile{Kind: kind, Path: name, Digest: digest}
}

// ReadFile implements function.Files.
func (r *reader) ReadFile(base, p string) ([]byte, error) {
	full, err := r.resolve(base, p)
	if err != nil {
		return nil, err
	}
	content, err := r.bytes(full)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", p, err)
	}
	r.note(plan.InputDefinition, full, content)
	return content, nil
}

// bytes reads a whole file, once.
func (r *reader) bytes(full string) ([]byte, error) {
	if b, ok := r.cache[full]; ok {
		return b, nil
	}
	b, err := readAtMost(r.fsys, full, maxRead+1)
	if err != nil {
		return nil, plainError(err)
	}
	if len(b) > maxRead {
		return nil, fmt.Errorf("the file has more than %d MiB", maxRead>>20)
	}
	r.cache[full] = b
	return b, nil
}

// Exists implements function.Files: whether there is a regular file.
func (r *reader) Exists(base, p string) (bool, error) {
	full, err := r.resolve(base, p)
	if err != nil {
		return false, err
	}
	info, err := r.fsys.Stat(full)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.look(full, "")
		return false, nil
	case err != nil:
		return false, plainError(err)
	}
	there := info.Mode().IsRegular()
	r.look(full, plan.Digest(there))
	return there, nil
}

// look records an answer that came from a folder.
func (r *reader) look(full, digest string) {
	name := r.relative(full)
	r.looked[name] = plan.InputFile{Kind: plan.InputDefinition, Path: name, Digest: digest}
}

// maxVisited bounds the files and folders that one pattern may look at.
const maxVisited = 200_000

// Glob implements function.Files: the regular files below base that match the
// pattern, as slash paths relative to base, sorted. "**" stands for any number
// of folders. Folders that begin with a dot are only entered where the pattern
// says so, and .git and .okstra never.
func (r *reader) Glob(base, pattern string) ([]string, error) {
	pattern = path.Clean(filepath.ToSlash(pattern))
	if path.IsAbs(pattern) || pattern == ".." || strings.HasPrefix(pattern, "../") {
		return nil, fmt.Errorf("the pattern %q leaves its folder; name the folder first and a pattern inside it second", pattern)
	}
	parts := strings.Split(pattern, "/")
	for _, p := range parts {
		if _, err := path.Match(p, ""); err != nil {
			return nil, fmt.Errorf("the pattern %q is not well formed", pattern)
		}
	}
	full, err := r.resolve(base, ".")
	if err != nil {
		return nil, err
	}
	g := globber{r: r, found: map[string]bool{}}
	if err := g.walk(full, "", parts); err != nil {
		return nil, err
	}
	found := names(g.found)
	r.look(filepath.Join(full, filepath.FromSlash(pattern)), plan.Digest(found))
	return found, nil
}

type globber struct {
	r       *reader
	found   map[string]bool
	visited int
}

func (g *globber) walk(dir, rel string, parts []string) error {
	for len(parts) > 1 && parts[0] == "**" && parts[1] == "**" {
		parts = parts[1:]
	}
	entries, err := afero.ReadDir(g.r.fsys, dir)
	if err != nil {
		if rel != "" && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return plainError(err)
	}
	if g.visited += len(entries); g.visited > maxVisited {
		return fmt.Errorf("the pattern looks at more than %d files; name a smaller folder", maxVisited)
	}
	for _, e := range entries {
		name := e.Name()
		if name == ".git" || name == ".okstra" {
			continue
		}
		full, sub := filepath.Join(dir, name), path.Join(rel, name)
		info := fs.FileInfo(e)
		linked := info.Mode()&fs.ModeSymlink != 0
		if linked {
			if _, err := g.r.follow(full, true); err != nil {
				continue // a link that leaves: not ours to list
			}
			if info, err = g.r.fsys.Stat(full); err != nil {
				continue
			}
		}
		if err := g.entry(full, sub, name, info, linked, parts); err != nil {
			return err
		}
	}
	return nil
}

func (g *globber) entry(full, sub, name string, info fs.FileInfo, linked bool, parts []string) error {
	head, rest := parts[0], parts[1:]
	if head == "**" {
		if info.IsDir() && !linked && !strings.HasPrefix(name, ".") {
			if err := g.walk(full, sub, parts); err != nil {
				return err
			}
		}
		if len(rest) == 0 {
			if info.Mode().IsRegular() {
				g.found[sub] = true
			}
			return nil
		}
		return g.entry(full, sub, name, info, linked, rest)
	}
	if ok, _ := path.Match(head, name); !ok || strings.HasPrefix(name, ".") && !strings.HasPrefix(head, ".") {
		return nil
	}
	switch {
	case len(rest) == 0:
		if info.Mode().IsRegular() {
			g.found[sub] = true
		}
	case info.IsDir():
		return g.walk(full, sub, rest)
	}
	return nil
}

// inputs lists what was read and looked at. A file that was read is named once:
// its content says that it is there.
func (r *reader) inputs() []plan.InputFile {
	out := make([]plan.InputFile, 0, len(r.read)+len(r.looked))
	for _, name := range names(r.read) {
		out = append(out, r.read[name])
	}
	for _, name := range names(r.looked) {
		if _, read := r.read[name]; !read {
			out = append(out, r.looked[name])
		}
	}
	return out
}
