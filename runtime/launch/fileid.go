package launch

import (
	"io/fs"
	"syscall"
)

// FileID is a file as the kernel knows it, whatever its name: output that was
// redirected has none that a program could ask for.
type FileID struct {
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
}

// IDOf returns the id of a regular file, and false for everything else.
func IDOf(info fs.FileInfo) (FileID, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() {
		return FileID{}, false
	}
	return FileID{Device: uint64(st.Dev), Inode: uint64(st.Ino)}, true
}
