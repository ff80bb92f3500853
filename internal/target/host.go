package target

import (
	"bytes"

	"github.com/gallop-http/gallop/internal/ascii"
)

// ValidHost reports whether b is allowed as a Host field or as the authority of an absolute target: uri-host [":"
// port] of RFC 3986 §3.2.2, not empty and without user information.
//
// It is stricter than the grammar. It refuses forms that are useless as addresses and are only sent to make two
// parsers disagree. These are escapes and sub-delims in a name, empty labels (except one at the end), IPvFuture, IPv6
// zones, and ports over 65535.
func ValidHost(b []byte) bool {
	_, _, ok := ParseAuthority(b)
	return ok
}

// ParseAuthority splits an authority that ValidHost accepts into host and port. The host of an IPv6 address keeps its
// brackets. port is nil without a colon, and may be empty with one.
func ParseAuthority(b []byte) (host, port []byte, ok bool) {
	var n int
	if len(b) > 0 && b[0] == '[' {
		n = bytes.IndexByte(b, ']') + 1
		if n == 0 || !validIPv6(b[1:n-1]) {
			return nil, nil, false
		}
	} else if n = nameLength(b); n == 0 {
		return nil, nil, false
	}
	host = b[:n]
	if n == len(b) {
		return host, nil, true
	}
	if b[n] != ':' || !validPort(b[n+1:]) {
		return nil, nil, false
	}
	return host, b[n+1:], true
}

// nameLength returns the length of the name at the start of b, or 0 if it has an empty label.
func nameLength(b []byte) int {
	label := 0 // start of the current label
	for i, c := range b {
		if targetClasses[c]&hostByte == 0 {
			return i
		}
		if c == '.' {
			if i == label {
				return 0
			}
			label = i + 1
		}
	}
	return len(b)
}

// validPort reports whether b is empty or a decimal number up to 65535.
func validPort(b []byte) bool {
	n := 0
	for _, c := range b {
		if !ascii.IsDigit(c) {
			return false
		}
		if n = n*10 + int(c-'0'); n > 65535 {
			return false
		}
	}
	return true
}

// validIPv6 reports whether b is an IPv6address (RFC 3986 §3.2.2).
func validIPv6(b []byte) bool {
	groups, gap := 0, false // 16-bit groups so far, and whether "::" was among them
	if bytes.HasPrefix(b, []byte("::")) {
		gap, b = true, b[2:]
	}
	for len(b) > 0 {
		n := 0
		for n < len(b) && n < 5 && ascii.IsHex(b[n]) {
			n++
		}
		if n < len(b) && b[n] == '.' {
			return validIPv4(b) && (groups == 6 && !gap || groups < 6 && gap)
		}
		if groups++; n == 0 || n > 4 || groups > 8 {
			return false
		}
		if b = b[n:]; len(b) == 0 {
			break
		}
		if b[0] != ':' || len(b) == 1 {
			return false
		}
		if b = b[1:]; b[0] == ':' {
			if gap {
				return false
			}
			gap, b = true, b[1:]
		}
	}
	return groups == 8 && !gap || groups < 8 && gap
}

// validIPv4 reports whether b is an IPv4address: four numbers up to 255 without leading zeros.
func validIPv4(b []byte) bool {
	for part := range 4 {
		octet := b
		if part < 3 {
			dot := bytes.IndexByte(b, '.')
			if dot < 0 {
				return false
			}
			octet, b = b[:dot], b[dot+1:]
		}
		n, ok := ascii.ParseUint(octet)
		if !ok || n > 255 || len(octet) > 3 || len(octet) > 1 && octet[0] == '0' {
			return false
		}
	}
	return true
}

// AppendHost appends the host and port src of a URI to dst, in lower case and with escapes decoded. It accepts
// everything that RFC 3986 §3.2.2 and RFC 6874 allow, raw bytes above 0x7F, and an empty host. It is for URIs from
// the program and not for Host fields. A host name cannot contain an ASCII character that needs an escape (except '%'
// before an IPv6 zone), so such escapes are refused.
//
// The error is ErrAuthority or ErrEscape; at is the index in src that the error is about.
func AppendHost(dst, src []byte) (_ []byte, at int, err error) {
	base, i := len(dst), 0
	if len(src) > 0 && src[0] == '[' {
		if dst, i = appendLiteral(dst, src); i == 0 {
			return dst[:base], 0, ErrAuthority
		}
	} else {
		for i < len(src) && src[i] != ':' {
			c := src[i]
			switch {
			case c == '%' && !isEscape(src[i:]):
				return dst[:base], i, ErrEscape
			case c == '%':
				if c = unescape(src[i:]); c < 0x80 {
					return dst[:base], i, ErrEscape
				}
				i += 2
			case c < 0x80 && targetClasses[c]&(unreserved|subDelim) == 0:
				return dst[:base], i, ErrAuthority
			}
			dst = append(dst, ascii.Lower(c))
			i++
		}
	}
	if i == len(src) {
		return dst, i, nil
	}
	if src[i] != ':' || !validPort(src[i+1:]) {
		return dst[:base], i, ErrAuthority
	}
	return append(dst, src[i:]...), len(src), nil
}

// appendLiteral appends the IP-literal at the start of src and returns its length in src, or 0 if it is invalid. A
// zone follows "%25" and is escaped (RFC 6874 §2), or follows a plain "%", as people type it (§3). It appends "%" and
// the plain zone.
func appendLiteral(dst, src []byte) (_ []byte, n int) {
	end := bytes.IndexByte(src, ']')
	if end < 0 {
		return dst, 0
	}
	address, zone, hasZone := bytes.Cut(src[1:end], []byte("%"))
	zone = bytes.TrimPrefix(zone, []byte("25"))
	future := len(address) > 0 && ascii.Lower(address[0]) == 'v'
	if !validIPv6(address) && (!future || hasZone || !validIPvFuture(address)) {
		return dst, 0
	}
	dst = append(dst, '[')
	for _, c := range address {
		dst = append(dst, ascii.Lower(c))
	}
	if hasZone {
		dst = append(dst, '%')
		start := len(dst)
		dst = AppendUnescape(dst, zone)
		if !validZone(dst[start:]) {
			return dst, 0
		}
	}
	return append(dst, ']'), end + 1
}

// validZone reports whether b can name a network interface: it may contain only unreserved characters.
func validZone(b []byte) bool {
	for _, c := range b {
		if targetClasses[c]&unreserved == 0 {
			return false
		}
	}
	return len(b) > 0
}

// validIPvFuture reports whether b is "v" 1*HEXDIG "." 1*( unreserved / sub-delims / ":" ).
func validIPvFuture(b []byte) bool {
	version, address, ok := bytes.Cut(b[1:], []byte("."))
	for _, c := range version {
		ok = ok && ascii.IsHex(c)
	}
	for _, c := range address {
		ok = ok && (c == ':' || targetClasses[c]&(unreserved|subDelim) != 0)
	}
	return ok && len(version) > 0 && len(address) > 0
}

// AppendSafeHost appends a host from AppendHost in the form that a URI allows: '%' and bytes above 0x7F are escaped.
func AppendSafeHost(dst, host []byte) []byte {
	for _, c := range host {
		if c == '%' || c >= 0x80 {
			dst = appendEscaped(dst, c)
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// KnownHost remembers the last valid Host of a connection, unless that is longer than 48 bytes. Most requests on a
// connection repeat the same Host, which then is not checked again.
type KnownHost struct {
	host [48]byte
	n    uint8
}

// IsValid reports whether host is valid. See ValidHost.
func (k *KnownHost) IsValid(host []byte) bool {
	return k.n > 0 && string(host) == string(k.host[:k.n]) || k.learn(host)
}

// learn checks a host that is not the known one, and remembers it if it is valid.
func (k *KnownHost) learn(host []byte) bool {
	if !ValidHost(host) {
		return false
	}
	if k.n = 0; len(host) <= len(k.host) {
		k.n = uint8(copy(k.host[:], host))
	}
	return true
}
