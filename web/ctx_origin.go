package web

import (
	"net/netip"
	"strings"
)

// The methods below return the client's address, the scheme and the host of a request. They use the headers of proxies if
// Config.TrustedProxies trusts them.

// from returns the origin of the request.
func (c *Ctx) from() *origin {
	if !c.origin.known {
		c.origin.find(&c.app.config, c.request)
	}
	return &c.origin
}

// IPAddr returns the IP address of the client. If the request came through trusted proxies (see [Config.TrustedProxies]), IPAddr
// returns the address that the proxy nearest to the client reported. If the address is not known, IPAddr returns the zero Addr.
// For example, a connection over a unix socket has no IP address.
func (c *Ctx) IPAddr() netip.Addr {
	if hops := c.from().hops; len(hops) > 0 {
		return hops[len(hops)-1]
	}
	return netip.Addr{}
}

// IP returns the IP address of the client as text, or "" if the address is not known. See [Ctx.IPAddr].
func (c *Ctx) IP() string {
	if ip := c.IPAddr(); ip.IsValid() {
		return clientTexts.of(ip)
	}
	return ""
}

// IPs returns the IP addresses of the machines that the request came through. The client comes first, then the trusted proxies,
// and last the peer of the connection. Addresses that the client itself put into the headers are not included.
func (c *Ctx) IPs() []string {
	hops := c.from().hops
	list := make([]string, 0, len(hops))
	for i := range hops {
		list = append(list, hops[len(hops)-1-i].String())
	}
	return list
}

// IsProxyTrusted reports whether the peer of the connection is in Config.TrustedProxies. If Config.TrustedProxies is not empty, a
// peer on a unix socket is trusted, too.
func (c *Ctx) IsProxyTrusted() bool {
	peer, local := peerAddr(c.request.RemoteAddr())
	return c.app.config.trustsPeer(peer, local)
}

// IsFromLocal reports whether the client is on this machine. IsFromLocal returns true if the client's address is a loopback
// address. IsFromLocal also returns true if the connection uses a unix socket and no proxy reported an address.
func (c *Ctx) IsFromLocal() bool {
	if ip := c.IPAddr(); ip.IsValid() {
		return ip.IsLoopback()
	}
	_, local := peerAddr(c.request.RemoteAddr())
	return local
}

// Scheme returns the scheme of the request, "https" or "http". A scheme that a trusted proxy reported takes precedence over
// the scheme of the connection.
func (c *Ctx) Scheme() string {
	var reported []byte
	if len(c.app.config.TrustedProxies) > 0 {
		reported = c.from().scheme
	}
	if reported == nil && c.request.IsTLS() || len(reported) == len("https") {
		return "https"
	}
	return "http"
}

// Secure reports whether the client used https. See [Ctx.Scheme].
func (c *Ctx) Secure() bool { return c.Scheme() == "https" }

// Host returns the host of the request in lower case, with its port if there is one. A host that a trusted proxy reported
// takes precedence over the Host header. Clients can send any Host header, so do not base access decisions on the host.
func (c *Ctx) Host() string { return string(c.lowHostPort()) } // short enough to be inlined, so that a caller may not have to allocate

func (c *Ctx) lowHostPort() []byte {
	host := c.hostPort()
	for _, b := range host {
		if b-'A' < 26 || b >= 0x80 {
			return []byte(strings.ToLower(string(host)))
		}
	}
	return host
}

func (c *Ctx) hostPort() []byte {
	if len(c.app.config.TrustedProxies) > 0 {
		if host := c.from().host; host != nil {
			return host
		}
	}
	return c.request.Host()
}

// Hostname returns the host without the port and without a final dot. See [Ctx.Host].
func (c *Ctx) Hostname() string { return string(c.host()) }

// HostnameBytes returns the hostname as a slice that is valid only until the handler returns. See [Ctx.Hostname].
func (c *Ctx) HostnameBytes() []byte { return c.host() }

// Subdomains returns the subdomain labels of the host, leftmost first. The argument "below" is the number of labels in your own
// domain, which Subdomains leaves out. For the host "a.b.example.com", Subdomains(2) returns "a" and "b". An IP address has no
// subdomains.
func (c *Ctx) Subdomains(below int) []string {
	name := c.Hostname()
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return nil
	}
	labels := strings.Split(name, ".")
	return labels[:max(len(labels)-max(below, 0), 0)]
}

// BaseURL returns the scheme and the host, such as "https://example.com". See [Ctx.Scheme] and [Ctx.Host].
func (c *Ctx) BaseURL() string { return c.Scheme() + "://" + c.Host() }

// OriginalURL returns the request target as it was received, usually the path and the query, without decoding. [App.Rewrite] does not
// change the result.
func (c *Ctx) OriginalURL() string { return string(c.originalTarget()) }

// FullURL returns the absolute URL of the request: [Ctx.BaseURL] followed by the path and the query.
func (c *Ctx) FullURL() string {
	if target := c.OriginalURL(); strings.HasPrefix(target, "/") {
		return c.BaseURL() + target
	}
	if len(c.original) > 0 {
		return c.BaseURL() + string(c.original[pathStart(c.original):])
	}
	uri := c.request.URI()
	return c.BaseURL() + string(uri.RequestURI())
}

// Protocol returns the HTTP version of the request, for example "HTTP/1.1" or "HTTP/1.0".
func (c *Ctx) Protocol() string {
	version := c.request.Request.Header.Protocol()
	if string(version) == "HTTP/1.1" { // without allocating
		return "HTTP/1.1"
	}
	return string(version)
}
