// Package fiberapps tests programs that use fiber v2 and v3 on gallop. The module in compat/fasthttp replaces
// fasthttp.
package fiberapps
