package gallop

import (
	"bytes"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/gallop-http/gallop/internal/ascii"
)

// cookiePlace is where a request goes, as far as cookies care. The strings are views
// of its URI.
type cookiePlace struct {
	host   string // lower case, without port, brackets and the dot at the end
	path   string // as it is sent, without the query
	secure bool   // https
}

// cookiePlaceOf reports whether there are cookies for u at all: it has a host, and is
// http or https.
func cookiePlaceOf(u *URI) (at cookiePlace, ok bool) {
	at.secure = u.isHTTPS()
	if !at.secure && !bytes.Equal(u.Scheme(), schemeHTTP) {
		return at, false
	}
	path, _ := ascii.Cut(u.RequestURI(), '?')
	if at.path = UnsafeString(path); at.path[0] != '/' {
		at.path = "/" // "*"
	}
	at.host = cookieHost(UnsafeString(u.Host()))
	return at, at.host != ""
}

// cookieHost cuts the port and the dot of a fully qualified name off a host, and
// the brackets of an address.
func cookieHost(host string) string {
	if address, isLiteral := strings.CutPrefix(host, "["); isLiteral {
		address, _, _ = strings.Cut(address, "]")
		return address
	}
	host, _, _ = strings.Cut(host, ":")
	return strings.TrimSuffix(host, ".")
}

// goesTo reports whether c is sent to a place (RFC 6265bis §5.8.3).
func (c *jarCookie) goesTo(at *cookiePlace) bool {
	if c.secure && !at.secure {
		return false
	}
	if c.domain != at.host && (c.hostOnly || !domainMatches(at.host, c.domain)) {
		return false
	}
	return pathMatches(at.path, c.path)
}

// domainMatches reports whether host is domain or a name below it (RFC 6265bis §5.1.3).
func domainMatches(host, domain string) bool {
	if host == domain {
		return true
	}
	above, ok := strings.CutSuffix(host, domain)
	return ok && domain != "" && strings.HasSuffix(above, ".") && !isAddress(host)
}

// pathMatches reports whether path is that of the cookie or below it (RFC 6265bis §5.1.4).
func pathMatches(path, cookiePath string) bool {
	below, ok := strings.CutPrefix(path, cookiePath)
	return ok && (below == "" || below[0] == '/' || strings.HasSuffix(cookiePath, "/"))
}

// defaultPath is the path of a cookie that comes without one: the directory that
// path is in (RFC 6265bis §5.1.4).
func defaultPath(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

// isAddress reports whether host is an IP address, or something that ends in a number
// as only an address does.
func isAddress(host string) bool {
	if strings.IndexByte(host, ':') >= 0 {
		return true
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	if ascii.HasPrefixFold(last, "0x") {
		return true
	}
	for i := range len(last) {
		if !ascii.IsDigit(last[i]) {
			return false
		}
	}
	return last != ""
}

// cookieSite returns the registrable domain of a host, below which cookies may be
// shared: that is the public suffix and one label more. For a host that has none it is the host.
func cookieSite(host string) string {
	if isAddress(host) {
		return host
	}
	suffix, _ := publicsuffix.PublicSuffix(host)
	above := strings.TrimSuffix(host[:len(host)-len(suffix)], ".")
	return host[strings.LastIndexByte(above, '.')+1:]
}

// isPublicSuffix reports whether anybody may register names below domain.
func isPublicSuffix(domain string) bool {
	suffix, _ := publicsuffix.PublicSuffix(domain)
	return suffix == domain
}
