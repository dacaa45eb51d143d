package proc

import (
	"os"
	"testing"
)

func BenchmarkFind(b *testing.B) {
	for b.Loop() {
		if _, err := Find(Scope{Ancestor: os.Getpid(), Claim: "none", Since: Self().StartTime}); err != nil {
			b.Fatal(err)
		}
	}
}
