package lang

import (
	"os"
	"path/filepath"
	"testing"
)

// FuzzLoad loads and compiles anything, in both syntaxes: it never panics, and
// what it says points inside the file.
func FuzzLoad(f *testing.F) {
	for _, pattern := range []string{"testdata/error/*.hcl", "testdata/valid/*"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(filepath.Ext(file) == ".json", src)
		}
	}
	for _, text := range []string{smallest, `locals { a = [for x in a : x if x] }`, `import { source = "okstra.hcl" }`, "run \"r\" { round \"\x00\" {", `override "provider" "claude" { access "read" {} }`} {
		f.Add(false, []byte(text))
	}
	f.Add(true, []byte(`{"locals": [{"a": "${local.a}"}], "run": {"r": null}}`))
	f.Add(true, []byte(`{"override": {"task_type": {"unknown": {"allowed": []}}}}`))
	f.Fuzz(func(t *testing.T, isJSON bool, src []byte) {
		name := "okstra.hcl"
		if isJSON {
			name += ".json"
		}
		diags, def := complaints(tree(t, with(beside, name, string(src))))
		for _, d := range diags {
			if d.Subject == nil {
				continue
			}
			file := def.Files()[d.Subject.Filename]
			if file == nil {
				t.Fatalf("%s: no such file", d)
			}
			if d.Subject.Start.Byte < 0 || d.Subject.End.Byte > len(file.Bytes) || d.Subject.Start.Byte > d.Subject.End.Byte {
				t.Fatalf("%s: %v is outside the %d bytes of the file", d, d.Subject, len(file.Bytes))
			}
		}
	})
}
