package ident

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
)

func TestSelf(t *testing.T) {
	p, err := Read(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if p.PID != os.Getpid() || p.Parent != os.Getppid() || p.Start == 0 || p.Zombie {
		t.Errorf("Read(self) = %+v", p)
	}
	if ok, err := Running(p.PID, p.Start); !ok || err != nil {
		t.Errorf("Running(self) = %v, %v", ok, err)
	}
	if ok, err := Running(p.PID, p.Start+1); ok || err != nil {
		t.Errorf("Running(self with another start) = %v, %v", ok, err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := WaitGone(over, p.PID, p.Start); !errors.Is(err, context.Canceled) {
		t.Errorf("WaitGone(self) = %v", err)
	}
	if err := WaitGone(t.Context(), p.PID, p.Start+1); err != nil {
		t.Errorf("WaitGone(self with another start) = %v", err)
	}
}

func TestEndedIsNotRunning(t *testing.T) {
	c := exec.Command("cat")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	p, err := Read(c.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if a := Ancestors(p.PID); len(a) == 0 || a[0] != os.Getpid() {
		t.Errorf("Ancestors(child) = %v, want first %d", a, os.Getpid())
	}
	if a := Ancestors(os.Getpid()); slices.Contains(a, os.Getpid()) {
		t.Errorf("Ancestors(self) = %v holds itself", a)
	}
	in.Close()
	c.Wait()
	if ok, err := Running(p.PID, p.Start); ok || err != nil {
		t.Errorf("Running(ended) = %v, %v", ok, err)
	}
}

// A pid that another process has by now is left alone.
func TestSignalOnlyThatProcess(t *testing.T) {
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p, err := Read(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if sent, err := Signal(p.PID, p.Start+1, syscall.SIGKILL); sent || err != nil {
		t.Errorf("another start time: %v, %v", sent, err)
	}
	if sent, err := Signal(p.PID, p.Start, syscall.SIGKILL); !sent || err != nil {
		t.Errorf("the process itself: %v, %v", sent, err)
	}
	_ = cmd.Wait()
	if sent, err := Signal(p.PID, p.Start, syscall.SIGKILL); sent || err != nil {
		t.Errorf("after its end: %v, %v", sent, err)
	}
}
