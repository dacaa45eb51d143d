package clis

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// loudly says on standard error why nothing was tested.
func loudly(why string) {
	bar := strings.Repeat("*", 72)
	fmt.Fprintf(os.Stderr, "%s\nTHE REAL WORKER CLIS WERE NOT TESTED: %s\n%s\n", bar, why, bar)
}

func TestMain(m *testing.M) {
	if os.Getenv("OKSTRA_TEST_CLIS") != "1" {
		loudly("set OKSTRA_TEST_CLIS=1, after testscripts/clis/install.sh.")
		os.Exit(0)
	}
	os.Exit(isolated(m))
}
