package function

import (
	"fmt"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

// BenchmarkToSet makes sets of lists as they are written in definitions: the
// time per element must not grow with the list.
func BenchmarkToSet(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			files := make([]cty.Value, n)
			for i := range files {
				files[i] = cty.StringVal(fmt.Sprint("file ", i))
			}
			f, list := collect(cty.Set), cty.TupleVal(files)
			for b.Loop() {
				if _, err := f.Call([]cty.Value{list}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/element")
		})
	}
}
