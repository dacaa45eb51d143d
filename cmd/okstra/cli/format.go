package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/hashicorp/hcl/v2"
	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/pflag"

	"github.com/okstra/okstra/cmd/okstra/view"
	"github.com/okstra/okstra/lang"
)

func fmtCommand() *command {
	return &command{
		name:     "fmt",
		group:    groupWrite,
		operands: []operand{{name: "FILE", kind: kindFile, optional: true, repeat: true}},
		short:    "write definition files in the standard form",
		long: `Formats the named files, the *.hcl files of the named folders, or, without names, those of the definition in the working directory. "-" formats standard input to standard output. JSON files have no form of their own and are left alone.

--check changes nothing and exits with 1 where a file would change. --diff shows what changes, and changes nothing either.`,
		example: `okstra fmt
okstra fmt --check okstra.hcl house/
okstra fmt --diff
okstra fmt - < okstra.hcl`,
		bind: func(fs *pflag.FlagSet) run {
			o := &fmtOptions{}
			fs.BoolVar(&o.check, "check", false, "change nothing; exit with 1 where a file would change")
			fs.BoolVar(&o.diff, "diff", false, "show what changes and change nothing")
			return o.run
		},
	}
}

type fmtOptions struct{ check, diff bool }

func (o *fmtOptions) run(ctx context.Context, s *session, operands []string) error {
	if slices.Contains(operands, "-") {
		if len(operands) > 1 {
			return usage(fmtCommand(), `"-" stands alone`)
		}
		return o.stdin(s)
	}
	files, err := s.formatted(operands)
	if err != nil {
		return err
	}
	report := []view.Formatted{}
	all := loaded{}
	sources := map[string]*hcl.File{}
	for _, file := range files {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		src, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("fmt %s: %w", s.display(file), reason(err))
		}
		out, diags := lang.Format(src, file)
		sources[file] = &hcl.File{Bytes: src}
		all.diags = append(all.diags, diags...)
		if diags.HasErrors() {
			continue
		}
		f := view.Formatted{File: file, Changed: !bytes.Equal(src, out)}
		if f.Changed && o.diff {
			f.Diff = string(diff.Diff(s.display(file), src, s.display(file)+" (formatted)", out))
		}
		if f.Changed && !o.check && !o.diff {
			if err := replaceFile(file, out); err != nil {
				return err
			}
		}
		report = append(report, f)
	}
	if all.diags.HasErrors() {
		return &definitionError{all.diags, sources}
	}
	if err := s.view.Formatted(report); err != nil {
		return err
	}
	if o.check && slices.ContainsFunc(report, func(f view.Formatted) bool { return f.Changed }) {
		return exit(ExitError)
	}
	return nil
}

// stdin formats standard input.
func (o *fmtOptions) stdin(s *session) error {
	const name = "<stdin>"
	// One byte more than a definition may have: Format then says so itself.
	src, err := io.ReadAll(io.LimitReader(s.env.Stdin, 64<<20))
	if err != nil {
		return fmt.Errorf("fmt: read standard input: %w", err)
	}
	out, diags := lang.Format(src, name)
	if diags.HasErrors() {
		return &definitionError{diags, map[string]*hcl.File{name: {Bytes: src}}}
	}
	changed := !bytes.Equal(src, out)
	switch {
	case o.diff:
		err = s.view.Raw(diff.Diff(name, src, name+" (formatted)", out))
	case !o.check:
		err = s.view.Raw(out)
	}
	if err == nil && o.check && changed {
		return exit(ExitError)
	}
	return err
}

// formatted lists the files that fmt works on, sorted and once each.
func (s *session) formatted(operands []string) ([]string, error) {
	named := len(operands) > 0
	if !named {
		operands = []string{"okstra.hcl", "okstra.vars.hcl", "okstra"}
		if s.globals.file != "" {
			operands, named = []string{s.globals.file}, true
		}
	}
	var out []string
	for _, o := range operands {
		path := s.absolute(o)
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !named:
			continue
		case err != nil:
			return nil, fmt.Errorf("fmt %s: %w", o, reason(err))
		case !info.IsDir() && !strings.HasSuffix(path, ".hcl"):
			if !named {
				continue
			}
			return nil, usage(fmtCommand(), "%s is not an .hcl file", o)
		case !info.IsDir():
			// Whoever names a file means it, wherever it is.
			if !named {
				if err := s.stays(path); err != nil {
					return nil, err
				}
			}
			out = append(out, path)
			continue
		}
		inside, err := filepath.Glob(filepath.Join(escapeGlob(path), "*.hcl"))
		if err != nil {
			return nil, fmt.Errorf("fmt %s: %w", o, err)
		}
		for _, path := range inside {
			if err := s.stays(path); err != nil {
				return nil, err
			}
		}
		out = append(out, inside...)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("fmt: no definition in %s; name the files", s.globals.dir)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// stays refuses a file that is a link out of the project and of its own folder,
// as definitions are read: nothing of what is there is shown or changed.
func (s *session) stays(path string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fmt.Errorf("fmt %s: %w", s.display(path), reason(err))
	}
	root, err := s.projectRoot()
	if err != nil {
		return err
	}
	for _, folder := range []string{root, filepath.Dir(path)} {
		if folder, err = filepath.EvalSymlinks(folder); err != nil {
			continue
		}
		if rel, err := filepath.Rel(folder, real); err == nil && filepath.IsLocal(rel) {
			return nil
		}
	}
	return fmt.Errorf("fmt %s: this is a link to %s, outside the project; to format that file, name it", s.display(path), real)
}

// escapeGlob makes a folder's name stand for itself in a pattern.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// replaceFile puts data in the place of a file: at once, with its mode, and
// behind a symbolic link where it is one.
func replaceFile(path string, data []byte) error {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fmt.Errorf("replace %s: %w", path, reason(err))
	}
	f, err := renameio.NewPendingFile(target, renameio.WithExistingPermissions())
	if err != nil {
		return fmt.Errorf("replace %s: %w", path, reason(err))
	}
	defer f.Cleanup() // does nothing once the file is in place
	if _, err := f.Write(data); err != nil {
		return fmt.Errorf("replace %s: %w", path, reason(err))
	}
	if err := f.CloseAtomicallyReplace(); err != nil {
		return fmt.Errorf("replace %s: %w", path, reason(err))
	}
	return nil
}
