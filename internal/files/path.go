package files

import (
	"bytes"
	"path"
	"runtime"
	"strings"

	"github.com/gallop-http/gallop/internal/ascii"
)

// StripSegments returns p without its first n segments.
func StripSegments(p []byte, n int) []byte {
	for ; n > 0 && len(p) > 0; n-- {
		slash := bytes.IndexByte(p[1:], '/')
		if slash < 0 {
			return nil
		}
		p = p[1+slash:]
	}
	return p
}

// Name returns the name of the file at path p in the form that io/fs requires: no slash at either end, and "." for the
// root. ok is false if no file can have this path. A path with an empty segment names no file. An access check that
// compares the path with "/private" would not recognize "//private".
func Name(p []byte) (name string, ok bool) {
	return nameOn(runtime.GOOS, p)
}

func nameOn(goos string, p []byte) (string, bool) {
	if bytes.IndexByte(p, '\\') >= 0 || bytes.IndexByte(p, 0) >= 0 {
		return "", false
	}
	name := make([]byte, 0, len(p))
	for p = bytes.TrimPrefix(p, []byte("/")); len(p) > 0; {
		var segment []byte
		segment, p = ascii.Cut(p, '/')
		switch {
		case len(segment) == 0, string(segment) == ".", string(segment) == "..":
			return "", false
		case goos == "windows" && !isWindowsName(string(segment)):
			return "", false
		}
		if len(name) > 0 {
			name = append(name, '/')
		}
		name = append(name, segment...)
	}
	if len(name) == 0 {
		return ".", true
	}
	return string(name), true
}

// HasEmptySegment reports whether a path has two slashes in a row.
func HasEmptySegment(p string) bool { return strings.Contains(p, "//") }

// IsHidden reports whether a segment of name begins with a dot and is not ".well-known" (RFC 8615). The root, ".", is
// not hidden.
func IsHidden(name string) bool {
	for segment := range strings.SplitSeq(name, "/") {
		if name != "." && strings.HasPrefix(segment, ".") && segment != ".well-known" {
			return true
		}
	}
	return false
}

// CleanRoot returns the name of the directory root in an fs.FS. root may have slashes at its ends and dot segments.
func CleanRoot(root string) string {
	if root = strings.Trim(path.Clean("/"+root), "/"); root == "" {
		return "."
	}
	return root
}
