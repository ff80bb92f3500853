//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly

package filetree

import "io/fs"

// keepsOpen reports that an open file or directory cannot be renamed or removed.
const keepsOpen = false

// versionOf reports false: the system does not say enough about a file to recognize its versions.
func versionOf(fs.FileInfo) (Version, bool) { return Version{}, false }

// descriptorLimit returns 0, because no descriptor is kept.
func descriptorLimit() int64 { return 0 }
