package web

import (
	"net/netip"
	"strings"
)

// The methods below say who asked whom and how. What proxies say of that counts as far as Config.TrustedProxies has
// them.

// from returns the origin of the request.
func (c *Ctx) from() *origin {
	if !c.origin.known {
		c.origin.find(&c.app.config, c.request)
	}
	return &c.origin
}

// IPAddr returns the address of the client; not a valid one if it came over something else than IP.
func (c *Ctx) IPAddr() netip.Addr {
	if hops := c.from().hops; len(hops) > 0 {
		return hops[len(hops)-1]
	}
	return netip.Addr{}
}

// IP returns the address of the client as text, "" if it came over something else than IP.
func (c *Ctx) IP() string {
	if ip := c.IPAddr(); ip.IsValid() {
		return ip.String()
	}
	return ""
}

// IPs returns the addresses the request came from, as far as they are known: the client first, then the proxies, and
// the peer of the connection last. What the client says about itself is not among them.
func (c *Ctx) IPs() []string {
	hops := c.from().hops
	list := make([]string, 0, len(hops))
	for i := range hops {
		list = append(list, hops[len(hops)-1-i].String())
	}
	return list
}

// IsProxyTrusted reports whether the peer of the connection is one of Config.TrustedProxies, or on a unix
// socket if there are any.
func (c *Ctx) IsProxyTrusted() bool {
	peer, local := peerAddr(c.request.RemoteAddr())
	return c.app.config.trustsPeer(peer, local)
}

// IsFromLocal reports whether the client is on this machine.
func (c *Ctx) IsFromLocal() bool {
	if ip := c.IPAddr(); ip.IsValid() {
		return ip.IsLoopback()
	}
	_, local := peerAddr(c.request.RemoteAddr())
	return local
}

// Scheme returns "https" or "http".
func (c *Ctx) Scheme() string {
	scheme := c.from().scheme
	if scheme == nil && c.request.IsTLS() || len(scheme) == len("https") {
		return "https"
	}
	return "http"
}

// Secure reports whether the client came by https.
func (c *Ctx) Secure() bool { return c.Scheme() == "https" }

// Host returns the host that was asked for, in lower case, with its port if there is one. It is the client's to say.
func (c *Ctx) Host() string { return strings.ToLower(string(c.hostPort())) }

func (c *Ctx) hostPort() []byte {
	if len(c.app.config.TrustedProxies) > 0 {
		if host := c.from().host; host != nil {
			return host
		}
	}
	return c.request.Host()
}

// Hostname is Host without the port.
func (c *Ctx) Hostname() string { return string(c.host()) }

// Subdomains returns the labels of the host before its last two, or as many as offset says; the first one first. An IP
// address has none.
func (c *Ctx) Subdomains(offset ...int) []string {
	skip := 2
	if len(offset) > 0 {
		skip = max(offset[0], 0)
	}
	name := c.Hostname()
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return nil
	}
	labels := strings.Split(name, ".")
	return labels[:max(len(labels)-skip, 0)]
}

// BaseURL returns scheme and host, as "https://example.com".
func (c *Ctx) BaseURL() string { return c.Scheme() + "://" + c.Host() }

// OriginalURL returns the target of the request as it was received: path and query.
func (c *Ctx) OriginalURL() string { return string(c.request.RequestURI()) }

// FullURL returns the URL that was asked for.
func (c *Ctx) FullURL() string {
	if target := c.OriginalURL(); strings.HasPrefix(target, "/") {
		return c.BaseURL() + target
	}
	uri := c.request.URI()
	return c.BaseURL() + string(uri.RequestURI())
}

// Protocol returns the version of the request, for example "HTTP/1.1".
func (c *Ctx) Protocol() string {
	p := c.request.Request.Header.Protocol()
	if string(p) == "HTTP/1.1" {
		return "HTTP/1.1"
	}
	return string(p)
}

// RequestID returns the X-Request-ID of the answer, which middleware may have set, or else of the request.
func (c *Ctx) RequestID() string {
	return c.GetRespHeader("X-Request-ID", c.Get("X-Request-ID"))
}
