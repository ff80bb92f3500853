// Package fiberapps has tests of programs that use fiber v2, fiber v3 and fasthttp/websocket on gallop. The module in
// compat/fasthttp takes the place of fasthttp.
package fiberapps
