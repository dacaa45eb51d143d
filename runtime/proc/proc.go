// Package proc knows processes by identity: a pid together with its start
// time, which a reused pid does not share. It finds descendants and processes
// that carry a claim in their environment, and signals only what it has
// proven. It knows no worker, record or backend.
package proc

// Identity is a process that cannot be confused with a later one of the same
// pid. StartTime is the kernel's start time in clock ticks since boot on Linux
// (field 22 of /proc/PID/stat), microseconds since the epoch elsewhere.
type Identity struct {
	PID       int   `json:"pid"`
	StartTime int64 `json:"startTime"`
}

// Zero reports whether no process is named.
func (i Identity) Zero() bool { return i.PID == 0 }
