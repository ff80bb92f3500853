package middleware

import (
	"strings"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// Headers with which a client could change a response without changing its key in the cache. Web cache poisoning works this way: the
// handler puts the host of X-Forwarded-Host into a page, and the cache sends the page to all other clients.

// overrides are headers that some handlers obey instead of the request line and Host. The functions report whether a value says the
// same as the key. Names are spelled as Header.All yields them.
var overrides = map[string]func(c *web.Ctx, value string) bool{
	"X-Forwarded-Host":       isHost,
	"X-Original-Host":        isHost,
	"X-Host":                 isHost,
	"X-Forwarded-Proto":      isScheme,
	"X-Forwarded-Protocol":   isScheme,
	"X-Forwarded-Scheme":     isScheme,
	"X-Url-Scheme":           isScheme,
	"X-Forwarded-Ssl":        isSecure,
	"Front-End-Https":        isSecure,
	"X-Forwarded-Port":       isPort,
	"X-Forwarded-Prefix":     nothing,
	"X-Forwarded-Path":       nothing,
	"X-Original-Url":         nothing,
	"X-Original-Uri":         nothing,
	"X-Rewrite-Url":          nothing,
	"X-Http-Method":          nothing,
	"X-Http-Method-Override": nothing,
	"X-Method-Override":      nothing,
	"Forwarded":              isTrusted,
}

func isHost(c *web.Ctx, value string) bool   { return strings.EqualFold(value, c.Host()) }
func isScheme(c *web.Ctx, value string) bool { return strings.EqualFold(value, c.Scheme()) }
func isSecure(c *web.Ctx, value string) bool { return strings.EqualFold(value, "on") == c.Secure() }
func isTrusted(c *web.Ctx, _ string) bool    { return c.IsProxyTrusted() } // its host and scheme are in the key
func nothing(*web.Ctx, string) bool          { return false }

func isPort(c *web.Ctx, value string) bool {
	host, port := c.Host(), "80"
	if c.Secure() {
		port = "443"
	}
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.Contains(host[i:], "]") {
		port = host[i+1:]
	}
	return value == port
}

// longestOverride is the length of the longest name in overrides.
const longestOverride = len("X-Http-Method-Override")

// isOverridden reports whether a request has a header that could change the response and that is not in the key.
func (d *cache) isOverridden(c *web.Ctx) bool {
	for name, value := range c.RequestCtx().Request.Header.All() {
		if len(name) < len("X-Host") || len(name) > longestOverride || name[0]|0x20 != 'x' && name[0]|0x20 != 'f' {
			continue
		}
		var room [longestOverride]byte
		name = gallop.AppendNormalizedHeaderKeyBytes(room[:0], name)
		if agrees, ok := overrides[string(name)]; ok && !d.isKeyHeader(name) && !agrees(c, string(value)) {
			return true
		}
	}
	return false
}

// isKeyHeader reports whether KeyHeaders has a name.
func (d *cache) isKeyHeader(name []byte) bool {
	for _, key := range d.KeyHeaders {
		if string(name) == key {
			return true
		}
	}
	return false
}
