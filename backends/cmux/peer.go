package cmux

import "net"

func withFD(conn net.Conn, f func(fd int)) {
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return
	}
	raw, err := unixConn.SyscallConn()
	if err != nil {
		return
	}
	// An error leaves the pid unknown, which every caller has to live with.
	_ = raw.Control(func(fd uintptr) { f(int(fd)) })
}
