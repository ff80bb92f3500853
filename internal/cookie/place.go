package cookie

import (
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/gallop-http/gallop/internal/ascii"
)

// Place is the part of a request's URI that cookies depend on.
type Place struct {
	Host   string // in lower case, without port, brackets and the dot at the end
	Path   string // as it is sent, without the query
	Secure bool   // whether the scheme is https
}

// PlaceOf returns the place of a request. The scheme and the host are in lower case, and target is the path with the
// query. The strings of the place are views of the arguments. PlaceOf reports false if there are no cookies for such
// requests, because the scheme is neither http nor https, or because the host is empty.
func PlaceOf(scheme, host, target string) (at Place, ok bool) {
	at.Secure = scheme == "https"
	if !at.Secure && scheme != "http" {
		return at, false
	}
	if at.Path, _, _ = strings.Cut(target, "?"); !strings.HasPrefix(at.Path, "/") {
		at.Path = "/" // the target is "*"
	}
	at.Host = hostOf(host)
	return at, at.Host != ""
}

// hostOf returns host without its port, without the dot at the end of a fully qualified name, and without the brackets
// around an address.
func hostOf(host string) string {
	if address, isLiteral := strings.CutPrefix(host, "["); isLiteral {
		address, _, _ = strings.Cut(address, "]")
		return address
	}
	host, _, _ = strings.Cut(host, ":")
	return strings.TrimSuffix(host, ".")
}

// goesTo reports whether c is sent to at (RFC 6265bis §5.8.3).
func (c *Stored) goesTo(at *Place) bool {
	if c.Secure && !at.Secure {
		return false
	}
	if c.Domain != at.Host && (c.HostOnly || !domainMatches(at.Host, c.Domain)) {
		return false
	}
	return pathMatches(at.Path, c.Path)
}

// domainMatches reports whether host is domain or a name below domain (RFC 6265bis §5.1.3).
func domainMatches(host, domain string) bool {
	if host == domain {
		return true
	}
	above, ok := strings.CutSuffix(host, domain)
	return ok && domain != "" && strings.HasSuffix(above, ".") && !isAddress(host)
}

// pathMatches reports whether path is cookiePath or below cookiePath (RFC 6265bis §5.1.4).
func pathMatches(path, cookiePath string) bool {
	below, ok := strings.CutPrefix(path, cookiePath)
	return ok && (below == "" || below[0] == '/' || strings.HasSuffix(cookiePath, "/"))
}

// defaultPath returns the path of a cookie that is set without a Path attribute: the directory of the request's path
// (RFC 6265bis §5.1.4).
func defaultPath(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

// isAddress reports whether host is an IP address. A host whose last label is a number counts as an address.
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

// Site returns the registrable domain of a host, within which hosts may share cookies: the public suffix and one more
// label. If the host has no registrable domain, Site returns the host.
func Site(host string) string {
	if isAddress(host) {
		return host
	}
	suffix, _ := publicsuffix.PublicSuffix(host)
	above := strings.TrimSuffix(host[:len(host)-len(suffix)], ".")
	return host[strings.LastIndexByte(above, '.')+1:]
}

// isPublicSuffix reports whether anybody can register names below domain.
func isPublicSuffix(domain string) bool {
	suffix, _ := publicsuffix.PublicSuffix(domain)
	return suffix == domain
}
