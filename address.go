package gallop

import (
	"bytes"
	"errors"
	"net"
	"strings"

	"github.com/gallop-http/gallop/internal/ascii"
)

var errNotIPv4 = errors.New("gallop: not an IPv4 address in dotted decimal form")

// AppendIPv4 appends ip to dst in dotted decimal form. If ip is not an IPv4 address, AppendIPv4 appends ip.String().
func AppendIPv4(dst []byte, ip net.IP) []byte {
	v4 := ip.To4()
	if v4 == nil {
		return append(dst, ip.String()...)
	}
	for i, octet := range v4 {
		if i > 0 {
			dst = append(dst, '.')
		}
		dst = ascii.AppendUint(dst, uint64(octet))
	}
	return dst
}

// ParseIPv4 parses an IPv4 address in dotted decimal form. ParseIPv4 refuses numbers above 255 and leading zeros. If
// len(dst) is 4, ParseIPv4 stores the address in dst. Otherwise, ParseIPv4 allocates a new slice.
func ParseIPv4(dst net.IP, ipStr []byte) (net.IP, error) {
	if len(dst) != net.IPv4len {
		dst = make(net.IP, net.IPv4len)
	}
	for i := range dst {
		octet, rest, found := bytes.Cut(ipStr, []byte("."))
		n, ok := ascii.ParseUint(octet)
		if !ok || n > 255 || len(octet) > 1 && octet[0] == '0' || found != (i < 3) {
			return dst, errNotIPv4
		}
		dst[i], ipStr = byte(n), rest
	}
	return dst, nil
}

// AddMissingPort appends ":80", or ":443" for TLS, to addr if addr has no port. An IPv6 address must be in
// brackets, such as "[::1]". An empty addr stays empty.
func AddMissingPort(addr string, isTLS bool) string {
	bracketed := strings.HasPrefix(addr, "[")
	switch {
	case addr == "", bracketed && !strings.HasSuffix(addr, "]"), !bracketed && strings.Contains(addr, ":"):
		return addr
	case isTLS:
		return addr + ":443"
	}
	return addr + ":80"
}
