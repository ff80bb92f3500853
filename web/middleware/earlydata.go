package middleware

import (
	"errors"
	"net/http"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// EarlyData protects against replayed requests behind a proxy that accepts TLS early data (RFC 8470). An attacker can repeat early
// data. The proxy marks such requests with the header "Early-Data: 1". EarlyData responds to them with status 425, and the client
// sends the request again after the TLS handshake.
//
// GET, HEAD, OPTIONS and TRACE requests pass, because repeating them should do no harm. If a GET request of yours changes something,
// set Allow.
//
// gallop's own server never accepts early data, so you need EarlyData only behind such a proxy.
type EarlyData struct {
	// Allow reports whether a request may run although it was sent as early data. The default allows safe methods only.
	Allow func(c *web.Ctx) bool
}

var errEarlyData = errors.New("middleware: the request was sent as TLS early data, so an attacker may have repeated it")

// Handler returns the middleware.
func (o EarlyData) Handler() web.Handler {
	if o.Allow == nil {
		o.Allow = hasSafeMethod
	}
	return func(c *web.Ctx) error {
		for _, value := range c.RequestCtx().Request.Header.PeekAll("Early-Data") {
			if string(value) == "1" && c.Refused() == nil && !o.Allow(c) {
				return refusal(http.StatusTooEarly, http.StatusText(http.StatusTooEarly), errEarlyData)
			}
		}
		return c.Next()
	}
}

// hasSafeMethod reports whether a request has a safe method (RFC 9110 §9.2.1).
func hasSafeMethod(c *web.Ctx) bool {
	switch c.Method() {
	case gallop.MethodGet, gallop.MethodHead, gallop.MethodOptions, gallop.MethodTrace:
		return true
	}
	return false
}
