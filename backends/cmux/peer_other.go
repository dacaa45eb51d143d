//go:build !linux && !darwin

package cmux

import "net"

// peerPID returns the process that serves a connection, or 0.
func peerPID(net.Conn) int { return 0 }
