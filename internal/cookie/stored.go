package cookie

import (
	"bytes"
	"strings"
	"time"

	"github.com/gallop-http/gallop/internal/ascii"
)

// The limits of RFC 6265bis §5.5 and §5.6.
const (
	maxSize      = 4096 // of name and value
	maxAttribute = 1024 // of an attribute's value
	maxLife      = 400 * 24 * time.Hour
)

// Stored is a cookie in a Store. The strings belong to the cookie.
type Stored struct {
	Name, Value  string // as the server sent them, including quotes
	Domain, Path string
	Expires      time.Time // the zero time for a cookie that lasts as long as its Store

	HostOnly, Secure, HTTPOnly, Partitioned bool
	SameSite                                SameSite

	created, used uint64 // ticks of the Store
}

func (c *Stored) expired(now time.Time) bool {
	return !c.Expires.IsZero() && !c.Expires.After(now)
}

// AppendPair appends the cookie to dst, in the format of a Cookie field.
func (c *Stored) AppendPair(dst []byte) []byte {
	if len(c.Name) > 0 {
		dst = append(append(dst, c.Name...), '=')
	}
	return append(dst, c.Value...)
}

// SetCookie returns a copy of the cookie with its attributes. The Domain of a host-only cookie is empty.
func (c *Stored) SetCookie() SetCookie {
	set := SetCookie{
		Name: []byte(c.Name), Value: []byte(c.Value), Path: []byte(c.Path), Expires: c.Expires,
		Secure: c.Secure, HTTPOnly: c.HTTPOnly, Partitioned: c.Partitioned, SameSite: c.SameSite,
	}
	if !c.HostOnly {
		set.Domain = []byte(c.Domain)
	}
	return set
}

// Read returns the cookie that line sets, the value of a Set-Cookie field in a response from at. It returns nil if the
// cookie has to be ignored (RFC 6265bis §5.6, §5.7). A cookie that line removes is returned as an expired cookie.
func (at *Place) Read(line []byte, now time.Time) *Stored {
	if ascii.IndexControl(line) < len(line) {
		return nil
	}
	pair, rest := cut(line)
	name, value := CutPair(pair)
	if size := len(name) + len(value); size == 0 || size > maxSize {
		return nil
	}
	var attributes SetCookie // views of line
	if !attributes.parseAttributes(rest, maxAttribute) {
		return nil
	}
	c := &Stored{
		Name: string(name), Value: string(value), Expires: attributes.expiry(now),
		HTTPOnly: attributes.HTTPOnly, Secure: attributes.Secure,
		Partitioned: attributes.Partitioned, SameSite: attributes.SameSite,
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

// expiry returns when a cookie that was received at the time now expires.
func (c *SetCookie) expiry(now time.Time) time.Time {
	latest := now.Add(maxLife)
	switch {
	case c.MaxAge < 0:
		return now
	case c.MaxAge > 0 && c.MaxAge < int(maxLife/time.Second):
		return now.Add(time.Duration(c.MaxAge) * time.Second)
	case c.MaxAge > 0 || c.Expires.After(latest):
		return latest
	}
	return c.Expires
}

// setDomain sets Domain and HostOnly. It reports whether a response from at may set cookies for the domain in
// attribute. at must be in that domain, and the domain must not be above the registrable domain of at.
func (c *Stored) setDomain(attribute []byte, at *Place) bool {
	domain := strings.ToLower(string(bytes.TrimPrefix(attribute, []byte("."))))
	c.HostOnly = domain == "" || domain == at.Host && (isAddress(domain) || isPublicSuffix(domain))
	if domain == "" {
		domain = strings.Clone(at.Host)
	}
	c.Domain = domain
	return c.HostOnly || domainMatches(at.Host, domain) && Site(domain) == Site(at.Host)
}

func (c *Stored) setPath(attribute []byte, at *Place) {
	if c.Path = string(attribute); c.Path == "" {
		c.Path = strings.Clone(defaultPath(at.Path))
	}
}

// allowedFrom reports whether a response from at may set a cookie with the Secure attribute of c.
func (c *Stored) allowedFrom(at *Place) bool {
	if c.Secure {
		return at.Secure
	}
	return c.SameSite != SameSiteNone
}

// holdsPrefix reports whether the cookie meets the rules for the prefix of its name (RFC 6265bis §4.1.3). A cookie
// without a name is sent as its value alone, so its value must not begin with such a prefix.
func (c *Stored) holdsPrefix(pathAttribute []byte) bool {
	named := c.Name
	if named == "" {
		named = c.Value
	}
	switch {
	case ascii.HasPrefixFold(named, "__Secure-"):
		return c.Name != "" && c.Secure
	case ascii.HasPrefixFold(named, "__Host-"):
		return c.Name != "" && c.Secure && c.HostOnly && string(pathAttribute) == "/"
	}
	return true
}
