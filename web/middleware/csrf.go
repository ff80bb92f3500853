package middleware

import (
	"bytes"
	"errors"
	"strings"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// CSRF rejects requests that pages of other sites send with the visitor's cookies (cross-site request forgery). A rejected request gets
// status 403. GET, HEAD and OPTIONS requests pass, so they must not change anything. A request that opens a WebSocket is checked.
//
// CSRF uses the headers that browsers send, and scripts cannot change these headers:
//
//   - Sec-Fetch-Site, which all browsers send over https since 2023. The values "same-origin" and "none" pass.
//   - Origin, if Sec-Fetch-Site is missing. The scheme, the host and the port must be those of the request: see [web.Ctx.Scheme] and
//     [web.Ctx.Host]. Behind a proxy, set Config.TrustedProxies.
//
// A request without these headers does not come from a page in a modern browser. By default, such a request passes, because programs
// such as curl send no Origin. Set Strict or TokenKey to also protect visitors with browsers that are older.
//
// The zero value needs no cookie, no token and no session, and protects forms for login, too. Add CSRF to the App, or to the groups
// whose routes use cookies.
type CSRF struct {
	// Origins lists other origins whose pages may send requests with cookies. An entry is an origin such as "https://example.com", or
	// "https://*.example.com" for all subdomains. Add the port unless it is the default port of the scheme. Nil allows no other origin.
	Origins []string

	// Strict also rejects requests that have neither Sec-Fetch-Site nor Origin, if they have a Cookie header or an Authorization header
	// other than Bearer.
	Strict bool

	// TokenKey makes CSRF accept requests that have neither Sec-Fetch-Site nor Origin only with a token: see [CSRFToken]. TokenKey is
	// a secret of at least 32 bytes, and all processes of an app need the same TokenKey. Nil means that there are no tokens.
	TokenKey []byte

	// Bind returns the ID of the user or of another object that tokens belong to, for example the user of a [Session]. A token is valid
	// only for the same ID. Bind may return "" for visitors who are not logged in. If Bind is nil, a token belongs only to its cookie.
	Bind func(c *web.Ctx) (string, error)

	// Insecure allows the cookie of the tokens over http, for development. The default is false.
	Insecure bool
}

// Reasons for 403.
var (
	errCSRFSite   = errors.New("middleware: CSRF: the request comes from a page of another site")
	errCSRFOrigin = errors.New("middleware: CSRF: Origin is not the origin of the app: behind a proxy, set Config.TrustedProxies; for other origins, set CSRF.Origins")
	errCSRFSilent = errors.New("middleware: CSRF: the request has neither Sec-Fetch-Site nor Origin")
	errCSRFToken  = errors.New("middleware: CSRF: the token is missing or not valid")
)

// Handler returns the middleware. Handler panics if an entry of Origins is not a valid origin, or if TokenKey is too short.
func (o CSRF) Handler() web.Handler {
	h := &csrf{CSRF: o}
	for _, origin := range o.Origins {
		h.trusted.add("CSRF", origin)
	}
	if o.TokenKey != nil {
		h.tokens = newCSRFTokens(o)
	} else if o.Bind != nil || o.Insecure {
		panic("middleware: CSRF: Bind and Insecure are for tokens: set TokenKey")
	}
	return h.serve
}

// csrf is a CSRF with its settings parsed.
type csrf struct {
	CSRF
	trusted originSet
	tokens  *csrfTokens // or nil
}

func (h *csrf) serve(c *web.Ctx) error {
	if c.Refused() != nil {
		return c.Next()
	}
	if h.tokens != nil {
		csrfKey.Set(c, h.tokens)
	}
	if err := h.check(c); err != nil {
		return err
	}
	return c.Next()
}

func (h *csrf) check(c *web.Ctx) error {
	request := &c.RequestCtx().Request.Header
	if isSafe(request) {
		return nil
	}
	site, others := oneValue(request, secFetchSite)
	origin, moreOrigins := oneValue(request, gallop.HeaderOrigin)
	switch {
	case others || moreOrigins:
		return forbidden(errCSRFSite)
	case string(site) == "same-origin", string(site) == "none":
		return nil
	case !h.trusted.isEmpty() && h.trusted.has(string(origin)):
		return nil
	case len(site) > 0:
		return forbidden(errCSRFSite)
	case len(origin) > 0:
		if isOwnOrigin(c, origin) {
			return nil
		}
		return forbidden(errCSRFOrigin)
	case h.tokens != nil:
		return h.tokens.check(c)
	case h.Strict && hasCredentials(request):
		return forbidden(errCSRFSilent)
	}
	return nil
}

const secFetchSite = "Sec-Fetch-Site"

// forbidden returns a 403 with its reason, which the client does not see.
func forbidden(reason error) error {
	return &web.Error{Status: gallop.StatusForbidden, Message: "the request may not come from this page", Err: reason}
}

// isSafe reports whether a request changes nothing. A WebSocket handshake is a GET request, but the page of another site could
// read and write through the WebSocket.
func isSafe(h *gallop.RequestHeader) bool {
	return (h.IsGet() || h.IsHead() || h.IsOptions()) && len(h.Peek(gallop.HeaderUpgrade)) == 0
}

// oneValue returns the value of a header. more is true if the header has several lines, or one that is empty.
func oneValue(h *gallop.RequestHeader, name string) (value []byte, more bool) {
	lines := h.PeekAll(name)
	if len(lines) == 0 {
		return nil, false
	}
	return lines[0], len(lines) > 1 || len(lines[0]) == 0
}

// hasCredentials reports whether a browser may have added credentials to the request on its own.
func hasCredentials(h *gallop.RequestHeader) bool {
	if len(h.PeekAll(gallop.HeaderCookie)) > 0 {
		return true
	}
	scheme, _, _ := bytes.Cut(h.Peek(gallop.HeaderAuthorization), []byte(" "))
	return len(scheme) > 0 && !bytes.EqualFold(scheme, []byte("Bearer"))
}

// isOwnOrigin reports whether an origin is that of the request: the same scheme, host and port.
func isOwnOrigin(c *web.Ctx, origin []byte) bool {
	scheme, port := c.Scheme(), ":80"
	if scheme == "https" {
		port = ":443"
	}
	rest, ok := bytes.CutPrefix(origin, []byte(scheme))
	if !ok {
		return false
	}
	if rest, ok = bytes.CutPrefix(rest, []byte("://")); !ok || len(rest) == 0 {
		return false
	}
	return strings.TrimSuffix(c.Host(), port) == string(bytes.TrimSuffix(rest, []byte(port)))
}
