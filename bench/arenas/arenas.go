// Package arenas has the workloads of examples/arena on other frameworks, for comparisons. All servers use the same items,
// documents, database and cache, and each uses the router, the JSON encoder and the file handler that its users would use.
//
//	arenas.go     the interface of servers, and their list
//	answers.go    what servers share
//	fasthttp.go, fiber.go, hertz.go, nethttp.go   one server each
package arenas

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/gallop-http/gallop/examples/arena/profile"
)

// Options say what a server serves.
type Options struct {
	Files string            // directory under /static/; empty: none
	Items *profile.Database // nil: no routes with a database
	H2C   bool              // serve HTTP/2 without TLS, and gRPC, if the framework can
}

// Serve serves a listener until it fails.
type Serve func(net.Listener) error

var servers = map[string]func(Options) Serve{
	"fasthttp": newFasthttp,
	"fiber":    newFiber,
	"hertz":    newHertz,
	"nethttp":  newNetHTTP,
}

// Names returns the names of all servers.
func Names() []string { return slices.Sorted(maps.Keys(servers)) }

// New returns a server.
func New(name string, o Options) (Serve, error) {
	create := servers[name]
	if create == nil {
		return nil, fmt.Errorf("unknown server %q; choose one of %s", name, strings.Join(Names(), ", "))
	}
	return create(o), nil
}
