package serve

import "github.com/gallop-http/gallop"

// withCORS lets web pages of any origin read the responses of next, and answers preflight requests itself
// (Fetch standard, "CORS protocol"). The wildcards exclude cookies and Authorization; Authorization is therefore
// named.
func withCORS(next gallop.RequestHandler) gallop.RequestHandler {
	return func(ctx *gallop.RequestCtx) {
		if h := &ctx.Request.Header; ctx.IsOptions() && len(h.Peek(gallop.HeaderOrigin)) > 0 && len(h.Peek(gallop.HeaderAccessControlRequestMethod)) > 0 {
			ctx.SetStatusCode(gallop.StatusNoContent)
			ctx.Response.Header.Set(gallop.HeaderAccessControlAllowMethods, "*")
			ctx.Response.Header.Set(gallop.HeaderAccessControlAllowHeaders, "*, Authorization")
		} else {
			next(ctx)
			ctx.Response.Header.Set(gallop.HeaderAccessControlExposeHeaders, "*")
		}
		ctx.Response.Header.Set(gallop.HeaderAccessControlAllowOrigin, "*")
	}
}
