package files

import (
	"io/fs"
	"strconv"
	"time"
)

// Tag returns the entity tag of a file, without quotes, and whether it is weak (RFC 9110
// §8.8.3). It is made of the modification time and the size.
//
// A time in whole seconds does not tell two versions apart that have the same size: the file
// system keeps no more, or a program has set the time, as reproducible builds and archives do.
// The time of the last change of the inode, which no program can set, then joins the tag. If
// that is in whole seconds too, the tag is weak until two seconds after the change.
func Tag(info fs.FileInfo) (tag string, weak bool) {
	modified := info.ModTime()
	tag = strconv.FormatInt(modified.UnixNano(), 36) + "-" + strconv.FormatInt(info.Size(), 36)
	weak = !isStable(modified)
	if modified.Nanosecond() != 0 {
		return tag, weak
	}
	if changed, ok := changeTime(info); ok {
		tag += "-" + strconv.FormatInt(changed.UnixNano(), 36)
		weak = weak || changed.Nanosecond() == 0 && !isStable(changed)
	}
	return tag, weak
}

// HasTime reports whether t says when a file was modified: zero and the Unix epoch do not.
func HasTime(t time.Time) bool { return !t.IsZero() && t.Unix() != 0 }
