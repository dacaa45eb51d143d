package supervise_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/okstra/okstra/runtime/crash"
	"github.com/okstra/okstra/runtime/supervise"
)

// The test binary is also the supervisor under test and its worker.
const roleVar = "OKSTRA_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case "supervisor":
		kill, err := crash.KillAt(os.Getenv(crash.EnvVar))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		crash.Enable(kill)
		os.Exit(supervise.Run(os.Args[1]))
	case "worker":
		for _, step := range os.Args[1:] {
			act(step)
		}
		os.Exit(0)
	}
	// Started by nohup the tests ignore HUP, and so would what they start. What
	// is listened for is at its default in a child.
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	// Most of these tests wait for other processes.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// act is one thing that a fake worker does, written "verb" or "verb:argument".
func act(step string) {
	verb, arg, _ := strings.Cut(step, ":")
	switch verb {
	case "result":
		must(os.WriteFile(os.Getenv("OKSTRA_RESULT"), []byte(arg), 0o644))
	case "write": // path=text
		path, text, _ := strings.Cut(arg, "=")
		must(os.WriteFile(path, []byte(text), 0o644))
	case "say":
		fmt.Println(strings.ReplaceAll(arg, "\\n", "\n"))
	case "err":
		fmt.Fprintln(os.Stderr, arg)
	case "exit":
		os.Exit(number(arg))
	case "die":
		must(syscall.Kill(os.Getpid(), syscall.Signal(number(arg))))
		select {}
	case "hang":
		forever()
	case "sleep":
		time.Sleep(time.Duration(number(arg)) * time.Millisecond)
	case "ignore-term":
		signal.Ignore(syscall.SIGTERM)
	case "tick": // n lines, arg milliseconds apart
		n, ms, _ := strings.Cut(arg, "x")
		for range number(n) {
			fmt.Println("tick")
			time.Sleep(time.Duration(number(ms)) * time.Millisecond)
		}
	case "flood": // MiB of lines
		line := []byte(strings.Repeat("flood ", 16) + "\n")
		chunk := bytes.Repeat(line, 1<<20/len(line)+1)[:1<<20]
		for range number(arg) {
			os.Stdout.Write(chunk)
		}
	case "read-fifo": // waits until somebody opened and closed it
		f, err := os.Open(arg)
		must(err)
		_, err = io.Copy(io.Discard, f)
		must(err)
	case "read-all":
		b, err := io.ReadAll(os.Stdin)
		must(err)
		must(os.WriteFile(arg, b, 0o600))
	case "close-stdio":
		null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		must(err)
		for fd := range 3 {
			must(redirect(int(null.Fd()), fd))
		}
	case "child", "escapee": // arg: what the child does, steps joined by +; its pid goes to the result's folder
		cmd := exec.Command(os.Args[0], strings.Split(arg, "+")...)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: verb == "escapee"}
		must(cmd.Start())
		must(os.WriteFile(os.Getenv("OKSTRA_RESULT")+".child", []byte(strconv.Itoa(cmd.Process.Pid)), 0o600))
	case "env":
		must(os.WriteFile(arg, []byte(strings.Join(os.Environ(), "\n")), 0o600))
	case "started": // appends a line: how often a worker ran
		f, err := os.OpenFile(arg, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		must(err)
		_, err = f.WriteString("started\n")
		must(errors.Join(err, f.Close()))
	case "no-tty":
		if f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0); err == nil {
			f.Close()
			os.Exit(99)
		}
	case "group":
		if pg, err := syscall.Getpgid(0); err != nil || pg != os.Getpid() {
			os.Exit(98)
		}
	default:
		panic("unknown step " + step)
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	must(err)
	return n
}

// forever blocks without the runtime noticing a deadlock.
func forever() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGWINCH)
	for range c {
	}
}
