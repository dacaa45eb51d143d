package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/okstra/okstra/cmd/okstra/view"
	"github.com/okstra/okstra/lang"
	"github.com/okstra/okstra/runtime"
)

const (
	// probeName is the name of everything in a probe's definition. A definition
	// of the user's may be imported beside it.
	probeName = "okstra-doctor"
	// probeLimit bounds the job of one CLI: some try again silently for minutes
	// where they are not signed in.
	probeLimit = 90 * time.Second
	// probeStop bounds the end of what an interrupted probe has started.
	probeStop = 30 * time.Second
)

// probe runs one tiny job on each of these providers, all at once, by the path
// of every run: a definition, a plan, the engine, the process backend. The
// project is a temporary folder; nothing is left of it. The result is by the
// provider's name. An interrupted probe ends its workers.
func (s *session) probe(ctx context.Context, definition string, providers []string) (found map[string]*view.Probe, err error) {
	dir, err := os.MkdirTemp("", "okstra-doctor-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// The project's root in plans and records is without links.
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "okstra.hcl")
	if err := os.WriteFile(file, probeDefinition(definition, providers), 0o600); err != nil {
		return nil, err
	}
	src := s.source(nil)
	src.Dir, src.File, src.ProjectRoot = dir, file, dir
	c, _, err := compile(src, probeName, lang.CompileOptions{ProgramsRequired: true})
	if err != nil {
		return nil, err
	}

	s.view.Note(fmt.Sprintf("Asking %s; this takes at most %s.", strings.Join(providers, ", "), probeLimit))
	env := s.engine(dir, c.Secrets)
	o, err := runtime.Apply(ctx, env, runtime.ApplyOptions{Plan: c.Plan, New: true})
	if err != nil {
		if o != nil && o.Run.Seq > 0 {
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeStop)
			defer cancel()
			_, stopped := runtime.Stop(end, env, runtime.Selector{ProjectRoot: dir, Name: o.Run.Ref()}, nil)
			err = errors.Join(err, stopped)
		}
		return nil, err
	}
	status, err := runtime.Status(ctx, env, runtime.Selector{ProjectRoot: dir, Name: o.Run.Ref()})
	if err != nil {
		return nil, err
	}
	found = map[string]*view.Probe{}
	for _, w := range status.Workers {
		_, planned := o.Plan.Worker(w.WorkerKey)
		if planned == nil {
			return nil, fmt.Errorf("worker %s is not in the plan", w.WorkerKey)
		}
		found[planned.Provider] = &view.Probe{Status: w.Status, Reason: w.Reason, Detail: w.Detail, DurationMS: w.DurationMS, Usage: w.Usage}
	}
	return found, nil
}

// probeDefinition is the definition of a probe. It imports the user's, where
// there is one: its overrides are what is to be proven.
func probeDefinition(definition string, providers []string) []byte {
	quoted := func(s string) string {
		return string(hclwrite.TokensForValue(cty.StringVal(s)).Bytes())
	}
	imported := ""
	if definition != "" {
		imported = "import {\n  source = " + quoted(definition) + "\n}\n"
	}
	return fmt.Appendf(nil, `%s
okstra {
  project = %q
  timeout = { start = "30s", idle = %[3]q, wall = %[3]q, grace = "5s" }
  retry   = { attempts = 1 }
}

duty %[2]q {
  instructions = "Answer with one word: ready. Read no file and call no tool."
}

run %[2]q {
  backend = [backend.process]

  round "probe" {
    assign {
      duty    = duty.%[2]s
      to      = [provider.%[4]s]
      timeout = { start = "30s", idle = %[3]q, wall = %[3]q, grace = "5s" }
      retry   = { attempts = 1 }
    }
  }
}
`, imported, probeName, fmt.Sprintf("%ds", int(probeLimit.Seconds())), strings.Join(providers, ", provider."))
}
