package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/backends/internal/ident"
)

// BenchmarkFiveHundred runs 500 short programs, eight at a time, through the
// backend and with xargs -P, and reports the ratio.
func BenchmarkFiveHundred(b *testing.B) {
	const n, parallel = 500, 8
	program, err := exec.LookPath("true")
	if err != nil {
		b.Fatal(err)
	}
	xargs, err := exec.LookPath("xargs")
	if err != nil {
		b.Fatal(err)
	}
	list := filepath.Join(b.TempDir(), "list")
	if err := os.WriteFile(list, []byte(strings.Repeat("x\n", n)), 0o600); err != nil {
		b.Fatal(err)
	}
	var ours, theirs time.Duration
	for b.Loop() {
		back := New(Options{})
		begun := time.Now()
		work := make(chan struct{}, n)
		for range n {
			work <- struct{}{}
		}
		close(work)
		var wg sync.WaitGroup
		for range parallel {
			wg.Go(func() {
				for range work {
					st := back.Start(b.Context(), []backends.Launch{{Command: []string{program, "x"}, Tag: "x"}})[0]
					if st.Err != nil {
						b.Error(st.Err)
						return
					}
					for { // the runtime is told by the sidecar instead
						if runs, err := ident.Running(st.Handle.PID, st.Handle.PIDStart); err != nil || !runs {
							break
						}
						<-time.After(200 * time.Microsecond)
					}
				}
			})
		}
		wg.Wait()
		ours += time.Since(begun)
		begun = time.Now()
		if out, err := exec.Command(xargs, "-a", list, "-P", "8", "-n", "1", program).CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		theirs += time.Since(begun)
	}
	b.ReportMetric(float64(ours.Milliseconds())/float64(b.N), "ms/500-jobs")
	b.ReportMetric(float64(theirs.Milliseconds())/float64(b.N), "ms/500-jobs-xargs")
	b.ReportMetric(float64(ours)/float64(theirs), "ratio")
}
