package durable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ErrLocked means that somebody else holds the lock in a way that excludes us.
var ErrLocked = errors.New("locked by another process")

// Lock is a kernel lock on an open file. It ends with Close or with the
// process, however that ends. A lock file is never unlinked or renamed: who
// holds the old file would exclude nobody.
type Lock struct{ f *os.File }

// TryLock takes the exclusive lock at once or returns ErrLocked. The file is
// made where it is missing, but not its folder.
func TryLock(path string) (*Lock, error) { return try(path, os.O_RDWR|os.O_CREATE, unix.LOCK_EX) }

// TryLockExisting is TryLock for a file that must exist (os.ErrNotExist).
func TryLockExisting(path string) (*Lock, error) { return try(path, os.O_RDWR, unix.LOCK_EX) }

// TryRLock takes the shared lock at once or returns ErrLocked. A missing file
// is os.ErrNotExist: asking makes nothing.
func TryRLock(path string) (*Lock, error) { return try(path, os.O_RDONLY, unix.LOCK_SH) }

func try(path string, flag, how int) (*Lock, error) {
	f, err := os.OpenFile(path, flag, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	for {
		err = unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err == nil {
		return &Lock{f}, nil
	}
	f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, fmt.Errorf("lock %s: %w", path, ErrLocked)
	}
	return nil, fmt.Errorf("lock %s: %w", path, err)
}

// Close gives the lock back. Closing the file alone would not do it yet where
// another goroutine is just starting a program: until that is executed, it has
// the file open too.
func (l *Lock) Close() error {
	err := unix.Flock(int(l.f.Fd()), unix.LOCK_UN)
	return errors.Join(err, l.f.Close())
}

// File is the open lock file, for handing it to another program.
func (l *Lock) File() *os.File { return l.f }

// ProveLocks shows that a lock in dir really excludes a second opener, and
// that it ends with its holder. Where it does not (some network and container
// file systems accept every lock) okstra must not keep state.
func ProveLocks(dir string) error {
	f, err := os.CreateTemp(dir, ".lock-proof-*")
	if err != nil {
		return fmt.Errorf("prove locks in %s: %w", dir, err)
	}
	path := f.Name()
	f.Close()
	defer os.Remove(path) // nobody else knows this name
	held, err := TryLock(path)
	if err != nil {
		return fmt.Errorf("prove locks in %s: %w", dir, err)
	}
	for _, second := range []func(string) (*Lock, error){TryLock, TryRLock} {
		l, err := second(path)
		if err == nil {
			l.Close()
			held.Close()
			return fmt.Errorf("the file system of %s does not exclude a second holder of a lock; keep the project on a local file system", filepath.Clean(dir))
		}
		if !errors.Is(err, ErrLocked) {
			held.Close()
			return fmt.Errorf("prove locks in %s: %w", dir, err)
		}
	}
	held.Close()
	again, err := TryLock(path)
	if err != nil {
		return fmt.Errorf("prove locks in %s: a lock outlives its holder: %w", dir, err)
	}
	return again.Close()
}
