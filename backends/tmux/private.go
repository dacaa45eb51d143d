package tmux

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/backends/internal/ident"
)

// maxSocketPath keeps clear of the 104 to 108 bytes that a socket's path may
// have.
const maxSocketPath = 100

// privateSession names the session of a private server, for people who attach.
const privateSession = "okstra"

// privateConfig is the whole configuration of a private server.
const privateConfig = `# Written by okstra for its own tmux server; changes are lost.
set -s exit-unattached off
set -s exit-empty on
set -g destroy-unattached off
set -g default-size %v
set -g history-limit 20000
set -g mouse on
set -g automatic-rename off
set -g allow-rename off
set -g status-left "[okstra] "
set -g status-left-length 20
set -g status-right "detach: C-b d"
`

// privateSocket is where this project's private server listens.
func (b *Backend) privateSocket() string {
	sum := sha256.Sum256([]byte(b.root))
	return filepath.Join(b.folder, hex.EncodeToString(sum[:6])+".sock")
}

// checkFolder reports whether the folder of sockets and locks is ours alone,
// without making it.
func (b *Backend) checkFolder() error {
	if n := len(b.privateSocket()); n > maxSocketPath {
		return fmt.Errorf("the socket path %s has %d bytes, more than %d", b.privateSocket(), n, maxSocketPath)
	}
	info, err := os.Lstat(b.folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at the folder of sockets: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(st.Uid) != os.Getuid() || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s is not a folder that only this user can enter", b.folder)
	}
	return nil
}

func (b *Backend) ensureFolder() error {
	if err := os.Mkdir(b.folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make the folder of sockets: %w", err)
	}
	return b.checkFolder()
}

// lock takes the lock of a server, so that two runs do not split or close in
// it at the same time.
func (b *Backend) lock(ctx context.Context, socket string) (*flock.Flock, error) {
	if err := b.ensureFolder(); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(socket))
	l := flock.New(filepath.Join(b.folder, "lock-"+hex.EncodeToString(sum[:8])), flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	ok, err := l.TryLockContext(ctx, 10*time.Millisecond)
	if err != nil || !ok {
		return nil, fmt.Errorf("lock the tmux server against other okstra runs (%s): %w", l.Path(), err)
	}
	return l, nil
}

// lockTimeout is how long one run waits for another to finish.
const lockTimeout = 2 * time.Minute

// openPrivate returns the client of the private server and what is in it; a
// nil snapshot where it does not run. The server's lock is held.
func (b *Backend) openPrivate(ctx context.Context) (client, *snapshot, error) {
	c := b.client(b.privateSocket())
	snap, _, err := c.query(ctx)
	if errors.Is(err, errNoServer) {
		return c, nil, nil
	}
	return c, snap, err
}

// writePrivateConfig writes the configuration that a private server starts
// with, instead of the user's, and returns its path.
func (b *Backend) writePrivateConfig() (string, error) {
	path := strings.TrimSuffix(b.privateSocket(), ".sock") + ".conf"
	if err := renameio.WriteFile(path, fmt.Appendf(nil, privateConfig, b.size), 0o600); err != nil {
		return "", fmt.Errorf("write the configuration of okstra's tmux server: %w", err)
	}
	return path, nil
}

// removeSocket takes away what a private server that has ended leaves behind.
// The server's lock is held, so that none is starting.
func (b *Backend) removeSocket(ctx context.Context) error {
	socket := b.privateSocket()
	if _, _, err := b.client(socket).query(ctx); !errors.Is(err, errNoServer) {
		return err // it answers, or it cannot be known
	}
	for _, path := range []string{socket, socket + ".lock", strings.TrimSuffix(socket, ".sock") + ".conf"} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove what okstra's tmux server left: %w", err)
		}
	}
	return nil
}

// serverRuns reports whether the process of a recorded server still runs.
func serverRuns(pid int) (bool, error) {
	if pid <= 1 {
		return false, errors.New("no server pid was recorded")
	}
	p, err := ident.Read(pid)
	if errors.Is(err, ident.ErrNoProcess) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	// The pid may have been given to something else since.
	return !p.Zombie && strings.Contains(p.Name, "tmux"), nil
}

// revive asks a private server whose socket was removed to make it again, and
// reports whether it answers then. Only okstra's own servers are asked.
func (b *Backend) revive(ctx context.Context, h backends.Handle) (*snapshot, error) {
	if h.Socket != b.privateSocket() || !h.Own {
		return nil, errNoServer
	}
	if _, err := os.Lstat(h.Socket); !errors.Is(err, fs.ErrNotExist) {
		return nil, errNoServer // nobody removed it
	}
	if runs, err := serverRuns(h.ServerPID); err != nil || !runs {
		return nil, errNoServer
	}
	if err := b.ensureFolder(); err != nil {
		return nil, err
	}
	if err := syscall.Kill(h.ServerPID, syscall.SIGUSR1); err != nil {
		return nil, fmt.Errorf("ask tmux server %d for its socket: %w", h.ServerPID, err)
	}
	c := b.client(h.Socket)
	for wait := 5 * time.Millisecond; ; wait *= 2 {
		snap, _, err := c.query(ctx)
		if err == nil || wait > time.Second {
			return snap, err
		}
		if runs, rerr := serverRuns(h.ServerPID); rerr == nil && !runs {
			return nil, errNoServer // it was ending just then
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// reviveAny revives the private server that panes of this run stand in. It
// returns nil where there is none.
func (b *Backend) reviveAny(ctx context.Context, jobs []*job) *snapshot {
	asked := make(map[int]bool)
	for _, j := range jobs {
		for _, h := range j.Beside {
			if asked[h.ServerPID] {
				continue
			}
			asked[h.ServerPID] = true
			if snap, err := b.revive(ctx, h); err == nil {
				return snap
			}
		}
	}
	return nil
}

// Sweep ends this project's private server if nothing in it is to be kept and
// nothing in it is a person's, and removes its socket.
func (b *Backend) Sweep(ctx context.Context, keep []backends.Handle) ([]string, error) {
	if b.tmuxErr != nil {
		return nil, nil
	}
	socket := b.privateSocket()
	if _, err := os.Lstat(socket); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	l, err := b.lock(ctx, socket)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	c, snap, err := b.openPrivate(ctx)
	if err != nil {
		return nil, fmt.Errorf("look at okstra's tmux server: %w", err)
	}
	if snap == nil {
		return nil, b.removeSocket(ctx)
	}
	for _, h := range keep {
		if h.Socket == socket && h.ServerPID == snap.server.pid && h.ServerStart == snap.server.start && snap.pane(h.Pane) != nil {
			return nil, nil
		}
	}
	for _, p := range snap.panes {
		if p.tag == "" {
			return nil, fmt.Errorf("okstra's tmux server at %s holds pane %s, which is not okstra's; end it yourself", socket, p.id)
		}
	}
	_, err = c.run(ctx, c.timeout, cmd("kill-server"))
	if err != nil && !errors.Is(err, errNoServer) {
		return nil, err
	}
	// kill-server answers before the server is gone.
	if err := waitServer(ctx, snap.server.pid, b.closeTimeout); err != nil {
		return nil, err
	}
	ended := []string{fmt.Sprintf("tmux server %d at %s with the panes of ended runs (%d)", snap.server.pid, socket, len(snap.panes))}
	return ended, b.removeSocket(ctx)
}

func waitServer(ctx context.Context, pid int, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		runs, err := serverRuns(pid)
		if err != nil || !runs {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("tmux server %d was told to end and still runs", pid)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
