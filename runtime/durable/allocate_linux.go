package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// allocate gives an empty file its blocks.
func allocate(f *os.File, size int) error {
	for {
		err := unix.Fallocate(int(f.Fd()), 0, 0, int64(size))
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS):
			return fill(f, size)
		default:
			return err
		}
	}
}
