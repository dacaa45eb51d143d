package schema_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/okstra/okstra/runtime/schema"
)

func TestNames(t *testing.T) {
	names := schema.Names()
	if !slices.IsSorted(names) {
		t.Errorf("not sorted: %v", names)
	}
	entries, err := fs.ReadDir(os.DirFS("schemas"), ".")
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(names) {
		t.Errorf("%d files for %d names", len(entries), len(names))
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			src, err := schema.Source(name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := schema.CompileFile(src, name); err != nil {
				t.Fatal(err)
			}
			var head struct {
				Schema      string `json:"$schema"`
				ID          string `json:"$id"`
				Title       string `json:"title"`
				Description string `json:"description"`
			}
			if err := json.Unmarshal(src, &head); err != nil {
				t.Fatal(err)
			}
			if head.Schema != "https://json-schema.org/draft/2020-12/schema" || !strings.HasPrefix(head.ID, "urn:okstra:"+name+":") || head.Title == "" || head.Description == "" {
				t.Errorf("head is %+v", head)
			}
		})
	}
	if _, err := schema.Source("nothing"); err == nil || !strings.Contains(err.Error(), "findings") {
		t.Errorf("an unknown name gives %v", err)
	}
	if err := schema.Validate("../schema", nil); err == nil {
		t.Error("an unknown name was accepted")
	}
}

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func v2Entry(change func(map[string]any)) map[string]any {
	e := map[string]any{
		"participantRef": "ada", "roleExecutionRef": "analyst/ada", "assignmentRef": "analysis/find/ada", "executionLabel": "claude-analyst",
		"dutyId": "find", "invocationRef": "analysis/find/ada@analysis#1", "attempt": 1, "provider": "claude", "promptPath": "p.md",
		"workerResultPath": "analyst-worker-x-001.md", "role": "analyst",
		"digests": map[string]any{"catalogDigest": digest, "assignmentDigest": digest, "dutyDigest": digest, "instructionDigest": digest, "promptDigest": digest},
	}
	if change != nil {
		change(e)
	}
	return map[string]any{"dispatchKind": "initial", "workers": []any{e}}
}

func TestDocuments(t *testing.T) {
	finding := map[string]any{"id": "F1", "title": "t", "severity": "major", "location": "a.go:1", "claim": "c", "evidence": "e"}
	with := func(base map[string]any, key string, value any) map[string]any {
		out := map[string]any{}
		for k, v := range base {
			out[k] = v
		}
		if value == nil {
			delete(out, key)
		} else {
			out[key] = value
		}
		return out
	}
	findings := func(f any) map[string]any {
		return map[string]any{"format": "okstra.findings/1", "findings": []any{f}}
	}
	verdicts := func(verdict string) map[string]any {
		return map[string]any{"format": "okstra.verdicts/1", "verdicts": []any{map[string]any{"finding": "a.b.c/F1", "verdict": verdict, "basis": "read it"}}}
	}
	verdict := func(token string, blockers ...any) map[string]any {
		if blockers == nil {
			blockers = []any{}
		}
		return map[string]any{"format": "okstra.verdict/1", "verdict": token, "blockers": blockers}
	}
	blocker := map[string]any{"title": "t", "detail": "d"}
	tests := []struct {
		name, schema string
		doc          any
		places       []string // pointers of what is wrong
	}{
		{"findings", schema.Findings, findings(finding), nil},
		{"no findings", schema.Findings, map[string]any{"format": "okstra.findings/1", "findings": []any{}}, nil},
		{"further keys", schema.Findings, findings(with(finding, "confidence", 0.5)), nil},
		{"empty location", schema.Findings, findings(with(finding, "location", "")), nil},
		{"other severity", schema.Findings, findings(with(finding, "severity", "high")), []string{"/findings/0/severity"}},
		{"id with a slash", schema.Findings, findings(with(finding, "id", "a/b")), []string{"/findings/0/id"}},
		{"no claim", schema.Findings, findings(with(finding, "claim", nil)), []string{"/findings/0"}},
		{"several mistakes", schema.Findings, findings(with(with(finding, "title", 7), "severity", "")), []string{"/findings/0/severity", "/findings/0/title"}},
		{"findings of another format", schema.Findings, with(findings(finding), "format", "okstra.findings/2"), []string{"/format"}},
		{"a list", schema.Findings, []any{}, []string{""}},
		{"agree", schema.Verdicts, verdicts("agree"), nil},
		{"supplement", schema.Verdicts, verdicts("supplement"), nil},
		{"a judge cannot say missing", schema.Verdicts, verdicts("missing"), []string{"/verdicts/0/verdict"}},
		{"in capitals", schema.Verdicts, verdicts("AGREE"), []string{"/verdicts/0/verdict"}},
		{"candidates", schema.Verdicts, map[string]any{"format": "okstra.verdicts/1", "verdicts": []any{}, "candidates": []any{finding}}, nil},
		{"wrong candidates", schema.Verdicts, map[string]any{"format": "okstra.verdicts/1", "verdicts": []any{}, "candidates": []any{with(finding, "severity", 1)}}, []string{"/candidates/0/severity"}},
		{"accepted", schema.Verdict, verdict("accepted"), nil},
		{"accepted with a blocker", schema.Verdict, verdict("accepted", blocker), []string{"/blockers"}},
		{"conditional", schema.Verdict, verdict("conditional-accept", blocker), nil},
		{"blocked", schema.Verdict, verdict("blocked", blocker), nil},
		{"blocked by nothing", schema.Verdict, verdict("blocked"), []string{"/blockers"}},
		{"blocker without detail", schema.Verdict, verdict("blocked", map[string]any{"title": "t"}), []string{"/blockers/0"}},
		{"other verdict", schema.Verdict, verdict("rejected", blocker), []string{"/verdict"}},
		{"v2 entry", schema.Jobs, v2Entry(nil), nil},
		{"v2 entry, advisory paths", schema.Jobs, v2Entry(func(e map[string]any) { e["resultPath"] = "x"; e["completionPaths"] = []any{"x"} }), nil},
		{"v2 entry, attempt 0", schema.Jobs, v2Entry(func(e map[string]any) { e["attempt"] = 0 }), []string{"/workers/0/attempt"}},
		{"v2 entry, attempt as text", schema.Jobs, v2Entry(func(e map[string]any) { e["attempt"] = "1" }), []string{"/workers/0/attempt"}},
		{"v2 entry, unknown key", schema.Jobs, v2Entry(func(e map[string]any) { e["model"] = "x" }), []string{"/workers/0"}},
		{"v2 entry, no digest", schema.Jobs, v2Entry(func(e map[string]any) { e["digests"] = map[string]any{} }), []string{"/workers/0/digests"}},
		{"v2 entry with workerId", schema.Jobs, v2Entry(func(e map[string]any) { e["workerId"] = "codex" }), []string{"/workers/0"}},
		{"v1 entry", schema.Jobs, map[string]any{"dispatchKind": "reverify-r12", "workers": []any{map[string]any{"workerId": "codex", "provider": "codex", "promptPath": "p", "workerResultPath": "r"}}}, nil},
		{"other kind", schema.Jobs, with(v2Entry(nil), "dispatchKind", "reverify-r0"), []string{"/dispatchKind"}},
		{"jobs for workers", schema.Jobs, map[string]any{"dispatchKind": "initial", "jobs": []any{}}, []string{"", ""}},
		{"no workers", schema.Jobs, map[string]any{"dispatchKind": "initial", "workers": []any{}}, []string{"/workers"}},
		{"round plan of a lead", schema.RoundPlan, map[string]any{"format": "okstra.round-plan/1", "number": 1, "judges": []any{map[string]any{"worker": "a.b.c", "findings": []any{"x/F1"}}}}, nil},
		{"a finding twice", schema.RoundPlan, map[string]any{"format": "okstra.round-plan/1", "number": 1, "judges": []any{map[string]any{"worker": "a.b.c", "findings": []any{"x", "x"}}}}, []string{"/judges/0/findings"}},
		{"round 0", schema.RoundPlan, map[string]any{"format": "okstra.round-plan/1", "number": 0, "judges": []any{}}, []string{"/number"}},
		{"event", schema.Event, map[string]any{"ts": "2030-01-02T03:04:05Z", "seq": 1, "serial": 0, "type": "note", "more": true}, nil},
		{"event at no time", schema.Event, map[string]any{"ts": "yesterday", "seq": 1, "serial": 0, "type": "note"}, []string{"/ts"}},
		{"v1 manifest", schema.RunManifest, map[string]any{"workers": []any{map[string]any{"workerId": "a", "provider": "b", "promptPath": "c", "workerResultPath": "d", "role": "e"}}}, nil},
		{"v1 manifest without a prompt", schema.RunManifest, map[string]any{"workers": []any{map[string]any{"workerId": "a", "provider": "b", "workerResultPath": "d"}}}, []string{"/workers/0"}},
		{"manifest of version 3", schema.RunManifest, map[string]any{"executionIdentityVersion": 3}, []string{"", "/executionIdentityVersion"}},
		{"environment", schema.Env, map[string]any{"schemaVersion": "okstra.env/1", "env": []any{"A=", "B=x=y\nz"}}, nil},
		{"no environment", schema.Env, map[string]any{"schemaVersion": "okstra.env/1", "env": []any{"A"}}, []string{"/env/0"}},
		{"go", schema.Go, map[string]any{"claim": "x", "go": false}, nil},
		{"go as text", schema.Go, map[string]any{"claim": "x", "go": "yes"}, []string{"/go"}},
	}
	for _, tt := range tests {
		t.Run(tt.schema+": "+tt.name, func(t *testing.T) {
			doc, err := json.Marshal(tt.doc)
			if err != nil {
				t.Fatal(err)
			}
			err = schema.Validate(tt.schema, doc)
			if tt.places == nil {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var invalid *schema.Invalid
			if !errors.As(err, &invalid) {
				t.Fatalf("got %v, want what is wrong", err)
			}
			var got []string
			for _, p := range invalid.Places {
				got = append(got, p.Pointer)
				if p.Problem == "" {
					t.Errorf("%s: nothing is said", p.Pointer)
				}
				if p.Pointer != "" && !strings.Contains(err.Error(), p.Pointer) {
					t.Errorf("%q does not name %s", err, p.Pointer)
				}
			}
			slices.Sort(tt.places)
			if !slices.Equal(got, tt.places) {
				t.Errorf("places %q, want %q (%s)", got, tt.places, err)
			}
		})
	}
}

func TestNotJSON(t *testing.T) {
	tests := map[string]string{
		"":                            "it is empty",
		"  \n":                        "it is empty",
		`{"format": "okstra.find`:     "in the middle",
		"{\n  \"format\": nope\n}":    "line 2, column 14",
		`{} {}`:                       "line 1, column 4",
		"```json\n{}\n```":            "line 1, column 1",
		`{"format": 1e20000000}`:      "too long or too large",
		`{"format": [1e-99999]}`:      "too long or too large",
		"\xef\xbb\xbf{}":              "line 1, column 1",
		strings.Repeat("[", 20000):    "depth",
		strings.Repeat("9", 1000):     "too long or too large",
		"{\"a\": \"\x1b[31mred\"}":    "line 1, column 8",
		"{\"a\": \x1b[31m":            "line 1, column 7",
		"{\"format\": \"x\"}\n\x1b[m": "line 2, column 1",
	}
	for doc, want := range tests {
		err := schema.Validate(schema.Findings, []byte(doc))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: got %v, want %q", doc, err, want)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\x1b\n") {
			t.Errorf("%.40q: the message holds control characters: %q", doc, err)
		}
	}
}

func TestBoundedErrors(t *testing.T) {
	var all []any
	for range 500 {
		all = append(all, map[string]any{"id": "\x1b[31m" + strings.Repeat("é", 500)})
	}
	doc, err := json.Marshal(map[string]any{"format": strings.Repeat("x", 100_000), "findings": all})
	if err != nil {
		t.Fatal(err)
	}
	err = schema.Validate(schema.Findings, doc)
	var invalid *schema.Invalid
	if !errors.As(err, &invalid) {
		t.Fatalf("got %v", err)
	}
	if len(invalid.Places) > 20 || invalid.More < 400 || len(err.Error()) > 20_000 {
		t.Errorf("%d places, %d more, %d bytes", len(invalid.Places), invalid.More, len(err.Error()))
	}
	if strings.Contains(err.Error(), "\x1b") || !strings.Contains(err.Error(), "more") {
		t.Errorf("%.300q", err)
	}
}

func TestCompileFile(t *testing.T) {
	local := `{"$ref": "#/$defs/a", "$defs": {"a": {"type": "integer", "maximum": 5}}}`
	s, err := schema.CompileFile([]byte(local), "own.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate([]byte("5")); err != nil {
		t.Error(err)
	}
	if err := s.Validate([]byte("6")); err == nil || !strings.Contains(err.Error(), "own.json") {
		t.Errorf("got %v", err)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("other.json", []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused := map[string]string{
		`{"$ref": "https://example.com/schema.json"}`:              "outside the schema",
		`{"$ref": "https://json-schema.org/draft/2020-12/schema"}`: "outside the schema",
		`{"$schema": "http://json-schema.org/draft-04/schema#"}`:   "draft-07 are built in",
		`{"$ref": "#"}`: "refers to itself",
		`{"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"not": {"$ref": "#/$defs/a"}}]}}}`: "refers to itself",
		`{"items": {"$dynamicRef": "#x", "$dynamicAnchor": "x"}}`:                            "refers to itself",
		`{"items": {"$id": "okstra://other"}}`:                                               "only the root",
		`{"properties": {"a": null}}`:                                                        "/properties/a is null",
		`{"patternProperties": {"(": true}}`:                                                 "patternProperties",
		`{"items": {"type": ["string", "text"]}}`:                                            "/items: type",
		`{"required": "a"}`:                                                                  "required",
		`{"$ref": "#x"}`:                                                                     "no part",
		`{"$ref": "#%zz"}`:                                                                   "escape",
		`{"$ref": "file:///etc/hostname"}`:                                                   "outside the schema",
		`{"$schema": "https://example.com/dialect"}`:                                         "outside the schema",
		`{"$id": "file:///etc/x", "$ref": "hostname"}`:                                       "outside the schema",
		`{"$ref": "other.json"}`:                                                             "outside the schema",
		`{"type": "text"}`:                                                                   "type",
		`{"pattern": "("}`:                                                                   "pattern",
		`{"maximum": 1e20000000}`:                                                            "too large",
		`not json`:                                                                           "not JSON",
		`{"$ref": "#/$defs/none"}`:                                                           "none",
		``:                                                                                   "empty",
		`{"properties": {"a": {"$dynamicRef": "https://example.com/#/x"}}}`:    "outside the schema",
		`{"allOf": [{"if": {"$ref": "http://localhost:1/x"}, "then": false}]}`: "outside the schema",
	}
	for src, want := range refused {
		_, err := schema.CompileFile([]byte(src), "own.json")
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "own.json") {
			t.Errorf("%s: got %v, want %q", src, err, want)
		}
	}
}

// TestPlaces has a schema of an author's own for every way of going down.
func TestPlaces(t *testing.T) {
	tests := []struct {
		schema, doc string
		want        string // the places with their problems
	}{
		{`{"items": {"type": "integer"}}`, `[1, "a", 2, null]`, "/1: type: got string, want integer; /3: type: got null, want integer"},
		{`{"prefixItems": [{"type": "string"}], "items": {"maximum": 3}}`, `[1, 2, 4]`, "/0: type: got integer, want string; /2: maximum: 4/1 is greater than 3.000000"},
		{`{"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"const": 1}], "additionalItems": false}`, `[2, 3]`, "/0: const: 2 does not equal 1; /1: nothing is allowed here"},
		{`{"patternProperties": {"^x": {"type": "boolean"}}, "additionalProperties": {"type": "null"}}`, `{"xa": 1, "b/c": 2, "d": null}`, "/b~1c: type: got integer, want null; /xa: type: got integer, want boolean"},
		{`{"properties": {"a": true}, "additionalProperties": false}`, `{"a": 1, "c": 1, "b": 2}`, `additionalProperties: ["b" "c"] are not known`},
		{`{"properties": {"a": {"anyOf": [{"type": "null"}, {"properties": {"b": {"type": "string"}}, "type": "object"}]}}}`, `{"a": {"b": 1}}`, "/a/b: type: got integer, want string"},
		{`{"oneOf": [{"type": "integer"}, {"type": "number"}]}`, `1`, "oneOf: more than one alternative fits"},
		{`{"items": {"not": {"type": "string"}}}`, `["a"]`, "/0: not: this is what must not be"},
		{`{"items": {"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"type": "integer"}}}`, `["a", 1.5, 7.0]`, `/0: minLength: "a" contains 1 Unicode code points, fewer than 2; /1: type: got number, want integer`},
		{`{"properties": {"a": {"contains": {"const": 1}}}}`, `{"a": [2]}`, "/a: contains: 0 items match, fewer than 1"},
		{`{"contains": {"const": 1}, "maxContains": 1}`, `[1, 1.0]`, "contains: 2 items match, more than 1"},
		{`{"propertyNames": {"maxLength": 1}}`, `{"ab": 1}`, `/ab: maxLength: "ab" contains 2 Unicode code points, more than 1`},
		{`{"dependentSchemas": {"a": {"properties": {"b": {"type": "string"}}}}}`, `{"a": 1, "b": 2}`, "/b: type: got integer, want string"},
		{`{"dependentRequired": {"a": ["b"]}}`, `{"a": 1}`, `dependentRequired["a"]: missing properties ["b"]`},
		{`{"$defs": {"n": {"properties": {"next": {"$ref": "#/$defs/n"}, "v": {"type": "integer"}}}}, "$ref": "#/$defs/n"}`, `{"next": {"next": {"v": "x"}}}`, "/next/next/v: type: got string, want integer"},
		{`{"$id": "urn:a:b", "items": {"$ref": "urn:a:b#here"}, "$defs": {"x": {"$anchor": "here", "type": "null"}}}`, `[1]`, "/0: type: got integer, want null"},
		{`{"allOf": [{"properties": {"a": true}}], "unevaluatedProperties": false}`, `{"b": 1}`, "unevaluated items or properties: not: validated against <anonymous schema>"},
		{`{"items": {"format": "date-time"}}`, `["2030-01-02T03:04:05Z", "2030-02-30T03:04:05Z", 7]`, `/1: format: "2030-02-30T03:04:05Z" is not a valid date-time`},
		{`{"items": {"format": "ipv4"}}`, `["10.0.0.1", "10.0.0.256"]`, `/1: format: "10.0.0.256" is not a valid ipv4`},
		{`{"items": {"format": "email"}}`, `["a@example.com", "A <a@example.com>"]`, `/1: format: "A <a@example.com>" is not a valid email`},
		{`{"items": {"format": "uuid"}}`, `["123e4567-E89b-12d3-a456-426614174000", "123e4567"]`, `/1: format: "123e4567" is not a valid uuid`},
		{`{"items": {"format": "uri"}}`, `["urn:a", "a/b"]`, `/1: format: "a/b" is not a valid uri`},
		{`{"format": "of-our-own"}`, `"x"`, ""},
		{`{"type": "integer", "minimum": 9007199254740993}`, `9007199254740993`, ""},
		{`{"type": "integer"}`, `100000000000000000000`, ""},
		{`{"uniqueItems": true}`, `[1, 1.0]`, "uniqueItems: array items 1 and 0 are equal"},
	}
	for _, tt := range tests {
		s, err := schema.CompileFile([]byte(tt.schema), "own.json")
		if err != nil {
			t.Error(err)
			continue
		}
		got := ""
		if err := s.Validate([]byte(tt.doc)); err != nil {
			got = strings.TrimPrefix(err.Error(), "not a valid own.json document: ")
		}
		if got != tt.want {
			t.Errorf("%s with %s:\n got %s\nwant %s", tt.schema, tt.doc, got, tt.want)
		}
	}
}

// TestConcurrent validates from many goroutines, with schemas that are first
// compiled on the way.
func TestConcurrent(t *testing.T) {
	done := make(chan error)
	for range 8 {
		go func() {
			var err error
			for _, name := range schema.Names() {
				if e := schema.Validate(name, []byte("7")); e == nil {
					err = errors.New(name + " accepts 7")
				}
			}
			done <- err
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func BenchmarkFindings(b *testing.B) {
	var all []any
	for range 1000 {
		all = append(all, map[string]any{"id": "F", "title": "t", "severity": "info", "location": "", "claim": "c", "evidence": "e"})
	}
	doc, err := json.Marshal(map[string]any{"format": "okstra.findings/1", "findings": all})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		if err := schema.Validate(schema.Findings, doc); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzValidate(f *testing.F) {
	for _, name := range schema.Names() {
		f.Add(name, []byte(`{"format": "okstra.findings/1", "findings": [{"id": "a"}], "workers": [{"workerId": 1}], "executionIdentityVersion": 2}`))
	}
	f.Fuzz(func(t *testing.T, name string, doc []byte) {
		err := schema.Validate(name, doc)
		if err == nil && !json.Valid(doc) {
			t.Errorf("%q is not JSON and was accepted", doc)
		}
		if err != nil && len(err.Error()) > 20_000+len(name) {
			t.Errorf("the error has %d bytes", len(err.Error()))
		}
	})
}

func FuzzCompileFile(f *testing.F) {
	f.Add([]byte(`{"$ref": "#/$defs/a", "$defs": {"a": {"pattern": "x+", "items": {"$ref": "#"}}}}`), []byte(`["x"]`))
	f.Fuzz(func(t *testing.T, src, doc []byte) {
		s, err := schema.CompileFile(src, "own.json")
		if err == nil {
			s.Validate(doc)
		}
	})
}
