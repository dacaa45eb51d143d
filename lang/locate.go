package lang

import (
	"path/filepath"
	"strings"

	"github.com/spf13/afero"

	"github.com/okstra/okstra/lang/plan/paths"
)

// conventional are the names that a definition is found by.
var conventional = []string{"okstra.hcl", "okstra.hcl.json", "okstra"}

// locate finds the definition and the project root.
func (l *loader) locate() bool {
	if !filepath.IsAbs(l.src.Dir) {
		panic("lang: Source.Dir is not absolute: " + l.src.Dir)
	}
	l.src.Dir = filepath.Clean(l.src.Dir)
	path := l.src.File
	if path == "" {
		var found []string
		odd := ""
		for _, name := range conventional {
			info, err := l.src.Fs.Stat(filepath.Join(l.src.Dir, name))
			switch {
			case err != nil:
			case info.IsDir() == (name == "okstra"):
				found = append(found, name)
			case info.IsDir():
				odd = " (" + name + " is a folder.)"
			}
		}
		switch len(found) {
		case 0:
			l.diags = append(l.diags, bare(SummaryNotFound, "There is no okstra.hcl, okstra.hcl.json or folder okstra/ in %s.%s %s", l.src.Dir, odd, l.elsewhere()))
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

// elsewhere says what to do where the working directory holds no definition.
func (l *loader) elsewhere() string {
	for dir := filepath.Dir(l.src.Dir); ; dir = filepath.Dir(dir) {
		for _, name := range conventional {
			info, err := l.src.Fs.Stat(filepath.Join(dir, name))
			if err == nil && info.IsDir() == (name == "okstra") {
				return "There is one above it: give -C " + dir + " to work there, or -f."
			}
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
