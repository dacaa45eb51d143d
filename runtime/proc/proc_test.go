package proc

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
	"testing"
	"time"
)

const role = "OKSTRA_TEST_PROC_ROLE"

// TestMain lets the test binary be a process that waits to be ended.
func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
	}
	os.Stdout.WriteString("ready\n")
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGWINCH)
	for range c {
	}
}

// begin starts a process and returns when it is ready.
func begin(t *testing.T, as string, env ...string) (*exec.Cmd, Identity) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), role+"="+as), env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	id, err := Of(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return cmd, id
}

func TestIdentity(t *testing.T) {
	if self := Self(); self.PID != os.Getpid() || self.StartTime == 0 || !self.Alive() {
		t.Errorf("self %+v", self)
	}
	if parent, err := Parent(os.Getpid()); err != nil || parent != os.Getppid() {
		t.Errorf("parent %d, %v", parent, err)
	}
	if BootID() == "" || BootID() == "unknown" || Host() == "" {
		t.Errorf("boot %q, host %q", BootID(), Host())
	}
	cmd, id := begin(t, "patient")
	if !id.Alive() {
		t.Error("it is not alive")
	}
	// A reused pid is another process.
	other := Identity{PID: id.PID, StartTime: id.StartTime - 1}
	if other.Alive() {
		t.Error("a pid alone passed for an identity")
	}
	if err := Signal(other, syscall.SIGKILL); !errors.Is(err, ErrGone) {
		t.Errorf("signal to another: %v", err)
	}
	if !id.Alive() {
		t.Fatal("the wrong process was signalled")
	}
	if err := Signal(id, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// Not waited for yet: a zombie, which is not alive.
	until(t, func() bool { return !id.Alive() })
	if _, err := Of(id.PID); err != nil {
		t.Errorf("identity of a zombie: %v", err)
	}
	cmd.Wait()
	if _, err := Of(id.PID); !errors.Is(err, ErrGone) {
		t.Errorf("identity of nobody: %v", err)
	}
	if err := Signal(id, syscall.SIGTERM); !errors.Is(err, ErrGone) {
		t.Errorf("signal to nobody: %v", err)
	}
}

func TestSignalRefusesWhatCannotBeOurs(t *testing.T) {
	for _, pid := range []int{-1, 0, 1} {
		if err := Signal(Identity{PID: pid}, syscall.Signal(0)); err == nil {
			t.Errorf("pid %d passed", pid)
		}
	}
}

func TestFind(t *testing.T) {
	_, mine := begin(t, "patient", ClaimVar+"=aa11")
	_, other := begin(t, "patient", ClaimVar+"=aa112")
	if got, err := WithClaim("aa11"); err != nil || !slices.Equal(got, []Identity{mine}) {
		t.Errorf("claim: %v, want %v", got, mine)
	}
	if got, err := WithClaim(""); got != nil || err != nil {
		t.Errorf("an empty claim found %v", got)
	}
	below, err := Find(Scope{Ancestor: os.Getpid()})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(below, mine) || !slices.Contains(below, other) || slices.Contains(below, Self()) {
		t.Errorf("descendants %v", below)
	}
	if got, err := Find(Scope{}); got != nil || err != nil {
		t.Errorf("no scope found %v", got)
	}
}

func TestEndClaim(t *testing.T) {
	patient, a := begin(t, "patient", ClaimVar+"=bb22")
	stubborn, b := begin(t, "stubborn", ClaimVar+"=bb22")
	_, bystander := begin(t, "patient", ClaimVar+"=cc33")
	if err := Signal(a, syscall.SIGSTOP); err != nil { // a stopped one must end as well
		t.Fatal(err)
	}
	if left, err := EndClaim(context.Background(), "bb22", 200*time.Millisecond); err != nil || len(left) > 0 {
		t.Errorf("left %v", left)
	}
	patient.Wait()
	stubborn.Wait()
	if a.Alive() || b.Alive() || !bystander.Alive() {
		t.Errorf("alive: %v %v %v", a.Alive(), b.Alive(), bystander.Alive())
	}
	if sig := patient.ProcessState.Sys().(syscall.WaitStatus).Signal(); sig != syscall.SIGTERM {
		t.Errorf("the patient one ended by %v", sig)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if left, err := EndClaim(ctx, "cc33", time.Hour); err != nil || !slices.Equal(left, []Identity{bystander}) {
		t.Errorf("cancelled: left %v", left)
	}
}

// TestEndCancelled: a look at the process table that takes longer than a step
// makes the end of ctx and the next step ready at once; what is returned is
// what the first look found, each time.
func TestEndCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 20 {
		looks := 0
		found := Identity{PID: 1 << 30}
		left, err := End(ctx, func() ([]Identity, error) {
			if looks++; looks > 1 {
				return nil, nil
			}
			<-time.After(12 * time.Millisecond)
			return []Identity{found}, nil
		}, time.Hour)
		if err != nil || looks != 1 || !slices.Equal(left, []Identity{found}) {
			t.Fatalf("%d looks, left %v, %v", looks, left, err)
		}
	}
}

func until(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("never")
		}
	}
}
