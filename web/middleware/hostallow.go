package middleware

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// HostAllow rejects requests for hosts that the app does not serve. Links and redirects that an app builds from the host then never lead
// to another site. A page of an attacker cannot use the app by pointing its own host name at this machine (DNS rebinding). Add HostAllow to
// the App, before all middleware that uses the host.
//
// HostAllow compares the result of [web.Ctx.Hostname], which has no port and no final dot, in lower case. If a trusted proxy reports
// a host, that host counts.
//
// The zero value allows only localhost, its subdomains and loopback addresses, for development. Load balancers often ask for health
// checks by IP address: list this address, or register the health checks on another App.
type HostAllow struct {
	// Hosts lists the hosts that are allowed. An entry is a host name such as "example.com", an IP address, or "*.example.com" for all
	// subdomains, but not for example.com itself. Write international names in their ASCII form, such as "xn--bcher-kva.example". Do not
	// add ports. If neither Hosts nor Allow is set, only this machine's own names are allowed.
	Hosts []string

	// Allow reports whether a host that is not in Hosts is allowed. The argument host is in lower case, without the port and the final
	// dot. Allow may be called concurrently. Nil allows no more hosts.
	Allow func(c *web.Ctx, host string) bool

	// Status is the status of responses to rejected requests: 421 (Misdirected Request) or 403. Zero means 421. After 421, browsers
	// may repeat the request on another connection, which helps if a connection is shared by several hosts.
	Status int
}

// Handler returns the middleware. Handler panics if an entry of Hosts is not a host, or if Status is not 421 or 403.
func (o HostAllow) Handler() web.Handler {
	h := &hostAllow{HostAllow: o, exact: map[string]bool{}, local: len(o.Hosts) == 0 && o.Allow == nil}
	switch o.Status {
	case 0:
		h.Status = gallop.StatusMisdirectedRequest
	case gallop.StatusMisdirectedRequest, gallop.StatusForbidden:
	default:
		panic(fmt.Sprintf("middleware: HostAllow: the Status is %d: set 421 or 403", o.Status))
	}
	for _, host := range o.Hosts {
		h.add(host)
	}
	return h.serve
}

// hostAllow is a HostAllow with its settings parsed.
type hostAllow struct {
	HostAllow
	exact map[string]bool
	below []string // with the dot before the domain
	local bool
}

// add adds a host. It panics if the host is not valid.
func (h *hostAllow) add(host string) {
	lower := strings.TrimSuffix(strings.ToLower(host), ".")
	if ip, ok := parseHostIP(lower); ok {
		h.exact[hostOfIP(ip)] = true
		return
	}
	domain, wild := strings.CutPrefix(lower, "*.")
	if domain == "" || len(domain) > 253 || !isHostText(domain) {
		panic(fmt.Sprintf("middleware: HostAllow: %q is not a host like example.com or *.example.com, without a port and in ASCII", host))
	}
	if wild {
		h.below = append(h.below, "."+domain)
	} else {
		h.exact[domain] = true
	}
}

// parseHostIP reads an IP address as in Hosts or in a Host header. IPv6 addresses may be in brackets.
func parseHostIP(host string) (netip.Addr, bool) {
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		host = host[1 : len(host)-1]
		if !strings.Contains(host, ":") {
			return netip.Addr{}, false
		}
	}
	ip, err := netip.ParseAddr(host)
	return ip, err == nil && ip.Zone() == ""
}

// hostOfIP returns an address as it is in exact.
func hostOfIP(ip netip.Addr) string {
	if ip = ip.Unmap(); ip.Is6() {
		return "[" + ip.String() + "]"
	}
	return ip.String()
}

func (h *hostAllow) serve(c *web.Ctx) error {
	if c.Refused() == nil && !h.allows(c) {
		return &web.Error{Status: h.Status, Message: gallop.StatusMessage(h.Status), Err: errHostNotAllowed}
	}
	return c.Next()
}

var errHostNotAllowed = fmt.Errorf("middleware: HostAllow: the host is not in Hosts")

func (h *hostAllow) allows(c *web.Ctx) bool {
	if h.exact[string(c.HostnameBytes())] { // without allocating
		return true
	}
	host := c.Hostname()
	if host == "" || strings.HasSuffix(host, ".") {
		return h.asks(c, host)
	}
	for _, domain := range h.below {
		if under, ok := strings.CutSuffix(host, domain); ok && under != "" && isHostText(under) {
			return true
		}
	}
	if host[0] == '[' {
		if ip, ok := parseHostIP(host); ok && (h.exact[hostOfIP(ip)] || h.local && ip.IsLoopback()) {
			return true
		}
	} else if h.local && isLocalName(host) {
		return true
	}
	return h.asks(c, host)
}

// asks calls Allow.
func (h *hostAllow) asks(c *web.Ctx, host string) bool {
	return h.Allow != nil && h.Allow(c, host)
}

// isLocalName reports whether a host, in lower case, always means this machine (RFC 6761 §6.3).
func isLocalName(host string) bool {
	if host == "localhost" {
		return true
	}
	if under, ok := strings.CutSuffix(host, ".localhost"); ok {
		return under != "" && isHostText(under)
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Is4() && ip.IsLoopback()
}
