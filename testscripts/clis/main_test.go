package clis

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Variables by which the outer test process tells the inner one what it made.
const (
	insideVar = "OKSTRA_TEST_CLIS_INSIDE"
	okstraVar = "OKSTRA_TEST_CLIS_OKSTRA"
	binVar    = "OKSTRA_TEST_CLIS_BIN"
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
