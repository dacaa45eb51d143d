package cmuxtest

import (
	"fmt"
	"net"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// descendant reports whether a client is this process or was started by it.
func descendant(conn net.Conn) bool {
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return false
	}
	raw, err := unixConn.SyscallConn()
	if err != nil {
		return false
	}
	pid := 0
	err = raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = int(cred.Pid)
		}
	})
	for err == nil && pid > 1 {
		if pid == os.Getpid() {
			return true
		}
		pid = parent(pid)
	}
	return false
}

func parent(pid int) int {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name, in parentheses, may hold anything.
	_, rest, _ := strings.Cut(string(data[strings.LastIndexByte(string(data), ')'):]), " ")
	var state string
	var ppid int
	if _, err := fmt.Sscan(rest, &state, &ppid); err != nil {
		return 0
	}
	return ppid
}
