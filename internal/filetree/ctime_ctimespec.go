//go:build darwin || freebsd || netbsd

package filetree

import "syscall"

// changeTime returns when the content or an attribute of a file changed last, in nanoseconds.
func changeTime(stat *syscall.Stat_t) int64 { return stat.Ctimespec.Nano() }
