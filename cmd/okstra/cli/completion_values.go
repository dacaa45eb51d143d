package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/okstra/okstra/cmd/okstra/view"
	"github.com/okstra/okstra/lang"
	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime"
	"github.com/okstra/okstra/runtime/schema"
)

// values offers what there is of a kind.
func (s *session) values(ctx context.Context, k kind, current string, operands []string) []string {
	switch k {
	case kindFile:
		return []string{":file"}
	case kindFolder:
		return []string{":dir"}
	case kindRun:
		return s.runNames(current)
	case kindRecorded:
		return append(s.runNames(current), s.recordedRuns(ctx, current)...)
	case kindRunFile:
		return append(append(s.runNames(current), s.recordedRuns(ctx, current)...), ":file")
	case kindSchema:
		return match(schema.Names(), current)
	case kindVerb:
		out := verbNames(operands, current)
		for _, t := range topics {
			if len(operands) == 0 && strings.HasPrefix(t.name, current) {
				out = append(out, t.name+"\t"+t.short)
			}
		}
		return out
	case kindWorker:
		return match(s.workerNames(ctx, optional(operands, 0)), current)
	case kindGate:
		return match(s.gates(ctx, optional(operands, 0)), current)
	}
	return nil
}

func (s *session) runNames(current string) []string {
	l := s.load(nil)
	if l.Definition == nil {
		return nil
	}
	var out []string
	for _, r := range l.Runs() {
		if strings.HasPrefix(r.Name, current) {
			out = append(out, r.Name+"\t"+view.Clean(r.Description))
		}
	}
	return out
}

// recordedRuns offers RUN@NUMBER of what is recorded.
func (s *session) recordedRuns(ctx context.Context, current string) []string {
	root, err := s.projectRoot()
	if err != nil {
		return nil
	}
	all, err := runtime.Runs(ctx, s.offline(root), root)
	if err != nil {
		return nil
	}
	var out []string
	for _, r := range all {
		if name := fmt.Sprintf("%s@%03d", r.RunName, r.Seq); r.RunName != "" && strings.HasPrefix(name, current) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// workerNames takes the workers of the definition, else those on record: their
// keys first, then the labels that mean one of them.
func (s *session) workerNames(ctx context.Context, run string) []string {
	var keys, labels []string
	if p := s.quietPlan(run); p != nil {
		for _, r := range p.Rounds {
			for _, w := range r.Workers {
				keys, labels = append(keys, w.Key), append(labels, w.Label)
			}
		}
		return append(keys, single(labels)...)
	}
	sel, err := s.selector(run)
	if err != nil {
		return nil
	}
	st, err := runtime.Status(ctx, s.offline(sel.ProjectRoot), sel)
	if err != nil {
		return nil
	}
	for _, w := range st.Workers {
		keys, labels = append(keys, w.WorkerKey), append(labels, w.Label)
	}
	return append(keys, single(labels)...)
}

// single returns the names that stand in a list once.
func single(names []string) []string {
	times := map[string]int{}
	for _, n := range names {
		times[n]++
	}
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == "" || times[n] > 1 })
}

// gates are the rounds of a recorded run that have one, else those of the
// definition.
func (s *session) gates(ctx context.Context, run string) []string {
	sel, err := s.selector(run)
	if err != nil {
		return nil
	}
	var out []string
	st, err := runtime.Status(ctx, s.offline(sel.ProjectRoot), sel)
	if err != nil {
		if p := s.quietPlan(run); p != nil {
			for _, r := range p.Rounds {
				if r.Gate != nil {
					out = append(out, r.Name)
				}
			}
		}
		return out
	}
	for _, r := range st.Rounds {
		if r.Gate {
			out = append(out, r.Name)
		}
	}
	return out
}

// choices are those of the gates of a recorded run, of one round where that is
// named. The operands are "[RUN] ROUND", as far as they are typed.
func (s *session) choices(operands []string) []string {
	run := ""
	if len(operands) > 1 {
		run = operands[0]
	}
	sel, err := s.selector(run)
	if err != nil {
		return nil
	}
	recorded, err := runtime.Find(sel)
	if err != nil && len(operands) == 1 { // the one word is the run
		if sel, err = s.selector(operands[0]); err == nil {
			recorded, err = runtime.Find(sel)
		}
	}
	if err != nil {
		return nil
	}
	p, err := recordedPlan(recorded)
	if err != nil {
		return nil
	}
	var of, all []string
	for _, r := range p.Rounds {
		if r.Gate == nil {
			continue
		}
		all = append(all, r.Gate.Choices...)
		if n := len(operands); n > 0 && operands[n-1] == r.Name {
			of = append(of, r.Gate.Choices...)
		}
	}
	if len(of) > 0 {
		return of
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// variables are those that the definition declares, as --var begins with them.
// They are read from its text: while one has no value, nothing can be compiled.
func (s *session) variables() []string {
	l := s.load(nil)
	if l.Definition == nil {
		return nil
	}
	var out []string
	for name, f := range l.Files() {
		if path := underRoot(l.ProjectRoot, name); path != l.Path && filepath.Dir(path) != l.Path {
			continue // a library's are set where it is imported
		}
		content, _, _ := f.Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "variable", LabelNames: []string{"name"}}}})
		for _, b := range content.Blocks {
			out = append(out, b.Labels[0]+"=")
		}
	}
	slices.Sort(out)
	return out
}

// quietPlan compiles a run, or the only one, and returns nil where it cannot.
func (s *session) quietPlan(run string) *plan.Plan {
	run, _, _ = strings.Cut(run, "@")
	c, _, err := compile(s.source(nil), run, lang.CompileOptions{})
	if err != nil {
		return nil
	}
	return c.Plan
}

// offline is an engine that asks no multiplexer: a person waits for the
// completion of a word.
func (s *session) offline(root string) runtime.Env {
	env := s.engine(root, nil)
	env.Backends = nil
	return env
}
