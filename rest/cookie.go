package rest

import (
	"time"

	"github.com/gallop-http/gallop"
)

// Cookie is a cookie that a response sets (RFC 6265 §4.1). It has the fields of a Cookie of package web.
type Cookie struct {
	Name   string
	Value  string
	Path   string // empty for the directory of the request path
	Domain string // empty for the host of the request only

	// MaxAge is how many seconds a client keeps the cookie, and Expires until when. MaxAge takes precedence. If both
	// are zero, the client keeps the cookie until its session ends. A negative MaxAge deletes the cookie.
	MaxAge  int
	Expires time.Time

	Secure      bool // send it over https only
	HTTPOnly    bool // hide it from scripts
	Partitioned bool // keep it apart for each top-level site
	SameSite    gallop.CookieSameSite
}

// Cookies returns the cookies that the response sets, in the order of the header. It leaves out malformed ones.
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
