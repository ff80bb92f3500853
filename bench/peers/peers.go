// Package peers provides the servers that benchmarks compare. All serve the same [App], which is written once in two
// forms: one for gallop and fasthttp, whose contexts have the same methods, and one for net/http. [New] creates a
// server by name.
//
//	peers.go    the interface of servers, and their list
//	app.go      the apps that they serve
//	gallop.go, fasthttp.go, nethttp.go, floor_*.go   one server each
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

// Server is one server. Serve returns when the listener fails or Shutdown is called.
type Server interface {
	Serve(net.Listener) error
	Shutdown(context.Context) error
}

// Options changes the defaults of servers. The zero value changes nothing.
type Options struct {
	Logger   Logger // nil: the server's default logger
	Timeouts bool   // give fasthttp and net/http the timeouts that gallop has by default
	H2C      bool   // gallop and net/http also serve HTTP/2 without TLS
}

// Logger receives the messages that servers log.
type Logger interface {
	Printf(format string, args ...any)
}

// Timeouts of the peers with Options.Timeouts. They are as close to gallop's defaults as the peers' fields allow.
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
	"floor":             newFloor, // no HTTP: an event loop that responds to everything it reads
}

// Names returns the names of all servers.
func Names() string { return strings.Join(slices.Sorted(maps.Keys(servers)), ", ") }

// New returns a server that serves app.
func New(name string, app App, o Options) (Server, error) {
	start := servers[name]
	if start == nil {
		return nil, fmt.Errorf("unknown server %q; choose one of %s", name, Names())
	}
	return start(app, o), nil
}
