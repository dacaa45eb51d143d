package backendtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/okstra/okstra/backends"
)

// role is the word by which the test binary knows that it was started as a
// supervisor.
const role = "backendtest-supervise"

// Behaviour is how a stand-in for a supervisor behaves. The zero value says
// hello and waits to be asked to end.
type Behaviour struct {
	Say      string // printed first
	Exit     bool   // end at once, with Code
	Code     int
	Stubborn time.Duration // how long it takes to end after being asked
}

// Hello is what a stand-in says of itself, once it runs.
type Hello struct {
	PID     int
	Session int // of the kernel, not of a multiplexer
	TMUX    string
	Pane    string // TMUX_PANE
	Args    []string
}

// RunRole must be the first call of TestMain: in a process that was started as
// a supervisor it does not return.
func RunRole() {
	if len(os.Args) == 3 && os.Args[1] == role {
		supervise(os.Args[2])
	}
}

func supervise(path string) {
	asked := make(chan os.Signal, 4)
	signal.Notify(asked, syscall.SIGTERM, syscall.SIGHUP)
	var b Behaviour
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &b)
	}
	if err != nil {
		os.WriteFile(path+".failed", []byte(err.Error()), 0o600)
		os.Exit(1)
	}
	fmt.Print(b.Say)
	session, err := unix.Getsid(0)
	if err != nil {
		panic(err)
	}
	write(path+".hello", Hello{PID: os.Getpid(), Session: session, TMUX: os.Getenv("TMUX"), Pane: os.Getenv("TMUX_PANE"), Args: os.Args})
	if b.Exit {
		os.Exit(b.Code)
	}
	s := <-asked
	if b.Stubborn > 0 {
		<-time.After(b.Stubborn)
	}
	write(path+".ended", s.String())
	os.Exit(0)
}

// write makes a file visible with its whole content.
func write(path string, v any) {
	data, err := json.Marshal(v)
	if err == nil {
		err = os.WriteFile(path+".new", data, 0o600)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		panic(err)
	}
}

// Supervisor is one launch of a stand-in.
type Supervisor struct {
	Launch backends.Launch
	path   string
}

// NewSupervisor prepares the launch of a stand-in, named name, in dir.
func NewSupervisor(t testing.TB, dir, name string, b Behaviour, p backends.Policy) *Supervisor {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name+".json")
	write(path, b)
	return &Supervisor{
		path: path,
		Launch: backends.Launch{
			Command: []string{exe, role, path},
			Label:   name, Tag: "t" + name, Title: "okstra " + name, Policy: p,
		},
	}
}

// Launches returns the launches of several.
func Launches(ss []*Supervisor) []backends.Launch {
	out := make([]backends.Launch, len(ss))
	for i, s := range ss {
		out[i] = s.Launch
	}
	return out
}

// Hello waits until the stand-in runs and returns what it said.
func (s *Supervisor) Hello(t testing.TB) Hello {
	t.Helper()
	var h Hello
	Eventually(t, "hello of "+s.Launch.Label, func() (bool, string) {
		data, err := os.ReadFile(s.path + ".hello")
		if err != nil {
			failed, _ := os.ReadFile(s.path + ".failed")
			return false, err.Error() + " " + string(failed)
		}
		return json.Unmarshal(data, &h) == nil, string(data)
	})
	return h
}

// SaidHello reports whether the stand-in has run, without waiting.
func (s *Supervisor) SaidHello() bool {
	_, err := os.Stat(s.path + ".hello")
	return err == nil
}

// Ended returns the signal by which it was asked to end, empty where it was
// not.
func (s *Supervisor) Ended(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile(s.path + ".ended")
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.Trim(string(data), `"`)
}

// Running reports whether a process is there and not a zombie.
func Running(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		// Without /proc the signal has to do; where there is one, it is gone.
		_, self := os.Stat("/proc/self/stat")
		return self != nil
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

// Eventually polls until f reports true, and fails with what f last saw.
func Eventually(t testing.TB, what string, f func() (bool, string)) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		ok, saw := f()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s did not come; last seen: %s", what, saw)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// kill ends a process without giving it a chance to say anything.
func kill(t testing.TB, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatalf("kill %d: %v", pid, err)
	}
}
