package web

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/gallop-http/gallop"
)

// Redirect sends a client elsewhere, with 303 (See Other) unless Status says another one.
type Redirect struct {
	c      *Ctx
	status int
}

// Redirect returns what redirects the client.
func (c *Ctx) Redirect() Redirect { return Redirect{c, gallop.StatusSeeOther} }

// Status returns r with another status: 301, 302, 303, 307 or 308. It panics for other statuses.
func (r Redirect) Status(status int) Redirect {
	if !gallop.StatusCodeIsRedirect(status) {
		panic("web: " + strconv.Itoa(status) + " is not the status of a redirect")
	}
	r.status = status
	return r
}

// To redirects to a reference, wherever that leads: it should not be a client's, for which there is
// Local.
func (r Redirect) To(reference string) error {
	if reference == "" {
		return errNoLocation
	}
	r.c.replaceBody()
	r.c.Status(r.status).Location(reference)
	return nil
}

// Route redirects to the route with a name, as with App.URL.
func (r Redirect) Route(name string, pairs ...string) error {
	path, err := r.c.app.URL(name, pairs...)
	if err != nil {
		return err
	}
	return r.To(path)
}

// Local redirects to target, which may be a client's, if it is a path, with or without a query, on this host; and
// otherwise to fallback.
func (r Redirect) Local(target, fallback string) error {
	if !isLocal(target) {
		target = fallback
	}
	return r.To(target)
}

// Back redirects to the page the client comes from, if it is on the host that was asked for, and
// otherwise to fallback.
func (r Redirect) Back(fallback string) error {
	referer, err := url.Parse(r.c.ReqHeader(gallop.HeaderReferer))
	if err != nil || referer.Host == "" || !strings.EqualFold(referer.Host, r.c.Host()) {
		return r.To(fallback)
	}
	return r.Local(referer.RequestURI(), fallback)
}

// isLocal reports whether browsers take a reference for a path on the same host. They read a backslash as a slash,
// and do not see control characters; two slashes are followed by a host.
func isLocal(reference string) bool {
	if !strings.HasPrefix(reference, "/") || strings.HasPrefix(reference, "//") {
		return false
	}
	return strings.IndexFunc(reference, func(r rune) bool { return r < ' ' || r == 0x7F || r == '\\' }) < 0
}
