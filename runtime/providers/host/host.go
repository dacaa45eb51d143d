// Package host tells what a machine says about a worker CLI before it is
// started: whether what runs it is here, whether it may run as this user and
// in this folder, and how it would sign in. It reads the environment and the
// CLIs' own files as far as they tell; it starts nothing, writes nothing, and
// gives no value of a secret away. Only a real job proves more.
package host

import (
	"bytes"
	"encoding/json"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/afero"
)

// Host is the machine, as the user of this process finds it.
type Host struct {
	Fs     afero.Fs                           // read-only
	Getenv func(name string) string           // of the environment that workers get
	Find   func(program string) (path string) // on PATH; empty where it is not
	UID    int                                // effective
	OS     string                             // as runtime.GOOS has it
}

// CLI is a worker CLI as a provider starts it.
type CLI struct {
	Program string   // absolute path
	Command []string // of the provider; its first word names the CLI
	Env     []string // names of the variables that the provider sets itself
	Folder  string   // absolute path of the folder that its workers run in
}

// Report is what was found.
type Report struct {
	// SignIn is how the CLI would sign in, such as "ANTHROPIC_API_KEY is set";
	// empty where nothing tells.
	SignIn   string
	Troubles []Trouble
}

// Trouble is something that stands in the way.
type Trouble struct {
	What string
	Do   string
	// Fatal tells that no worker can run at all like this; else only some
	// cannot, those with write access for instance.
	Fatal bool
}

// Known reports whether program, a path or a bare name, is a CLI of which
// Look can tell more than of any program.
func Known(program string) bool { return checks[name(program)] != nil }

// checks are by the name of the CLI's program.
var checks = map[string]func(Host, CLI, *Report){
	"claude": claude,
	"codex":  codex,
	"gemini": gemini,
}

func name(program string) string {
	base := filepath.Base(program)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// Look tells what is known of a CLI that is installed.
func Look(h Host, c CLI) Report {
	var r Report
	if missing := h.interpreter(c.Program); missing != "" {
		what := missing
		if missing == "node" {
			what = "Node.js, or put node on PATH"
		}
		r.fatal("it runs with "+missing+", which is not here", "install "+what)
	}
	if len(c.Command) > 0 {
		if check := checks[name(c.Command[0])]; check != nil {
			check(h, c, &r)
		}
	}
	return r
}

func (r *Report) fatal(what, do string) {
	r.Troubles = append(r.Troubles, Trouble{What: what, Do: do, Fatal: true})
}

// set reports whether a variable has a value for the CLI's workers.
func (h Host) set(c CLI, variable string) bool {
	return h.Getenv(variable) != "" || slices.Contains(c.Env, variable)
}

// oneOf returns the first of these variables that is set.
func (h Host) oneOf(c CLI, variables ...string) (string, bool) {
	for _, v := range variables {
		if h.set(c, v) {
			return v, true
		}
	}
	return "", false
}

// home is a file below a CLI's folder: the value of variable, else the folder
// of this name in the user's home.
func (h Host) home(variable, folder string, elements ...string) string {
	dir := h.Getenv(variable)
	if variable == "" || dir == "" {
		dir = filepath.Join(h.Getenv("HOME"), folder)
	}
	return filepath.Join(append([]string{dir}, elements...)...)
}

// maxFile bounds what is read of a CLI's file.
const maxFile = 4 << 20

// read returns a file's content, or nothing: whatever cannot be read tells
// nothing.
func (h Host) read(path string, most int64) []byte {
	f, err := h.Fs.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close() // it is only read
	b, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return nil
	}
	return b
}

func (h Host) there(path string) bool {
	info, err := h.Fs.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Size() > 0
}

// insideGit reports whether a folder or one above it is a repository's.
func (h Host) insideGit(folder string) bool {
	for dir := filepath.Clean(folder); ; dir = filepath.Dir(dir) {
		if _, err := h.Fs.Stat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// members returns the members of a JSON object's file; nil where it is none.
func (h Host) members(path string) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(h.read(path, maxFile), &m) != nil {
		return nil
	}
	return m
}

// interpreter names the program of a script's first line that is not here;
// empty where the program needs none, or has it.
func (h Host) interpreter(program string) string {
	line, _, _ := bytes.Cut(h.read(program, 256), []byte("\n"))
	rest, ok := strings.CutPrefix(string(line), "#!")
	words := strings.Fields(rest)
	if !ok || len(words) == 0 {
		return ""
	}
	if path.Base(words[0]) != "env" {
		if info, err := h.Fs.Stat(words[0]); err != nil || info.IsDir() {
			return words[0]
		}
		return ""
	}
	for _, w := range words[1:] {
		if strings.HasPrefix(w, "-") || strings.Contains(w, "=") {
			continue
		}
		if h.Find(w) == "" {
			return w
		}
		return ""
	}
	return ""
}
