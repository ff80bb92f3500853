package middleware

import (
	"errors"
	"strings"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// The path goes to the target as the client sent it. Decoding and encoding it again could change its meaning: the target may
// distinguish %2F from a slash. The routes and the middleware before Proxy have seen the path without dot segments and
// empty segments, though. So a raw path is refused if the target could take it for a path outside the prefix that they saw.

var (
	errProxyPath    = errors.New("middleware: the path has the segment \"..\"")
	errProxySlashes = errors.New("middleware: the path begins with two slashes")
	errProxyTarget  = errors.New("middleware: the request target has no path")
)

// readTarget sets the method and the target of the request.
func (x *proxyCall) readTarget() error {
	r := x.c.RequestCtx()
	method, target := r.Method(), string(r.RequestURI())
	if r.IsConnect() {
		if protocol, ok := r.Upgrade(); !ok || !x.allowsUpgrade(protocol) {
			return refusal(gallop.StatusNotImplemented, "Proxy does not serve CONNECT", errors.ErrUnsupported)
		}
		method = []byte(gallop.MethodGet) // RFC 8441 §5
	}
	path, query := splitTarget(target)
	path, err := x.p.mapped(path)
	if err != nil {
		return err
	}
	x.to.Header.SetMethodBytes(method)
	x.to.Header.SetRequestURI(path + query)
	return nil
}

// splitTarget returns the path and the query of a request target, each exactly as it was sent. The query begins with its question
// mark. The scheme and the host of an absolute target are cut off (RFC 9112 §3.2.2).
func splitTarget(target string) (path, query string) {
	if at := strings.Index(target, "://"); at > 0 && target[0] != '/' {
		target = target[at+len("://"):]
		end := strings.IndexAny(target, "/?")
		if end < 0 {
			return "/", ""
		}
		target = target[end:]
	}
	if at := strings.IndexByte(target, '?'); at >= 0 {
		target, query = target[:at], target[at:]
	}
	if target == "" {
		target = "/"
	}
	return target, query
}

// mapped returns the path for the target, without the path of the target's URL.
func (p *proxy) mapped(path string) (string, error) {
	switch {
	case path[0] != '/':
		return "", refusal(gallop.StatusBadRequest, "Bad Request", errProxyTarget)
	case leavesPrefix(path):
		return "", refusal(gallop.StatusBadRequest, "Bad Request", errProxyPath)
	}
	rest, found := strings.CutPrefix(path, p.StripPrefix)
	switch {
	case !found || p.StripPrefix != "" && rest != "" && rest[0] != '/':
		return "", web.ErrNotFound
	case rest == "":
		rest = "/"
	}
	if startsTwoSlashes(rest) {
		return "", refusal(gallop.StatusBadRequest, "Bad Request", errProxySlashes)
	}
	return rest, nil
}

// startsTwoSlashes reports whether a program could take the beginning of the path for "//" and a host.
func startsTwoSlashes(path string) bool {
	if path == "" {
		return false
	}
	_, width := pathByte(path)
	second, _ := pathByte(path[width:])
	return second == '/' || second == '\\'
}

// leavesPrefix reports whether a segment of the path is "..", for a program that decodes the path once, treats a backslash as a
// slash, or ignores parameters after a semicolon.
func leavesPrefix(path string) bool {
	dots, other, params := 0, false, false // of the current segment
	for len(path) > 0 {
		c, width := pathByte(path)
		path = path[width:]
		switch {
		case c == '/' || c == '\\':
			if dots == 2 && !other {
				return true
			}
			dots, other, params = 0, false, false
		case params:
		case c == ';':
			params = true
		case c == '.':
			dots++
		default:
			other = true
		}
	}
	return dots == 2 && !other
}

// pathByte returns the first byte of a path, decoded if it is percent-encoded, and how many bytes it takes.
func pathByte(path string) (c byte, width int) {
	if len(path) == 0 {
		return 0, 0
	}
	if path[0] == '%' && len(path) >= 3 {
		if high, low := hexDigit(path[1]), hexDigit(path[2]); high < 16 && low < 16 {
			return high<<4 | low, 3
		}
	}
	return path[0], 1
}

// hexDigit returns the value of a hexadecimal digit, or 16.
func hexDigit(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10
	}
	return 16
}
