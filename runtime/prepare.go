package runtime

import (
	"context"
	"fmt"

	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/jobs"
	"github.com/okstra/okstra/runtime/lead"
)

// Prepare makes a run ready for a lead that will drive it with team commands:
// number, plan, manifest and state, and nothing started. A run that is recorded
// and unfinished is taken as it is. It returns what the lead's launch prompt is
// rendered from. An empty leadRuntime stands for the one that the plan names.
func Prepare(ctx context.Context, env Env, o ApplyOptions, leadRuntime string) (*lead.Bundle, error) {
	if leadRuntime == "" {
		leadRuntime = leadRuntimeOf(o.Plan)
	}
	host, err := lead.ParseRuntime(leadRuntime)
	if err != nil {
		return nil, err
	}
	if leadRuntimeOf(o.Plan) != string(host) { // else the plan is the one that apply would write
		o.Plan.Run.Lead.Runtime = string(host)
	}
	o.renderOnly = true
	s, out, err := begin(ctx, env, o)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, &Refusal{What: out.Summary, Remedy: "render a bundle for a new run with --new"}
	}
	defer s.close()
	return bundleOf(s.run, host, s)
}

// BundleOf returns the bundle of a recorded run, as it stands. An empty
// leadRuntime stands for the recorded one.
func BundleOf(_ context.Context, env Env, sel Selector, leadRuntime string) (*lead.Bundle, error) {
	run, st, err := find(sel)
	if err != nil {
		return nil, err
	}
	if leadRuntime == "" {
		leadRuntime = st.LeadRuntime
	}
	host, err := lead.ParseRuntime(leadRuntime)
	if err != nil {
		return nil, err
	}
	p, err := loadPlan(run, st)
	if err != nil {
		return nil, err
	}
	return bundleOf(run, host, &session{run: run, state: st, plan: p})
}

func bundleOf(run paths.Run, host lead.Runtime, s *session) (*lead.Bundle, error) {
	m, err := lead.ReadManifest(run.Manifest())
	if err != nil {
		return nil, err
	}
	if r := jobs.CheckLead(m, string(host), ""); r != nil {
		return nil, refusal(r)
	}
	b := &lead.Bundle{Run: run, Manifest: m, Plan: s.plan, Runtime: host, Mode: lead.ModeOf(s.state.Backend)}
	if b.Mode == lead.ModeRenderOnly {
		for _, p := range s.plan.Observed.Backends {
			b.Why += fmt.Sprintf("%s: %s. ", p.Name, p.Found)
		}
	}
	return b, nil
}
