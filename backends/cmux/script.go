package cmux

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// plainPath holds only characters that mean themselves to every shell. cmux
// hands a command to a shell to be executed, so no other path is given to it.
var plainPath = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^/[A-Za-z0-9/._+@-]*$`)
})

// scriptAge is how long a launch script and its note may be needed.
const scriptAge = 30 * 24 * time.Hour

// defaultDir picks the first folder whose path is plain.
func defaultDir(getenv func(string) string) string {
	if dir := getenv("XDG_STATE_HOME"); plainPath().MatchString(dir) {
		return filepath.Join(dir, "okstra", "cmux")
	}
	if home := getenv("HOME"); plainPath().MatchString(home) {
		return filepath.Join(home, ".local", "state", "okstra", "cmux")
	}
	return filepath.Join("/tmp", "okstra-"+strconv.Itoa(os.Getuid()), "cmux")
}

// prepareDir makes the folder and proves that nobody else can write to it.
func (b *Backend) prepareDir() error {
	if !plainPath().MatchString(b.dir) {
		return fmt.Errorf("the folder for launch scripts %q holds characters that a shell would read; set XDG_STATE_HOME to a plain path", b.dir)
	}
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return fmt.Errorf("make the folder for launch scripts: %w", err)
	}
	info, err := os.Lstat(b.dir)
	if err != nil {
		return fmt.Errorf("look at the folder for launch scripts: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || info.Mode().Perm()&0o022 != 0 || (ok && int(st.Uid) != os.Getuid()) {
		return fmt.Errorf("the folder for launch scripts %s can be written by others; remove it", b.dir)
	}
	return nil
}

func short(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}

func (b *Backend) scriptPath(tag string) string {
	return filepath.Join(b.dir, "start-"+short(tag)+".sh")
}

func (b *Backend) pidPath(tag string) string {
	return filepath.Join(b.dir, "start-"+short(tag)+".pid")
}

// writeScript writes the script that notes its pid and becomes the supervisor.
// It is one path to cmux: no word of the command passes through it.
func (b *Backend) writeScript(tag string, command []string) (string, error) {
	if err := runnable(command); err != nil {
		return "", err
	}
	words := make([]string, len(command))
	for i, w := range command {
		if strings.ContainsRune(w, 0) {
			return "", fmt.Errorf("a word of the command holds a NUL")
		}
		words[i] = quote(w)
	}
	path := b.scriptPath(tag)
	text := "#!/bin/sh\necho $$ >" + quote(b.pidPath(tag)) + "\nexec " + strings.Join(words, " ") + "\n"
	if err := os.Remove(b.pidPath(tag)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("remove the pid of an earlier start: %w", err)
	}
	// A program that this process starts meanwhile would hold the file open for
	// writing until it executes, and a file that is being written cannot be
	// executed.
	syscall.ForkLock.RLock()
	err := os.WriteFile(path+".new", []byte(text), 0o700)
	syscall.ForkLock.RUnlock()
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return "", fmt.Errorf("write launch script %s: %w", path, err)
	}
	return path, nil
}

// runnable refuses what could only fail on the screen.
func runnable(command []string) error {
	switch {
	case len(command) == 0:
		return errors.New("a launch without a command")
	case !filepath.IsAbs(command[0]):
		return fmt.Errorf("the program %q is no absolute path", command[0])
	case !executable(command[0]):
		return fmt.Errorf("the program %s is not there, or not executable", command[0])
	}
	return nil
}

// quote makes one word of a POSIX shell.
func quote(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// launched reports whether this user's okstra started something with a tag and
// did not see it end.
func (b *Backend) launched(tag string) bool {
	_, err := os.Lstat(b.scriptPath(tag))
	return err == nil
}

// sweepScripts removes scripts that no start can need any more.
func (b *Backend) sweepScripts() {
	paths, err := filepath.Glob(filepath.Join(b.dir, "start-*"))
	if err != nil {
		return
	}
	for _, p := range paths {
		if info, err := os.Lstat(p); err == nil && b.now().Sub(info.ModTime()) > scriptAge {
			// What cannot be removed now is tried again at the next start.
			_ = os.Remove(p)
		}
	}
}

// lock keeps every other okstra of this user from changing the same cmux: two
// that split at once would place by a picture that is no longer true.
func (b *Backend) lock(ctx context.Context, socket string) (unlock func(), err error) {
	select {
	case b.mutating <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := b.prepareDir(); err != nil {
		<-b.mutating
		return nil, err
	}
	file := flock.New(filepath.Join(b.dir, "lock-"+short(socket)), flock.SetPermissions(0o600))
	if _, err := file.TryLockContext(ctx, 20*time.Millisecond); err != nil {
		<-b.mutating
		return nil, fmt.Errorf("wait for another okstra that changes this cmux: %w", err)
	}
	return func() {
		// Closing the file releases the lock whatever Unlock says.
		_ = file.Close()
		<-b.mutating
	}, nil
}
