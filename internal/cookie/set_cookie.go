// Package cookie implements the rules for cookies (RFC 6265, RFC 6265bis), as functions over bytes and small types
// without I/O. It reads no clock, and it does not lock.
//
// pair.go reads and changes the value of a Cookie field. set_cookie.go parses and writes the value of a Set-Cookie
// field. date.go parses the dates of Expires. place.go compares hosts, domains and paths. stored.go decides which
// cookies a response may set. store.go stores cookies and finds the ones for a request.
package cookie

import (
	"bytes"
	"errors"
	"math"
	"time"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/clock"
)

// Errors of SetCookie.Parse. The root exports them.
var (
	ErrInvalid = errors.New("gallop: invalid cookie value")
	ErrEmpty   = errors.New("gallop: no cookies found")
)

// SetCookie is what a Set-Cookie field holds: a cookie with its attributes (RFC 6265 §4.1). The zero value is an empty
// cookie.
type SetCookie struct {
	Name, Value, Domain, Path []byte

	Expires time.Time // the zero time for none
	MaxAge  int       // in seconds; 0 for none, negative for "delete now"

	SameSite                      SameSite
	HTTPOnly, Secure, Partitioned bool
}

// SameSite is the mode of a SameSite attribute. The values are those of gallop.CookieSameSite.
type SameSite int

const (
	SameSiteUnset   SameSite = iota // no attribute
	SameSiteDefault                 // SameSite, without a value that is known
	SameSiteLax
	SameSiteStrict
	SameSiteNone
)

// CopyFrom copies src to c. The memory of c's fields is used again.
func (c *SetCookie) CopyFrom(src *SetCookie) {
	c.Name = append(c.Name[:0], src.Name...)
	c.Value = append(c.Value[:0], src.Value...)
	c.Domain = append(c.Domain[:0], src.Domain...)
	c.Path = append(c.Path[:0], src.Path...)
	c.Expires, c.MaxAge, c.SameSite = src.Expires, src.MaxAge, src.SameSite
	c.HTTPOnly, c.Secure, c.Partitioned = src.HTTPOnly, src.Secure, src.Partitioned
}

// Parse parses line, the value of a Set-Cookie field, as browsers do (RFC 6265 §5.2). The fields of c become views of
// line. After an error, c has no meaning.
func (c *SetCookie) Parse(line []byte) error {
	if ascii.IndexControl(line) < len(line) {
		return ErrInvalid
	}
	pair, rest := cut(line)
	name, value := CutPair(pair)
	if len(name) == 0 && len(value) == 0 {
		return ErrEmpty
	}
	if value = unquote(value); !isParsable(value) {
		return ErrInvalid
	}
	*c = SetCookie{Name: name, Value: value}
	if !c.parseAttributes(rest, math.MaxInt) {
		return ErrInvalid
	}
	return nil
}

// parseAttributes parses b, what follows the first pair of a Set-Cookie field, and skips attributes whose values are
// longer than maxValue. It reports whether b may be a part of such a field.
func (c *SetCookie) parseAttributes(b []byte, maxValue int) bool {
	for len(b) > 0 {
		var attribute []byte
		attribute, b = cut(b)
		name, value, _ := bytes.Cut(attribute, []byte("="))
		if value = ascii.TrimOWS(value); len(value) > maxValue {
			continue
		}
		if !c.parseAttribute(ascii.TrimOWS(name), value) {
			return false
		}
	}
	return true
}

func (c *SetCookie) parseAttribute(name, value []byte) bool {
	switch {
	case ascii.EqualFold(name, "Expires"):
		if t, ok := ParseDate(value); ok {
			c.Expires = t
		}
	case ascii.EqualFold(name, "Max-Age"):
		if seconds, ok := parseMaxAge(value); ok {
			c.MaxAge = seconds
		}
	case ascii.EqualFold(name, "Domain"):
		c.Domain = value
		return IsDomain(value)
	case ascii.EqualFold(name, "Path"):
		c.Path = nil
		if len(value) > 0 && value[0] == '/' && IsPath(value) { // RFC 6265 §5.2.4
			c.Path = value
		}
	case ascii.EqualFold(name, "SameSite"):
		c.SameSite = parseSameSite(value)
	case ascii.EqualFold(name, "HttpOnly"):
		c.HTTPOnly = true
	case ascii.EqualFold(name, "Secure"):
		c.Secure = true
	case ascii.EqualFold(name, "Partitioned"):
		c.Partitioned = true
	}
	return true
}

func parseSameSite(value []byte) SameSite {
	switch {
	case ascii.EqualFold(value, "Lax"):
		return SameSiteLax
	case ascii.EqualFold(value, "Strict"):
		return SameSiteStrict
	case ascii.EqualFold(value, "None"):
		return SameSiteNone
	}
	return SameSiteDefault
}

// parseMaxAge implements RFC 6265 §5.2.2: digits, with an optional minus sign. A number that does not fit an
// int becomes the largest int. Zero and negative numbers become -1, because 0 means that there is no attribute.
func parseMaxAge(value []byte) (seconds int, ok bool) {
	digits := bytes.TrimPrefix(value, []byte("-"))
	for _, c := range digits {
		if !ascii.IsDigit(c) {
			return 0, false
		}
	}
	n, fits := ascii.ParseUint(digits)
	switch {
	case len(digits) == 0:
		return 0, false
	case len(digits) < len(value) || fits && n == 0:
		return -1, true
	case !fits || n > math.MaxInt:
		return math.MaxInt, true
	}
	return int(n), true
}

// Append appends the value of a Set-Cookie field to dst. If c has no name, Append appends nothing.
func (c *SetCookie) Append(dst []byte) []byte {
	if len(c.Name) == 0 {
		return dst
	}
	dst = appendPair(dst, c.Name, c.Value)
	if c.MaxAge != 0 {
		dst = append(dst, "; max-age="...)
		dst = ascii.AppendUint(dst, uint64(max(0, c.MaxAge)))
	} else if year := c.Expires.UTC().Year(); year >= 1601 && year <= 9999 {
		dst = append(dst, "; expires="...)
		dst = clock.AppendHTTPDate(dst, c.Expires)
	}
	if len(c.Domain) > 0 {
		dst = append(append(dst, "; domain="...), c.Domain...)
	}
	if len(c.Path) > 0 {
		dst = append(append(dst, "; path="...), c.Path...)
	}
	if c.HTTPOnly {
		dst = append(dst, "; HttpOnly"...)
	}
	if c.Secure {
		dst = append(dst, "; secure"...)
	}
	dst = append(dst, c.SameSite.attribute()...)
	if c.Partitioned {
		dst = append(dst, "; Partitioned"...)
	}
	return dst
}

func (mode SameSite) attribute() string {
	switch mode {
	case SameSiteDefault:
		return "; SameSite"
	case SameSiteLax:
		return "; SameSite=Lax"
	case SameSiteStrict:
		return "; SameSite=Strict"
	case SameSiteNone:
		return "; SameSite=None"
	}
	return ""
}

// Name returns the name of the cookie in line, the value of a Set-Cookie field.
func Name(line []byte) []byte {
	pair, _ := cut(line)
	name, _ := CutPair(pair)
	return name
}

// IsDomain reports whether value consists of the characters of host names and addresses.
func IsDomain(value []byte) bool {
	for _, c := range value {
		letter := ascii.Lower(c)-'a' <= 'z'-'a'
		if !letter && !ascii.IsDigit(c) && (c < '-' || c > '.') && c != '_' && c != ':' && c != '[' && c != ']' {
			return false
		}
	}
	return true
}

// IsPath reports whether value may be a path-value (RFC 6265 §4.1.1).
func IsPath(value []byte) bool {
	for _, c := range value {
		if c < 0x20 || c >= 0x7f || c == ';' {
			return false
		}
	}
	return true
}
