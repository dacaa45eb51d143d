// Package function holds the functions of the run-definition language: the
// go-cty standard library under Terraform's names and a few of okstra's own.
// None of them knows the time, draws a random number or reaches a network;
// files and the environment are reached only through what the caller gives.
// What a function returns is bounded, so that no short expression can fill the
// memory.
package function

import (
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty/function"
)

// Files is what file functions read through. base is the folder that a
// relative path is relative to. The implementation decides what may be read
// and remembers what was.
type Files interface {
	// ReadFile returns the bytes of a regular file.
	ReadFile(base, path string) ([]byte, error)
	// Glob returns the regular files below base that match a pattern, relative
	// to base with forward slashes. "**" matches any number of folders.
	Glob(base, pattern string) ([]string, error)
	// Exists reports whether path is a regular file.
	Exists(base, path string) (bool, error)
}

// Doc describes one function.
type Doc struct {
	Name        string
	Signature   string // "replace(text, search, replacement)"
	Description string // one line
}

// entry is a function with what is said of it.
type entry struct {
	signature   string
	description string
	function    function.Function
}

func (e entry) name() string { return e.signature[:strings.IndexByte(e.signature, '(')] }

// Table returns every function by name. Relative paths are relative to base;
// env looks an environment variable up. The table keeps templates that it has
// parsed, and may be used by many goroutines if files and env may.
func Table(base string, files Files, env func(string) (string, bool)) map[string]function.Function {
	out := map[string]function.Function{}
	for _, e := range entries(base, files, env) {
		out[e.name()] = e.function
	}
	return out
}

// Docs describes every function, sorted by name.
func Docs() []Doc {
	var out []Doc
	for _, e := range entries("", nil, nil) {
		out = append(out, Doc{Name: e.name(), Signature: e.signature, Description: e.description})
	}
	slices.SortFunc(out, func(a, b Doc) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func entries(base string, files Files, env func(string) (string, bool)) []entry {
	plain := slices.Concat(textFunctions(), numberFunctions(), collectionFunctions(), encodingFunctions(), controlFunctions(), worldFunctions(base, files, env))
	return append(plain, templateFile(base, files, env))
}
