package middleware

import (
	"bytes"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// hopByHop are the headers that end at a proxy (RFC 9110 §7.6.1), in lower case. Content-Length, Transfer-Encoding and Trailer are
// set anew from the body that is really sent.
var hopByHop = []string{
	"connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization", "proxy-authentication-info",
	"te", "trailer", "transfer-encoding", "content-length", "upgrade", "http2-settings",
}

// ownRequestHeaders are further request headers that Proxy sets itself, or that a client must not choose.
var ownRequestHeaders = []string{"host", "expect", "max-forwards", "forwarded", "x-real-ip"}

// headerSet is a set of header names.
type headerSet map[string]struct{}

func headerSetOf(lists ...[]string) headerSet {
	s := headerSet{}
	for _, list := range lists {
		for _, name := range list {
			s[name] = struct{}{}
		}
	}
	return s
}

// maxHeaderName is at least the length of each name in the sets.
const maxHeaderName = 32

// has reports whether the set has a name, regardless of its case.
func (s headerSet) has(name []byte) bool {
	var lower [maxHeaderName]byte
	if len(name) > len(lower) {
		return false
	}
	for i, c := range name {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		lower[i] = c
	}
	_, ok := s[string(lower[:len(name)])]
	return ok
}

var (
	requestOnly  = headerSetOf(hopByHop, ownRequestHeaders)
	responseOnly = headerSetOf(hopByHop)
)

// connectionOptions are the names in all Connection headers of a message.
type connectionOptions [][]byte

func connectionOptionsOf(lines [][]byte) (options connectionOptions) {
	for _, line := range lines {
		for name := range bytes.SplitSeq(line, []byte(",")) {
			if name = bytes.TrimSpace(name); len(name) > 0 {
				options = append(options, name)
			}
		}
	}
	return options
}

func (o connectionOptions) name(header []byte) bool {
	return slices.ContainsFunc(o, func(name []byte) bool { return bytes.EqualFold(name, header) })
}

// copyRequestHeader copies the headers that go on to the target.
func (x *proxyCall) copyRequestHeader() {
	from, to := &x.c.RequestCtx().Request.Header, &x.to.Header
	to.SetNoDefaultContentType(true)
	options := connectionOptionsOf(from.PeekAll(gallop.HeaderConnection))
	for name, value := range from.All() {
		if !requestOnly.has(name) && !options.name(name) && !isUntrusted(name) {
			to.AddBytesKV(name, value)
		}
	}
	if listHasToken(from.PeekAll(gallop.HeaderTE), "trailers") {
		to.Set(gallop.HeaderTE, "trailers")
		to.Add(gallop.HeaderConnection, "TE")
	}
	if x.upgrade != "" {
		to.Add(gallop.HeaderConnection, "Upgrade")
		to.Set(gallop.HeaderUpgrade, x.upgrade)
	}
	if x.p.KeepHost {
		to.SetHostBytes(x.c.RequestCtx().Host())
	}
}

// isUntrusted reports whether a client must not send the header to a target. X-Forwarded- headers speak for a proxy. Programs
// with an interface like CGI read X_User as X-User, which could be a header that the proxy sets (CVE-2024-45614).
func isUntrusted(name []byte) bool {
	const forwarded = "x-forwarded-"
	return bytes.IndexByte(name, '_') >= 0 || len(name) >= len(forwarded) && bytes.EqualFold(name[:len(forwarded)], []byte(forwarded))
}

// listHasToken reports whether a comma-separated list has a member, whose parameters are ignored.
func listHasToken(lines [][]byte, token string) bool {
	for _, line := range lines {
		for member := range bytes.SplitSeq(line, []byte(",")) {
			member, _, _ = bytes.Cut(member, []byte(";"))
			if strings.EqualFold(string(bytes.TrimSpace(member)), token) {
				return true
			}
		}
	}
	return false
}

// setForwarded tells the target about the client.
func (x *proxyCall) setForwarded() {
	c, h := x.c, &x.to.Header
	ip := c.IPAddr()
	if x.p.ProxyHeaders == web.Forwarded {
		h.Set(gallop.HeaderForwarded, forwardedElement(ip, c.Host(), c.Scheme()))
	} else {
		if ip.IsValid() {
			h.Set(gallop.HeaderXForwardedFor, ip.String())
		}
		h.Set(gallop.HeaderXForwardedProto, c.Scheme())
		h.Set(gallop.HeaderXForwardedHost, c.Host())
	}
	if x.p.StripPrefix != "" {
		h.Set("X-Forwarded-Prefix", x.p.StripPrefix)
	}
}

// forwardedElement returns an element of a Forwarded header (RFC 7239 §4). An IPv6 address needs brackets and quotation marks.
func forwardedElement(ip netip.Addr, host, scheme string) string {
	node := "unknown"
	if ip.IsValid() {
		node = ip.String()
	}
	if ip.Is6() {
		node = `"[` + node + `]"`
	}
	return "for=" + node + ";host=" + strconv.Quote(host) + ";proto=" + scheme
}

// countHops heeds Max-Forwards (RFC 9110 §7.6.2), finds loops, and adds Via.
func (x *proxyCall) countHops() error {
	from, to := &x.c.RequestCtx().Request.Header, &x.to.Header
	if from.IsOptions() || from.IsTrace() {
		if left, err := strconv.ParseUint(string(from.Peek("Max-Forwards")), 10, 31); err == nil {
			if left == 0 {
				return refusal(gallop.StatusBadGateway, "Max-Forwards is 0", errProxyHops)
			}
			to.Set("Max-Forwards", strconv.FormatUint(left-1, 10))
		}
	}
	if x.p.Via == "" {
		return nil
	}
	for _, line := range from.PeekAll(gallop.HeaderVia) {
		for member := range bytes.SplitSeq(line, []byte(",")) {
			if words := bytes.Fields(member); len(words) >= 2 && string(words[1]) == x.p.Via {
				return refusal(gallop.StatusLoopDetected, gallop.StatusMessage(gallop.StatusLoopDetected), ErrProxyLoop)
			}
		}
	}
	to.Add(gallop.HeaderVia, via(from.Protocol(), x.p.Via))
	return nil
}

// via returns a member of a Via header. A protocol is written as its version, without the name HTTP.
func via(protocol []byte, name string) string {
	version := strings.TrimPrefix(string(protocol), "HTTP/")
	return version + " " + name
}

// isFieldToken reports whether s is a token (RFC 9110 §5.6.2), optionally with a port.
func isFieldToken(s string) bool {
	for _, c := range []byte(s) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}
