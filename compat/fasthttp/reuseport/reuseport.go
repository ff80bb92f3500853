// Package reuseport provides the names of github.com/valyala/fasthttp/reuseport. It is built on gallop's package
// listen.
package reuseport

import (
	"context"
	"errors"
	"net"

	"github.com/gallop-http/gallop/listen"
)

var shared = listen.TCP{ReusePort: true, DeferAccept: true, FastOpen: true}

// Listen listens on an address that other listeners may share. If the system does not support that, it returns an
// *ErrNoReusePort.
func Listen(network, addr string) (net.Listener, error) {
	ln, err := shared.Listen(context.Background(), network, addr)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, &ErrNoReusePort{err}
	}
	return ln, err
}

// ErrNoReusePort means that the system does not let listeners share an address.
type ErrNoReusePort struct{ err error }

// Error returns the reason.
func (e *ErrNoReusePort) Error() string { return "reuseport: " + e.err.Error() }

// Unwrap returns the error of the system.
func (e *ErrNoReusePort) Unwrap() error { return e.err }
