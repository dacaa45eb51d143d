package cmux

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerPID returns the process that serves a connection, or 0.
func peerPID(conn net.Conn) int {
	pid := 0
	withFD(conn, func(fd int) {
		if cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = int(cred.Pid)
		}
	})
	return pid
}
