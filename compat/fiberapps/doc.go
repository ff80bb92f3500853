// Package fiberapps tests programs that use fiber v2, fiber v3 and fasthttp/websocket on gallop. The module in
// compat/fasthttp replaces fasthttp. A browser loads pages over HTTP/2 beside WebSockets of three libraries.
package fiberapps
