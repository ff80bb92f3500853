package testhook

import (
	"net"

	"github.com/gallop-http/gallop/internal/poll"
)

// Kernel returns the kernel on which the server's event loops run. If they have none yet, Kernel sets the kernel that
// create returns, and lets the server run one loop.
var Kernel func(server any, create func() poll.Kernel) poll.Kernel

// SetLoops sets on how many event loops the server serves. It may be called after Kernel, before connections arrive.
var SetLoops func(server any, n int)

// ServeOnLoop serves one connection on the server's event loops. Once the loops listen on ln, it calls connect, which
// connects a client, waits until the loops have closed or released the connection, and returns the address of the
// client. Then ServeOnLoop waits until the server has dropped the connection. With a TLSConfig, the server serves TLS.
var ServeOnLoop func(server any, ln net.Listener, connect func() net.Addr) error

// ShortRuns returns the count of short runs at the place in the handler that has most of them.
var ShortRuns func(server any) uint32
