package cmux

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerPID returns the process that serves a connection, or 0.
func peerPID(conn net.Conn) int {
	pid := 0
	withFD(conn, func(fd int) {
		if n, err := unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID); err == nil {
			pid = n
		}
	})
	return pid
}
