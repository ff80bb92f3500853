package pprofhandler

import (
	"cmp"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"runtime/pprof"
	"slices"
	"strings"
)

// about describes the profiles. Profiles that programs add have no description.
var about = map[string]string{
	"allocs":        "Allocations since the program started, sampled.",
	"block":         "Waits of goroutines for channels and locks. Empty unless the program calls runtime.SetBlockProfileRate.",
	"cmdline":       "The command line of the program.",
	"goroutine":     "The stacks of all goroutines. With debug=2 it looks like the output of a panic.",
	"goroutineleak": "The stacks of goroutines that nothing can wake. With debug=2 it looks like the output of a panic.",
	"heap":          "Allocations of the memory in use, sampled. With gc=1 a garbage collection runs first.",
	"mutex":         "Stacks that held locks while other goroutines waited. Empty unless the program calls runtime.SetMutexProfileFraction.",
	"profile":       "CPU profile of 30 seconds, or of seconds=N. For go tool pprof.",
	"symbol":        "Names of functions for the program counters in the query or in the body of a POST, separated by +.",
	"threadcreate":  "Stacks that led to new threads of the operating system.",
	"trace":         "Execution trace of one second, or of seconds=N. For go tool trace.",
}

// serveIndex serves the list of profiles.
func (p profiles) serveIndex(w http.ResponseWriter) {
	type row struct {
		name  string
		count int
	}
	rows := []row{{name: "cmdline"}, {name: "profile"}, {name: "symbol"}, {name: "trace"}}
	for _, profile := range pprof.Profiles() {
		rows = append(rows, row{profile.Name(), profile.Count()})
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.name, b.name) })

	var page strings.Builder
	title := html.EscapeString(string(p))
	fmt.Fprintf(&page, "<!DOCTYPE html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n<title>%s</title>\n", title)
	fmt.Fprintf(&page, "<style>td, th { text-align: left; padding-right: 1em; vertical-align: top }</style>\n</head>\n<body>\n<h1>%s</h1>\n<table>\n", title)
	page.WriteString("<tr><th>Count</th><th>Profile</th><th>What it shows</th></tr>\n")
	for _, row := range rows {
		link := url.URL{Path: row.name, RawQuery: "debug=1"}
		fmt.Fprintf(&page, "<tr><td>%d</td><td><a href='%s'>%s</a></td><td>%s</td></tr>\n",
			row.count, html.EscapeString(link.String()), html.EscapeString(row.name), about[row.name])
	}
	page.WriteString("</table>\n<p>The links show the profiles as text (debug=1). Leave out debug=1 to get them for tools.</p>\n" +
		"<p><a href='goroutine?debug=2'>Stacks of all goroutines</a></p>\n</body>\n</html>\n")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	io.WriteString(w, page.String())
}
