//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package filetree

import (
	"io/fs"
	"syscall"
)

// keepsOpen reports whether files and directories that are open can be renamed and removed.
const keepsOpen = true

// versionOf returns the version of the file that info describes. It reports false if info does not come from the
// operating system.
func versionOf(info fs.FileInfo) (Version, bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || stat == nil {
		return Version{}, false
	}
	return Version{
		device:   uint64(stat.Dev),
		inode:    stat.Ino,
		size:     info.Size(),
		modified: info.ModTime().UnixNano(),
		changed:  changeTime(stat),
	}, true
}

// descriptorLimit returns how many descriptors the process may have.
func descriptorLimit() int64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return int64(min(uint64(limit.Cur), 1<<30))
}
