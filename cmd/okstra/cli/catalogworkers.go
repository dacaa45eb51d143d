package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/spf13/afero"

	"github.com/okstra/okstra/lang"
	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/lead"
)

// catalogWorkers compiles the workers of a version 1 manifest from the catalog
// alone, through a definition that stands in no file: one round for each pair
// of provider and role, the executor's first. The project's own definition is
// not read.
func (s *session) catalogWorkers(run paths.Run, workers []lead.WorkerV1) (*plan.Plan, error) {
	pairs := map[string]lead.WorkerV1{}
	for _, w := range workers {
		if !plainName().MatchString(w.Provider) || !plainName().MatchString(w.Role) {
			return nil, fmt.Errorf("worker %s: %q and %q are no names of a provider and a role", w.WorkerID, w.Provider, w.Role)
		}
		pairs[pairOf(w)] = w
	}
	const file = "version-1-manifest.hcl"
	fs := afero.NewMemMapFs()
	if err := afero.WriteFile(fs, filepath.Join(run.Root, file), []byte(catalogDefinition(pairs)), 0o600); err != nil {
		return nil, fmt.Errorf("write definition: %w", err)
	}
	src := s.source(nil)
	src.Fs, src.Dir, src.File, src.ProjectRoot = fs, run.Root, file, run.Root
	def, diags := lang.Load(src)
	c, more := lang.Compile(def, "workers", lang.CompileOptions{ProgramsRequired: true})
	var errs []error
	for _, d := range append(diags, more...) {
		if d.Severity == hcl.DiagError {
			errs = append(errs, fmt.Errorf("%s: %s", d.Summary, d.Detail))
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	compiled := map[string]plan.Worker{}
	for _, r := range c.Plan.Rounds {
		for _, w := range r.Workers {
			compiled[w.Provider+"/"+w.Role] = w
		}
	}
	round := plan.Round{Name: "workers", Kind: plan.RoundWork}
	for _, v := range workers {
		w := compiled[pairOf(v)]
		w.Key = v.WorkerID
		round.Workers = append(round.Workers, w)
	}
	c.Plan.Run.Task, c.Plan.Rounds = run.Task, []plan.Round{round}
	return c.Plan, nil
}

var plainName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)
})

func pairOf(w lead.WorkerV1) string { return w.Provider + "/" + w.Role }

func catalogDefinition(pairs map[string]lead.WorkerV1) string {
	var keys []string
	for k := range pairs {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if x, y := pairs[a].Role == lead.RoleExecutor, pairs[b].Role == lead.RoleExecutor; x != y {
			if x {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	var duties, rounds strings.Builder
	for i, k := range keys {
		w := pairs[k]
		fmt.Fprintf(&duties, "duty \"d%d\" {\n  role = role.%s\n  instructions = \"The prompt is given.\"\n}\n", i, w.Role)
		fmt.Fprintf(&rounds, "  round \"r%d\" {\n    assign {\n      duty = duty.d%d\n      to = provider.%s\n    }\n  }\n", i, i, w.Provider)
	}
	return duties.String() + "run \"workers\" {\n" + rounds.String() + "}\n"
}
