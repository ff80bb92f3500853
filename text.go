package gallop

import (
	"bytes"
	"errors"
	"math"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/clock"
	"github.com/gallop-http/gallop/internal/target"
)

var (
	errNotUint   = errors.New("gallop: not an unsigned decimal number that fits an int")
	errNotUfloat = errors.New("gallop: not a number of at least zero")
)

// AppendUint appends n in decimal to dst. AppendUint panics if n is negative.
func AppendUint(dst []byte, n int) []byte {
	if n < 0 {
		panic("gallop: AppendUint of a negative number")
	}
	return ascii.AppendUint(dst, uint64(n))
}

// ParseUint parses buf as a decimal number that consists of digits only. If buf is malformed or the number does not fit
// in an int, ParseUint returns -1 and an error.
func ParseUint(buf []byte) (int, error) {
	n, ok := ascii.ParseUint(buf)
	if !ok || n > math.MaxInt {
		return -1, errNotUint
	}
	return int(n), nil
}

// ParseUfloat parses buf as a non-negative number in the syntax of strconv.ParseFloat. ParseUfloat returns -1 and an
// error if buf is malformed, negative or NaN.
func ParseUfloat(buf []byte) (float64, error) {
	f, err := strconv.ParseFloat(UnsafeString(buf), 64)
	if err != nil || !(f >= 0) || math.Signbit(f) {
		return -1, errNotUfloat
	}
	return f, nil
}

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
// len(dst) is 4, ParseIPv4 stores the address in dst. If dst has a different length, ParseIPv4 allocates a new slice.
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

// AppendHTTPDate appends date to dst in the format of HTTP, in UTC (RFC 9110 §5.6.7).
func AppendHTTPDate(dst []byte, date time.Time) []byte { return clock.AppendHTTPDate(dst, date) }

// ParseHTTPDate parses a date in any of the three formats of RFC 9110 §5.6.7.
func ParseHTTPDate(date []byte) (time.Time, error) { return clock.ParseHTTPDate(date) }

// CoarseTimeNow returns the current time, truncated to the second.
func CoarseTimeNow() time.Time { return time.Now().Truncate(time.Second) }

// AppendHTMLEscape appends s to dst and replaces '&', '<', '>' and single and double quotes with character references.
// The result is safe in HTML text and in quoted HTML attributes.
func AppendHTMLEscape(dst []byte, s string) []byte {
	start := 0
	for i := 0; i < len(s); i++ {
		reference := htmlReference(s[i])
		if reference == "" {
			continue
		}
		dst = append(dst, s[start:i]...)
		dst = append(dst, reference...)
		start = i + 1
	}
	return append(dst, s[start:]...)
}

// AppendHTMLEscapeBytes does the same as [AppendHTMLEscape], but takes a []byte.
func AppendHTMLEscapeBytes(dst, s []byte) []byte { return AppendHTMLEscape(dst, UnsafeString(s)) }

func htmlReference(c byte) string {
	switch c {
	case '&':
		return "&amp;"
	case '<':
		return "&lt;"
	case '>':
		return "&gt;"
	case '"':
		return "&#34;"
	case '\'':
		return "&#39;"
	}
	return ""
}

// AppendQuotedArg appends src to dst as a key or value of a query. Unreserved characters (RFC 3986 §2.3) stay
// unchanged. A space becomes '+', and all other bytes are percent-encoded.
func AppendQuotedArg(dst, src []byte) []byte { return target.AppendEscapeArgument(dst, src) }

// AppendUnquotedArg decodes src, a key or value of a query, and appends the result to dst. AppendUnquotedArg replaces
// '+' with a space and decodes percent escapes. Malformed escapes stay unchanged. The argument dst may be src[:0].
func AppendUnquotedArg(dst, src []byte) []byte { return target.AppendUnescapeArgument(dst, src) }
