package lead

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
)

func worker(round, duty, role, participant, provider string, access plan.Access) plan.Worker {
	digest := func(what string) string { return plan.DigestBytes([]byte(what + duty + participant)) }
	return plan.Worker{
		Digests: plan.Digests{Catalog: digest("catalog"), Assignment: digest("assignment"), Duty: digest("duty"), Instruction: digest("instruction")},
		Key:     paths.WorkerKey(round, duty, participant, nil), AssignmentRef: paths.AssignmentRef(round, duty, participant, nil),
		ParticipantRef: participant, RoleExecutionRef: role + "/" + participant, Label: provider + "-" + role, Duty: duty, Role: role,
		Provider: provider, Access: access,
	}
}

// reviewPlan is a run with a round of every kind, an executor and a gate.
func reviewPlan(root string) *plan.Plan {
	p := &plan.Plan{
		Format: plan.Format, ProjectRoot: root, Definition: "okstra.hcl", Catalog: plan.DigestBytes([]byte("catalog")),
		Run: plan.Run{
			Name: "build", Description: "One writes, two check, one writes it up.", Task: plan.Task{Project: "shop", Group: "auth", ID: "AUTH-12"},
			TaskType: "implementation", Allowed: []string{"Change files that the plan names."}, Forbidden: []string{"Push to any remote.", "Publish | anything."},
			Next: []string{"final-verification"}, Lead: plan.Lead{Instructions: "Keep the user informed.\n", Inputs: []string{"docs/plan.md"}},
		},
		Rounds: []plan.Round{
			{Name: "write", Kind: plan.RoundWork, Index: 0, Workers: []plan.Worker{worker("write", "carry-out", RoleExecutor, "ada", "claude", plan.AccessWrite)}},
			{Name: "check", Kind: plan.RoundWork, Index: 1, Gate: &plan.Gate{Reason: "Read the diff first.", Choices: []string{"all", "tests only"}},
				Workers: []plan.Worker{worker("check", "verify", RoleVerifier, "bert", "codex", plan.AccessRead), worker("check", "verify", RoleVerifier, "cleo", "gemini", plan.AccessRead)}},
			{Name: "cross", Kind: plan.RoundReverify, Index: 2, Convergence: &plan.Convergence{Enabled: true, MaxRounds: 2, Mode: "lightweight", Source: "lead"},
				Workers: []plan.Worker{worker("cross", "judge", RoleVerifier, "bert", "codex", plan.AccessRead)}},
			{Name: "report", Kind: plan.RoundReportWriter, Index: 3, Workers: []plan.Worker{worker("report", "write-up", RoleReportWriter, "ada", "claude", plan.AccessRead)}},
		},
	}
	return p
}

func runOf(root string) paths.Run {
	return paths.Run{Root: root, Task: plan.Task{Project: "shop", Group: "auth", ID: "AUTH-12"}, TaskType: "implementation", Seq: 3}
}

// golden compares with testdata, or rewrites it where OKSTRA_UPDATE is set.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("OKSTRA_UPDATE") != "" {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (OKSTRA_UPDATE=1 writes it)", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got; OKSTRA_UPDATE=1 rewrites it):\n%s", path, diff)
	}
}
