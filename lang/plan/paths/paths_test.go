package paths

import (
	"strings"
	"testing"

	"github.com/okstra/okstra/lang/plan"
)

// Others find files by these names: docs/contract.md has them.
func TestNames(t *testing.T) {
	run := Run{Root: "/p", Task: plan.Task{Project: "shop", Group: "auth", ID: "A-1"}, TaskType: "final-verification", Seq: 2}
	first := Attempt{Run: run, Batch: "look", Stem: "analyst.find.ada", Number: 1}
	later := first
	later.Number = 3
	report := Attempt{Run: run, Batch: ReportWriterBatch, Stem: "report-writer.report.eve", Number: 1, Report: true}
	given := first
	given.GivenPrompt, given.GivenResult = "/p/given.md", "/p/given-worker-x.md"
	const home = "/p/.okstra/tasks/shop/auth/A-1/runs/final-verification/"
	for _, tt := range []struct{ got, want string }{
		{run.Ref(), "shop:auth:A-1/final-verification@002"},
		{SeqLock("/p", run.Task, run.TaskType), home + "seq.lock"},
		{run.Manifest(), home + "manifests/run-manifest-final-verification-002.json"},
		{run.Plan(4), home + "plans/plan-final-verification-002-p4.json"},
		{run.TeamState(), home + "state/team-state-final-verification-002.json"},
		{run.InputsIndex("look"), home + "state/inputs-look-final-verification-002.json"},
		{run.RoundPlan(1), home + "state/round-plan-r1-final-verification-002.json"},
		{run.ReverifyJobs(2), home + "state/reverify-jobs-r2-final-verification-002.json"},
		{run.ReportWriterJobs(), home + "state/report-writer-jobs-final-verification-002.json"},
		{run.Convergence(), home + "state/convergence-final-verification-002.json"},
		{run.Approval("look"), home + "state/approval-look-final-verification-002.json"},
		{run.FinalReport(), home + "reports/final-report-final-verification-002.md"},
		{run.Events(), home + "events/lead-events-final-verification-002.jsonl"},
		{run.Lock(), home + "run-final-verification-002.lock"},
		{run.Stop(), home + "run-final-verification-002.stop"},

		{first.Prompt(), home + "prompts/look/analyst.find.ada-final-verification-002.md"},
		{later.Prompt(), home + "prompts/look/analyst.find.ada-final-verification-002-a3.md"},
		{first.Status(), first.Prompt() + ".status.json"},
		{first.Launch(), first.Prompt() + ".launch.json"},
		{first.Env(), first.Prompt() + ".env.json"},
		{first.Lock(), first.Prompt() + ".lock"},
		{first.Go(), first.Prompt() + ".go"},
		{first.Log(), first.Prompt() + ".log"},
		{first.ErrLog(), first.Prompt() + ".err.log"},
		{string(OfStatus(first.Status())), first.Prompt()},
		{first.Result(), home + "worker-results/look/analyst.find.ada-worker-final-verification-002.md"},
		{later.Result(), home + "worker-results/look/analyst.find.ada-worker-final-verification-002-a3.md"},
		{first.Audit(), home + "worker-results/look/analyst.find.ada-worker-audit-final-verification-002.md"},
		{later.Emit(), home + "worker-results/look/analyst.find.ada-worker-emit-final-verification-002-a3.json"},
		{first.Output("patch"), home + "worker-results/look/analyst.find.ada-worker-out-patch-final-verification-002"},
		{report.Result(), home + "reports/narrative-final-verification-002.md"},
		{report.WorkerResult(), home + "worker-results/report-writer/report-writer.report.eve-worker-final-verification-002.md"},
		{given.Prompt(), "/p/given.md"},
		{given.Status(), "/p/given.md.status.json"},
		{given.Result(), "/p/given-worker-x.md"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s\nwant %s", tt.got, tt.want)
		}
	}
}

func TestKeys(t *testing.T) {
	key := "Ünsafe / key"
	for _, tt := range []struct{ got, want string }{
		{WorkerKey("look", "find", "ada", nil), "look.find.ada"},
		{Stem("analyst", "find", "ada", nil), "analyst.find.ada"},
		{AssignmentRef("look", "find", "ada", &key), "look/find/ada/%C3%9Cnsafe%20%2F%20key"},
		{InvocationRef("look/find/ada", "reverify-r1", 2), "look/find/ada@reverify-r1#2"},
		{FirstBatch(&plan.Round{Name: "look", Kind: plan.RoundWork}), "look"},
		{FirstBatch(&plan.Round{Name: "check", Kind: plan.RoundReverify}), "reverify-r1"},
		{FirstBatch(&plan.Round{Name: "tell", Kind: plan.RoundReportWriter}), "report-writer"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s, want %s", tt.got, tt.want)
		}
	}
	// Keys that look alike in a file's name are told apart by their digest.
	seen := map[string]string{}
	for _, key := range []string{"", "key", "KEY", "k/e/y", "…", strings.Repeat("long", 40)} {
		slug := KeySlug(key)
		if other, ok := seen[slug]; ok {
			t.Errorf("%q and %q are both %s", other, key, slug)
		}
		seen[slug] = key
		if strings.Trim(slug, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || len(slug) > 24+1+8 {
			t.Errorf("%q gives %q", key, slug)
		}
	}
}
