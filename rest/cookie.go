package rest

import (
	"time"

	"github.com/gallop-http/gallop"
)

// Cookie is a cookie that a response sets (RFC 6265 §4.1). Cookie has the same fields as the Cookie of package web.
type Cookie struct {
	// Name and Value are the cookie's name and value as the server sent them.
	Name  string
	Value string
	// Path limits the cookie to requests for this path and for the paths below this path. Empty means the directory of
	// the request path.
	Path string
	// Domain makes the cookie valid for this domain and its subdomains. Empty means the host of the request only.
	Domain string

	// MaxAge is how many seconds a client keeps the cookie. MaxAge takes precedence over Expires. A negative value
	// deletes the cookie. If MaxAge and Expires are both zero, the client keeps the cookie until its session ends.
	MaxAge int
	// Expires is the time when a client drops the cookie. If MaxAge is set, Expires has no effect.
	Expires time.Time

	// Secure restricts the cookie to https.
	Secure bool
	// HTTPOnly hides the cookie from scripts.
	HTTPOnly bool
	// Partitioned keeps a separate cookie for each top-level site.
	Partitioned bool
	// SameSite restricts when the cookie is sent with requests from other sites.
	SameSite gallop.CookieSameSite
}

// Cookies returns the cookies that the response sets, in the order of the headers. Malformed cookies are skipped.
func (r *Response) Cookies() (list []Cookie) {
	for _, line := range r.headers.lines("Set-Cookie") {
		var c gallop.Cookie
		if c.Parse(line) != nil || len(c.Key()) == 0 {
			continue
		}
		one := Cookie{
			Name: string(c.Key()), Value: string(c.Value()), Path: string(c.Path()), Domain: string(c.Domain()), MaxAge: c.MaxAge(),
			Secure: c.Secure(), HTTPOnly: c.HTTPOnly(), Partitioned: c.Partitioned(), SameSite: c.SameSite(),
		}
		if expires := c.Expire(); !expires.Equal(gallop.CookieExpireUnlimited) {
			one.Expires = expires
		}
		list = append(list, one)
	}
	return list
}
