package web

import (
	"bytes"
	"net"
	"net/netip"
	"strings"

	"github.com/gallop-http/gallop"
)

// ProxyHeaders are the headers in which proxies say where a request comes from and what was asked for. An app trusts one kind
// only: a proxy that sets one kind passes the other one on as the client sent it.
type ProxyHeaders uint8

const (
	// XForwarded stands for X-Forwarded-For, X-Forwarded-Proto and X-Forwarded-Host.
	XForwarded ProxyHeaders = iota

	// Forwarded stands for the Forwarded header (RFC 7239).
	Forwarded
)

// origin is where a request comes from, as far as proxies say that are trusted. Each of them adds the address it got
// the request from at the end of a list, so the list is true from its end up to the first address that is no trusted
// proxy's: that is the client, and what stands before it is what the client says.
type origin struct {
	known  bool
	hops   []netip.Addr // the peer of the connection first, the client last; empty if the peer has no IP address
	scheme []byte       // nil if nobody said; views
	host   []byte
}

// maxHops is how many proxies there may be.
const maxHops = 32

// forget makes o ready for another request.
func (o *origin) forget() { *o = origin{hops: o.hops[:0]} }

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

// peerAddr returns the IP address of a peer. One on a unix socket has none; it is local.
func peerAddr(addr net.Addr) (ip netip.Addr, local bool) {
	switch addr := addr.(type) {
	case *net.TCPAddr:
		return addr.AddrPort().Addr().Unmap().WithZone(""), false
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

// trustsPeer reports whether the peer of a connection is a proxy whose word counts.
func (c *Config) trustsPeer(ip netip.Addr, local bool) bool {
	return c.trusts(ip) || local && len(c.TrustedProxies) > 0
}

// trusts reports whether the address is that of a proxy.
func (c *Config) trusts(ip netip.Addr) bool {
	for _, p := range c.TrustedProxies {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}

// next adds the address that the last proxy got the request from. It reports whether it is a proxy's, too.
func (o *origin) next(config *Config, node []byte) (more bool) {
	ip, ok := parseNode(node)
	if !ok {
		return false
	}
	o.hops = append(o.hops, ip)
	return len(o.hops) <= maxHops && config.trusts(ip)
}

// readXForwarded reads X-Forwarded-For. Of X-Forwarded-Proto and -Host, which may have one value or as many as there were
// proxies, it takes the one that belongs to the client.
func (o *origin) readXForwarded(config *Config, h *gallop.RequestHeader) {
	list := joinLines(h.PeekAll(gallop.HeaderXForwardedFor))
	n := 0
	for node, rest := cutLast(list); node != nil && o.next(config, node); n++ {
		node, rest = cutLast(rest)
	}
	o.setScheme(fromEnd(joinLines(h.PeekAll(gallop.HeaderXForwardedProto)), n))
	o.setHost(fromEnd(joinLines(h.PeekAll(gallop.HeaderXForwardedHost)), n))
}

// fromEnd returns the member of a list that is the n-th from its end, or the first one if there are fewer.
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

// readForwarded reads Forwarded (RFC 7239). What it says of scheme and host counts from where the client is, or else
// from the proxy that is nearest to it and says something.
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

// cutLast cuts the last member off a list, nil if there is none. Members that are empty count for nothing. It
// goes from the end so that what the client sends, at the beginning, cannot take the rest with it, as a
// quotation mark without another one would.
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

// forwardedElement is what one proxy says in Forwarded.
type forwardedElement struct{ node, proto, host []byte }

// parseForwarded reads an element, pairs of names and values. It is not ok if it is malformed, or has a
// name twice (RFC 7239 §4).
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

// cutValue cuts a token or a quoted string off, and the semicolon behind it. Values that matter have no
// backslashes.
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

// parseNode reads an address, with or without a port, an IPv6 one also in brackets (RFC 7239 §6). Names that hide the
// address, and "unknown", are none.
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

// isHost reports whether a host, with or without a port, has only bytes that one may have. It need not exist.
func isHost(host []byte) bool {
	for _, c := range host {
		if !isDigit(c) && !isLetter(c) && bytes.IndexByte([]byte("-._:[]"), c) < 0 {
			return false
		}
	}
	return len(host) > 0 && len(host) <= 255+len(":65535")
}

// PrivateNetworks returns the networks that are not reached from the Internet: loopback, link-local and private ones (RFC
// 1122, 3927, 1918, 4291, 4193). For Config.TrustedProxies, where everything in them may be trusted.
func PrivateNetworks() []netip.Prefix {
	var list []netip.Prefix
	for _, s := range []string{
		"127.0.0.0/8", "169.254.0.0/16", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fe80::/10", "fc00::/7",
	} {
		list = append(list, netip.MustParsePrefix(s))
	}
	return list
}
