package gallop

import (
	"bytes"
	"math"
	"time"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/cookie"
)

// Parse parses src, the value of a Set-Cookie header, and stores the cookie in c. The method follows the rules for
// browsers (RFC 6265 §5.2) and ignores unknown attributes and attributes with an invalid value. If an attribute occurs
// several times, the last one counts. The name does not have to be a token. The name and the value can contain bytes
// above 0x7F.
//
// If src contains a control character or an invalid Domain, the error is ErrInvalidCookieValue. If the value contains
// '"' or '\', apart from a pair of quotes around the whole value, the error is ErrInvalidCookieValue too. If src has
// neither a name nor a value, the error is ErrNoCookies. After an error, c is empty.
func (c *Cookie) Parse(src string) error { return c.ParseBytes(UnsafeBytes(src)) }

// ParseBytes does the same as [Cookie.Parse], but takes a []byte.
func (c *Cookie) ParseBytes(src []byte) error {
	err := c.parse(src)
	if err != nil {
		c.Reset()
	}
	return err
}

func (c *Cookie) parse(src []byte) error {
	if ascii.IndexControl(src) < len(src) {
		return ErrInvalidCookieValue
	}
	pair, rest := cutByte(src, ';')
	key, value := cookie.CutPair(pair)
	if len(key) == 0 && len(value) == 0 {
		return ErrNoCookies
	}
	if value = cookie.Unquote(value); !cookie.IsParsable(value) {
		return ErrInvalidCookieValue
	}
	// src may be a view of c.text; the fields have other buffers.
	c.expire, c.maxAge, c.sameSite = time.Time{}, 0, CookieSameSiteDisabled
	c.httpOnly, c.secure, c.partitioned = false, false, false
	c.domain, c.path = c.domain[:0], c.path[:0]
	c.key = append(c.key[:0], key...)
	c.value = append(c.value[:0], value...)
	for len(rest) > 0 {
		var attribute []byte
		attribute, rest = cutByte(rest, ';')
		name, value, _ := bytes.Cut(attribute, []byte("="))
		if err := c.parseAttribute(ascii.TrimOWS(name), ascii.TrimOWS(value)); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cookie) parseAttribute(name, value []byte) error {
	switch {
	case ascii.EqualFold(name, "Expires"):
		if t, ok := cookie.ParseDate(value); ok {
			c.expire = t
		}
	case ascii.EqualFold(name, "Max-Age"):
		if seconds, ok := parseMaxAge(value); ok {
			c.maxAge = seconds
		}
	case ascii.EqualFold(name, "Domain"):
		if !settableCookieDomain(value) {
			return ErrInvalidCookieValue
		}
		c.domain = append(c.domain[:0], value...)
	case ascii.EqualFold(name, "Path"):
		absolute := len(value) > 0 && value[0] == '/' // RFC 6265 §5.2.4
		setOrEmpty(&c.path, value, absolute && settableCookiePath(value))
	case ascii.EqualFold(name, "SameSite"):
		c.sameSite = parseSameSite(value)
	case ascii.EqualFold(name, "HttpOnly"):
		c.httpOnly = true
	case ascii.EqualFold(name, "Secure"):
		c.secure = true
	case ascii.EqualFold(name, "Partitioned"):
		c.partitioned = true
	}
	return nil
}

func parseSameSite(value []byte) CookieSameSite {
	switch {
	case ascii.EqualFold(value, "Lax"):
		return CookieSameSiteLaxMode
	case ascii.EqualFold(value, "Strict"):
		return CookieSameSiteStrictMode
	case ascii.EqualFold(value, "None"):
		return CookieSameSiteNoneMode
	}
	return CookieSameSiteDefaultMode
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
