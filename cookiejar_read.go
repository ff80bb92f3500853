package gallop

import (
	"strings"
	"time"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/cookie"
)

// The limits of RFC 6265bis §5.5 and §5.6.
const (
	maxCookieSize      = 4096 // of name and value
	maxCookieAttribute = 1024 // of an attribute's value
	maxCookieLife      = 400 * 24 * time.Hour
)

// readCookie makes a cookie of the value of a Set-Cookie field that came from a place,
// nil if it is to be ignored (RFC 6265bis §5.6 and §5.7). One that is to be removed
// has expired. Name and value are kept as they are, quotes and all, to be sent back.
func (at *cookiePlace) readCookie(line []byte, now time.Time) *jarCookie {
	if ascii.IndexControl(line) < len(line) {
		return nil
	}
	pair, rest := cutByte(line, ';')
	name, value := cookie.CutPair(pair)
	if size := len(name) + len(value); size == 0 || size > maxCookieSize {
		return nil
	}
	var attributes cookie.SetCookie // views of line
	if !attributes.ParseAttributes(rest, maxCookieAttribute) {
		return nil
	}
	c := &jarCookie{
		name: string(name), value: string(value), expires: cookieExpiry(&attributes, now),
		httpOnly: attributes.HTTPOnly, secure: attributes.Secure,
		partitioned: attributes.Partitioned, sameSite: attributes.SameSite,
	}
	if !c.setDomain(attributes.Domain, at) {
		return nil
	}
	c.setPath(attributes.Path, at)
	if !c.allowedFrom(at) || !c.holdsPrefix(attributes.Path) {
		return nil
	}
	return c
}

// cookieExpiry returns when a cookie that was received at the time now expires.
func cookieExpiry(c *cookie.SetCookie, now time.Time) time.Time {
	latest := now.Add(maxCookieLife)
	switch {
	case c.MaxAge < 0:
		return now
	case c.MaxAge > 0 && c.MaxAge < int(maxCookieLife/time.Second):
		return now.Add(time.Duration(c.MaxAge) * time.Second)
	case c.MaxAge > 0 || c.Expires.After(latest):
		return latest
	}
	return c.Expires
}

// setDomain sets domain and hostOnly. It reports whether the place may set
// cookies for the domain that was asked for: one that it is in, and within which
// all names belong to those who have registered it.
func (c *jarCookie) setDomain(attribute []byte, at *cookiePlace) bool {
	domain := strings.ToLower(strings.TrimPrefix(UnsafeString(attribute), "."))
	c.hostOnly = domain == "" || domain == at.host && (isAddress(domain) || isPublicSuffix(domain))
	if c.hostOnly {
		c.domain = strings.Clone(at.host)
		return true
	}
	c.domain = strings.Clone(domain)
	return domainMatches(at.host, domain) && cookieSite(domain) == cookieSite(at.host)
}

func (c *jarCookie) setPath(attribute []byte, at *cookiePlace) {
	if c.path = string(attribute); c.path == "" {
		c.path = strings.Clone(defaultPath(at.path))
	}
}

// allowedFrom reports whether the place may set a cookie that is Secure, or not.
func (c *jarCookie) allowedFrom(at *cookiePlace) bool {
	if c.secure {
		return at.secure
	}
	return c.sameSite != cookie.SameSiteNone
}

// holdsPrefix reports whether the cookie is what the prefix of its name promises, if it
// has one (RFC 6265bis §4.1.3). A cookie without a name must not pretend to have one
// of these names, as it is sent without an equals sign in front.
func (c *jarCookie) holdsPrefix(pathAttribute []byte) bool {
	named := c.name
	if named == "" {
		named = c.value
	}
	switch {
	case ascii.HasPrefixFold(named, "__Secure-"):
		return c.name != "" && c.secure
	case ascii.HasPrefixFold(named, "__Host-"):
		return c.name != "" && c.secure && c.hostOnly && string(pathAttribute) == "/"
	}
	return true
}
