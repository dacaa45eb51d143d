package crash

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

const child = "OKSTRA_TEST_CRASH_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(child) == "" {
		os.Exit(m.Run())
	}
	f, err := KillAt(os.Getenv(EnvVar))
	if err != nil {
		os.Exit(3)
	}
	Enable(f)
	for range 2 {
		Point("supervisor.begin")
		Point("supervisor.locked")
	}
}

func TestKillAt(t *testing.T) {
	for at, killed := range map[string]bool{
		"": false, "supervisor.begin": true, "supervisor.locked#2": true, "supervisor.locked#3": false, "supervisor.hold": false,
	} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), child+"=1", EnvVar+"="+at)
		err := cmd.Run()
		var exit *exec.ExitError
		got := errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
		if got != killed || !killed && err != nil {
			t.Errorf("%q: killed %v, want %v (%v)", at, got, killed, err)
		}
	}
	for _, at := range []string{"nowhere", "supervisor.begin#0", "supervisor.begin#x"} {
		if _, err := KillAt(at); err == nil {
			t.Errorf("%q passed", at)
		}
	}
}

func TestUnlistedPointPanicsOnlyWhenEnabled(t *testing.T) {
	Point("nowhere")
	defer hook.Store(nil)
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Enable(func(string) {})
	Point("nowhere")
}

func TestNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Points() {
		if seen[p.Name] || p.Process == "" {
			t.Errorf("point %+v", p)
		}
		seen[p.Name] = true
	}
}
