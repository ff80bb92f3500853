//go:build darwin || freebsd || netbsd

package files

import (
	"io/fs"
	"syscall"
	"time"
)

// changeTime returns when the content or an attribute of a file changed last (st_ctime). It
// reports false if the file system does not say.
func changeTime(info fs.FileInfo) (time.Time, bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || stat == nil {
		return time.Time{}, false
	}
	return time.Unix(stat.Ctimespec.Unix()), true
}
