package middleware

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// CORS lets pages from other origins read responses. CORS implements the CORS protocol of the Fetch standard. CORS responds to
// preflight requests itself. If you add CORS to an App, it applies to all requests, even requests that match no route or are
// refused. If you add CORS to a group, it applies to the group's routes and to preflight requests for these routes.
//
// CORS does not block requests from other origins. CORS only controls whether pages from other origins may read the
// responses.
//
// The zero value lets pages from any origin read responses to requests without credentials. Use the zero value for a public API.
// On an internal server without logins, do not use the zero value, because public websites could read the server's responses.
type CORS struct {
	// Origins lists the origins whose pages may read responses. An entry is an origin such as "https://example.com", or
	// "https://*.example.com" for all subdomains. Add the port unless it is the default port of the scheme. "*" allows every
	// origin. If neither Origins nor Allow is set, every origin is allowed. If Origins contains "null", Handler panics, because
	// any page can send the origin "null".
	Origins []string

	// Allow reports whether pages from an origin that is not in Origins may read responses. If Origins is empty, CORS calls Allow
	// for every origin. Allow may be called concurrently.
	Allow func(c *web.Ctx, origin string) bool

	// Methods lists the request methods that are allowed. Nil means GET, HEAD, POST, PUT, PATCH and DELETE.
	Methods []string

	// Headers lists the request headers that are allowed. Nil allows every header that the preflight asks for, up to 64 headers
	// with 4 KiB. If the preflight asks for more, CORS allows none of them.
	Headers []string

	// Expose lists response headers that pages may read. Browsers always let pages read a few other headers, such as
	// Content-Type.
	Expose []string

	// Credentials allows requests with cookies, an Authorization header or a client certificate. If Credentials is set, you must
	// also set Origins or Allow.
	Credentials bool

	// MaxAge is how long browsers may cache a preflight response. CORS rounds MaxAge down to whole seconds. If MaxAge is zero,
	// the browser chooses the duration. A negative value disables caching.
	MaxAge time.Duration
}

// Handler returns the middleware. Handler panics if Credentials is set and every origin is allowed. The method also panics if
// an entry of Origins is not a valid origin.
func (o CORS) Handler() web.Handler {
	h := &cors{CORS: o, methods: strings.Join(o.Methods, ", "), headers: strings.Join(o.Headers, ", "), expose: strings.Join(o.Expose, ", ")}
	if o.Methods == nil {
		h.methods = "GET, HEAD, POST, PUT, PATCH, DELETE"
	}
	h.anybody = len(o.Origins) == 0 && o.Allow == nil || slices.Contains(o.Origins, "*")
	if h.anybody && o.Credentials {
		panic("middleware: CORS cannot allow credentials to any origin: name Origins, or Allow them")
	}
	for _, origin := range o.Origins {
		if origin != "*" {
			h.origins.add("CORS", origin)
		}
	}
	return h.serve
}

// cors is a CORS with its settings parsed.
type cors struct {
	CORS
	anybody                  bool
	origins                  originSet
	methods, headers, expose string
}

func (h *cors) serve(c *web.Ctx) error {
	request := &c.RequestCtx().Request.Header
	origins := request.PeekAll(gallop.HeaderOrigin)
	preflight := c.Refused() == nil && c.RequestCtx().IsOptions() && len(origins) > 0 && len(request.Peek(gallop.HeaderAccessControlRequestMethod)) > 0
	if !h.anybody {
		c.Vary(gallop.HeaderOrigin) // even without Origin: the response depends on it
	}
	if preflight {
		c.Vary(gallop.HeaderAccessControlRequestMethod, gallop.HeaderAccessControlRequestHeaders)
	}
	allowed := h.admit(c, origins)
	switch {
	case preflight:
		if allowed {
			h.preflight(c)
		}
		return c.SendStatus(gallop.StatusNoContent)
	case allowed && h.expose != "":
		c.SetHeader(gallop.HeaderAccessControlExposeHeaders, h.expose)
	}
	return c.Next()
}

// admit sets the headers that let an allowed origin read the response, and reports whether the request's origin is allowed.
func (h *cors) admit(c *web.Ctx, origins [][]byte) bool {
	switch {
	case h.anybody:
		c.SetHeader(gallop.HeaderAccessControlAllowOrigin, "*")
		return true
	case len(origins) != 1 || !h.allows(c, string(origins[0])):
		return false
	}
	c.SetHeader(gallop.HeaderAccessControlAllowOrigin, string(origins[0]))
	if h.Credentials {
		c.SetHeader(gallop.HeaderAccessControlAllowCredentials, "true")
	}
	return true
}

func (h *cors) allows(c *web.Ctx, origin string) bool {
	return h.origins.has(origin) || h.Allow != nil && h.Allow(c, origin)
}

// preflight sets the headers that list the allowed methods and headers.
func (h *cors) preflight(c *web.Ctx) {
	c.SetHeader(gallop.HeaderAccessControlAllowMethods, h.methods)
	headers := h.headers
	if h.Headers == nil {
		headers = joinNames(c.RequestCtx().Request.Header.PeekAll(gallop.HeaderAccessControlRequestHeaders))
	}
	if headers != "" {
		c.SetHeader(gallop.HeaderAccessControlAllowHeaders, headers)
	}
	if h.MaxAge != 0 {
		c.SetHeader(gallop.HeaderAccessControlMaxAge, strconv.Itoa(int(max(h.MaxAge, 0)/time.Second)))
	}
}

// Limits of the header names that CORS sends back to a client.
const (
	maxNames     = 64
	maxNamesSize = 4 << 10
)

// joinNames joins the header names in lines, which a client has sent. It returns "" if one of them is not a header name, or if there
// are too many.
func joinNames(lines [][]byte) string {
	var b strings.Builder
	n := 0
	for _, line := range lines {
		for name := range strings.SplitSeq(string(line), ",") {
			name = strings.Trim(name, " \t")
			if n++; n > maxNames || b.Len()+len(name) > maxNamesSize || strings.ContainsFunc(name, isNotOfName) {
				return ""
			}
			if name != "" && b.Len() > 0 {
				b.WriteString(", ")
			}
			b.WriteString(name)
		}
	}
	return b.String()
}

// isNotOfName reports whether r does not occur in the header names that are used in practice.
func isNotOfName(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '_', r == '.':
		return false
	}
	return true
}
