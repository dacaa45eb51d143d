package supervise_test

import "syscall"

func redirect(from, to int) error { return syscall.Dup3(from, to, 0) }
