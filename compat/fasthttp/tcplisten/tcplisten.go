// Package tcplisten provides the names of github.com/valyala/fasthttp/tcplisten. It is built on gallop's package
// listen.
package tcplisten

import (
	"context"
	"net"

	"github.com/gallop-http/gallop/listen"
)

// Config configures TCP listeners. See the fields of listen.TCP.
type Config struct {
	ReusePort   bool
	DeferAccept bool
	FastOpen    bool
	Backlog     int
}

// NewListener listens on addr. The network must be "tcp", "tcp4" or "tcp6".
func (c *Config) NewListener(network, addr string) (net.Listener, error) {
	tcp := listen.TCP{ReusePort: c.ReusePort, DeferAccept: c.DeferAccept, FastOpen: c.FastOpen, Backlog: c.Backlog}
	return tcp.Listen(context.Background(), network, addr)
}
