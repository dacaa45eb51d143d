package lang

import (
	"path/filepath"
	"strings"

	"github.com/spf13/afero"

	"github.com/okstra/okstra/lang/plan/paths"
)

// conventional are the names that a definition is found by.
var conventional = []string{"okstra.hcl", "okstra.hcl.json", "okstra"}

// Conventional returns the names in a folder by which a definition is found
// there without -f, in a fixed order: okstra.hcl and okstra.hcl.json where they
// are files, okstra where it is a folder that holds definition files, or one that
// cannot be read.
func Conventional(fsys afero.Fs, dir string) []string {
	var found []string
	for _, name := range conventional {
		path := filepath.Join(dir, name)
		info, err := fsys.Stat(path)
		switch {
		case err != nil:
			continue
		case name != "okstra" && info.IsDir(), name == "okstra" && !info.IsDir():
			continue
		case name == "okstra":
			if files, err := definitionsIn(fsys, path); err == nil && len(files) == 0 {
				continue
			}
		}
		found = append(found, name)
	}
	return found
}

// locate finds the definition and the project root.
func (l *loader) locate() bool {
	if !filepath.IsAbs(l.src.Dir) {
		panic("lang: Source.Dir is not absolute: " + l.src.Dir)
	}
	l.src.Dir = filepath.Clean(l.src.Dir)
	path := l.src.File
	if path == "" {
		found := Conventional(l.src.Fs, l.src.Dir)
		switch len(found) {
		case 0:
			l.diags = append(l.diags, bare(SummaryNotFound, "There is no okstra.hcl, okstra.hcl.json or folder okstra/ of *.hcl files in %s.%s %s", l.src.Dir, l.odd(), l.elsewhere()))
			return false
		case 1:
			path = found[0]
		default:
			l.diags = append(l.diags, bare(SummaryAmbiguous, "%s holds %s. Keep one of them, or name the one that is meant with -f.", l.src.Dir, strings.Join(found, " and ")))
			return false
		}
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(l.src.Dir, path)
	}
	path = filepath.Clean(path)
	info, err := l.src.Fs.Stat(path)
	if err != nil {
		l.diags = append(l.diags, bare(SummaryNotFound, "Reading %s: %s.", l.show(path), plainError(err)))
		return false
	}
	l.def.Path = path
	l.def.folder = path
	if !info.IsDir() {
		l.def.folder = filepath.Dir(path)
	}
	if l.src.ProjectRoot != "" {
		root := l.src.ProjectRoot
		if !filepath.IsAbs(root) {
			root = filepath.Join(l.src.Dir, root)
		}
		l.def.ProjectRoot = filepath.Clean(root)
		return true
	}
	l.def.ProjectRoot = ProjectRoot(l.src.Fs, path)
	return true
}

// stays reports whether path, followed through links, is inside the project
// root or folder, and says so where it is not: the text of a file elsewhere is
// neither read nor shown for a link to it.
func (l *loader) stays(path, folder string) bool {
	r := newReader(l.src.Fs, l.def.ProjectRoot, []string{folder})
	target, err := r.follow(path, false)
	switch {
	case err != nil:
		l.diags = append(l.diags, bare(SummaryUnreadable, "Reading %s: %s.", l.show(path), err))
		return false
	case !r.allowed(target):
		l.diags = append(l.diags, bare(SummaryLeavesRoot, "%s is a link to %s, outside the project root and the folder that it stands in; links out are not followed. Put a copy in its place, or name the file itself, with -f or an import.", l.show(path), target))
		return false
	}
	return true
}

// odd says what in the working directory has the name of a definition and is
// none, with a space before it; or "".
func (l *loader) odd() string {
	for _, name := range conventional {
		info, err := l.src.Fs.Stat(filepath.Join(l.src.Dir, name))
		switch {
		case err != nil:
		case name == "okstra" && info.IsDir():
			return " (The folder okstra/ holds no *.hcl or *.hcl.json file.)"
		case name != "okstra" && info.IsDir():
			return " (" + name + " is a folder.)"
		}
	}
	return ""
}

// elsewhere says what to do where the working directory holds no definition.
func (l *loader) elsewhere() string {
	for dir := filepath.Dir(l.src.Dir); ; dir = filepath.Dir(dir) {
		if len(Conventional(l.src.Fs, dir)) > 0 {
			return "There is one above it: give -C " + dir + " to work there, or -f."
		}
		if dir == filepath.Dir(dir) {
			return "Name a file or folder with -f, another working directory with -C, or write one with okstra init."
		}
	}
}

// ProjectRoot returns the root of the project that a definition belongs to:
// the nearest folder above it that holds .okstra or .git (a linked git
// worktree counts as its main one), else the definition's folder. The path is
// that of the file or folder and must be absolute.
func ProjectRoot(fsys afero.Fs, definition string) string {
	folder := definition
	if info, err := fsys.Stat(definition); err == nil && !info.IsDir() || filepath.Base(definition) == "okstra" {
		// The folder okstra/ is a definition in the folder that holds it.
		folder = filepath.Dir(definition)
	}
	for dir := folder; ; dir = filepath.Dir(dir) {
		if info, err := fsys.Stat(filepath.Join(dir, paths.Folder)); err == nil && info.IsDir() {
			return dir
		}
		git := filepath.Join(dir, ".git")
		if info, err := fsys.Stat(git); err == nil {
			if info.IsDir() {
				return dir
			}
			return mainWorktree(fsys, dir, git)
		}
		if dir == filepath.Dir(dir) {
			return folder
		}
	}
}

// mainWorktree follows a .git file. Only a linked worktree's git folder has a
// commondir, which names the main one's .git; a submodule is its own root.
func mainWorktree(fsys afero.Fs, dir, git string) string {
	gitdir, ok := pointer(fsys, git, "gitdir: ", dir)
	if !ok {
		return dir
	}
	common, ok := pointer(fsys, filepath.Join(gitdir, "commondir"), "", gitdir)
	if !ok || filepath.Base(common) != ".git" {
		return dir
	}
	return filepath.Dir(common)
}

// pointer reads a one-line file that holds a path, relative to base.
func pointer(fsys afero.Fs, file, prefix, base string) (string, bool) {
	b, err := readAtMost(fsys, file, 64<<10)
	if err != nil {
		return "", false
	}
	path, ok := strings.CutPrefix(strings.TrimSpace(string(b)), prefix)
	if !ok || path == "" {
		return "", false
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	return filepath.Clean(path), true
}
