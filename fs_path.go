package gallop

import (
	"bytes"
	"path"
	"runtime"
	"strings"

	"github.com/gallop-http/gallop/internal/ascii"
)

// PathRewriteFunc returns the path that FS looks up for a request. The returned slice can share memory with the
// request's path. If the returned path has an empty segment or a ".." segment, FS responds with 404.
type PathRewriteFunc func(ctx *RequestCtx) []byte

// NewPathPrefixStripper returns a PathRewriteFunc that removes the first prefixSize bytes of the path. For example, if
// prefixSize is 3, "/foo/bar" becomes "o/bar". A path with fewer than prefixSize bytes stays unchanged.
func NewPathPrefixStripper(prefixSize int) PathRewriteFunc {
	return func(ctx *RequestCtx) []byte {
		p := ctx.Path()
		if prefixSize > 0 && len(p) >= prefixSize {
			p = p[prefixSize:]
		}
		return p
	}
}

// NewPathSlashesStripper returns a PathRewriteFunc that removes the first slashesCount segments of the path. For
// example, if slashesCount is 1, "/foo/bar" becomes "/bar". If slashesCount is 2, "/foo/bar" becomes "".
func NewPathSlashesStripper(slashesCount int) PathRewriteFunc {
	return func(ctx *RequestCtx) []byte { return stripSegments(ctx.Path(), slashesCount) }
}

// NewVHostPathRewriter returns a PathRewriteFunc for virtual hosts: each host's files are in a directory named after
// the host. The PathRewriteFunc removes the first slashesCount segments of the path and puts the requested host in
// front of the rest. For example, if slashesCount is 1, "/images/a.jpg" on img.example.com becomes
// "/img.example.com/a.jpg". For a request without a host, the path becomes "/invalid-host/".
func NewVHostPathRewriter(slashesCount int) PathRewriteFunc {
	return func(ctx *RequestCtx) []byte {
		host := ctx.Host()
		if len(host) == 0 || bytes.IndexByte(host, '/') >= 0 {
			return []byte("/invalid-host/")
		}
		p := append([]byte{'/'}, host...)
		return append(p, stripSegments(ctx.Path(), slashesCount)...)
	}
}

func stripSegments(p []byte, n int) []byte {
	for ; n > 0 && len(p) > 0; n-- {
		slash := bytes.IndexByte(p[1:], '/')
		if slash < 0 {
			return nil
		}
		p = p[1+slash:]
	}
	return p
}

// fileName returns the name that a path stands for, as io/fs wants it: without slashes
// at its ends, and "." for the root. It reports false if no file can have it. A path with an
// empty segment names no file: a guard that compares it with "/private" would not see
// "//private".
func fileName(p []byte) (name string, ok bool) {
	return fileNameOn(runtime.GOOS, p)
}

func fileNameOn(goos string, p []byte) (string, bool) {
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

// hasEmptySegment reports whether a path has two slashes in a row.
func hasEmptySegment(p string) bool { return strings.Contains(p, "//") }

// isHidden reports whether a segment of name begins with a dot and is not ".well-known"
// (RFC 8615). "." is the root.
func isHidden(name string) bool {
	for segment := range strings.SplitSeq(name, "/") {
		if name != "." && strings.HasPrefix(segment, ".") && segment != ".well-known" {
			return true
		}
	}
	return false
}

// cleanRoot returns the name of a directory in an fs.FS for however it was written.
func cleanRoot(root string) string {
	if root = strings.Trim(path.Clean("/"+root), "/"); root == "" {
		return "."
	}
	return root
}
