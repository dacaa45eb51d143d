package clis

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/okstra/okstra/testscripts/modelserver"
)

// The stages of the inner process, in insideVar.
const (
	networked = "networked" // it is in its namespace, and may set it up
	settled   = "settled"
)

// isolated runs the tests in a network namespace of loopback only, in a second
// process of this test binary.
func isolated(m *testing.M) int {
	switch os.Getenv(insideVar) {
	case networked:
		// This only comes back with an error.
		if err := settleIn(); err != nil {
			fmt.Fprintln(os.Stderr, "test the worker CLIs:", err)
		}
		return 1
	case settled:
		return inside(m)
	}
	code, err := outside()
	if err != nil {
		fmt.Fprintln(os.Stderr, "test the worker CLIs:", err)
		return 1
	}
	return code
}

func outside() (int, error) {
	bin, err := installed()
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "okstra-clis-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	okstra := filepath.Join(dir, "okstra")
	build := exec.Command("go", "build", "-o", okstra, "github.com/okstra/okstra/cmd/okstra")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return 0, fmt.Errorf("build okstra: %w", err)
	}

	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), insideVar+"="+networked, okstraVar+"="+okstra, binVar+"="+bin)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		// The user stays who they are, but may set the loopback device up.
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN}
	}
	// Pdeathsig follows the thread that started the process.
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &exit):
		return exit.ExitCode(), nil
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.ENOSYS), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EINVAL):
		loudly(fmt.Sprintf("this machine lets us make no network namespace (%v).", err))
		return 0, nil
	}
	return 0, fmt.Errorf("start the tests in a network namespace: %w", err)
}

// installed is the folder of the CLIs' programs.
func installed() (string, error) {
	cache := os.Getenv("OKSTRA_CLIS")
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		cache = filepath.Join(user, "okstra-clis")
	}
	bin := filepath.Join(cache, "node_modules", ".bin")
	for _, cli := range clis {
		if _, err := os.Stat(filepath.Join(bin, cli)); err != nil {
			return "", fmt.Errorf("%s is not installed (%w); run testscripts/clis/install.sh", cli, err)
		}
	}
	return bin, nil
}

// settleIn readies the namespace, then begins the tests anew in this process
// without the right to do so: programs that make sandboxes of their own refuse
// to have any.
func settleIn() error {
	if err := loopbackUp(); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.Setenv(insideVar, settled); err != nil {
		return err
	}
	goruntime.LockOSThread() // the rights are the thread's, and its are kept
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("give the rights over the network up: %w", err)
	}
	return fmt.Errorf("begin the tests: %w", syscall.Exec(self, os.Args, os.Environ()))
}

func inside(m *testing.M) int {
	scripts := modelserver.Scripts()
	s, err := modelserver.Start(scripts, 0)
	if err != nil {
		fmt.Fprintln(os.Stderr, "test the worker CLIs:", err)
		return 1
	}
	server = s
	code := m.Run()
	if err := s.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "test the worker CLIs:", err)
		return 1
	}
	return code
}

// loopbackUp switches the loopback device on, and refuses to go on where there
// is any other: nothing here may ever reach a network.
func loopbackUp() error {
	devices, err := net.Interfaces()
	if err != nil {
		return err
	}
	for _, d := range devices {
		if d.Flags&net.FlagLoopback == 0 {
			return fmt.Errorf("the namespace has the network device %s", d.Name)
		}
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req); err != nil {
		return fmt.Errorf("switch the loopback device on: %w", err)
	}
	return nil
}
