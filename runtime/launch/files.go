package launch

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime/durable"
)

// Limits of the files in bytes. A kernel takes a few MiB of arguments and
// environment at most, so nothing that could start is refused here.
const (
	MaxRecord = 16 << 20
	MaxEnv    = 16 << 20
	MaxGo     = 4 << 10
)

const private fs.FileMode = 0o600

// Read reads a launch record and checks that it can be acted on: it must be a
// private file of the own user, of this version, and whole.
func Read(path string) (*Record, error) {
	b, err := readPrivate(path, MaxRecord)
	if err != nil {
		return nil, fmt.Errorf("read launch record: %w", err)
	}
	r, err := decodeRecord(b)
	if err != nil {
		return nil, fmt.Errorf("read launch record %s: %w", path, err)
	}
	return r, nil
}

// Write writes a launch record, replacing only one of the same attempt that
// never started: what a worker was started from is never changed.
func Write(path string, r *Record) error {
	f, err := recordFile(path, r)
	if err != nil {
		return err
	}
	return durable.WriteFiles(f)
}

// WriteAttempt writes a launch record and its environment record as Write and
// WriteEnv do, and the other files with them: durable together for less than
// one by one.
func WriteAttempt(path string, r *Record, e *Env, others ...durable.File) error {
	env, err := envFile(r.Paths.Env, e)
	if err != nil {
		return err
	}
	rec, err := recordFile(path, r)
	if err != nil {
		return err
	}
	return durable.WriteFiles(append(others, env, rec)...)
}

func recordFile(path string, r *Record) (durable.File, error) {
	if err := r.Check(); err != nil {
		return durable.File{}, fmt.Errorf("write launch record %s: %w", path, err)
	}
	b, err := plan.Indented(r)
	if err != nil {
		return durable.File{}, fmt.Errorf("write launch record %s: %w", path, err)
	}
	return durable.File{Path: path, Data: b, Perm: private}, nil
}

// ReadEnv reads an environment record, by the same rules as Read.
func ReadEnv(path string) (*Env, error) {
	b, err := readPrivate(path, MaxEnv)
	if err != nil {
		return nil, fmt.Errorf("read environment record: %w", err)
	}
	var e Env
	if err := decode(b, &e); err != nil {
		// The decoder's words could quote a secret; the path must do.
		return nil, fmt.Errorf("read environment record %s: it is not whole", path)
	}
	for _, coded := range e.EnvBase64 {
		v, err := base64.StdEncoding.DecodeString(coded)
		if err != nil {
			return nil, fmt.Errorf("read environment record %s: it is not whole", path)
		}
		e.Env = append(e.Env, string(v))
	}
	e.EnvBase64 = nil
	if err := e.check(); err != nil {
		return nil, fmt.Errorf("read environment record %s: %w", path, err)
	}
	return &e, nil
}

// WriteEnv writes an environment record, replacing one of an attempt that never
// started.
func WriteEnv(path string, e *Env) error {
	f, err := envFile(path, e)
	if err != nil {
		return err
	}
	return durable.WriteFiles(f)
}

func envFile(path string, e *Env) (durable.File, error) {
	if err := e.check(); err != nil {
		return durable.File{}, fmt.Errorf("write environment record %s: %w", path, err)
	}
	file := Env{SchemaVersion: e.SchemaVersion, Env: make([]string, 0, len(e.Env))}
	for _, v := range e.Env {
		if utf8.ValidString(v) {
			file.Env = append(file.Env, v)
		} else {
			file.EnvBase64 = append(file.EnvBase64, base64.StdEncoding.EncodeToString([]byte(v)))
		}
	}
	b, err := plan.Indented(file)
	if err != nil {
		return durable.File{}, fmt.Errorf("write environment record %s: %w", path, err)
	}
	return durable.File{Path: path, Data: b, Perm: private}, nil
}

// ReadGo reads a go file, by the same rules as Read. A missing one is
// os.ErrNotExist.
func ReadGo(path string) (*Go, error) {
	b, err := readPrivate(path, MaxGo)
	if err != nil {
		return nil, fmt.Errorf("read go file: %w", err)
	}
	var g Go
	if err := decode(b, &g); err != nil {
		return nil, fmt.Errorf("read go file %s: %w", path, err)
	}
	if g.Claim == "" {
		return nil, fmt.Errorf("read go file %s: it names no claim", path)
	}
	return &g, nil
}

// WriteGo writes a go file, replacing one that named an earlier claim.
func WriteGo(path string, g *Go) error {
	if g.Claim == "" {
		return fmt.Errorf("write go file %s: no claim", path)
	}
	b, err := plan.Indented(g)
	if err != nil {
		return fmt.Errorf("write go file %s: %w", path, err)
	}
	return durable.WriteFile(path, b, private)
}

// Check reports the first thing for which the record cannot be acted on.
func (r *Record) Check() error {
	if r.SchemaVersion != SchemaVersion {
		return fmt.Errorf("schemaVersion is %q; this okstra reads %q", r.SchemaVersion, SchemaVersion)
	}
	for _, f := range []struct{ name, value string }{
		{"invocationRef", r.InvocationRef}, {"workerKey", r.WorkerKey}, {"batch", r.Batch}, {"program", r.Program}, {"dir", r.Dir},
		{"paths.prompt", r.Paths.Prompt}, {"paths.status", r.Paths.Status}, {"paths.lock", r.Paths.Lock}, {"paths.go", r.Paths.Go},
		{"paths.env", r.Paths.Env}, {"paths.log", r.Paths.Log}, {"paths.errLog", r.Paths.ErrLog}, {"paths.result", r.Paths.Result},
	} {
		if f.value == "" {
			return fmt.Errorf("%s is empty", f.name)
		}
	}
	paths := []string{r.Program, r.Dir, r.Paths.Prompt, r.Paths.Status, r.Paths.Lock, r.Paths.Go, r.Paths.Env, r.Paths.Log, r.Paths.ErrLog}
	for _, c := range r.CompletionPaths() {
		paths = append(paths, c.Path)
	}
	for _, o := range r.Outputs {
		paths = append(paths, o.Path)
	}
	for _, p := range paths {
		if !filepath.IsAbs(p) {
			return fmt.Errorf("path %q is not absolute", p)
		}
		if strings.ContainsRune(p, 0) {
			return fmt.Errorf("path %q holds a NUL", p)
		}
	}
	switch {
	case r.Attempt < 1:
		return fmt.Errorf("attempt is %d; attempts count from 1", r.Attempt)
	case len(r.Argv) == 0:
		return errors.New("argv is empty")
	case slices.ContainsFunc(r.Argv, func(a string) bool { return strings.ContainsRune(a, 0) }):
		return errors.New("an argument holds a NUL")
	case r.Stdin != StdinNone && r.Stdin != StdinPrompt:
		return fmt.Errorf("stdin is %q; it can be %q or %q", r.Stdin, StdinNone, StdinPrompt)
	case r.Access != plan.AccessRead && r.Access != plan.AccessWrite:
		return fmt.Errorf("access is %q; it can be read or write", r.Access)
	case r.Result != plan.ResultFile && r.Result != plan.ResultStdout:
		return fmt.Errorf("result is %q; it can be file or stdout", r.Result)
	case r.Output == "":
		return errors.New("output is empty")
	case r.Limits.Start <= 0 || r.Limits.Wall <= 0 || r.Limits.Idle <= 0 || r.Limits.Grace < 0:
		return errors.New("limits must be longer than 0s (grace may be 0s)")
	}
	return nil
}

func (e *Env) check() error {
	if e.SchemaVersion != EnvSchemaVersion {
		return fmt.Errorf("schemaVersion is %q; this okstra reads %q", e.SchemaVersion, EnvSchemaVersion)
	}
	for _, v := range e.Env {
		// Only the name is told: the value may be a secret.
		name, _, ok := strings.Cut(v, "=")
		switch {
		case !ok || name == "":
			return errors.New("an entry is not of the form NAME=value")
		case strings.ContainsRune(v, 0):
			return fmt.Errorf("variable %q holds a NUL", strings.ReplaceAll(name, "\x00", ""))
		}
	}
	return nil
}

func decodeRecord(b []byte) (*Record, error) {
	var r Record
	if err := decode(b, &r); err != nil {
		return nil, err
	}
	if err := r.Check(); err != nil {
		return nil, err
	}
	return &r, nil
}

// decode takes exactly one JSON value with known members only.
func decode(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more after the JSON value")
	}
	return nil
}

// readPrivate reads a regular file that belongs to the own user and that
// nobody else may read or write.
func readPrivate(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return nil, fmt.Errorf("%s is not a regular file", path)
	case int(st.Uid) != os.Geteuid():
		return nil, fmt.Errorf("%s belongs to user %d, not to the user who runs okstra", path, st.Uid)
	case st.Mode&0o077 != 0:
		return nil, fmt.Errorf("%s has mode %04o; it must be 0600", path, st.Mode&0o777)
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, limit)
	}
	return b, nil
}
