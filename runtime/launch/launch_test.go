package launch

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/okstra/okstra/lang/plan"
)

func sample() *Record {
	return &Record{
		SchemaVersion: SchemaVersion, Run: "p:g:i/t@001", ProjectRoot: "/p", InvocationRef: "r/d/a@r#1", WorkerKey: "r.d.a", Batch: "r",
		DispatchKind: "initial", Attempt: 1, Role: "analyst", Access: plan.AccessRead, Label: "l", Provider: "x", Tag: "t", Backend: "process",
		Program: "/bin/x", Argv: []string{"x", "-a", "<ü>"}, Dir: "/p", Stdin: StdinPrompt,
		Paths: Paths{
			Prompt: "/q.md", Status: "/q.s", Lock: "/q.l", Go: "/q.go", Env: "/q.env", Log: "/q.log", ErrLog: "/q.err", Inputs: "/in",
			Result: "/r.md", WorkerResult: "/r.md", Audit: "/a.md", Emit: "/e.json",
		},
		Outputs: []Output{{Name: "o", Path: "/o", Required: true}, {Name: "p", Path: "/p2"}},
		Result:  plan.ResultFile, Output: plan.OutputText, Emits: plan.EmitsFindings, Audit: true,
		Limits: plan.Limits{Start: plan.Duration(time.Second), Wall: plan.Duration(time.Second), Idle: plan.Duration(time.Second)},
	}
}

func TestRecordRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "launch.json")
	if err := Write(path, sample()); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(), got); diff != "" {
		t.Error(diff)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

func TestCompletionPaths(t *testing.T) {
	r := sample()
	names := func() string {
		var out []string
		for _, c := range r.CompletionPaths() {
			out = append(out, c.Name)
		}
		return strings.Join(out, " ")
	}
	if got := names(); got != "result audit emit out:o" {
		t.Error(got)
	}
	r.Report, r.Emits, r.Outputs = true, plan.EmitsNone, nil
	if got := names(); got != "result pointer audit" {
		t.Error(got)
	}
}

func TestReadRefuses(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Record)
		want   string
	}{
		{"version", func(r *Record) { r.SchemaVersion = "okstra.launch/9" }, "okstra.launch/9"},
		{"attempt", func(r *Record) { r.Attempt = 0 }, "attempts count from 1"},
		{"argv", func(r *Record) { r.Argv = nil }, "argv is empty"},
		{"NUL", func(r *Record) { r.Argv = []string{"a\x00b"} }, "NUL"},
		{"relative", func(r *Record) { r.Paths.Status = "x" }, "not absolute"},
		{"empty path", func(r *Record) { r.Paths.Log = "" }, "paths.log is empty"},
		{"stdin", func(r *Record) { r.Stdin = "tty" }, "stdin"},
		{"access", func(r *Record) { r.Access = "" }, "access"},
		{"result", func(r *Record) { r.Result = "" }, "result is"},
		{"limits", func(r *Record) { r.Limits.Wall = 0 }, "longer than 0s"},
		{"emit path", func(r *Record) { r.Paths.Emit = "" }, "not absolute"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := sample()
			tt.change(r)
			path := filepath.Join(t.TempDir(), "l.json")
			if err := Write(path, r); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("write: %v", err)
			}
			b, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Read(path); err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("read: %v", err)
			}
		})
	}
}

func TestReadChecksTheFile(t *testing.T) {
	dir := t.TempDir()
	whole, err := json.Marshal(sample())
	if err != nil {
		t.Fatal(err)
	}
	put := func(name string, b []byte, mode fs.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := put("good", whole, 0o600)
	if _, err := Read(good); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(good, link); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"others may read":  put("open", whole, 0o644),
		"torn":             put("torn", whole[:len(whole)/2], 0o600),
		"more after it":    put("more", append(whole, '1'), 0o600),
		"an unknown field": put("unknown", append([]byte(`{"x":1,`), whole[1:]...), 0o600),
		"a link":           link,
		"a folder":         dir,
		"missing":          filepath.Join(dir, "no"),
	} {
		if _, err := Read(path); err == nil {
			t.Errorf("%s passed", name)
		}
	}
	if os.Geteuid() == 0 {
		theirs := put("theirs", whole, 0o600)
		if err := os.Chown(theirs, 65534, -1); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(theirs); err == nil || !strings.Contains(err.Error(), "user 65534") {
			t.Errorf("another user's: %v", err)
		}
	}
}

func TestEnvNeverTellsValues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "env.json")
	want := &Env{SchemaVersion: EnvSchemaVersion, Env: []string{"A=1", "B=x=y", "C=", "D=not \xff\xfe UTF-8"}}
	if err := WriteEnv(path, want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadEnv(path)
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range [][]string{{"KEY=se\x00cret"}, {"secret"}, {"=secret"}} {
		err := WriteEnv(path, &Env{SchemaVersion: EnvSchemaVersion, Env: bad})
		if err == nil || strings.Contains(err.Error(), "cret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if err := os.WriteFile(path, []byte(`{"schemaVersion":"okstra.env/1","env":["KEY=secret"],"secret":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadEnv(path); err == nil || strings.Contains(err.Error(), "secret\"") {
		t.Errorf("%v", err)
	}
}

func TestGo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "go")
	if _, err := ReadGo(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	for _, want := range []Go{{"c1", false}, {"c2", true}} {
		if err := WriteGo(path, &want); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadGo(path); err != nil || *got != want {
			t.Errorf("%v, %v", got, err)
		}
	}
	if err := WriteGo(path, &Go{Go: true}); err == nil {
		t.Error("a go for nobody passed")
	}
}

func TestPointer(t *testing.T) {
	r := sample()
	r.ProjectRoot = "/p"
	digest := plan.DigestBytes(nil)
	for in, want := range map[string]string{"/p/a/b.md": "a/b.md", "/q/b.md": "/q/b.md"} {
		p, err := ParsePointer(r.PointTo(in, digest).Text())
		if err != nil || p.Path != want || p.Digest != digest {
			t.Errorf("%s: %+v, %v", in, p, err)
		}
	}
	for _, bad := range []string{"", "narrative: x\n", "narrative: x\nsha256: 12\n", "x\nsha256: " + digest[7:] + "\n"} {
		if _, err := ParsePointer(bad); err == nil {
			t.Errorf("%q passed", bad)
		}
	}
}

func FuzzRead(f *testing.F) {
	b, err := json.Marshal(sample())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"schemaVersion":"okstra.launch/1","limits":{"wall":"1s"}}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeRecord(b)
		if err != nil {
			return
		}
		// Whatever passes can be written and says the same again.
		out, err := plan.Indented(r)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decodeRecord(out)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, c := range again.CompletionPaths() {
			if !filepath.IsAbs(c.Path) {
				t.Errorf("completion path %q", c.Path)
			}
		}
	})
}
