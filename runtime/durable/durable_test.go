package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestWriteFileReplacesWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := WriteFile(path, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	var readers, writers sync.WaitGroup
	stop := make(chan struct{})
	readers.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			b, err := os.ReadFile(path)
			if err != nil || len(bytes.Trim(b, string(b[:1]))) != 0 && string(b) != "one" {
				t.Errorf("torn: %d bytes, %v", len(b), err)
				return
			}
		}
	})
	for i := range 4 {
		writers.Go(func() {
			for range 10 {
				if err := WriteFile(path, bytes.Repeat([]byte{byte('a' + i)}, 100_000*(i+1)), 0o600); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info, err)
	}
	onlyFiles(t, dir, "f")
}

func TestWriteFileLeavesTheOldOneAlone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := os.Mkdir(path, 0o700); err != nil { // a folder cannot be replaced by a file
		t.Fatal(err)
	}
	if err := WriteFile(path, []byte("x"), 0o600); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v", err)
	}
	onlyFiles(t, dir, "f")
	if err := WriteFile(filepath.Join(dir, "no", "f"), nil, 0o600); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

func TestCreateExclusiveHasOneWinner(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	var wg sync.WaitGroup
	won := make(chan string, 20)
	for i := range 20 {
		wg.Go(func() {
			text := fmt.Sprintf("writer %d", i)
			switch err := CreateExclusive(path, []byte(text), 0o600); {
			case err == nil:
				won <- text
			case !errors.Is(err, fs.ErrExist):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	close(won)
	if len(won) != 1 {
		t.Fatalf("%d winners", len(won))
	}
	b, err := os.ReadFile(path)
	if err != nil || string(b) != <-won {
		t.Errorf("%q, %v", b, err)
	}
	onlyFiles(t, dir, "f")
}

func TestTouch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, text := range []string{"", "x"} {
		if err := Touch(path); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != text {
			t.Errorf("%q, %v; want %q", b, err, text)
		}
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMkdirAll(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b", "c")
	for range 2 {
		if err := MkdirAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	file := filepath.Join(dir, "f")
	if err := WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := MkdirAll(file); err == nil {
		t.Error("a file passed for a folder")
	}
}

func TestLocks(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "l")
	if _, err := TryRLock(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("shared, missing: %v", err)
	}
	if _, err := TryLockExisting(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("existing, missing: %v", err)
	}
	held, err := TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, try := range map[string]func(string) (*Lock, error){"exclusive": TryLock, "existing": TryLockExisting, "shared": TryRLock} {
		if _, err := try(path); !errors.Is(err, ErrLocked) {
			t.Errorf("%s beside exclusive: %v", name, err)
		}
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	one, err := TryRLock(path)
	if err != nil {
		t.Fatal(err)
	}
	two, err := TryRLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := TryLock(path); !errors.Is(err, ErrLocked) {
		t.Errorf("exclusive beside shared: %v", err)
	}
	one.Close()
	two.Close()
	if err := ProveLocks(dir); err != nil {
		t.Error(err)
	}
	onlyFiles(t, dir, "l")
}

func TestReservation(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	if err := WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Reserve(path, 4096, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(path); string(b) != "old" {
		t.Errorf("changed by reserving: %q", b)
	}
	if err := r.Commit([]byte("new")); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(path); string(b) != "new" {
		t.Errorf("%q", b)
	}
	onlyFiles(t, dir, "s")

	// One that a crash left is taken over, and can be given back.
	if err := os.WriteFile(path+".reserve", []byte("left"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err = Reserve(path, 4096, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.Release(); err != nil {
		t.Fatal(err)
	}
	onlyFiles(t, dir, "s")
}

func onlyFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("files %v, want %v", got, want)
	}
}

func TestWriteFiles(t *testing.T) {
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	if err := WriteFiles(File{one, []byte("1"), 0o600}, File{two, []byte("2"), 0o640}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{one: "1", two: "2"} {
		if b, err := os.ReadFile(path); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", path, b, err)
		}
	}
	if info, err := os.Stat(two); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info, err)
	}
	// What comes before an error is written, what comes after is not.
	err := WriteFiles(File{one, []byte("new"), 0o600}, File{filepath.Join(dir, "no", "f"), nil, 0o600}, File{two, []byte("new"), 0o600})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	for path, want := range map[string]string{one: "new", two: "2"} {
		if b, err := os.ReadFile(path); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v; want %q", path, b, err, want)
		}
	}
	onlyFiles(t, dir, "one", "two")
}
