// Package pprofhandler serves profiles of the running program over HTTP. The package uses the URLs and formats of
// net/http/pprof, which `go tool pprof` and `go tool trace` expect. Unlike net/http/pprof, the package does not
// register anything with http.DefaultServeMux: profiles are served only where a program calls [Handler].
package pprofhandler

// Source files:
//
//	pprofhandler.go  routes paths to profiles
//	timed.go         profiles over a period: CPU profile, trace, and changes of a profile
//	delta.go         the difference between two profiles
//	symbol.go        function names for program counters
//	index.go         the page that lists the profiles

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/nethttp"
)

// usualPrefix is where net/http/pprof has its profiles.
const usualPrefix = "/debug/pprof/"

// Handler returns a handler for the paths below the given prefix. An empty prefix means "/debug/pprof/", the path at which tools
// expect the profiles. Any other prefix must begin with a slash, or Handler panics. If the prefix does not end in a slash, one is
// added. The returned handler may be called concurrently.
//
// With the default prefix, the handler serves these paths:
//
//   - /debug/pprof/ is a page with links to the profiles. /debug/pprof redirects to it.
//   - /debug/pprof/NAME is the profile that runtime/pprof has under this name, such as heap or goroutine. The argument debug=1
//     requests text. For the heap profile, gc=1 runs a garbage collection first. With seconds=N, most profiles show what
//     changed within N seconds.
//   - /debug/pprof/profile is a CPU profile of 30 seconds. The argument seconds=N sets another duration.
//   - /debug/pprof/trace is an execution trace of one second. The argument seconds=N sets another duration. N can be a fraction.
//   - /debug/pprof/symbol returns the function names for the program counters in the query or the body.
//   - /debug/pprof/cmdline is the command line. NUL bytes separate its arguments.
//
// Any other path gets 404. If the client disconnects, the handler stops the client's profile early. If seconds is more than a day,
// the request gets 400. While a CPU profile runs, a request for another CPU profile gets 500. While a trace runs, a request for
// another trace gets 500.
//
// Profiles reveal a program's internals and cost CPU time, so do not serve them to the public.
func Handler(prefix string) gallop.RequestHandler {
	if prefix == "" {
		prefix = usualPrefix
	}
	if prefix[0] != '/' {
		panic(fmt.Sprintf("pprofhandler: the prefix %q does not begin with a slash", prefix))
	}
	return nethttp.FromHTTP(profiles(strings.TrimRight(prefix, "/") + "/"))
}

// profiles is an http.Handler for the paths below a prefix, which ends in a slash.
type profiles string

// ServeHTTP implements http.Handler.
func (p profiles) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, below := strings.CutPrefix(r.URL.Path, string(p))
	if name != "symbol" && !isDuration(r.FormValue("seconds")) { // symbol reads the body itself
		http.Error(w, "the argument seconds must be a number of at most 86400 (one day)", http.StatusBadRequest)
		return
	}
	w.Header().Set("X-Content-Type-Options", "nosniff")
	switch {
	case r.URL.Path+"/" == string(p):
		http.Redirect(w, r, string(p), http.StatusMovedPermanently)
	case !below || strings.HasSuffix(name, "/"):
		http.NotFound(w, r)
	case name == "":
		p.serveIndex(w)
	case name == "cmdline":
		startText(w)
		io.WriteString(w, strings.Join(os.Args, "\x00"))
	case name == "profile":
		serveCPU(w, r)
	case name == "symbol":
		serveSymbols(w, r)
	case name == "trace":
		serveTrace(w, r)
	default:
		serveProfile(w, r, name)
	}
}

// isDuration reports whether seconds are at most a day. Negative numbers and texts that are no numbers are left to the profiles.
func isDuration(seconds string) bool {
	n, err := strconv.ParseFloat(seconds, 64)
	return !math.IsNaN(n) && n <= 24*60*60 && (err == nil || n == 0)
}

// serveProfile serves the profile of runtime/pprof that has this name.
func serveProfile(w http.ResponseWriter, r *http.Request, name string) {
	profile := pprof.Lookup(name)
	if profile == nil {
		refuse(w, http.StatusNotFound, "Unknown profile")
		return
	}
	if seconds := r.FormValue("seconds"); seconds != "" {
		serveChange(w, r, profile, seconds)
		return
	}
	if name == "heap" && numberOf(r, "gc") > 0 {
		runtime.GC()
	}
	debug := numberOf(r, "debug")
	if debug != 0 {
		startText(w)
	} else {
		startFile(w, name)
	}
	profile.WriteTo(w, debug)
}

// numberOf returns the value of a numeric argument, or 0 if it is missing or not a number.
func numberOf(r *http.Request, argument string) int {
	n, _ := strconv.Atoi(r.FormValue(argument))
	return n
}

func startText(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/plain; charset=utf-8") }

// startFile announces a profile for tools. A browser saves it under this name.
func startFile(w http.ResponseWriter, name string) {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
}

// refuse says why there is no profile. go tool pprof shows the text if it finds the header X-Go-Pprof.
func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Del("Content-Disposition")
	w.Header().Set("X-Go-Pprof", "1")
	startText(w)
	w.WriteHeader(status)
	fmt.Fprintln(w, why)
}
