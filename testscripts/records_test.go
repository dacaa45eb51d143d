package testscripts

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// apart are the fields of team-state in which two drives of one run differ:
// times, pids, claims, serials, lineage and tags made of it, byte counts and
// digests of what holds any of these, panes and plan numbers. Everything else
// must be equal, whoever drives.
var apart = map[string]bool{
	"startedAt": true, "endedAt": true, "begunAt": true, "createdAt": true, "finishedAt": true, "at": true,
	"pid": true, "pidStart": true, "claim": true, "serial": true, "lineage": true, "tag": true, "handle": true,
	"bytes": true, "sidecarDigest": true, "paneId": true, "closed": true, "planNumber": true, "planPath": true,
}

// comparable drops what is apart from a decoded JSON value.
func comparable(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, one := range v {
			if !apart[k] {
				out[k] = comparable(one)
			}
		}
		return out
	case []any:
		for i := range v {
			v[i] = comparable(v[i])
		}
	}
	return v
}

func (p *project) records() any {
	p.t.Helper()
	var v any
	if err := json.Unmarshal([]byte(p.read(p.run.TeamState())), &v); err != nil {
		p.t.Fatal(err)
	}
	return comparable(v)
}

// TestSameRecords drives one run in every way and compares what is recorded.
func TestSameRecords(t *testing.T) {
	t.Parallel()
	drives := []struct {
		name  string
		plans int // how many plans it was driven by; each has its own digest
		drive func(p *project)
	}{
		{"apply", 1, func(p *project) { p.must(0, "apply") }},
		{"team", 1, func(p *project) {
			p.prepare()
			for range 4 {
				p.batch()
			}
		}},
		{"team, with the commands that await prints", 1, func(p *project) {
			p.prepare()
			p.batch("--workers", "analysis.find-defects.ada,analysis.find-defects.bert,analysis.find-defects.cara")
			p.batch("--dispatch-kind", "reverify-r1", "--jobs-file", p.run.ReverifyJobs(1))
			p.batch("--dispatch-kind", "reverify-r2", "--jobs-file", p.run.ReverifyJobs(2))
			p.batch("--jobs-file", p.run.ReportWriterJobs())
		}},
		{"team, then apply", 2, func(p *project) {
			p.prepare()
			p.batch()
			p.must(0, "apply")
		}},
		{"team dispatch, then apply", 2, func(p *project) {
			p.prepare()
			p.must(0, p.team("dispatch")...)
			p.must(0, "apply")
		}},
		{"team within re-verification, then apply", 2, func(p *project) {
			p.prepare()
			p.batch()
			p.batch()
			p.must(0, "apply")
		}},
		{"apply, then team", 1, func(p *project) {
			// The first is killed when the state of the running round is written.
			if out := p.with([]string{"OKSTRA_CRASH_AT=runner.state-written#4"}, "okstra", "apply"); out.code != 137 {
				p.t.Fatalf("not killed: %s", out)
			}
			p.must(0, p.team("await")...)
			for range 3 {
				p.batch()
			}
		}},
	}
	// One folder for all: digests of prompts and plans hold its path.
	p := newProject(t, "review", "unknown")
	var first map[string]any
	for _, d := range drives {
		t.Run(d.name, func(t *testing.T) {
			p.t = t
			p.empty()
			if err := unpack("review", p.root); err != nil {
				t.Fatal(err)
			}
			d.drive(p)
			if st := p.state(); st.Ended != "completed" {
				t.Fatalf("the run is %q: %s", st.Ended, st.EndedDetail)
			}
			p.must(0, "verify")
			if st := p.state(); st.PlanNumber != d.plans {
				t.Errorf("driven by %d plans, not %d", st.PlanNumber, d.plans)
			}
			got := p.records().(map[string]any)
			if d.plans > 1 {
				got["planDigest"] = first["planDigest"]
			}
			if first == nil {
				first = got
				return
			}
			if diff := cmp.Diff(first, got); diff != "" {
				t.Errorf("other records than apply's (-apply +this):\n%s", diff)
			}
		})
	}
}
