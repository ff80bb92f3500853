package middleware

import (
	"errors"
	"net/netip"
	"slices"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// AllowIP lets only clients with certain IP addresses reach the handlers. All other clients get status 403. Use AllowIP for pages that
// must not be public, such as profiles and variables:
//
//	debug := app.Group("/debug", middleware.AllowIP{})
//	debug.Get("/pprof/{name...}", web.FromGallop(pprofhandler.Handler("/debug/pprof")))
//	debug.Get("/vars", web.FromGallop(expvarhandler.Handler))
//
// AllowIP uses the address that [web.Ctx.IPAddr] finds. If the server is behind a proxy, list the proxy in web.Config.TrustedProxies:
// AllowIP refuses every request with a Forwarded or X-Forwarded-For header whose sender is not a trusted proxy. Without this rule, a
// proxy on the same machine would make all clients look local.
//
// The zero value allows clients on this machine.
type AllowIP struct {
	// Networks are the networks of the clients that are allowed. By default, only clients on this machine are allowed. To allow clients
	// in private networks, set web.PrivateNetworks().
	Networks []netip.Prefix
}

var errForbiddenIP = errors.New("middleware: the client's IP address is not allowed")

// Handler returns the middleware.
func (o AllowIP) Handler() web.Handler {
	networks := slices.Clone(o.Networks)
	return func(c *web.Ctx) error {
		if c.Refused() == nil && !isAllowedIP(c, networks) {
			return refusal(gallop.StatusForbidden, gallop.StatusMessage(gallop.StatusForbidden), errForbiddenIP)
		}
		return c.Next()
	}
}

func isAllowedIP(c *web.Ctx, networks []netip.Prefix) bool {
	h := &c.RequestCtx().Request.Header
	forwarded := len(h.PeekAll(gallop.HeaderXForwardedFor)) > 0 || len(h.PeekAll(gallop.HeaderForwarded)) > 0
	if forwarded && !c.IsProxyTrusted() {
		return false
	}
	if len(networks) == 0 {
		return c.IsFromLocal()
	}
	addr := c.IPAddr().Unmap().WithZone("")
	return slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(addr) })
}
