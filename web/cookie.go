package web

import (
	"strings"
	"time"

	"github.com/gallop-http/gallop"
)

// Cookie is a cookie that a response sets (RFC 6265). Pass the Cookie to Ctx.SetCookie.
type Cookie struct {
	// Name identifies the cookie: the client sends Value back under this name. Name is a token (RFC 9110 §5.6.2) and must not be
	// empty.
	Name string

	// Value is the text that the client stores. Value may be empty. Value must not contain semicolons, backslashes, control
	// characters or non-ASCII bytes. Quotes are allowed only around the whole value. To store arbitrary bytes, encode them, for
	// example in base64.
	Value string

	// Path limits the cookie to requests for this path and for paths below it. Empty means "/".
	Path string

	// If Domain is set, the client sends the cookie to this domain and all its subdomains. If Domain is empty, the client sends the
	// cookie only to the host that set it.
	Domain string

	// MaxAge is how many seconds the client keeps the cookie. If MaxAge is zero, Expires applies instead. If MaxAge is not zero,
	// clients ignore Expires. A negative MaxAge makes the client delete the cookie.
	MaxAge int

	// Expires is the time when the client deletes the cookie. If both Expires and MaxAge are zero, the client deletes the cookie when
	// the browser session ends.
	Expires time.Time

	// Secure makes the client send the cookie over https only. The default is false, but [Ctx.SetCookie] lists cases in which Secure
	// is set automatically.
	Secure bool

	// HTTPOnly hides the cookie from scripts. The default is false.
	HTTPOnly bool

	// Partitioned makes the browser keep a separate cookie for each site that embeds your site. A partitioned cookie is always
	// Secure. The default is false.
	Partitioned bool

	// SameSite controls whether the client sends the cookie with requests that other sites initiate. The zero value means
	// gallop.CookieSameSiteLaxMode.
	SameSite gallop.CookieSameSite
}

// SetCookie adds a cookie to the response, replacing any cookie with the same name. SetCookie makes the cookie Secure if
// SameSite is None or Partitioned is true. SetCookie also makes the cookie Secure if the name begins with __Secure- or
// __Host-, in upper or lower case. If the name begins with __Host-, SetCookie also sets the Path to "/" and leaves the
// Domain out. If a field contains bytes that are not allowed in a cookie, SetCookie returns ErrInvalidCookie and adds no
// cookie.
func (c *Ctx) SetCookie(cookie Cookie) error {
	host := hasPrefixFold(cookie.Name, "__Host-")
	if host || cookie.Path == "" {
		cookie.Path = "/"
	}
	if host {
		cookie.Domain = ""
	}
	if cookie.SameSite == gallop.CookieSameSiteDisabled {
		cookie.SameSite = gallop.CookieSameSiteLaxMode
	}
	set := gallop.AcquireCookie()
	defer gallop.ReleaseCookie(set)
	set.SetKey(cookie.Name)
	set.SetValue(cookie.Value)
	set.SetPath(cookie.Path)
	set.SetDomain(cookie.Domain)
	if len(set.Key()) == 0 || len(set.Value()) == 0 && cookie.Value != "" || len(set.Path()) == 0 || len(set.Domain()) == 0 && cookie.Domain != "" {
		return ErrInvalidCookie
	}
	set.SetMaxAge(cookie.MaxAge)
	set.SetExpire(cookie.Expires)
	set.SetHTTPOnly(cookie.HTTPOnly)
	set.SetPartitioned(cookie.Partitioned)
	set.SetSameSite(cookie.SameSite)
	set.SetSecure(cookie.Secure || host || cookie.Partitioned || cookie.SameSite == gallop.CookieSameSiteNoneMode || hasPrefixFold(cookie.Name, "__Secure-"))
	c.request.Response.Header.SetCookie(set)
	return nil
}

// hasPrefixFold reports whether a name has a prefix, regardless of case, because clients ignore case here (RFC 6265bis §5.7).
func hasPrefixFold(name, prefix string) bool {
	return len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix)
}

// maxCleared limits how many of the cookies that a client sent ClearCookie deletes. Browsers keep no more for a site.
const maxCleared = 200

// ClearCookie makes the client delete the cookies with the given names, and returns c. ClearCookie only works for cookies that
// were set with the path "/" and without a domain. If you pass no names, ClearCookie deletes the first 200 cookies of the
// request. To delete a cookie with another path or a domain, call SetCookie with that path and domain and a negative MaxAge.
func (c *Ctx) ClearCookie(names ...string) *Ctx {
	if len(names) == 0 {
		for name := range c.request.Request.Header.Cookies() {
			if names = append(names, string(name)); len(names) == maxCleared {
				break
			}
		}
	}
	for _, name := range names {
		c.SetCookie(Cookie{Name: name, MaxAge: -1, Expires: gallop.CookieExpireDelete})
	}
	return c
}
