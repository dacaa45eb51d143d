package runtime

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime/record"
)

// ChooseBackend fills in which backend a plan will use here, what was probed
// and found for the others, and where panes would stand. It only asks. The plan
// must have been compared with rec: a run that goes on keeps its backend. A plan
// without an available backend is an error that says what to install or start.
func ChooseBackend(ctx context.Context, env Env, p *plan.Plan, rec *plan.Recorded, override string) error {
	switch {
	case p.Difference.Finished && override == "":
		p.Observed.Backend = rec.Backend
		return nil
	case p.State.New || rec.Backend == "":
		name, probes, err := choose(ctx, env, p.Run.Backend, override)
		p.Observed.Backends, p.Observed.Backend = probes, name
		if err != nil {
			return err
		}
	default:
		if _, _, err := keptBackend(ctx, env, p, rec.Backend, override); err != nil {
			return err
		}
	}
	planner, ok := env.Backends[p.Observed.Backend].(backends.Planner)
	if most := mostAtOnce(p); ok && most > 0 {
		p.Observed.Placement = planner.Place(ctx, policyOf(p), most)
	}
	return nil
}

// mostAtOnce is how many of the workers that are to run will run beside each
// other at most.
func mostAtOnce(p *plan.Plan) int {
	toRun := map[string]int{}
	for _, a := range p.Difference.Workers {
		switch a.Action {
		case plan.ActionDone, plan.ActionDropped:
		default:
			toRun[a.Round]++
		}
	}
	most := 0
	for _, r := range p.Rounds {
		parallel := p.Run.Parallelism
		if r.Parallelism > 0 {
			parallel = min(parallel, r.Parallelism)
		}
		most = max(most, min(parallel, toRun[r.Name]))
	}
	return most
}

func policyOf(p *plan.Plan) backends.Policy {
	panes := p.Run.Panes
	return backends.Policy{
		Placement: string(panes.Placement), Layout: string(panes.Layout), LeadShare: panes.LeadShare,
		MinColumns: panes.MinColumns, MinRows: panes.MinRows, PerWindow: panes.PerWindow,
	}
}

// choose takes the first available backend of wanted. With an override there
// is only that one.
func choose(ctx context.Context, env Env, wanted []string, override string) (string, []plan.BackendProbe, error) {
	if override != "" {
		wanted = []string{override}
	}
	var probes []plan.BackendProbe
	for _, name := range wanted {
		b, known := env.Backends[name]
		if !known {
			return "", probes, fmt.Errorf("there is no backend %q", name)
		}
		found := b.Probe(ctx)
		probes = append(probes, plan.BackendProbe{Name: name, Available: found.Available, Found: found.Found, Hint: found.Hint})
		if found.Available {
			return name, probes, nil
		}
	}
	var lines []string
	for _, p := range probes {
		line := p.Name + ": " + p.Found
		if p.Hint != "" {
			line += " (" + p.Hint + ")"
		}
		lines = append(lines, line)
	}
	return "", probes, fmt.Errorf("no backend is available here: %s", strings.Join(lines, "; "))
}

// fallback is the backend that needs nothing to be there.
const fallback = "process"

// backendInForce is the backend of a run: chosen when it is created, and kept,
// unless a person overrides it, which makes the run mixed.
func backendInForce(ctx context.Context, env Env, p *plan.Plan, st *record.State, override string) (name string, mixed bool, err error) {
	if st == nil || st.Backend == "" {
		wanted := p.Run.Backend
		if p.Observed.Backend != "" && override == "" {
			wanted = []string{p.Observed.Backend}
		}
		name, probes, err := choose(ctx, env, wanted, override)
		p.Observed.Backends, p.Observed.Backend = mergeProbes(p.Observed.Backends, probes), name
		return name, false, err
	}
	return keptBackend(ctx, env, p, st.Backend, override)
}

// keptBackend is that of a run which was begun with kept.
func keptBackend(ctx context.Context, env Env, p *plan.Plan, kept, override string) (name string, mixed bool, err error) {
	name = kept
	if override != "" {
		name = override
	}
	_, probes, err := choose(ctx, env, []string{name}, "")
	if err != nil {
		others := slices.DeleteFunc(slices.Clone(p.Run.Backend), func(b string) bool { return b == name })
		remedy := "start it again"
		if len(others) == 0 && name != fallback {
			others = []string{fallback}
		}
		if len(others) > 0 {
			remedy += fmt.Sprintf(", or go on with another: the same command with --backend %s", others[len(others)-1])
		}
		return "", false, &Refusal{What: fmt.Sprintf("the run was begun with backend %s, which is not available now", name), Moved: []string{err.Error()}, Remedy: remedy}
	}
	p.Observed.Backends, p.Observed.Backend = mergeProbes(p.Observed.Backends, probes), name
	return name, name != kept, nil
}

// mergeProbes keeps what plan had found of the backends that apply did not ask
// again.
func mergeProbes(old, fresh []plan.BackendProbe) []plan.BackendProbe {
	out := slices.Clone(old)
	for _, f := range fresh {
		i := slices.IndexFunc(out, func(p plan.BackendProbe) bool { return p.Name == f.Name })
		if i < 0 {
			out = append(out, f)
			continue
		}
		out[i] = f
	}
	return out
}

// attach is how a person sees the panes of a run, or nothing.
func attach(b backends.Backend, h backends.Handle) string {
	a, ok := b.(backends.Attacher)
	if !ok {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), backends.CallTimeout)
	defer cancel()
	argv, err := a.AttachCommand(ctx, h)
	if err != nil {
		return ""
	}
	return strings.Join(argv, " ")
}
