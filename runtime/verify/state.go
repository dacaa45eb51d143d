package verify

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/okstra/okstra/runtime/lead"
)

// head holds what team-state says of the whole run against manifest, events and
// invocations.
func (v *verifier) head(m *lead.Manifest) {
	subject := v.rel(v.run.TeamState())
	v.compare(subject, "leadRuntime", v.state.LeadRuntime, string(m.LeadRuntime))
	v.lineage(subject)
	v.dispatchMode(subject, m)
}

// lineage holds the tags of the invocations against the run's lineage: a tag is
// made of it when an invocation is recorded, and backends know it.
func (v *verifier) lineage(subject string) {
	for _, d := range v.state.WorkerDispatches {
		if of, _, _ := strings.Cut(d.Tag, "."); of != v.state.Lineage {
			v.add(subject, "lineage", v.state.Lineage, fmt.Sprintf("%s in the tag of %s", of, d.InvocationRef))
			return // the others say the same
		}
		v.compare(d.InvocationRef, "tag", d.Tag, v.state.Tag(d.InvocationRef))
	}
}

// dispatchMode derives how workers were shown: as the manifest says, or mixed
// where the run was moved to another backend.
func (v *verifier) dispatchMode(subject string, m *lead.Manifest) {
	modes := map[string]bool{string(lead.ModeOf(v.state.Backend)): true}
	if m.Identity() != 1 {
		modes[string(m.LeadAdapter.DispatchMode)] = true
	}
	for _, d := range v.state.WorkerDispatches {
		if backend, known := v.backends[d.InvocationRef]; known {
			mode := string(lead.ModeOf(backend))
			modes[mode] = true
			v.compare(d.InvocationRef, "dispatchMode", d.DispatchMode, mode)
		}
	}
	events, _ := lead.Read(v.run.Events()) // what is wrong with it is said by events
	for _, e := range events {
		if _, backend, ok := strings.Cut(e.Message, ", backend "); ok && e.Type == lead.PlanApplied && lead.KnownBackend(backend) {
			modes[string(lead.ModeOf(backend))] = true
		}
	}
	if len(modes) > 1 {
		delete(modes, string(lead.ModeRenderOnly)) // nothing could be dispatched then
	}
	want := "mixed"
	if all := slices.Collect(maps.Keys(modes)); len(all) == 1 {
		want = all[0]
	}
	v.compare(subject, "dispatchMode", v.state.DispatchMode, want)
}
