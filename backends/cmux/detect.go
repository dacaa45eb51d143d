package cmux

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// bundlePrefix begins the bundle identifier of every cmux variant. It is all
// that is left of cmux in an environment from which a wrapper took the rest.
const bundlePrefix = "com.cmuxterm.app"

// fakeTMUX begins the TMUX of cmux's own launchers. It names no tmux server.
const fakeTMUX = "/tmp/cmux-"

// place says where the caller stands, by its environment alone.
type place struct {
	inside    bool
	why       string // why not inside
	workspace string // as it was when the terminal was started: may be stale
	surface   string
}

var uuid = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`)
})

// where reads the environment. A real tmux wins: its panes inherit what cmux
// set for the terminal that its server was once started in.
func (b *Backend) where() place {
	tmux := b.getenv("TMUX")
	if tmux != "" && !strings.HasPrefix(tmux, fakeTMUX) {
		return place{why: "this is a tmux pane, which is no terminal of cmux even inside one"}
	}
	p := place{
		workspace: upperUUID(b.getenv("CMUX_WORKSPACE_ID")),
		surface:   upperUUID(b.getenv("CMUX_SURFACE_ID")),
	}
	switch {
	case p.surface != "", tmux != "", strings.HasPrefix(b.getenv("__CFBundleIdentifier"), bundlePrefix):
		p.inside = true
	default:
		p.why = "this is not a terminal of cmux"
	}
	return p
}

// upperUUID returns id in the form in which cmux prints it, or "" for anything
// that is not an id. Short refs and indexes are never used: a stale one means
// the focused surface to some versions.
func upperUUID(id string) string {
	if !uuid().MatchString(id) {
		return ""
	}
	return strings.ToUpper(id)
}

// sockets lists where cmux may listen, the likeliest first. An explicit path
// stands before the defaults and does not exclude them, since it goes stale
// when the application is restarted. That a server is the caller's is proven by
// its knowing the caller, not by its path.
func (b *Backend) sockets() ([]string, error) {
	path, old := b.getenv("CMUX_SOCKET_PATH"), b.getenv("CMUX_SOCKET")
	if path != "" && old != "" && path != old {
		return nil, fmt.Errorf("CMUX_SOCKET_PATH and CMUX_SOCKET name different sockets (%s and %s); unset one", path, old)
	}
	if path == "" {
		path = old
	}
	if path != "" && !filepath.IsAbs(path) {
		return nil, fmt.Errorf("the socket %q is no path: this is a cmux ssh session, whose relay okstra does not speak; use tmux on this host", path)
	}
	var all []string
	add := func(p string) {
		if !filepath.IsAbs(p) {
			return
		}
		for _, q := range all {
			if p == q {
				return
			}
		}
		all = append(all, p)
	}
	add(path)
	if home := b.getenv("HOME"); filepath.IsAbs(home) {
		state := filepath.Join(home, ".local", "state", "cmux")
		add(filepath.Join(state, "cmux.sock"))
		add(pointer(filepath.Join(state, "last-socket-path")))
		add(filepath.Join(state, "cmux-"+strconv.Itoa(os.Getuid())+".sock"))
		add(filepath.Join(home, "Library", "Application Support", "cmux", "cmux.sock"))
	}
	if path == "" {
		add(pointer("/tmp/cmux-last-socket-path"))
		add("/tmp/cmux.sock")
	}
	return all, nil
}

// pointer reads a file that names a socket. Whoever else may write it can only
// make us look at a socket, which must be this user's to be spoken to.
func pointer(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// link returns what it takes to speak to a socket.
func (b *Backend) link(socket string) link {
	capability := b.getenv("CMUX_SOCKET_CAPABILITY")
	if strings.ContainsAny(capability, " \t\r\n") {
		capability = ""
	}
	return link{socket: socket, capability: capability, password: b.password, timeout: b.callTimeout}
}

// password is looked up only when cmux asks for one.
func (b *Backend) password() string {
	if p := b.getenv("CMUX_SOCKET_PASSWORD"); p != "" {
		return p
	}
	home := b.getenv("HOME")
	if !filepath.IsAbs(home) {
		return ""
	}
	return pointer(filepath.Join(home, ".local", "state", "cmux", "socket-control-password"))
}
