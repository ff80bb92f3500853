package filetree

import "time"

// Version identifies the content of a file. Two contents never have the same version, unless a file changes twice while
// its version is young. The zero Version means that there is no file.
type Version struct {
	device, inode     uint64
	size              int64
	modified, changed int64 // in nanoseconds
	fixed             bool  // the file never changes
}

// youth is how long a version may still belong to several contents. Some file systems store times in whole seconds. Tests
// change it.
var youth = 2 * time.Second

// SetYouth changes how old a file must be to be cached. Only tests call it, before they use a tree.
func SetYouth(d time.Duration) { youth = d }

// isYoung reports whether the file changed so recently that the next change may have the same times. Times in the future
// count as recent.
func (v Version) isYoung() bool {
	return v != Version{} && !v.fixed && time.Now().UnixNano()-max(v.modified, v.changed) < int64(youth)
}
