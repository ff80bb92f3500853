// Package peers has the servers that benches compare. Each serves the same [App], which is written once: in one form for
// gallop and fasthttp, whose contexts have the same methods, and in one for net/http.
//
//	peers.go    what a server is, and their list
//	app.go      what they are asked to do
//	gallop.go, fasthttp.go, nethttp.go, floor_*.go   one each
package peers

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"
)

// Server is one server. Serve does not return before the listener fails, or Shutdown is called.
type Server interface {
	Serve(net.Listener) error
	Shutdown(context.Context) error
}

// Options are what servers are made with besides what they do by themselves. The zero value changes nothing.
type Options struct {
	Logger   Logger // nil: each writes where it likes
	Timeouts bool   // fasthttp and net/http get the timeouts that gallop has by default
}

// Logger takes what servers complain about.
type Logger interface {
	Printf(format string, args ...any)
}

// The timeouts that the peers get with Options.Timeouts, as near to gallop's defaults as their fields allow.
const (
	headTimeout  = 10 * time.Second
	writeTimeout = 30 * time.Second
	idleTimeout  = 75 * time.Second
)

var servers = map[string]func(App, Options) Server{
	"gallop":            newGallop,
	"gallop-goroutines": newGallopGoroutines, // without event loops
	"gallop-nethttp":    newGallopNetHTTP,    // with the handler of net/http's server
	"gallop-web":        newGallopWeb,        // with the framework
	"fasthttp":          newFasthttp,
	"nethttp":           newNetHTTP,
	"floor":             newFloor, // no HTTP: an event loop that answers whatever it reads
}

// Names are those of all servers.
func Names() string { return strings.Join(slices.Sorted(maps.Keys(servers)), ", ") }

// New returns a server that does what the app says.
func New(name string, app App, o Options) (Server, error) {
	start := servers[name]
	if start == nil {
		return nil, fmt.Errorf("there is no server %q, but %s", name, Names())
	}
	return start(app, o), nil
}
