// Package durable writes files that survive a crash whole or not at all, and
// holds kernel locks. A write is visible at once and complete: it is made
// beside its target, synced, moved into place, and the folder is synced. It
// knows no file's content.
package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"
)

// WriteFile replaces path with data. After it returned nil the content
// survives a crash of the machine; after an error the old content stands.
func WriteFile(path string, data []byte, perm fs.FileMode) error {
	return WriteFiles(File{path, data, perm})
}

// File is one of the files of WriteFiles.
type File struct {
	Path string
	Data []byte
	Perm fs.FileMode
}

// WriteFiles replaces each file, in this order, as WriteFile does, and syncs
// each folder once, at the end. After an error each file is either as it was
// or whole and new.
func WriteFiles(files ...File) error {
	var dirs []string
	for _, f := range files {
		if err := replace(f); err != nil {
			return err
		}
		if dir := filepath.Dir(f.Path); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range dirs {
		if err := SyncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

func replace(file File) error {
	f, err := pending(file.Path, file.Data, file.Perm)
	if err != nil {
		return err
	}
	defer f.Cleanup() // after the rename it has nothing left to do
	if err := f.CloseAtomicallyReplace(); err != nil {
		return fmt.Errorf("replace %s: %w", file.Path, err)
	}
	return nil
}

// CreateExclusive makes path with data, and fails with os.ErrExist where it
// exists already. The content is complete as soon as the name is visible.
func CreateExclusive(path string, data []byte, perm fs.FileMode) error {
	f, err := pending(path, data, perm)
	if err != nil {
		return err
	}
	defer f.Cleanup()
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	// A link, unlike a rename, never replaces.
	if err := os.Link(f.Name(), path); err != nil {
		return fmt.Errorf("create %s: %w", path, err)
	}
	return SyncDir(filepath.Dir(path))
}

// pending returns a written, not yet synced file beside path.
func pending(path string, data []byte, perm fs.FileMode) (*renameio.PendingFile, error) {
	// The folder is named so that a leftover of a crash lies where it belongs
	// and not in a shared temporary folder.
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithStaticPermissions(perm))
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	if _, err := f.Write(data); err != nil {
		f.Cleanup()
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	return f, nil
}

// SyncDir makes the names in a folder durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	defer d.Close()
	// Some file systems cannot sync a folder and say so; they order names
	// themselves.
	if err := d.Sync(); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTSUP) {
		return fmt.Errorf("sync folder %s: %w", dir, err)
	}
	return nil
}

// SyncFile makes the content of an existing file durable.
func SyncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sync file: %w", err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	return nil
}

// MkdirAll makes dir and every missing folder above it, mode 0700, each synced
// into its parent.
func MkdirAll(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return fmt.Errorf("make folder %s: %w", dir, unix.ENOTDIR)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("make folder: %w", err)
	}
	parent := filepath.Dir(dir)
	if err := MkdirAll(parent); err != nil {
		return err
	}
	// Another process may make the same folder at the same moment.
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make folder: %w", err)
	}
	return SyncDir(parent)
}
