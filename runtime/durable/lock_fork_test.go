package durable

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A closed lock is free at once, although a program that another goroutine is
// just starting has the file open until it is executed, as the copy has here.
func TestLockIsFreeWhileAProgramStarts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	l, err := TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	inherited, err := unix.Dup(int(l.File().Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(inherited)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
