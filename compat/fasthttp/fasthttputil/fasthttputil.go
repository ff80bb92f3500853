// Package fasthttputil has the names of github.com/valyala/fasthttp/fasthttputil for what is in gallop's package memnet.
package fasthttputil

import (
	"io"
	"net"
	"os"

	"github.com/gallop-http/gallop/memnet"
)

// InmemoryListener is a listener in memory. Closing it again returns nil.
type InmemoryListener = memnet.Listener

// NewInmemoryListener returns a listener that is ready to be dialed.
func NewInmemoryListener() *InmemoryListener { return memnet.NewListener() }

var (
	// ErrInmemoryListenerClosed is what Accept and Dial return once the listener is closed.
	ErrInmemoryListenerClosed = memnet.ErrListenerClosed

	// ErrConnectionClosed is what Write returns once the other end is closed. Behind a Close of its own
	// end that is net.ErrClosed.
	ErrConnectionClosed = io.ErrClosedPipe

	// ErrTimeout is what Read and Write return when the deadline has passed.
	ErrTimeout = os.ErrDeadlineExceeded.(net.Error)
)
