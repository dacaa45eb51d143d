package runtime_test

import (
	"fmt"
	"testing"

	"github.com/okstra/okstra/lang/plan"
)

// BenchmarkApply runs many short workers on the process backend; -cpuprofile
// shows what the runner itself does.
func BenchmarkApply(b *testing.B) {
	const workers = 200
	for b.Loop() {
		r := newRig(b)
		round := plan.Round{Name: "one"}
		for i := range workers {
			round.Workers = append(round.Workers, r.worker("one", fmt.Sprintf("w%d", i), writeResult))
		}
		p := r.plan(round)
		p.Run.Parallelism = 8
		if out := r.apply(b.Context(), p); out.Exit != 0 {
			b.Fatal(out.Summary)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*workers), "ms/worker")
}
