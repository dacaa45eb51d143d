package durable

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"
)

func TestLockPastReaders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l")
	held, err := TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := LockPastReaders(t.Context(), path); !errors.Is(err, ErrLocked) {
		t.Errorf("beside an owner: %v", err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	reader, err := TryRLock(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := LockPastReaders(ctx, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("beside a reader that stays: %v", err)
	}
	got := make(chan error, 1)
	go func() {
		l, err := LockPastReaders(t.Context(), path)
		if err == nil {
			err = l.Close()
		}
		got <- err
	}()
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Errorf("past a reader: %v", err)
	}
}
