package proc

import (
	"os"
	"testing"
)

func BenchmarkFind(b *testing.B) {
	for b.Loop() {
		Find(Scope{Ancestor: os.Getpid(), Claim: "none", Since: Self().StartTime})
	}
}
