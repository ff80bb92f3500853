package files

import (
	"crypto/sha256"
	"encoding/base64"
	"io"
	"io/fs"
	"strconv"
	"time"
)

// Tag returns the entity tag of a file, without quotes, and whether the tag is weak (RFC 9110 §8.8.3). The tag contains
// the modification time and the size.
//
// Two versions of the same size can have the same modification time if that time is in whole seconds. Some file systems
// store only seconds, and reproducible builds and archives set the time. The tag then also contains the time of the
// inode's last change, which no program can set. If the time of the change is in whole seconds too, the tag is weak
// until two seconds after the change.
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

// HasTime reports whether t is a known modification time. The zero time and the Unix epoch mean that it is unknown.
func HasTime(t time.Time) bool { return !t.IsZero() && t.Unix() != 0 }

// ContentTag returns an entity tag, without quotes, for a file that has no modification time. The tag is a hash of the
// content, so it is the same on every machine.
func ContentTag(content io.Reader) (string, error) {
	hash := sha256.New()
	if _, err := io.Copy(hash, content); err != nil {
		return "", err
	}
	var sum [sha256.Size]byte
	return base64.RawURLEncoding.EncodeToString(hash.Sum(sum[:0])[:18]), nil
}
