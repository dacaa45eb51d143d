package proc

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestUnreadableTable takes the last file descriptor away: that nothing can be
// seen must never be told as nothing runs.
func TestUnreadableTable(t *testing.T) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	open, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	small := limit
	small.Cur = 1
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &small); err != nil {
		t.Fatal(err)
	}
	found, findErr := Find(Scope{Ancestor: os.Getppid()})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	left, endErr := EndClaim(ctx, "dd44", time.Hour)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if findErr == nil || len(found) > 0 {
		t.Errorf("with %d files open and no more allowed: %v, %v", len(open), found, findErr)
	}
	if endErr == nil || len(left) > 0 {
		t.Errorf("ending a claim that nobody can look for: %v, %v", left, endErr)
	}
}
