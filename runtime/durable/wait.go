package durable

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// WaitLock takes a lock as TryLock does, and waits while another holds it. It
// is for locks that are held for moments; ctx bounds the wait, and where it has
// ended already the lock is still tried once.
func WaitLock(ctx context.Context, path string) (*Lock, error) {
	const poll = 10 * time.Millisecond
	for {
		lock, err := TryLock(path)
		if !errors.Is(err, ErrLocked) {
			return lock, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for lock %s: %w", path, context.Cause(ctx))
		case <-time.After(poll):
		}
	}
}

// LockPastReaders takes a lock as TryLock does, and waits while others hold it
// shared: who only looks lets go at once. Where somebody holds it exclusively
// it returns ErrLocked without waiting. ctx bounds the wait.
func LockPastReaders(ctx context.Context, path string) (*Lock, error) {
	const poll = time.Millisecond
	for {
		lock, held := TryLock(path)
		if !errors.Is(held, ErrLocked) {
			return lock, held
		}
		shared, err := TryRLock(path)
		if errors.Is(err, ErrLocked) {
			return nil, held
		}
		if err != nil {
			return nil, err
		}
		if err := shared.Close(); err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for readers of lock %s: %w", path, context.Cause(ctx))
		case <-time.After(poll):
		}
	}
}

// Touch makes an empty file where there is none. It is not synced: a lock file
// that a crash of the machine takes away was held by nobody.
func Touch(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("create %s: %w", path, err)
	}
	return f.Close()
}
