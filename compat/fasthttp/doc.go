// Package fasthttp has every name that github.com/valyala/fasthttp v1.74.0 exports, and behind each of them
// what github.com/gallop-http/gallop has for it. A program that is written for fasthttp runs on gallop with
// two lines in its go.mod:
//
//	require github.com/gallop-http/gallop VERSION
//	replace github.com/valyala/fasthttp => github.com/gallop-http/gallop/compat/fasthttp VERSION
//
// Types are aliases, so that a *fasthttp.RequestCtx is a *gallop.RequestCtx and both names can stand in one
// program. Functions do nothing but call, and the compiler takes them out. What each of them does is said
// in gallop; docs/migrate-from-fasthttp.md says where that is stricter.
package fasthttp
