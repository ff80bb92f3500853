package files

import (
	"bytes"
	"path"
	"strings"

	"github.com/gallop-http/gallop/negotiate"
)

// IsHashed reports whether the last segment of name contains a hash of the content, such as "app.3f2a9c1b.js" or
// "app-3f2a9c1b.min.css". A hash has at least 8 hexadecimal digits, in lower case, of which at least one is a letter and
// at least one a decimal digit. A date such as 20261127 is therefore not a hash. A dot or a hyphen separates the hash from
// the rest, and it neither begins nor ends the name.
func IsHashed(name string) bool {
	name = path.Base(name)
	start := -1
	for i := 0; i < len(name); i++ {
		if name[i] != '.' && name[i] != '-' {
			continue
		}
		if start > 1 && name[i] == '.' && isHash(name[start:i]) {
			return true
		}
		start = i + 1
	}
	return false
}

func isHash(s string) bool {
	letters, digits := 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case '0' <= c && c <= '9':
			digits++
		case 'a' <= c && c <= 'f':
			letters++
		default:
			return false
		}
	}
	return len(s) >= 8 && letters > 0 && digits > 0
}

// Matches reports whether a pattern matches the name of a file. A pattern that ends in a slash matches everything in the
// directory. A pattern with another slash is compared with the whole name, any other pattern with the last segment.
// An empty pattern matches every name.
func Matches(pattern, name string) bool {
	switch dir, isDir := strings.CutSuffix(pattern, "/"); {
	case pattern == "":
		return true
	case isDir:
		return strings.HasPrefix(name, strings.TrimPrefix(dir, "/")+"/")
	case !strings.Contains(pattern, "/"):
		name = path.Base(name)
	}
	ok, err := path.Match(strings.TrimPrefix(pattern, "/"), name)
	return err == nil && ok
}

// IsRoute reports whether a path may be a route of a single-page application. The last segment of such a path has no dot.
// The path of an asset has one.
func IsRoute(p []byte) bool {
	return bytes.IndexByte(p[bytes.LastIndexByte(p, '/')+1:], '.') < 0
}

// PrefersPage reports whether a client names HTML among the types that it accepts, and prefers it, as browsers do when they
// navigate. A range such as "*/*" is not enough.
func PrefersPage(accept string) bool {
	return strings.Contains(strings.ToLower(accept), "text/html") &&
		negotiate.MediaType(accept, "text/html", "application/json", "image/webp") == "text/html"
}

// PrefersJSON reports whether a client prefers JSON to HTML.
func PrefersJSON(accept string) bool {
	return negotiate.MediaType(accept, "text/html", "application/json") == "application/json"
}
