// Package pprofhandler serves the profiles of package net/http/pprof.
package pprofhandler

import (
	"math"
	"net/http"
	"net/http/pprof"
	"strconv"
	"strings"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/nethttp"
)

var handler = nethttp.FromHTTP(http.HandlerFunc(serve))

// Handler answers what is below /debug/pprof/ as net/http/pprof does: a list of the profiles, profiles by their
// names, cmdline, profile, symbol and trace. /debug/pprof is redirected to the list, and any other path answered with 404.
//
// A profile over time ends when the client goes away. One of more than a day is refused with 400.
//
// Profiles show the inside of a program, and cost it time, so not everybody should reach them. Importing this package
// registers them with http.DefaultServeMux too, as net/http/pprof does.
func Handler(ctx *gallop.RequestCtx) { handler(ctx) }

func serve(w http.ResponseWriter, r *http.Request) {
	name, below := strings.CutPrefix(r.URL.Path, "/debug/pprof/")
	if name != "symbol" && !isDuration(r.FormValue("seconds")) { // symbol has a use of its own for the body
		http.Error(w, "the argument seconds is no number of seconds up to a day", http.StatusBadRequest)
		return
	}
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

// isDuration reports whether seconds are at most a day. net/http/pprof would take a number that is not finite, or too large for a
// time.Duration, for no time or for endless time. It takes its default for negative numbers and other texts, or refuses them.
func isDuration(seconds string) bool {
	n, err := strconv.ParseFloat(seconds, 64)
	return !math.IsNaN(n) && n <= 24*60*60 && (err == nil || n == 0)
}
