//go:build !linux

package clis

import "testing"

func isolated(*testing.M) int {
	loudly("network namespaces are a thing of Linux.")
	return 0
}
