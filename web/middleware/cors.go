package middleware

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// CORS lets pages of other origins read responses, by the protocol of the Fetch standard. It responds to preflight requests itself.
// On an App it covers all requests, including those that match no route or that the server refuses. On a group it covers the
// routes of the group and the preflight requests for them.
//
// CORS does not keep anybody from sending requests: who is not allowed may not read what comes of them.
//
// The zero value lets pages of any origin read, without cookies and the like. That is what a public API wants, and not
// what one wants that is protected by being within reach of few.
type CORS struct {
	// Origins are who may read: "https://example.com", with its port unless that is the scheme's own, or
	// "https://*.example.com" for all hosts below one. The default, and "*", is anybody. "null" is refused: every
	// page can have it.
	Origins []string

	// Allow says whether an origin that is not in Origins may read; with Allow, no Origins are none.
	Allow func(c *web.Ctx, origin string) bool

	// Methods are those that may be used; GET, HEAD, POST, PUT, PATCH and DELETE by default.
	Methods []string

	// Headers are the request's fields that may be sent; those that are asked for by default.
	Headers []string

	// Expose are the answer's fields that may be read besides those that always may.
	Expose []string

	// Credentials allows cookies, Authorization and client certificates. Then there have to be Origins, or
	// Allow.
	Credentials bool

	// MaxAge is how long a preflight holds, in whole seconds. 0 leaves that to the browser, negative is not at
	// all.
	MaxAge time.Duration

	// PrivateNetwork lets pages of public sites ask a server in a private network.
	PrivateNetwork bool
}

// Handler returns the middleware. It panics if Credentials are allowed to anybody, and if an origin is none.
func (o CORS) Handler() web.Handler {
	h := &cors{CORS: o, methods: strings.Join(o.Methods, ", "), headers: strings.Join(o.Headers, ", "), expose: strings.Join(o.Expose, ", ")}
	if o.Methods == nil {
		h.methods = "GET, HEAD, POST, PUT, PATCH, DELETE"
	}
	h.anybody = len(o.Origins) == 0 && o.Allow == nil || slices.Contains(o.Origins, "*")
	if h.anybody && o.Credentials {
		panic("web: CORS cannot allow credentials to any origin: name Origins, or Allow them")
	}
	for _, origin := range o.Origins {
		if origin != "*" {
			h.add(origin)
		}
	}
	return h.serve
}

// cors is a CORS in use.
type cors struct {
	CORS
	anybody                  bool
	exact                    []string
	below                    [][2]string // what is before and behind the "*"
	methods, headers, expose string
}

// add adds an origin. It panics if that is none.
func (h *cors) add(origin string) {
	origin = strings.ToLower(origin)
	plain := strings.Replace(origin, "://*.", "://", 1)
	u, err := url.Parse(plain)
	if err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != plain || strings.ContainsAny(u.Host, "*, ") {
		panic(fmt.Sprintf("web: CORS: %q is not an origin like https://example.com or https://*.example.com", origin))
	}
	if plain != origin {
		h.below = append(h.below, [2]string{u.Scheme + "://", "." + u.Host})
	} else {
		h.exact = append(h.exact, origin)
	}
}

func (h *cors) serve(c *web.Ctx) error {
	request := &c.RequestCtx().Request.Header
	origins := request.PeekAll(gallop.HeaderOrigin)
	preflight := c.Refused() == nil && c.RequestCtx().IsOptions() && len(origins) > 0 && len(request.Peek(gallop.HeaderAccessControlRequestMethod)) > 0
	if !h.anybody {
		c.Vary(gallop.HeaderOrigin) // also without one: another request would be answered otherwise
	}
	if preflight {
		c.Vary(gallop.HeaderAccessControlRequestMethod, gallop.HeaderAccessControlRequestHeaders)
		if h.PrivateNetwork {
			c.Vary(requestPrivateNetwork)
		}
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

// admit says who may read the answer, and reports whether it is the one who asks.
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
	if slices.Contains(h.exact, origin) {
		return true
	}
	for _, p := range h.below {
		if len(origin) > len(p[0])+len(p[1]) && strings.HasPrefix(origin, p[0]) && strings.HasSuffix(origin, p[1]) &&
			isHostText(origin[len(p[0]):len(origin)-len(p[1])]) {
			return true
		}
	}
	return h.Allow != nil && h.Allow(c, origin)
}

// isHostText reports whether s are labels of a host's name, and nothing that ends it.
func isHostText(s string) bool {
	for i := range len(s) {
		if b := s[i]; b-'a' >= 26 && b-'0' >= 10 && b != '-' && b != '.' && b != '_' {
			return false
		}
	}
	return s[0] != '.' && s[len(s)-1] != '.' && !strings.Contains(s, "..")
}

const (
	requestPrivateNetwork = "Access-Control-Request-Private-Network"
	allowPrivateNetwork   = "Access-Control-Allow-Private-Network"
)

// preflight says what may be sent.
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
	if h.PrivateNetwork && c.ReqHeader(requestPrivateNetwork) == "true" {
		c.SetHeader(allowPrivateNetwork, "true")
	}
}

// joinNames returns the names of fields in some lines that a client has sent, "" if something else is among them.
func joinNames(lines [][]byte) string {
	var b strings.Builder
	for _, line := range lines {
		for name := range strings.SplitSeq(string(line), ",") {
			name = strings.Trim(name, " \t")
			if strings.ContainsFunc(name, isNotOfName) {
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

// isNotOfName reports whether a character is in no field's name that anybody uses.
func isNotOfName(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '_', r == '.':
		return false
	}
	return true
}
