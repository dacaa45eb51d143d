package testscripts

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// tmuxServer starts a tmux server that belongs to this script alone, with one
// pane. TMUX_SOCKET is its socket. With "lead", TMUX and TMUX_PANE are set as
// they are for a lead that runs in that pane.
func tmuxServer(ts *testscript.TestScript, neg bool, args []string) {
	plainUse(ts, neg, len(args) <= 2, "tmuxserver [lead] [COLUMNSxROWS]")
	lead, columns, rows := false, "200", "50"
	for _, a := range args {
		switch c, r, size := strings.Cut(a, "x"); {
		case a == "lead":
			lead = true
		case size:
			columns, rows = c, r
		default:
			ts.Fatalf("tmuxserver: what is %q?", a)
		}
	}
	socket := filepath.Join(ts.Getenv(socketsVariable), "s")
	ts.Setenv("TMUX_SOCKET", socket)
	// All options in the call that starts the server: set later, they lose
	// against a fast command. The pane's program needs nobody to type.
	out := tmuxRun(ts, "-f", "/dev/null", "start-server", ";", "set-option", "-g", "remain-on-exit", "on", ";",
		"new-session", "-d", "-x", columns, "-y", rows, "-P", "-F", "#{pid} #{session_id} #{pane_id}", "cat", "/dev/tty")
	fields := strings.Fields(out)
	if len(fields) != 3 {
		ts.Fatalf("tmux new-session printed %q", out)
	}
	if lead {
		ts.Setenv("TMUX", socket+","+fields[0]+","+strings.TrimPrefix(fields[1], "$"))
		ts.Setenv("TMUX_PANE", fields[2])
	}
}

// tmuxCall runs a tmux command on the script's server.
func tmuxCall(ts *testscript.TestScript, neg bool, args []string) {
	plainUse(ts, neg, len(args) > 0, "tmux COMMAND ARGS...")
	if ts.Getenv("TMUX_SOCKET") == "" {
		ts.Fatalf("tmuxserver comes first")
	}
	out := tmuxRun(ts, args...)
	_, err := ts.Stdout().Write([]byte(out))
	ts.Check(err)
}

func tmuxRun(ts *testscript.TestScript, args ...string) string {
	cmd := tmuxCommand(ts.Getenv("TMUX_SOCKET"), args...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		ts.Fatalf("tmux %s: %v\n%s", strings.Join(args, " "), err, errOut.String())
	}
	return out.String()
}

// tmuxCommand always names the socket, and hides any tmux that the tests run
// in: TMUX is stronger than everything but -S.
func tmuxCommand(socket string, args ...string) *exec.Cmd {
	cmd := exec.Command("tmux", append([]string{"-u", "-S", socket}, args...)...)
	cmd.Env = append(unset(unset(os.Environ(), "TMUX"), "TMUX_PANE"), "LC_ALL=C.UTF-8")
	cmd.Dir = "/"
	cmd.WaitDelay = time.Second
	return cmd
}

// endServers ends every tmux server whose socket is in the folder, all of them
// started by one script, and waits until they are gone.
func endServers(folder string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.Type()&os.ModeSocket == 0 {
			continue
		}
		socket := filepath.Join(folder, e.Name())
		out, err := tmuxCommand(socket, "display-message", "-p", "#{pid}").Output()
		if err != nil {
			continue // no server behind it any more
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
		if err != nil {
			continue
		}
		// A server that ends while it is asked to is what is wanted.
		_ = tmuxCommand(socket, "kill-server").Run()
		deadline := time.NewTimer(10 * time.Second)
		tick := time.NewTicker(5 * time.Millisecond)
	wait:
		for syscall.Kill(pid, 0) == nil {
			select {
			case <-deadline.C:
				break wait
			case <-tick.C:
			}
		}
		tick.Stop()
		deadline.Stop()
	}
}
