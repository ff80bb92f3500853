package gallop

import (
	"io"
	"sync"
	"time"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/cookie"
)

// Cookie holds the name, the value and the attributes of a cookie in a Set-Cookie header (RFC 6265).
//
// The zero value is an empty cookie, ready to use. Do not copy a Cookie; use CopyTo. Only one goroutine at a time may
// use a Cookie. The methods of a Cookie return slices that point into the cookie's memory. A returned slice is valid
// until the cookie is changed or released.
//
// Setters prevent the injection of attributes or headers, for example through the value "x; Domain=evil.example" or
// through a line break. If a setter refuses its argument, the key, value or attribute is empty afterwards. A cookie
// with an empty key is not written at all. Setters refuse
//
//   - a key that is not a token (RFC 9110 §5.6.2),
//   - a value with a control character, '"', ';', '\' or a byte above 0x7E, apart from a pair of quotes around
//     the whole value,
//   - a domain with characters other than letters, digits and "-._:[]",
//   - a path with a control character, ';' or a byte above 0x7E.
//
// A value with a space or a comma is written in quotes.
type Cookie struct {
	_ noCopy

	set  cookie.SetCookie // its bytes belong to this Cookie
	text []byte           // what Cookie returns
}

// CookieSameSite is the mode of a cookie's SameSite attribute. The attribute limits which requests from other
// sites carry the cookie.
type CookieSameSite int

const (
	CookieSameSiteDisabled    CookieSameSite = iota // no attribute
	CookieSameSiteDefaultMode                       // SameSite, without a value
	CookieSameSiteLaxMode                           // SameSite=Lax
	CookieSameSiteStrictMode                        // SameSite=Strict
	CookieSameSiteNoneMode                          // SameSite=None, which browsers accept only with Secure
)

var (
	// CookieExpireDelete is an expiry time in the past, which makes a client delete the cookie. Do not assign to
	// CookieExpireDelete.
	CookieExpireDelete = expiredLongAgo

	// CookieExpireUnlimited is the zero time, which means that the cookie has no expiry time. Do not assign to
	// CookieExpireUnlimited.
	CookieExpireUnlimited = time.Time{}

	expiredLongAgo = time.Date(2009, time.November, 10, 23, 0, 0, 0, time.UTC)
)

var cookiePool = sync.Pool{New: func() any { return new(Cookie) }}

// AcquireCookie returns an empty Cookie from a pool.
func AcquireCookie() *Cookie { return cookiePool.Get().(*Cookie) }

// ReleaseCookie resets c and returns it to the pool. Afterwards, do not use c or anything that its methods returned.
func ReleaseCookie(c *Cookie) {
	c.Reset()
	cookiePool.Put(c)
}

// Reset removes the key, the value and all attributes.
func (c *Cookie) Reset() {
	c.set = cookie.SetCookie{
		Name: emptied(c.set.Name), Value: emptied(c.set.Value), Domain: emptied(c.set.Domain), Path: emptied(c.set.Path),
	}
	c.text = emptied(c.text)
}

// CopyTo makes c a copy of src. As in fasthttp, the argument is the source of the copy.
func (c *Cookie) CopyTo(src *Cookie) {
	if c != src {
		c.set.CopyFrom(&src.set)
	}
}

// Key returns the name of the cookie.
func (c *Cookie) Key() []byte { return c.set.Name }

// SetKey sets the name of the cookie.
func (c *Cookie) SetKey(key string) { c.setKey(UnsafeBytes(key)) }

// Value returns the value of the cookie. Parse removes quotes around the value.
func (c *Cookie) Value() []byte { return c.set.Value }

// SetValue sets the value of the cookie. See [Cookie] for the values that SetValue refuses.
func (c *Cookie) SetValue(value string) { c.setValue(UnsafeBytes(value)) }

// Domain returns the Domain attribute. If the attribute is not set, the result is empty.
func (c *Cookie) Domain() []byte { return c.set.Domain }

// SetDomain sets the Domain attribute. If domain is empty, clients send the cookie only to the host that set the
// cookie.
func (c *Cookie) SetDomain(domain string) { c.setDomain(UnsafeBytes(domain)) }

// Path returns the Path attribute. If the attribute is not set, the result is empty.
func (c *Cookie) Path() []byte { return c.set.Path }

// SetPath sets the Path attribute. If the path does not begin with '/', SetPath adds a '/' at the beginning.
func (c *Cookie) SetPath(path string) { c.setPath(UnsafeBytes(path)) }

// MaxAge returns how many seconds a client keeps the cookie. If there is no Max-Age attribute, the result is 0. If the
// client must delete the cookie, the result is negative.
func (c *Cookie) MaxAge() int { return c.set.MaxAge }

// SetMaxAge sets how many seconds a client keeps the cookie. If seconds is zero, the cookie has no Max-Age attribute.
// If seconds is negative, the client deletes the cookie. Max-Age takes precedence over Expires.
func (c *Cookie) SetMaxAge(seconds int) { c.set.MaxAge = seconds }

// Expire returns the expiry time. If the cookie has no expiry time, the result is CookieExpireUnlimited.
func (c *Cookie) Expire() time.Time { return c.set.Expires }

// SetExpire sets the expiry time. CookieExpireUnlimited removes the expiry time, and CookieExpireDelete makes the
// client delete the cookie. If the year is before 1601 or after 9999, the cookie is written without an expiry time.
func (c *Cookie) SetExpire(expire time.Time) { c.set.Expires = expire }

// HTTPOnly reports whether the cookie is hidden from scripts.
func (c *Cookie) HTTPOnly() bool { return c.set.HTTPOnly }

// SetHTTPOnly sets the HttpOnly attribute, which hides the cookie from scripts.
func (c *Cookie) SetHTTPOnly(httpOnly bool) { c.set.HTTPOnly = httpOnly }

// Secure reports whether clients send the cookie over TLS only.
func (c *Cookie) Secure() bool { return c.set.Secure }

// SetSecure sets the Secure attribute, which makes clients send the cookie over TLS only.
func (c *Cookie) SetSecure(secure bool) { c.set.Secure = secure }

// SameSite returns the mode of the SameSite attribute.
func (c *Cookie) SameSite() CookieSameSite { return CookieSameSite(c.set.SameSite) }

// SetSameSite sets the mode of the SameSite attribute. CookieSameSiteNoneMode also sets the Secure attribute, because
// browsers refuse SameSite=None without Secure.
func (c *Cookie) SetSameSite(mode CookieSameSite) {
	c.set.SameSite = cookie.SameSite(mode)
	if mode == CookieSameSiteNoneMode {
		c.set.Secure = true
	}
}

// Partitioned reports whether browsers store the cookie separately for each top-level site.
func (c *Cookie) Partitioned() bool { return c.set.Partitioned }

// SetPartitioned sets the Partitioned attribute. If partitioned is true, SetPartitioned also sets Secure and the path
// "/", as browsers require for partitioned cookies.
func (c *Cookie) SetPartitioned(partitioned bool) {
	c.set.Partitioned = partitioned
	if partitioned {
		c.set.Secure = true
		c.SetPath("/")
	}
}

// Parse parses src, the value of a Set-Cookie header, and stores the cookie in c. Parse follows the rules for browsers
// (RFC 6265 §5.2). Parse ignores unknown attributes and attributes with invalid values. If an attribute occurs several
// times, the last occurrence counts. The name does not have to be a token. The name and the value can contain bytes
// above 0x7F.
//
// If src contains a control character or an invalid Domain, the error is ErrInvalidCookieValue. If the value contains
// '"' or '\', apart from a pair of quotes around the whole value, the error is ErrInvalidCookieValue too. If src has
// neither a name nor a value, the error is ErrNoCookies. After an error, c is empty.
func (c *Cookie) Parse(src string) error { return c.ParseBytes(UnsafeBytes(src)) }

// ParseBytes does the same as [Cookie.Parse], but takes a []byte.
func (c *Cookie) ParseBytes(src []byte) error {
	var parsed cookie.SetCookie // views of src, which may be a view of c.text
	if err := parsed.Parse(src); err != nil {
		c.Reset()
		return err
	}
	c.set.CopyFrom(&parsed)
	return nil
}

// Cookie returns the cookie as the value of a Set-Cookie header. If the cookie has no key, the result is empty.
func (c *Cookie) Cookie() []byte {
	c.text = c.AppendBytes(c.text[:0])
	return c.text
}

// String returns the cookie as the value of a Set-Cookie header.
func (c *Cookie) String() string { return string(c.Cookie()) }

// WriteTo writes the cookie to w as the value of a Set-Cookie header.
func (c *Cookie) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(c.Cookie())
	return int64(n), err
}

// AppendBytes appends the cookie to dst as the value of a Set-Cookie header. If the cookie has no key, AppendBytes
// appends nothing.
func (c *Cookie) AppendBytes(dst []byte) []byte { return c.set.Append(dst) }

func (c *Cookie) setKey(key []byte) { setOrEmpty(&c.set.Name, key, ascii.IsToken(key)) }

func (c *Cookie) setValue(value []byte) { setOrEmpty(&c.set.Value, value, cookie.IsValue(value)) }

func (c *Cookie) setDomain(domain []byte) {
	setOrEmpty(&c.set.Domain, domain, cookie.IsDomain(domain))
}

func (c *Cookie) setPath(path []byte) {
	if len(path) == 0 || path[0] != '/' {
		path = append([]byte{'/'}, path...)
	}
	setOrEmpty(&c.set.Path, path, cookie.IsPath(path))
}

// setOrEmpty sets *field to value if that is accepted, and else to nothing.
func setOrEmpty(field *[]byte, value []byte, accepted bool) {
	*field = (*field)[:0]
	if accepted {
		*field = append(*field, value...)
	}
}
