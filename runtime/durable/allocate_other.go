//go:build !linux

package durable

import "os"

// allocate gives an empty file its blocks.
func allocate(f *os.File, size int) error { return fill(f, size) }
