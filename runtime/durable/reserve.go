package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Reservation is disk space that is set aside for one later replacement of a
// file, so that the replacement succeeds on a disk that has become full.
type Reservation struct {
	path string // what will be replaced
	file *os.File
	size int
}

// ReservedFor is where the space for replacing path lies.
func ReservedFor(path string) string { return path + ".reserve" }

// Reserve sets size bytes aside for replacing path once. What a crash left of
// an earlier reservation is taken over.
func Reserve(path string, size int, perm fs.FileMode) (*Reservation, error) {
	name := ReservedFor(path)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, perm)
	if err != nil {
		return nil, fmt.Errorf("reserve space: %w", err)
	}
	// Real blocks, not a hole: this fails where they are not to be had. Nothing
	// is synced, since after a crash nobody needs the space.
	if err := allocate(f, size); err != nil {
		f.Close()
		os.Remove(name)
		return nil, fmt.Errorf("reserve space: %w", err)
	}
	return &Reservation{path: path, file: f, size: size}, nil
}

// Size is how many bytes were set aside. A larger Commit may need more space
// than there is.
func (r *Reservation) Size() int { return r.size }

// Commit replaces the path with data, in the reserved blocks. It may be
// repeated until it returns nil; after that it must not be called again.
func (r *Reservation) Commit(data []byte) error {
	// Written over before it is cut to length: the blocks stay allocated.
	if _, err := r.file.WriteAt(data, 0); err != nil {
		return fmt.Errorf("write %s: %w", r.path, err)
	}
	if err := r.file.Truncate(int64(len(data))); err != nil {
		return fmt.Errorf("write %s: %w", r.path, err)
	}
	if err := r.file.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", r.path, err)
	}
	if err := os.Rename(r.file.Name(), r.path); err != nil && !r.renamed(err) {
		return fmt.Errorf("replace %s: %w", r.path, err)
	}
	if err := SyncDir(filepath.Dir(r.path)); err != nil {
		return err
	}
	return r.file.Close()
}

// renamed tells a repeated Commit that its rename had already happened.
func (r *Reservation) renamed(err error) bool {
	if !errors.Is(err, unix.ENOENT) {
		return false
	}
	mine, err := r.file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(r.path)
	return err == nil && os.SameFile(mine, there)
}

// Release gives the space back without replacing anything.
func (r *Reservation) Release() error {
	r.file.Close()
	if err := os.Remove(r.file.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("release space: %w", err)
	}
	return nil
}

// fill is allocate for a file system that can do it only by being written to.
func fill(f *os.File, size int) error {
	_, err := f.Write(make([]byte, size))
	return err
}
