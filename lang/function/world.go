package function

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// worldFunctions are those that look at files or the environment, and those
// that work on paths.
func worldFunctions(base string, files Files, env func(string) (string, bool)) []entry {
	return []entry{
		{"basename(path)", "The last part of a path.", bounded(convertText("path", func(s string) (string, error) { return filepath.Base(s), nil }), nil)},
		{"dirname(path)", "A path without its last part.", bounded(convertText("path", func(s string) (string, error) { return filepath.Dir(s), nil }), nil)},
		{"env(name)", "An environment variable; null where it is not set.", environment(env)},
		{"file(path)", "The text of a file, relative to the file in which this stands.", bounded(convertText("path", func(path string) (string, error) {
			src, err := files.ReadFile(base, path)
			if err != nil {
				return "", err
			}
			return utf8Text(path, src)
		}), nil)},
		{"fileexists(path)", "Whether there is a regular file at a path.", function.New(&function.Spec{
			Params: []function.Parameter{{Name: "path", Type: cty.String}},
			Type:   function.StaticReturnType(cty.Bool),
			Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
				ok, err := files.Exists(base, args[0].AsString())
				if err != nil {
					return cty.NilVal, function.NewArgError(0, err)
				}
				return cty.BoolVal(ok), nil
			},
		})},
		{"fileset(folder, pattern)", "The files below a folder that match a pattern such as \"**/*.md\", as a set of paths relative to the folder.", bounded(fileSet(base, files), nil)},
		{"filesha256(path)", "The SHA-256 of a file in hexadecimal digits.", bounded(convertText("path", func(path string) (string, error) {
			src, err := files.ReadFile(base, path)
			if err != nil {
				return "", err
			}
			sum := sha256.Sum256(src)
			return hex.EncodeToString(sum[:]), nil
		}), nil)},
	}
}

func environment(env func(string) (string, bool)) function.Function {
	return bounded(function.New(&function.Spec{
		Params: []function.Parameter{{Name: "name", Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			v, ok := env(args[0].AsString())
			if !ok {
				return cty.NullVal(cty.String), nil
			}
			return cty.StringVal(v), nil
		},
	}), nil)
}

func fileSet(base string, files Files) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "folder", Type: cty.String}, {Name: "pattern", Type: cty.String}},
		Type:   function.StaticReturnType(cty.Set(cty.String)),
		Impl: func(args []cty.Value, t cty.Type) (cty.Value, error) {
			found, err := files.Glob(below(base, args[0].AsString()), args[1].AsString())
			if err != nil {
				return cty.NilVal, fmt.Errorf("looking into %s: %w", args[0].AsString(), err)
			}
			if len(found) > MaxElements {
				return cty.NilVal, fmt.Errorf("more than %d files match", MaxElements)
			}
			if len(found) == 0 {
				return cty.SetValEmpty(t.ElementType()), nil
			}
			values := make([]cty.Value, len(found))
			for i, f := range found {
				values[i] = cty.StringVal(filepath.ToSlash(f))
			}
			return cty.SetVal(values), nil
		},
	})
}

// below returns path as seen from base.
func below(base, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}
