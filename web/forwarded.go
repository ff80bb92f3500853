package web

import (
	"bytes"
	"net"
	"net/netip"
	"strings"

	"github.com/gallop-http/gallop"
)

// ProxyHeaders selects the headers in which proxies report the client's address, the scheme and the host. An App reads either the
// X-Forwarded headers or the Forwarded header, but never both. Reading both would be unsafe: a proxy that sets only X-Forwarded
// headers does not remove a Forwarded header that the client forged. See Config.TrustedProxies.
type ProxyHeaders uint8

const (
	// XForwarded selects X-Forwarded-For, X-Forwarded-Proto and X-Forwarded-Host. XForwarded is the default.
	XForwarded ProxyHeaders = iota

	// Forwarded selects the Forwarded header (RFC 7239).
	Forwarded
)

// origin is where a request comes from, according to trusted proxies. Each proxy appends the address that it got the request from
// to a list. The list is reliable from its end up to the first address that is not a trusted proxy: the client. The client may
// have forged everything in front of that address.
type origin struct {
	known  bool
	hops   []netip.Addr // the peer of the connection first, the client last; empty if the peer has no IP address
	scheme []byte       // a view; nil if no trusted proxy reported it
	host   []byte       // a view; nil if no trusted proxy reported it
}

// maxHops limits the number of proxies.
const maxHops = 32

// forget prepares o for another request.
func (o *origin) forget() {
	o.known, o.hops = false, o.hops[:0]
	if o.scheme != nil || o.host != nil {
		o.scheme, o.host = nil, nil
	}
}

// find finds the origin of a request.
func (o *origin) find(config *Config, request *gallop.RequestCtx) {
	o.known = true
	peer, local := peerAddr(request.RemoteAddr())
	if peer.IsValid() {
		o.hops = append(o.hops, peer)
	}
	h := &request.Request.Header
	switch {
	case !config.trustsPeer(peer, local):
	case config.ProxyHeaders == Forwarded:
		o.readForwarded(config, joinLines(h.PeekAll(gallop.HeaderForwarded)))
	default:
		o.readXForwarded(config, h)
	}
}

// peerAddr returns the IP address of a peer. A peer on a unix socket has none and is local.
func peerAddr(addr net.Addr) (ip netip.Addr, local bool) {
	switch addr := addr.(type) {
	case *net.TCPAddr:
		if addr != nil {
			ip, _ = netip.AddrFromSlice(addr.IP) // without the zone
		}
		return ip.Unmap(), false
	case *net.UnixAddr:
		return netip.Addr{}, true
	case nil:
		return netip.Addr{}, false
	}
	known, err := netip.ParseAddrPort(addr.String())
	if err != nil {
		return netip.Addr{}, false
	}
	return known.Addr().Unmap().WithZone(""), false
}

// trustsPeer reports whether the peer of a connection is a trusted proxy.
func (c *Config) trustsPeer(ip netip.Addr, local bool) bool {
	return c.trusts(ip) || local && len(c.TrustedProxies) > 0
}

// trusts reports whether the address belongs to a trusted proxy.
func (c *Config) trusts(ip netip.Addr) bool {
	for _, p := range c.TrustedProxies {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}

// next appends the address that the last proxy got the request from. more reports whether it belongs to a trusted proxy, too.
func (o *origin) next(config *Config, node []byte) (more bool) {
	ip, ok := parseNode(node)
	if !ok {
		return false
	}
	o.hops = append(o.hops, ip)
	return len(o.hops) <= maxHops && config.trusts(ip)
}

// readXForwarded reads X-Forwarded-For. X-Forwarded-Proto and X-Forwarded-Host may have one value, or one for each proxy.
// readXForwarded takes the value that belongs to the client.
func (o *origin) readXForwarded(config *Config, h *gallop.RequestHeader) {
	list := joinLines(h.PeekAll(gallop.HeaderXForwardedFor))
	n := 0
	for node, rest := cutLast(list); node != nil && o.next(config, node); n++ {
		node, rest = cutLast(rest)
	}
	o.setScheme(fromEnd(joinLines(h.PeekAll(gallop.HeaderXForwardedProto)), n))
	o.setHost(fromEnd(joinLines(h.PeekAll(gallop.HeaderXForwardedHost)), n))
}

// fromEnd returns the n-th member of a list, counted from the end beginning at 0, or the first member if there are fewer.
func fromEnd(list []byte, n int) (member []byte) {
	for ; n >= 0; n-- {
		last, rest := cutLast(list)
		if last == nil {
			break
		}
		member, list = last, rest
	}
	return member
}

// readForwarded reads Forwarded (RFC 7239). Scheme and host come from the element with the client's address, or else from the
// trusted proxy nearest to the client that reported them.
func (o *origin) readForwarded(config *Config, list []byte) {
	for more := true; more; {
		var element []byte
		if element, list = cutLast(list); element == nil {
			return
		}
		f, ok := parseForwarded(element)
		if !ok {
			return
		}
		o.setScheme(f.proto)
		o.setHost(f.host)
		more = o.next(config, f.node)
	}
}

func (o *origin) setScheme(scheme []byte) {
	if bytes.EqualFold(scheme, []byte("https")) || bytes.EqualFold(scheme, []byte("http")) {
		o.scheme = scheme
	}
}

func (o *origin) setHost(host []byte) {
	if isHost(host) {
		o.host = host
	}
}

// cutLast cuts the last member off a list. It skips empty members and returns nil if there is none. It scans from the end, because
// the client controls the beginning: an unmatched quotation mark there would swallow the members of the proxies.
func cutLast(list []byte) (last, rest []byte) {
	for len(list) > 0 {
		start, quoted := len(list), false
		for start > 0 && (quoted || list[start-1] != ',') {
			quoted = quoted != (list[start-1] == '"')
			start--
		}
		last, list = bytes.Trim(list[start:], " \t"), list[:max(start-1, 0)]
		if len(last) > 0 {
			return last, list
		}
	}
	return nil, nil
}

// forwardedElement is the element of one proxy in a Forwarded header.
type forwardedElement struct{ node, proto, host []byte }

// parseForwarded reads an element of names and values. ok is false if the element is malformed or has for, proto or host twice
// (RFC 7239 §4).
func parseForwarded(element []byte) (f forwardedElement, ok bool) {
	for len(element) > 0 {
		name, rest, found := bytes.Cut(element, []byte("="))
		if !found {
			return f, false
		}
		value, behind, ok := cutValue(rest)
		if !ok {
			return f, false
		}
		var to *[]byte
		switch strings.ToLower(string(bytes.Trim(name, " \t"))) {
		case "for":
			to = &f.node
		case "proto":
			to = &f.proto
		case "host":
			to = &f.host
		}
		if to != nil {
			if *to != nil {
				return f, false
			}
			*to = value
		}
		element = behind
	}
	return f, true
}

// cutValue cuts off a token or a quoted string and the semicolon behind it. It does not handle backslashes, which addresses, schemes
// and hosts do not have.
func cutValue(b []byte) (value, rest []byte, ok bool) {
	if len(b) > 0 && b[0] == '"' {
		value, rest, ok = bytes.Cut(b[1:], []byte(`"`))
		if rest = bytes.TrimLeft(rest, " \t"); !ok || len(rest) > 0 && rest[0] != ';' {
			return nil, nil, false
		}
		return value, rest[min(1, len(rest)):], true
	}
	value, rest, _ = bytes.Cut(b, []byte(";"))
	value = bytes.TrimRight(value, " \t")
	return value, rest, bytes.IndexByte(value, '"') < 0
}

// parseNode reads an IP address with or without a port. An IPv6 address may be in brackets (RFC 7239 §6). ok is false for "unknown"
// and for obfuscated names.
func parseNode(node []byte) (ip netip.Addr, ok bool) {
	s := string(node)
	if inside, found := strings.CutPrefix(s, "["); found && strings.HasSuffix(s, "]") {
		s = strings.TrimSuffix(inside, "]")
		if strings.IndexByte(s, ':') < 0 {
			return ip, false
		}
	}
	ip, err := netip.ParseAddr(s)
	if err != nil {
		with, err := netip.ParseAddrPort(s)
		if err != nil {
			return ip, false
		}
		ip = with.Addr()
	}
	return ip.Unmap(), ip.Zone() == ""
}

// isHost reports whether a host, with or without a port, has only the bytes that are allowed in one.
func isHost(host []byte) bool {
	for _, c := range host {
		if !isDigit(c) && !isLetter(c) && bytes.IndexByte([]byte("-._:[]"), c) < 0 {
			return false
		}
	}
	return len(host) > 0 && len(host) <= 255+len(":65535")
}

// PrivateNetworks returns the networks of loopback, link-local and private addresses, which cannot be reached from the Internet. RFC
// 1122, 3927, 1918, 4291 and 4193 define these networks. Use the result as Config.TrustedProxies if you can trust every host in
// private networks.
func PrivateNetworks() []netip.Prefix {
	var list []netip.Prefix
	for _, s := range []string{
		"127.0.0.0/8", "169.254.0.0/16", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fe80::/10", "fc00::/7",
	} {
		list = append(list, netip.MustParsePrefix(s))
	}
	return list
}
