// Package reuseport has the names of github.com/valyala/fasthttp/reuseport for what is in gallop's package listen.
package reuseport

import (
	"context"
	"errors"
	"net"

	"github.com/gallop-http/gallop/listen"
)

var shared = listen.TCP{ReusePort: true, DeferAccept: true, FastOpen: true}

// Listen listens on an address that others listen on as well. It fails with an *ErrNoReusePort where that cannot be.
func Listen(network, addr string) (net.Listener, error) {
	ln, err := shared.Listen(context.Background(), network, addr)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, &ErrNoReusePort{err}
	}
	return ln, err
}

// ErrNoReusePort says that the system does not let listeners share an address.
type ErrNoReusePort struct{ err error }

// Error returns the reason.
func (e *ErrNoReusePort) Error() string { return "reuseport: " + e.err.Error() }

// Unwrap returns what the system said.
func (e *ErrNoReusePort) Unwrap() error { return e.err }
