package web

import (
	"strings"
	"time"

	"github.com/gallop-http/gallop"
)

// Cookie is a cookie of a response (RFC 6265). Ctx.SetCookie sends it.
type Cookie struct {
	// Name is the name under which the client sends the cookie back. It must be a token, so it must not be empty.
	Name string

	// Value is the text that the client stores. It may be empty. It must not contain semicolons, backslashes, control characters or
	// non-ASCII bytes. Quotes are allowed only around the whole value. Encode other data, for example in base64.
	Value string

	// Path is the path below which the client sends the cookie. Empty means "/".
	Path string

	// Domain is the domain that the client sends the cookie to, including its subdomains. Empty means only the host that set the
	// cookie.
	Domain string

	// MaxAge is how many seconds the client keeps the cookie. It takes precedence over Expires. Zero means that Expires decides. A
	// negative value deletes the cookie.
	MaxAge int

	// Expires is when the client deletes the cookie. If it is zero and MaxAge is zero, the client deletes the cookie when its session
	// ends.
	Expires time.Time

	// Secure makes the client send the cookie over https only. The default is false; [Ctx.SetCookie] sets Secure automatically in some
	// cases.
	Secure bool

	// HTTPOnly hides the cookie from scripts. The default is false.
	HTTPOnly bool

	// Partitioned gives the cookie a separate store for each site that embeds this one. It implies Secure. The default is false.
	Partitioned bool

	// SameSite controls whether the client sends the cookie with requests that other sites initiate. The zero value means
	// gallop.CookieSameSiteLaxMode.
	SameSite gallop.CookieSameSite
}

// SetCookie adds a cookie to the response, replacing any cookie with the same name. It sets Secure if SameSite is None, if the
// cookie is Partitioned, or if the name begins with __Secure- or __Host-, regardless of case. A __Host- cookie also gets the Path
// "/" and no Domain. If a field has bytes that a cookie cannot have, SetCookie returns ErrInvalidCookie and sends no cookie.
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

// ClearCookie makes the client delete the cookies with these names that have the path "/" and no domain, and returns c. Without
// names, it deletes the first 200 cookies that the client sent. To delete a cookie with another path or a domain, call SetCookie
// with that path and domain and a negative MaxAge.
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
