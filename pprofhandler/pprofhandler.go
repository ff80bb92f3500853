// Package pprofhandler serves the profiles of package net/http/pprof.
package pprofhandler

import (
	"net/http"
	"net/http/pprof"
	"strings"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/nethttp"
)

var handler = nethttp.Handler(http.HandlerFunc(serve))

// Handler answers what is below /debug/pprof/ as net/http/pprof does: a list of the profiles, profiles by their
// names, cmdline, profile, symbol and trace. /debug/pprof is redirected to the list, and any other path answered with 404.
//
// Profiles show the inside of a program, and cost it time, so not everybody should reach them. Importing this package
// registers them with http.DefaultServeMux too, as net/http/pprof does.
func Handler(ctx *gallop.RequestCtx) { handler(ctx) }

func serve(w http.ResponseWriter, r *http.Request) {
	name, below := strings.CutPrefix(r.URL.Path, "/debug/pprof/")
	switch {
	case r.URL.Path == "/debug/pprof":
		http.Redirect(w, r, "/debug/pprof/", http.StatusMovedPermanently)
	case !below || strings.HasSuffix(name, "/"):
		http.NotFound(w, r)
	case name == "cmdline":
		pprof.Cmdline(w, r)
	case name == "profile":
		pprof.Profile(w, r)
	case name == "symbol":
		pprof.Symbol(w, r)
	case name == "trace":
		pprof.Trace(w, r)
	default:
		pprof.Index(w, r)
	}
}
