package tmux

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/backends/backendtest"
)

// BenchmarkSixtyFour starts 64 panes through the backend and, in the same run,
// with the fewest raw tmux calls that start the same command in as many panes,
// laid out the same way; it reports the ratio of the two.
func BenchmarkSixtyFour(b *testing.B) {
	const n = 64
	p := besideLead
	p.Placement = placeWindow
	var ours, raw time.Duration
	for b.Loop() {
		w := newWorld(b, worldOptions{})
		ss := w.supervisors(n, p)
		begun := time.Now()
		started := w.b.Start(context.Background(), backendtest.Launches(ss))
		ours += time.Since(begun)
		for _, st := range started {
			if st.Err != nil {
				b.Fatal(st.Err)
			}
		}
		waitHello(b, ss)
		w.close(w.b, started)

		ss = w.supervisors(n, p)
		begun = time.Now()
		raws(b, w, started, ss)
		raw += time.Since(begun)
		waitHello(b, ss)
	}
	b.ReportMetric(float64(ours.Milliseconds())/float64(b.N), "ms/64-panes")
	b.ReportMetric(float64(raw.Milliseconds())/float64(b.N), "ms/64-panes-raw")
	b.ReportMetric(float64(ours)/float64(raw), "ratio")
}

func waitHello(b *testing.B, ss []*backendtest.Supervisor) {
	for _, s := range ss {
		s.Hello(b)
	}
}

// raws makes as many panes in as many windows as the backend did, with one
// chain for each window.
func raws(b *testing.B, w *world, like []backends.Started, ss []*backendtest.Supervisor) {
	perWindow := make(map[string]int)
	var order []string
	for _, st := range like {
		if perWindow[st.Handle.Window] == 0 {
			order = append(order, st.Handle.Window)
		}
		perWindow[st.Handle.Window]++
	}
	for i, window := range order {
		name := fmt.Sprintf("raw%d", i)
		args := append([]string{"new-window", "-d", "-t", "0:", "-n", name}, ss[0].Launch.Command...)
		ss = ss[1:]
		for range perWindow[window] - 1 {
			args = append(args, ";", "split-window", "-d", "-t", "0:"+name)
			args = append(args, ss[0].Launch.Command...)
			args = append(args, ";", "select-layout", "-t", "0:"+name, "tiled")
			ss = ss[1:]
		}
		w.raw(args...)
	}
}
