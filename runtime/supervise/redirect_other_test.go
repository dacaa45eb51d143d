//go:build !linux

package supervise_test

import "syscall"

func redirect(from, to int) error { return syscall.Dup2(from, to) }
