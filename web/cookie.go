package web

import (
	"strings"
	"time"

	"github.com/gallop-http/gallop"
)

// Cookie is a cookie of an answer (RFC 6265).
type Cookie struct {
	Name   string
	Value  string
	Path   string // "/" by default
	Domain string // only the host that answers by default

	// MaxAge is for how long, in seconds, a client keeps the cookie, and Expires until when; MaxAge goes first. Without them it is
	// until the client ends. A negative MaxAge makes it forget the cookie now.
	MaxAge  int
	Expires time.Time

	Secure      bool // for https only; see SetCookie for when it is set in any case
	HTTPOnly    bool // not for scripts
	Partitioned bool
	SameSite    gallop.CookieSameSite // Lax by default
}

// SetCookie adds a cookie to the answer, in place of one with the same name. Secure is set if SameSite is None, for
// Partitioned ones and for names that begin with __Secure- or __Host-, in whatever case; the latter also get no Domain and the Path "/".
// The error is ErrInvalidCookie for what no cookie may have (gallop.Cookie).
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

// hasPrefixFold reports whether a name has a prefix, in whatever case, as clients compare them (RFC 6265bis §5.7).
func hasPrefixFold(name, prefix string) bool {
	return len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix)
}

// maxCleared is how many cookies ClearCookie clears of those that a client sent; browsers keep no more for a site.
const maxCleared = 200

// ClearCookie makes the client forget the cookies with these names that have the path "/" and no domain. Without names, it
// clears the first 200 cookies that the client sent. To clear other cookies, call SetCookie with a negative MaxAge.
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
