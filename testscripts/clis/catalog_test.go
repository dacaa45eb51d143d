package clis

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/okstra/okstra/lang/catalog"
	"github.com/okstra/okstra/lang/plan"
)

// TestModels: the catalog knows the models that the CLIs know.
func TestModels(t *testing.T) {
	t.Run("codex", func(t *testing.T) {
		p := newProject(t)
		cmd := exec.Command(filepath.Join(os.Getenv(binVar), "codex"), "debug", "models", "--bundled")
		cmd.Env = p.env
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		var doc struct{ Models []struct{ Slug string } }
		if err := json.Unmarshal(out, &doc); err != nil {
			t.Fatal(err)
		}
		var slugs []string
		for _, m := range doc.Models {
			slugs = append(slugs, m.Slug)
		}
		slices.Sort(slugs)
		if diff := cmp.Diff(slugs, models(t, "codex")); diff != "" {
			t.Errorf("models of codex (-its own +the catalog's):\n%s", diff)
		}
	})
	for cli, tc := range map[string]struct {
		program string
		own     [][2]string // between which it names its aliases and newest models
	}{
		"claude": {"@anthropic-ai/claude-code-*/claude", [][2]string{{`["sonnet","opus",`, `"]`}, {`latest_per_family:{`, `}`}}},
		"gemini": {"@google/gemini-cli/bundle/*.js", [][2]string{
			{"var GEMINI_MODEL_ALIAS_", ";"}, {"var DEFAULT_GEMINI_MODEL", ";"}, {"var PREVIEW_GEMINI_MODEL", ";"}, {"var PREVIEW_GEMINI_3_1_MODEL", ";"},
		}},
	} {
		t.Run(cli, func(t *testing.T) {
			// They list their models nowhere, and name each in their program.
			files, err := filepath.Glob(filepath.Join(filepath.Dir(os.Getenv(binVar)), filepath.FromSlash(tc.program)))
			if err != nil || len(files) == 0 {
				t.Fatalf("no program of %s: %v, %v", cli, files, err)
			}
			known := models(t, cli)
			missing, own := slices.Clone(known), map[string]bool{}
			for _, file := range files {
				b, err := os.ReadFile(file)
				if errors.Is(err, fs.ErrNotExist) {
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				for _, between := range tc.own {
					for name := range named(b, between[0], between[1]) {
						own[name] = true
					}
				}
				missing = slices.DeleteFunc(missing, func(m string) bool { return bytes.Contains(b, []byte(`"`+m+`"`)) })
			}
			if len(missing) > 0 {
				t.Errorf("%s does not know %s", cli, strings.Join(missing, ", "))
			}
			if len(own) < 4 {
				t.Errorf("only %d names were found in the program of %s: it tells them in another way", len(own), cli)
			}
			for name := range own {
				if !slices.Contains(known, name) {
					t.Errorf("the catalog does not know %s of %s", name, cli)
				}
			}
		})
	}
}

var quotedName = regexp.MustCompile(`"([^"]+)"`)

// named are the quoted names between each begin and its end, both included.
func named(b []byte, begin, end string) map[string]bool {
	names := map[string]bool{}
	for {
		_, after, found := bytes.Cut(b, []byte(begin))
		if !found {
			return names
		}
		said, _, _ := bytes.Cut(after, []byte(end))
		for _, name := range quotedName.FindAllStringSubmatch(begin+string(said)+end, -1) {
			names[name[1]] = true
		}
		b = after
	}
}

// models are what the catalog passes to a CLI, each once, sorted.
func models(t *testing.T, provider string) []string {
	t.Helper()
	src, name := catalog.Source()
	file, diags := hclparse.NewParser().ParseHCL(src, name)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for _, b := range file.Body.(*hclsyntax.Body).Blocks {
		if b.Type != "provider" || b.Labels[0] != provider {
			continue
		}
		v, diags := b.Body.Attributes["models"].Expr.Value(nil)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		found := map[string]bool{}
		for _, m := range v.AsValueMap() {
			found[m.AsString()] = true
		}
		return slices.Sorted(maps.Keys(found))
	}
	t.Fatalf("the catalog has no provider %s", provider)
	return nil
}

// TestModelWarning: codex takes a model of the catalog without a word, and
// warns of one that it does not know.
func TestModelWarning(t *testing.T) {
	for model, warned := range map[string]bool{"gpt-6.2-sol": false, "story-text": true} {
		t.Run(model, func(t *testing.T) {
			p := newProject(t)
			w, _ := p.apply("read", "process", vars("codex", model)...)
			check(t, w, plan.StatusCompleted, plan.ReasonNone)
			if out, _ := p.okstra("why", "read", w.WorkerKey); strings.Contains(out, "Model metadata") != warned {
				t.Errorf("warned should be %v:\n%s", warned, out)
			}
		})
	}
}

// TestPromptAsArgument: an override of the prompt's way alone works with the
// catalog's command lines.
func TestPromptAsArgument(t *testing.T) {
	eachCLI(t, func(t *testing.T, cli string) {
		before := len(server.Requests())
		p := newProject(t)
		p.write(filepath.Join(p.dir, "okstra.hcl"), readFile(t, "testdata/okstra.hcl")+`
override provider "`+cli+`" {
  prompt = "argument"
}
`)
		w, _ := p.apply("read", "process", vars(cli, "story-read")...)
		check(t, w, plan.StatusCompleted, plan.ReasonNone)
		// Only who has the prompt knows what to read.
		read := false
		for _, r := range server.Requests()[before:] {
			read = read || r.Model == "story-read" && kindOf(r.Path) == pathOf(cli) && strings.Contains(r.Result, "okstra.inputs/1")
		}
		if !read {
			t.Error("the prompt did not arrive: what it names was not read")
		}
		w, _ = p.apply("write", "process", vars(cli, "story-write")...)
		check(t, w, plan.StatusCompleted, plan.ReasonNone)
		if cli == "claude" { // without a model the options of its access stand last
			w, _ = p.apply("read", "process", append(vars(cli, ""), "--new")...)
			check(t, w, plan.StatusCompleted, plan.ReasonNone)
		}
	})
}

// TestRetryingAtALimit: a CLI that tries again what is refused is ended by a
// limit, and the refusal is the reason.
func TestRetryingAtALimit(t *testing.T) {
	for _, tc := range []struct {
		cli, model string
		want       plan.Reason
	}{
		{"claude", "story-401", plan.ReasonAuth},
		{"claude", "story-429", plan.ReasonRateLimited},
		{"gemini", "story-429", plan.ReasonRateLimited},
	} {
		t.Run(tc.cli+"/"+tc.model, func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			p.set("CLAUDE_CODE_MAX_RETRIES", "")
			settings := filepath.Join(p.home, ".gemini", "settings.json")
			p.write(settings, strings.Replace(readFile(t, settings), `"maxAttempts": 1`, `"maxAttempts": 10`, 1))
			w, code := p.apply("read", "process", vars(tc.cli, tc.model, "idle=5s")...)
			check(t, w, plan.StatusError, tc.want)
			if code != 3 || !strings.Contains(w.Detail, "limit of") {
				t.Errorf("apply ended with %d; detail %q does not tell the limit", code, w.Detail)
			}
		})
	}
}
