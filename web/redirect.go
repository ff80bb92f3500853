package web

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/gallop-http/gallop"
)

// Redirect redirects the client of one request to another URL. [Ctx.Redirect] makes a Redirect:
//
//	return c.Redirect().To("/login")
//	return c.Redirect().Status(308).Route("user", "id", "7")
type Redirect struct {
	c      *Ctx
	status int
}

// Redirect returns a Redirect with status 303 (See Other). Clients follow a 303 with a GET request.
func (c *Ctx) Redirect() Redirect { return Redirect{c, gallop.StatusSeeOther} }

// Status returns r with another status: 301, 302, 303, 307 or 308. With 307 and 308, clients repeat the request with the
// same method and body. Status panics for any other status.
func (r Redirect) Status(status int) Redirect {
	if !gallop.StatusCodeIsRedirect(status) {
		panic("web: Redirect.Status: " + strconv.Itoa(status) + " is not the status of a redirect: use 301, 302, 303, 307 or 308")
	}
	r.status = status
	return r
}

// To sends a redirect to any URL or path. It returns an error if the reference is empty. A reference that comes from a
// client may point to another site, so pass it to [Redirect.Local] instead.
func (r Redirect) To(reference string) error {
	if reference == "" {
		return errNoLocation
	}
	r.c.replaceBody()
	r.c.Status(r.status).Location(reference)
	return nil
}

// Route sends a redirect to the path of a named route. Pass the path parameters in pairs, each as its name followed by its
// value. If [App.URL] returns an error, Route returns the same error.
func (r Redirect) Route(name string, pairs ...string) error {
	path, err := r.c.app.URL(name, pairs...)
	if err != nil {
		return err
	}
	return r.To(path)
}

// Local sends a redirect to target if target is a path on this host, with or without a query. For any other
// target, Local sends a redirect to fallback. You may pass a target that a client sent: the method rejects targets that
// a browser would interpret as another host.
func (r Redirect) Local(target, fallback string) error {
	if !isLocal(target) {
		target = fallback
	}
	return r.To(target)
}

// Back sends a redirect to the page that the client came from, according to the Referer header. If the header is missing or the
// page is on another host, the method redirects to the fallback argument.
func (r Redirect) Back(fallback string) error {
	referer, err := url.Parse(r.c.ReqHeader(gallop.HeaderReferer))
	if err != nil || referer.Host == "" || !strings.EqualFold(referer.Host, r.c.Host()) {
		return r.To(fallback)
	}
	return r.Local(referer.RequestURI(), fallback)
}

// isLocal reports whether browsers read a reference as a path on the same host. They read a backslash as a slash and ignore control
// characters, and a host follows two slashes.
func isLocal(reference string) bool {
	if !strings.HasPrefix(reference, "/") || strings.HasPrefix(reference, "//") {
		return false
	}
	return strings.IndexFunc(reference, func(r rune) bool { return r < ' ' || r == 0x7F || r == '\\' }) < 0
}
