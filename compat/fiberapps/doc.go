// Package fiberapps has tests of programs that use fiber v2 and v3 on gallop. The module in
// compat/fasthttp takes the place of fasthttp.
package fiberapps
