// Package fasthttp provides every name that github.com/valyala/fasthttp v1.74.0 exports, implemented by
// github.com/gallop-http/gallop. A program for fasthttp runs on gallop with two lines in its go.mod:
//
//	require github.com/gallop-http/gallop VERSION
//	replace github.com/valyala/fasthttp => github.com/gallop-http/gallop/compat/fasthttp VERSION
//
// Types are aliases: a *fasthttp.RequestCtx is a *gallop.RequestCtx, and a program may use both names. Functions only
// call their counterparts in gallop, and the compiler inlines the calls. Package gallop documents each of them.
// docs/migrate-from-fasthttp.md lists where gallop is stricter.
package fasthttp
